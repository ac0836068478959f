//! Helpers that the tests share: a switch, its frames, and what can be seen of both.

use alloc::{format, string::String, vec, vec::Vec};

use bofuss_frame::{Frame, Gso, GsoKind, Offload, OffloadCapabilities, Pool};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::text::{parse_flow, parse_group};
use bofuss_oflib::types::{GroupId, MeterId, QueueId, TableId};
use bofuss_oflib::{Catalogue, Mac, Match, PortNo};
use bofuss_packet::{KeyMatch, craft};

use crate::Datapath;
use bofuss_datapath::{Config, Cursor, Engine, Entry, PacketInEvent, Sink, Time};

/// A switch with the ports from 1 on, of which each has a queue if they have a rate.
pub(super) fn switch(kbps: u32, ports: u32) -> Datapath {
    switch_of(Config::default(), kbps, ports)
}

/// As [`switch`], with this configuration.
pub(super) fn switch_of(config: Config, kbps: u32, ports: u32) -> Datapath {
    let pool = Pool::new(1 << 26);
    let mut datapath = Datapath::new(config, Catalogue::default().into(), pool);
    let capabilities = OffloadCapabilities {
        checksum: true,
        tcp: true,
        ..OffloadCapabilities::default()
    };
    for port_no in (1..=ports).map(PortNo) {
        let desc = PortDesc {
            port_no,
            curr_speed: kbps,
            ..PortDesc::default()
        };
        datapath
            .port_control(Time(0), &mut Vec::<Frame>::new())
            .changed(desc, capabilities);
    }
    datapath
}

/// A super-frame of ten segments.
pub(super) fn super_frame(pool: &Pool) -> Frame {
    let segment = craft::tcp(1, 2, 0x10, &vec![7; 10_000]);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, segment);
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    let mut frame = pool.frame(&bytes).expect("within the limit");
    frame.offload = Offload {
        checksum: Some((34, 16)),
        gso: Some(Gso {
            kind: GsoKind::Tcp4,
            segment_bytes: 1000,
            ecn: false,
        }),
        ..Offload::NONE
    };
    frame
}

pub(super) fn flow(datapath: &mut Datapath, text: &str) {
    let flow = parse_flow(text, FlowModCommand::ADD, &datapath.catalogue().clone());
    let flow = flow.expect(text);
    let sink = &mut Vec::<Frame>::new();
    datapath.control(Time(0), sink).flow_mod(&flow).expect(text);
}

/// Adds or changes a group, or deletes it.
pub(super) fn group(datapath: &mut Datapath, command: GroupModCommand, text: &str) {
    let group = parse_group(text, command, &datapath.catalogue().clone()).expect(text);
    let sink = &mut Vec::<Frame>::new();
    let done = datapath.control(Time(0), sink).group_mod(&group);
    done.expect(text);
    while datapath.changes().in_progress() {
        datapath.control(Time(0), sink).work();
    }
}

pub(super) fn delete(datapath: &mut Datapath, text: &str) {
    let delete = parse_flow(text, FlowModCommand::DELETE, &datapath.catalogue().clone());
    let delete = delete.expect("a right flow");
    let sink = &mut Vec::<Frame>::new();
    datapath
        .control(Time(0), sink)
        .flow_mod(&delete)
        .expect("is right");
    while datapath.changes().in_progress() {
        datapath.control(Time(0), sink).work();
    }
}

/// Sends a frame of flow number `n`. Returns the frames that are sent.
pub(super) fn send(datapath: &mut Datapath, n: u16) -> Vec<Frame> {
    send_at(datapath, Time(1), n)
}

pub(super) fn send_at(datapath: &mut Datapath, now: Time, n: u16) -> Vec<Frame> {
    let from = [10, 0, (n >> 8) as u8, n as u8];
    let ip = craft::ipv4(
        from.into(),
        [10, 9, 9, 9].into(),
        64,
        craft::udp(1, 2, b"x"),
    );
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    let frame = datapath.pool().frame(&bytes).expect("within the limit");
    let mut out = Vec::new();
    datapath.receive(now, PortNo(1), &mut vec![frame], &mut out);
    out
}

pub(super) fn packets(datapath: &Datapath) -> u64 {
    let every = KeyMatch::new(&Match::default(), None);
    let entries = datapath.tables()[0].entries_within(&every);
    entries.map(|entry| entry.packets).sum()
}

/// A configuration with this engine.
pub(super) fn with_engine(engine: Engine) -> Config {
    Config {
        engine,
        ..Config::default()
    }
}

/// The counters of the first tables, of their entries, of ports, groups, meters and drops.
pub(super) fn counters(datapath: &mut Datapath, tables: u8) -> String {
    let settled = datapath.settled();
    let mut text = String::new();
    for table in (0..tables).map(TableId) {
        text += &format!("{:?} ", settled.table_counts(table));
        let mut cursor = Cursor::new(table);
        let mut see = |_, entry: &Entry| {
            text += &format!("{} {} {:?}, ", entry.packets, entry.bytes, entry.used);
        };
        while !settled.slice(&mut cursor, &mut see) {}
    }
    for port in settled.datapath().ports().values() {
        text += &format!("{:?} ", port.stats);
    }
    let all = GroupId(0)..=GroupId::MAX;
    for group in settled.datapath().groups().stats(Time(0), all) {
        let counters = group.0;
        text += &format!("{:?} {} ", counters.group_id, counters.packet_count);
        text += &format!("{} {:?} ", counters.byte_count, counters.bucket_stats);
    }
    let all = MeterId(0)..=MeterId::ALL;
    for meter in settled.datapath().meters().stats(Time(0), all) {
        let (id, input, bands) = (meter.meter_id, meter.input, meter.bands);
        text += &format!("{id:?} {input:?} {bands:?} ");
    }
    for drop in settled.datapath().lane().drops() {
        text += &format!("{drop:?} ");
    }
    text
}

/// The frames sent, and the packet-ins.
#[derive(Default, PartialEq, Debug)]
pub(super) struct Seen {
    pub(super) left: Vec<(PortNo, Vec<u8>)>,
    pub(super) offered: usize,
    pub(super) wants_misses: bool,
}

impl Sink for Seen {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.left.push((port, frame.bytes().into()));
    }
    fn wants_misses(&self) -> bool {
        self.wants_misses
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {
        self.offered += 1;
    }
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}
