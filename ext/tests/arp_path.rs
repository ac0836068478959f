//! ARP-Path next to rules; its frames, compared with the vectors of the reference page.

use std::sync::Arc;

use bofuss_datapath::{Asker, Config, Engine, PacketInEvent, Sink, Time};
use bofuss_ext::arppath::frame::{ETHERTYPE, FrameError, PathFrame};
use bofuss_fastpath::Datapath;
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

/// The frame of a vector.
fn frame(place: usize) -> PathFrame {
    let (bytes, text) = vectors().remove(place);
    PathFrame::decode(&bytes[14..], None).expect(text)
}

fn text(frame: &PathFrame) -> String {
    let pair = frame.pair;
    format!(
        "type={},hops={},for_all={},offer={},sender={:#x},to={:#x},epoch={:#x},number={},\
         origin={:#x},sequence={},challenge={:#x},answer={:#x},vlan={:#x},source={},destination={}",
        frame.ty.name(),
        frame.hops,
        u8::from(frame.for_all),
        u8::from(frame.offer),
        frame.sender,
        frame.to,
        frame.epoch,
        frame.number,
        frame.origin,
        frame.sequence,
        frame.challenge,
        frame.answer,
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
    let frame = frame(2);
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

/// The Ethernet address of a host.
fn host(number: u16) -> Mac {
    let [high, low] = number.to_be_bytes();
    Mac([2, 0, 0, 0, high, low])
}

/// A datagram from a UDP port of a host.
fn datagram(from: Mac, to: Mac, port: u16) -> Vec<u8> {
    let data = craft::udp(port, 7, b"x");
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, data);
    craft::ethernet(to, from, ip)
}

/// The asker: a controller that may change everything.
const ASKER: Asker = Asker {
    connection: 1,
    role: ControllerRole::EQUAL,
    version: Version::V1_3,
    form: 0,
};

/// The port of each frame that left.
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
    now: Time,
}

impl Hybrid {
    fn new(engine: Engine) -> Self {
        Self::with_options(engine, &[])
    }

    fn with_options(engine: Engine, options: &[(&str, &str)]) -> Self {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let config = Config {
            engine,
            datapath_id: 2,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, Arc::clone(&catalogue), Pool::new(4 << 20));
        for mut hook in bofuss_ext::hooks(&catalogue) {
            if hook.name() == "arppath" {
                for (option, value) in [&[("tables", "0")], options].concat() {
                    hook.set_option(option, value).expect("it is an option");
                }
            }
            datapath.add_hook(hook);
        }
        let mut left = Left::default();
        for port_no in (1..=3).map(PortNo) {
            let desc = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            datapath
                .port_control(Time(0), &mut left)
                .changed(desc, OffloadCapabilities::default());
        }
        left.0.clear();
        Self {
            datapath,
            left,
            now: Time(1),
        }
    }

    /// Receives a datagram between hosts, a broadcast if `to` is 0. Returns the ports by which it
    /// leaves.
    fn send(&mut self, port: u32, from: u8, to: u8) -> Vec<u32> {
        let destination = if to == 0 {
            Mac([0xff; 6])
        } else {
            host(to.into())
        };
        self.send_frame(port, host(from.into()), destination)
    }

    fn send_frame(&mut self, port: u32, from: Mac, to: Mac) -> Vec<u32> {
        self.receive(port, &datagram(from, to, 7))
    }

    /// Receives a frame. Returns the ports by which frames leave.
    fn receive(&mut self, port: u32, bytes: &[u8]) -> Vec<u32> {
        let frame = self.datapath.pool().frame(bytes).expect("there is room");
        let port = PortNo(port);
        self.datapath
            .receive(self.now, port, &mut vec![frame], &mut self.left);
        std::mem::take(&mut self.left.0)
    }

    /// A metric of the extension.
    fn metric(&self, name: &str) -> u64 {
        let mut list = Vec::new();
        for hook in 0.. {
            let metrics = self.datapath.hooks().metrics(self.now, hook, 0, &mut list);
            let (extension, _) = metrics.expect("it is one of them");
            if extension == "arppath" {
                break;
            }
            list.clear();
        }
        let metric = list.iter().find(|metric| metric.name == name);
        metric.expect("it is counted").value
    }

