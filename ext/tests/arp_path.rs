//! ARP-Path next to rules, and its frames as the reference page has them.

use std::sync::Arc;

use bofuss_datapath::{Asker, Config, Datapath, Engine, PacketInEvent, Sink, Time};
use bofuss_ext::arppath::frame::{ETHERTYPE, FrameError, PathFrame};
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::{
    ControllerRole, FlowModCommand, FlowRemoved, PortDesc, PortStatusReason,
};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{ExtValue, Mac, PortNo, Version};
use bofuss_packet::craft;

#[path = "../../fuzz/checks/path_frames.rs"]
mod path_frames;

const PAGE: &str = include_str!("../../docs/reference/arp-path.md");

/// The vectors of the page: bytes, and their text.
fn vectors() -> Vec<(Vec<u8>, &'static str)> {
    let blocks = PAGE.split("```hex\n").skip(1);
    let blocks = blocks.map(|block| block.split("\n```").next().expect("it has a beginning"));
    blocks.map(vector).collect()
}

fn vector(block: &'static str) -> (Vec<u8>, &'static str) {
    let (hex, text) = block.rsplit_once('\n').expect("bytes, then text");
    let digits: String = hex.split_whitespace().collect();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("a byte");
    ((0..digits.len()).step_by(2).map(byte).collect(), text)
}

fn text(frame: &PathFrame) -> String {
    let pair = frame.pair;
    format!(
        "type={},hops={},sender={:#x},to={:#x},origin={:#x},sequence={},vlan={:#x},source={},\
         destination={}",
        frame.ty.name(),
        frame.hops,
        frame.sender,
        frame.to,
        frame.origin,
        frame.sequence,
        pair.vlan,
        pair.source,
        pair.destination
    )
}

#[test]
fn the_vectors_of_the_reference_page_are_read_and_written() {
    assert_eq!(vectors().len(), 4);
    for (bytes, expected) in vectors() {
        let frame = PathFrame::decode(&bytes[14..], None).expect(expected);
        assert_eq!(text(&frame), expected);
        let source = Mac(bytes[6..12].try_into().expect("six bytes"));
        assert_eq!(frame.encode(ETHERTYPE, source, None, false), bytes);
    }
}

#[test]
fn a_frame_with_another_key_or_a_changed_byte_is_forged() {
    let (bytes, _) = vectors().remove(2);
    let frame = PathFrame::decode(&bytes[14..], None).expect("it is a vector");
    let key = Some(7);
    let mut signed = frame.encode(ETHERTYPE, Mac([2; 6]), key, false);
    assert_eq!(PathFrame::decode(&signed[14..], key), Ok(frame));
    let forged = Err(FrameError::BadTag);
    assert_eq!(PathFrame::decode(&signed[14..], Some(8)), forged);
    assert_eq!(PathFrame::decode(&signed[14..], None), forged);
    assert_eq!(PathFrame::decode(&bytes[14..], key), forged);
    signed[60] ^= 1;
    assert_eq!(PathFrame::decode(&signed[14..], key), forged);
}

#[test]
fn every_shortened_frame_is_malformed() {
    let (bytes, _) = vectors().remove(0);
    for length in 14..bytes.len() {
        let read = PathFrame::decode(&bytes[14..length], None);
        assert_eq!(read, Err(FrameError::Malformed), "{length}");
    }
}

/// What left: the port of each frame.
#[derive(Default)]
struct Left(Vec<u32>);

