//! Mappings on the wire, and what packets and entries make of them.

use alloc::sync::Arc;
use alloc::{format, vec};

use bofuss_datapath::{Asker, Config, Engine, PacketInEvent, Sink};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::port::PortStatusReason;
use bofuss_oflib::message::{ControllerRole, FlowModCommand, FlowRemoved, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::wire::{Reader, Wire, Writer};
use bofuss_oflib::{Codec, Mac, PortNo, Version};
use bofuss_packet::craft::{ethernet, ipv4, udp};

use super::error::BAD_COMMAND;
use super::*;

const ASKER: Asker = Asker {
    connection: 1,
    role: ControllerRole::EQUAL,
    version: Version::V1_3,
    form: 0,
};

/// The frames that a switch sends, with their ports.
#[derive(Default)]
struct Out(Vec<(PortNo, Vec<u8>)>);

impl Sink for Out {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.0.push((port, frame.bytes().to_vec()));
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch with this extension, to which frames and messages are given.
struct Switch {
    datapath: Datapath,
    pool: Pool,
    sent: Out,
}

impl Switch {
    fn new(engine: Engine) -> Self {
        let (catalogue, pool) = (Arc::new(crate::catalogue()), Pool::new(1 << 22));
        let config = Config {
            engine,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, catalogue, pool.clone());
        datapath.add_hook(Box::<Fields>::default());
        let mut sent = Out::default();
        for number in 1..=4 {
            let port = PortDesc {
                port_no: PortNo(number),
                ..PortDesc::default()
            };
            let mut ports = datapath.port_control(Time(0), &mut sent);
            ports.changed(port, Default::default());
        }
        Self {
            datapath,
            pool,
            sent,
        }
    }

    fn tell(&mut self, change: FieldMap) -> Result<(), ErrorCode> {
        let value = ExtValue::typed(&VALUES[0], change);
        let mut calls = self.datapath.hook_calls(Time(0), &mut self.sent);
        calls.message(ASKER, &value).map(|_| ())
    }

    fn add(&mut self, text: &str) -> Result<(), ErrorCode> {
        self.tell(FieldMap::Add(text.into()))
    }

    fn delete(&mut self, name: &str) -> Result<(), ErrorCode> {
        self.tell(FieldMap::Delete(name.into()))
    }

    fn flow(&mut self, text: &str, command: FlowModCommand) -> Result<(), ErrorCode> {
        let flow = parse_flow(text, command, &crate::catalogue()).expect(text);
        let mut control = self.datapath.control(Time(0), &mut self.sent);
        control.flow_mod(&flow)
    }

    /// Returns what the switch sends for a datagram.
    fn send(&mut self, data: &[u8]) -> Vec<(PortNo, Vec<u8>)> {
        let ip = ipv4(
            [10, 0, 0, 1].into(),
            [10, 0, 0, 2].into(),
            64,
            udp(4000, 6363, data),
        );
        let bytes = ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        let mut frames = vec![self.pool.frame(&bytes).expect("the pool is large")];
        self.datapath
            .receive(Time(0), PortNo(1), &mut frames, &mut self.sent);
        core::mem::take(&mut self.sent.0)
    }
}

fn decoded(bytes: &[u8]) -> Result<FieldMap, ErrorCode> {
    let codec = Codec::new(Version::V1_3, crate::catalogue().into());
    let read = FieldMap::decode(&mut Reader::new(&codec, bytes));
    if let Ok(map) = &read {
        let mut w = Writer::new(&codec);
        w.put(map);
        assert_eq!(w.bytes, bytes);
    }
    read.map_err(|error| error.error)
}

#[test]
fn what_is_no_change_is_refused_where_it_is_read() {
    let right = b"\0spare0=udp:64:8";
    assert_eq!(decoded(right), Ok(FieldMap::Add("spare0=udp:64:8".into())));
    assert_eq!(
        decoded(b"\x01spare0"),
        Ok(FieldMap::Delete("spare0".into()))
    );
    assert_eq!(decoded(b"\x02spare0"), Err(BAD_COMMAND));
    for wrong in [
        &b"\0"[..],
        b"\0spare0=udp:64:8\0",
        b"\0spare0=udp:64:8\n",
        b"\0\xc3\xa4=udp:64:8",
        &[b'a'; 257],
    ] {
        assert_eq!(decoded(wrong), Err(BAD_MAPPING), "{wrong:?}");
    }
    assert_eq!(decoded(&[0; 0]), Err(BadRequest::BAD_LEN));
}

#[test]
fn a_text_that_is_cut_anywhere_or_has_other_bytes_changes_nothing() {
    let mut switch = Switch::new(Engine::Cache);
    let right = "spare0=eth_type:16:20,mask,set,shared,eth_type=0x88b5";
    let mut refused = 0;
    for at in 0..right.len() {
        let others = [&right[..at], &right[at + 1..]];
        let changed = [
            "\u{7f}",
            "=",
            ",",
            ":",
            "9",
            "spare0=",
            "999999999999999999999",
        ]
        .map(|word| format!("{}{word}{}", &right[..at], &right[at + 1..]));
        for text in others.into_iter().chain(changed.iter().map(String::as_str)) {
            match switch.add(text) {
                Ok(()) => switch.delete("spare0").expect("nothing uses it"),
                Err(error) => {
                    assert!([BAD_MAPPING, BAD_PLACE].contains(&error), "{text}: {error}");
                    refused += 1;
                }
            }
            assert_eq!(switch.delete("spare0"), Err(NOT_MAPPED), "{text}");
        }
    }
    assert!(refused > 400);
    assert_eq!(switch.add(right), Ok(()));
}

#[test]
fn mappings_that_come_and_go_are_the_same_to_all_engines() {
    let maps = [
        "spare0=udp:64:8,mask,set,udp_dst=6363",
        "spare0=udp:68:4,set",
        "spare1=udp:72:16,mask,set",
        "spare1=ipv4:16:16,mask",
    ];
    let flows = [
        "priority=3,udp,udp_dst=6363,spare0=3,actions=output:2",
        "priority=4,udp,udp_dst=6363,spare0=1,actions=set_field:2->spare0,output:3",
        "priority=5,udp,udp_dst=6363,spare1=2/3,actions=set_field:9->spare1,output:4",
        "priority=2,udp,udp_dst=6363,spare1=0x102,\
         actions=copy_field:spare0[0..3]->spare1[0..3],output:2",
        "priority=1,actions=output:3",
    ];
    let mut switches: Vec<Switch> = Engine::ALL.iter().map(|one| Switch::new(one.1)).collect();
    let mut state = 7u64;
    let mut below = |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % end
    };
    let (mut arrived, mut accepted) = (0, 0);
    for step in 0..4_000 {
        let (kind, one) = (below(10), below(20) as usize);
        let bytes = [below(4) as u8, below(2) as u8, below(4) as u8];
        let data = &bytes[..below(4) as usize];
        let mut all = switches.iter_mut().map(|switch| match kind {
            0 => (switch.add(maps[one % 4]), vec![]),
            1 => (switch.delete(["spare0", "spare1"][one % 2]), vec![]),
            2 => (switch.flow(flows[one % 5], FlowModCommand::ADD), vec![]),
            3 => {
                let (matched, _) = flows[one % 5].split_once(",actions").expect("it has both");
                (switch.flow(matched, FlowModCommand::DELETE_STRICT), vec![])
            }
            _ => (Ok(()), switch.send(data)),
        });
        let first = all.next().expect("there is an engine");
        assert!(all.all(|other| other == first), "step {step}");
        arrived += first.1.len();
        accepted += usize::from(kind < 2 && first.0.is_ok());
    }
    assert!(arrived > 1_000 && accepted > 100, "{arrived} {accepted}");
}

#[test]
fn a_row_that_an_entry_uses_stays_mapped() {
    let uses = [
        "udp,spare0=3,actions=output:2",
        "udp,actions=set_field:5->spare0,output:2",
        "udp,actions=write_actions(set_field:5->spare0,output:2)",
        "udp,actions=copy_field:spare0[0..3]->metadata[0..3],goto_table:1",
    ];
    for text in uses {
        let mut switch = Switch::new(Engine::Cache);
        let place = "spare0=udp:64:8,set";
        assert!(switch.flow(text, FlowModCommand::ADD).is_err(), "{text}");
        switch.add(place).expect("it is free");
        switch.flow(text, FlowModCommand::ADD).expect(text);
        assert_eq!(switch.delete("spare0"), Err(IN_USE), "{text}");
        assert_eq!(switch.add("spare0=udp:64:16,set"), Err(MAPPED));
        assert_eq!(switch.add(place), Ok(()));
        switch
            .flow("udp", FlowModCommand::DELETE)
            .expect("it is there");
        assert_eq!(switch.delete("spare0"), Ok(()), "{text}");
    }
}

#[test]
fn the_reason_of_a_refusal_is_told() {
    let mut fields = Fields::default();
    let error = fields.refuse(BAD_PLACE, "a TTL is there".into());
    let change = FieldMap::Add("spare0=ipv4:64:8".into());
    let message = Message::Experimenter(ExtValue::typed(&VALUES[0], change));
    let told = fields.explain(&message, error);
    assert_eq!(told.as_deref(), Some("a TTL is there"));
    assert_eq!(fields.explain(&message, BadRequest::IS_SLAVE), None);
}