    fn flow(&mut self, text: &str) {
        let catalogue = Arc::clone(self.datapath.catalogue());
        let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).expect(text);
        let mut control = self.datapath.control(self.now, &mut self.left);
        control.flow_mod(&flow).expect(text);
    }

    fn value(&self, kind: ExtKind, name: &str, text: &str) -> ExtValue {
        let catalogue = self.datapath.catalogue();
        let mut rows = catalogue.values(kind);
        let row = rows.find(|row| row.name == name).expect("it is a row");
        ExtValue::parse(row, text, catalogue).expect(text)
    }

    /// The text of a list that the extension reports.
    fn list(&mut self, name: &str) -> String {
        let request = self.value(ExtKind::Multipart, name, "");
        let part = self
            .datapath
            .hook_calls(self.now, &mut self.left)
            .multipart(ASKER, &request, 0);
        let (part, _) = part.expect("it is a list");
        part.value.expect("it is one part").to_string()
    }

    fn ask(&mut self, name: &str, text: &str) {
        let value = self.value(ExtKind::Message, name, text);
        let mut calls = self.datapath.hook_calls(self.now, &mut self.left);
        calls.message(ASKER, &value).expect(text);
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
        switch.ask("arp_path_mod", "flush");
        assert_eq!(switch.send(2, 2, 1), [3], "{name}: a pin is not flushed");
        switch.ask("arp_path_mod", "delete,mac=02:00:00:00:00:01");
        assert_eq!(switch.send(2, 2, 1), [0; 0], "{name}: unknown, not flooded");
        let tables = switch.list("arp_path_tables");
        assert!(tables.contains("arp_path=misses"), "{name}: {tables}");
        switch.flow("priority=0,actions=arp_path");
        let tables = switch.list("arp_path_tables");
        assert!(
            tables.contains("arp_path=table-miss-entry"),
            "{name}: {tables}"
        );
        switch.flow("priority=0,actions=drop");
        let tables = switch.list("arp_path_tables");
        assert!(
            tables.contains("off-by-table-miss-entry"),
            "{name}: {tables}"
        );
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
        switch.now = Time(Time::SEC);
        assert_eq!(switch.send(1, 2, 0), [2, 3], "{name}: it still is");
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
fn a_frame_of_an_own_host_comes_back_once_from_where_it_waited_for_a_path() {
    for (name, engine) in Engine::ALL {
        let mut switch = Hybrid::new(engine);
        assert_eq!(switch.send(3, 1, 0), [1, 2], "{name}: host 1 is at port 3");
        switch.receive(2, &frame(0).encode(ETHERTYPE, host(9), None, true));
        assert_eq!(
            switch.send(1, 2, 1),
            [3],
            "{name}: host 2 is found at port 1"
        );
        assert_eq!(switch.send(2, 1, 2), [1], "{name}: its frame comes back");
        assert_eq!(switch.send(2, 1, 2), [0; 0], "{name}: that would be a loop");
        assert_eq!(switch.send(1, 1, 2), [0; 0], "{name}: a host pretends");
    }
}

#[test]
fn a_locked_path_lives_for_half_a_second_and_one_in_use_for_two_minutes() {
    let ms = Time::SEC / 1000;
    for (name, engine) in Engine::ALL {
        let mut switch = Hybrid::new(engine);
        assert_eq!(switch.send(1, 1, 0), [2, 3], "{name}");
        switch.now = Time(499 * ms);
        assert_eq!(switch.list("arp_path_entries").matches("locked").count(), 1);
        switch.now = Time(501 * ms);
        assert_eq!(switch.list("arp_path_entries").matches("mac=").count(), 0);
        assert_eq!(switch.send(1, 1, 0), [2, 3], "{name}");
        assert_eq!(switch.send(2, 2, 1), [1], "{name}: both paths are in use");
        for minute in 1..=10 {
            switch.now = Time(minute * 60_000 * ms);
            assert_eq!(
                switch.send(1, 1, 2),
                [2],
                "{name}: traffic refreshes its source"
            );
            assert_eq!(switch.send(2, 2, 1), [1], "{name}");
        }
        switch.now = Time((10 * 60 + 119) * 1000 * ms);
        assert_eq!(switch.list("arp_path_entries").matches("learnt").count(), 2);
        switch.now = Time((10 * 60 + 121) * 1000 * ms);
        assert_eq!(switch.list("arp_path_entries").matches("mac=").count(), 0);
        assert_eq!(switch.send(1, 1, 2), [0; 0], "{name}: unknown, not flooded");
    }
}

#[test]
fn the_ethertype_of_its_frames_is_the_operators_choice() {
    let mut switch = Hybrid::with_options(Engine::ALL[0].1, &[("ethertype", "0x9000")]);
    let (hello, _) = vectors().remove(0);
    assert_eq!(switch.receive(1, &hello), [2, 3], "a frame as any other");
    switch.receive(2, &frame(0).encode(0x9000, host(1), None, true));
    let ports = switch.list("arp_path_ports");
    assert!(
        ports.contains("port=2,kind=switch,neighbour=0x1"),
        "{ports}"
    );
    assert!(ports.contains("port=1,kind=new"), "{ports}");
}

#[test]
fn a_port_with_too_many_hosts_forgets_its_own() {
    for (name, engine) in Engine::ALL {
        let mut switch = Hybrid::with_options(engine, &[("entries", "8")]);
        assert_eq!(switch.send(2, 250, 0), [1, 3], "{name}");
        for number in 1000..2000 {
            switch.send_frame(1, host(number), Mac([0xff; 6]));
            assert!(switch.metric("entries") <= 8, "{name}: {number} hosts");
        }
        assert_eq!(switch.metric("evicted"), 1000 + 1 - 8, "{name}");
        assert_eq!(
            switch.send(1, 7, 250),
            [2],
            "{name}: hosts of other ports are kept"
        );
    }
}

#[test]
fn the_frames_that_wait_for_paths_are_bounded() {
    for (name, engine) in Engine::ALL {
        let mut switch = Hybrid::new(engine);
        for number in 0..100 {
            switch.send(1, 1, 2);
            assert!(switch.metric("waiting") <= 32, "{name}: {number} frames");
        }
        assert_eq!(switch.metric("waiting"), 32, "{name}: for one path");
        for number in 0..3000 {
            switch.now = switch.now.after(10_000_000);
            let to = host(1000 + number);
            assert_eq!(
                switch.send_frame(1, host(1), to),
                [0; 0],
                "{name}: not flooded"
            );
            switch.send_frame(1, host(1), to);
            assert!(switch.metric("waiting") <= 512, "{name}: in all");
        }
        assert_eq!(switch.metric("waiting"), 512, "{name}: in all");
        switch.now = switch.now.after(2 * Time::SEC);
        switch.datapath.tick(switch.now, &mut switch.left);
        assert_eq!(switch.metric("waiting"), 0, "{name}: after the time");
    }
}

#[test]
fn frames_to_a_host_that_nobody_knows_are_offered_within_the_bound_of_floods() {
    for (name, engine) in Engine::ALL {
        let mut switch = Hybrid::with_options(engine, &[("floods", "100")]);
        assert_eq!(switch.send(1, 1, 0), [2, 3], "{name}: host 1 is at port 1");
        assert_eq!(switch.send(1, 1, 2), [0; 0], "{name}: its frame waits");
        for _ in 0..50 {
            switch.now = switch.now.after(Time::SEC / 100);
            switch.datapath.tick(switch.now, &mut switch.left);
        }
        assert_eq!(switch.metric("offered"), 1, "{name}: after half a second");
        switch.left.0.clear();
        let frames = (1000..2000).map(|number| datagram(host(1), host(2), number));
        let left: Vec<u32> = frames.flat_map(|frame| switch.receive(1, &frame)).collect();
        assert!((2 * 98..=2 * 101).contains(&left.len()), "{name}: {left:?}");
        assert_eq!(switch.send(2, 2, 1), [1], "{name}: host 2 answers");
        let later = datagram(host(1), host(2), 9);
        assert_eq!(switch.receive(1, &later), [2], "{name}: it is found");
    }
}

#[test]
fn frames_of_the_protocol_from_ports_of_hosts_are_ignored() {
    for (name, engine) in Engine::ALL {
        let mut switch = Hybrid::with_options(engine, &[("host-ports", "3")]);
        assert_eq!(switch.send(1, 1, 0), [2, 3], "{name}: host 1 is at port 1");
        let page = vectors();
        let (hello, others) = page.split_first().expect("there are four");
        for (number, (forged, text)) in (1..).zip(others) {
            assert_eq!(switch.receive(2, forged), [0; 0], "{name}: {text}");
            assert_eq!(switch.metric("forged"), number, "{name}: {text}");
        }
        switch.receive(3, &hello.0);
        assert_eq!(switch.metric("forged"), 4, "{name}: no switch is there");
        assert_eq!(switch.metric("moves"), 0, "{name}");
        assert_eq!(switch.metric("entries"), 1, "{name}");
        assert_eq!(switch.send(2, 2, 1), [1], "{name}: host 1 is where it was");
    }
}

#[test]
fn an_own_hello_that_comes_back_is_a_loop_and_no_neighbour() {
    let mut own = frame(0);
    own.sender = 2;
    let key = ("key", "00000000000000000000000000000007");
    for (options, key) in [(vec![], None), (vec![key], Some(7))] {
        let mut switch = Hybrid::with_options(Engine::ALL[0].1, &options);
        switch.receive(1, &own.encode(ETHERTYPE, host(9), key, true));
        assert!(switch.list("arp_path_ports").contains("port=1,kind=loop"));
        switch.receive(1, &frame(2).encode(ETHERTYPE, host(1), key, false));
        assert_eq!((switch.metric("forged"), switch.metric("entries")), (1, 0));
        assert_eq!(switch.send(1, 1, 0), [2, 3], "hosts there are served");
        assert_eq!(switch.send(1, 1, 0), [0; 0], "what comes back is a copy");
        switch.now = switch.now.after(4 * Time::SEC);
        assert!(switch.list("arp_path_ports").contains("port=1,kind=hosts"));
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