impl Sink for Left {
    fn transmit(&mut self, port: PortNo, _: QueueId, _: Frame) {
        self.0.push(port.0);
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {
        panic!("no controller gets a packet");
    }
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch with three ports whose table 0 takes ARP-Path on a miss.
struct Hybrid {
    datapath: Datapath,
    left: Left,
}

impl Hybrid {
    fn new(engine: Engine) -> Self {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let config = Config {
            engine,
            datapath_id: 2,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, Arc::clone(&catalogue), Pool::new(1 << 20));
        for mut hook in bofuss_ext::hooks(&catalogue) {
            if hook.name() == "arppath" {
                hook.set_option("tables", "0").expect("it is an option");
            }
            datapath.add_hook(hook);
        }
        let mut left = Left::default();
        for port_no in (1..=3).map(PortNo) {
            let desc = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            datapath.port_changed(Time(0), desc, OffloadCapabilities::default(), &mut left);
        }
        left.0.clear();
        Self { datapath, left }
    }

    /// Sends a datagram between hosts, to all if the other is 0; the ports that it left by.
    fn send(&mut self, port: u32, from: u8, to: u8) -> Vec<u32> {
        let mac = |host| Mac([2, 0, 0, 0, 0, host]);
        let destination = if to == 0 { Mac([0xff; 6]) } else { mac(to) };
        let ip = craft::ipv4(
            [10, 0, 0, 1].into(),
            [10, 0, 0, 2].into(),
            64,
            craft::udp(7, 7, b"x"),
        );
        self.receive(port, &craft::ethernet(destination, mac(from), ip))
    }

    /// The ports that frames left by when one came in.
    fn receive(&mut self, port: u32, bytes: &[u8]) -> Vec<u32> {
        let frame = self.datapath.pool().frame(bytes).expect("there is room");
        let port = PortNo(port);
        self.datapath
            .receive(Time(1), port, &mut vec![frame], &mut self.left);
        std::mem::take(&mut self.left.0)
    }

    fn flow(&mut self, text: &str) {
        let catalogue = Arc::clone(self.datapath.catalogue());
        let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).expect(text);
        let done = self.datapath.flow_mod(Time(1), &flow, &mut self.left);
        done.expect(text);
    }

    fn ask(&mut self, name: &str, text: &str) {
        let catalogue = Arc::clone(self.datapath.catalogue());
        let mut rows = catalogue.values(ExtKind::Message);
        let row = rows.find(|row| row.name == name).expect("it is a row");
        let value = ExtValue::parse(row, text, &catalogue).expect(text);
        let asker = Asker {
            connection: 1,
            role: ControllerRole::EQUAL,
            version: Version::V1_3,
            form: 0,
        };
        let done = self
            .datapath
            .extension_message(Time(1), asker, &value, &mut self.left);
        done.expect(text);
    }
}

#[test]
fn a_rule_wins_and_what_no_rule_takes_follows_its_path() {
    for (name, engine) in Engine::ALL {
        let mut switch = Hybrid::new(engine);
        for _ in 0..3 {
            assert_eq!(switch.send(1, 1, 0), [2, 3], "{name}: a first copy");
            assert_eq!(switch.send(2, 1, 0), [0; 0], "{name}: a late one");
            assert_eq!(switch.send(2, 2, 1), [1], "{name}");
            assert_eq!(switch.send(1, 1, 2), [2], "{name}");
        }
        switch.flow("priority=9,in_port=1,udp,actions=output:3");
        assert_eq!(switch.send(1, 1, 2), [3], "{name}: the rule wins");
        assert_eq!(switch.send(2, 2, 1), [1], "{name}: others go on");
        switch.ask("arp_path_mod", "pin,mac=02:00:00:00:00:01,port=3");
        assert_eq!(switch.send(2, 2, 1), [3], "{name}: a pin holds");
        switch.ask("arp_path_mod", "delete,mac=02:00:00:00:00:01");
        assert_eq!(switch.send(2, 2, 1), [0; 0], "{name}: unknown, not flooded");
        switch.flow("priority=0,actions=drop");
        assert_eq!(switch.send(1, 1, 0), [3], "{name}");
        assert_eq!(
            switch.send(3, 3, 0),
            [0; 0],
            "{name}: a table-miss entry wins"
        );
    }
}

#[test]
fn a_frame_to_one_host_goes_on_once_if_its_source_was_heard_elsewhere_just_now() {
    for (name, engine) in Engine::ALL {
        let mut switch = Hybrid::new(engine);
        assert_eq!(switch.send(1, 2, 0), [2, 3], "{name}: host 2 is at port 1");
        assert_eq!(switch.send(3, 1, 0), [1, 2], "{name}: host 1 is at port 3");
        assert_eq!(switch.send(2, 1, 2), [0; 0], "{name}: a host pretends");
        let (hello, _) = vectors().remove(0);
        switch.receive(2, &hello);
        assert_eq!(switch.send(2, 1, 2), [0; 0], "{name}: host 1 is our own");
        switch.receive(3, &hello);
        assert_eq!(
            switch.send(2, 1, 2),
            [1],
            "{name}: both are switches' ports"
        );
        assert_eq!(switch.send(2, 1, 2), [0; 0], "{name}: that would be a loop");
        assert_eq!(switch.send(2, 2, 1), [0; 0], "{name}: host 2 is here");
        assert_eq!(switch.send(1, 2, 1), [3], "{name}: host 1 is where it was");
    }
}

#[test]
fn random_frames_make_no_storm_and_hosts_cannot_forge() {
    let mut state = 7_u64;
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..2_201).map(|_| random(&mut state)).collect();
        path_frames::run(&bytes);
    }
}

/// The next pseudo-random byte (xorshift).
fn random(state: &mut u64) -> u8 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 56) as u8
}
