//! Long replies while entries are added and deleted, and to a peer that does not read.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Engine, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::multipart::{FlowStatsRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::{Empty, FlowModCommand, MultipartReply};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::{Catalogue, Codec, Message, PortNo, Version};

/// The switch with the fast path.
type Switch = bofuss_agent::Switch<bofuss_fastpath::FastPath>;

#[derive(Default)]
struct Outbox {
    sent: Vec<(ConnId, Message)>,
    full: Cell<bool>,
}

impl SwitchIo for Outbox {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn flush(&mut self) {}
    fn send(&mut self, conn: ConnId, _: u32, message: Message) {
        self.sent.push((conn, message));
    }
    fn has_room(&self, _: ConnId) -> bool {
        !self.full.get()
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

const READER: ConnId = ConnId(1);
const WRITER: ConnId = ConnId(2);
/// How many entries stay throughout.
const LASTING: u32 = 2_000;

struct Stage {
    switch: Switch,
    io: Outbox,
    catalogue: Arc<Catalogue>,
}

impl Stage {
    fn new() -> Self {
        let catalogue = Arc::new(Catalogue::default());
        let pool = Pool::new(1 << 20);
        let datapath = Datapath::new(Config::default(), catalogue.clone(), pool);
        let identity = Identity::default();
        let mut switch = Switch::new(Time(0), datapath, identity, FailMode::Secure);
        switch.connected(Time(0), READER, Version::V1_3, true);
        switch.connected(Time(0), WRITER, Version::V1_3, true);
        let io = Outbox::default();
        let mut this = Self {
            switch,
            io,
            catalogue,
        };
        (0..LASTING).for_each(|port| this.flow(FlowModCommand::ADD, 100, port));
        this
    }

    fn message(&mut self, conn: ConnId, message: Message) {
        let request = Request {
            xid: 1,
            head: &[],
            message: Ok(message),
        };
        self.switch.message(Time(1), conn, request, &mut self.io);
    }

    fn flow(&mut self, command: FlowModCommand, priority: u16, in_port: u32) {
        let text = format!(
            "priority={priority},in_port={},actions=output:1",
            in_port + 1
        );
        let flow = parse_flow(&text, command, &self.catalogue).unwrap();
        self.message(WRITER, Message::FlowMod(flow));
    }
}

#[test]
fn an_entry_that_lasts_is_reported_exactly_once() {
    let mut stage = Stage::new();
    let all = RequestBody::Flow(FlowStatsRequest::all());
    stage.message(READER, Message::MultipartRequest(all.into()));
    assert!(
        !stage.switch.is_ready(READER, &stage.io),
        "the next request waits for its turn"
    );
    let mut turn = 0;
    while stage.switch.has_work(&stage.io) {
        // Entries of all priorities are added and deleted, before and after the cursor.
        for priority in [1, 100, 200] {
            stage.flow(FlowModCommand::ADD, priority, LASTING + turn);
            stage.flow(FlowModCommand::DELETE_STRICT, priority, LASTING + turn / 2);
        }
        turn += 1;
        stage.switch.work(Time(1), &mut stage.io);
    }
    assert!(turn > 5, "the reply takes several slices");
    let mut times: HashMap<u128, u32> = HashMap::new();
    let (mut ended, mut replies) = (0, 0);
    for (conn, message) in &stage.io.sent {
        let Message::MultipartReply(reply) = message else {
            panic!("{message}")
        };
        let ReplyBody::Flow(entries) = &reply.body else {
            panic!("{message}")
        };
        assert_eq!(*conn, READER);
        replies += 1;
        ended += u32::from(!reply.more);
        for entry in entries {
            *times
                .entry(entry.0.fields.fields()[0].number())
                .or_default() += 1;
        }
    }
    assert_eq!(ended, 1, "the last of {replies} parts says so");
    for port in 1..=u128::from(LASTING) {
        assert_eq!(times.get(&port), Some(&1), "in_port={port}");
    }
}

#[test]
fn a_slice_has_fewer_entries_if_their_lists_of_actions_are_long() {
    let mut stage = Stage::new();
    let long = ["output:1"; 512].join(",");
    for port in 1..=5 {
        let text = format!("table=1,in_port={port},actions={long}");
        let flow = parse_flow(&text, FlowModCommand::ADD, &stage.catalogue).unwrap();
        stage.message(WRITER, Message::FlowMod(flow));
    }
    let request = FlowStatsRequest {
        table_id: TableId(1),
        ..FlowStatsRequest::all()
    };
    let request = RequestBody::Flow(request);
    stage.message(READER, Message::MultipartRequest(request.into()));
    while stage.switch.has_work(&stage.io) {
        stage.switch.work(Time(1), &mut stage.io);
    }
    let entries = stage.io.sent.iter().map(|(_, message)| match message {
        Message::MultipartReply(MultipartReply {
            body: ReplyBody::Flow(entries),
            ..
        }) => entries.len(),
        other => panic!("{other}"),
    });
    assert_eq!(entries.collect::<Vec<_>>(), [1; 5]);
}

#[test]
fn a_reply_waits_for_a_peer_that_takes_nothing() {
    let mut stage = Stage::new();
    stage.io.full.set(true);
    assert!(!stage.switch.is_ready(READER, &stage.io));
    stage.io.full.set(false);
    let all = RequestBody::Flow(FlowStatsRequest::all());
    stage.message(READER, Message::MultipartRequest(all.into()));
    stage.io.full.set(true);
    let sent = stage.io.sent.len();
    assert!(!stage.switch.has_work(&stage.io), "the loop may sleep");
    stage.switch.work(Time(1), &mut stage.io);
    assert_eq!(
        stage.io.sent.len(),
        sent,
        "nothing is made that cannot be sent"
    );
    stage.io.full.set(false);
    while stage.switch.has_work(&stage.io) {
        stage.switch.work(Time(1), &mut stage.io);
    }
    assert!(stage.switch.is_ready(READER, &stage.io));
    stage.message(READER, Message::BarrierRequest(Empty));
    assert!(matches!(
        stage.io.sent.last(),
        Some((_, Message::BarrierReply(_)))
    ));
}

/// The answer to a request on the wire; checks that each message is complete and that all but the
/// last have the flag MORE.
fn on_the_wire(body: RequestBody) -> Vec<ReplyBody> {
    let mut stage = Stage::new();
    let codec = Codec::new(Version::V1_3, stage.catalogue.clone());
    stage.message(READER, Message::MultipartRequest(body.into()));
    while stage.switch.has_work(&stage.io) {
        stage.switch.work(Time(1), &mut stage.io);
    }
    let mut bytes = Vec::new();
    for (_, message) in &stage.io.sent {
        codec.encode(1, message, &mut bytes).unwrap();
    }
    let (mut rest, mut parts) = (bytes.as_slice(), Vec::new());
    while !rest.is_empty() {
        let length = u16::from_be_bytes([rest[2], rest[3]]).into();
        let Ok((1, Message::MultipartReply(part))) = codec.decode(&rest[..length]) else {
            panic!("each part is a message")
        };
        rest = &rest[length..];
        assert_eq!(part.more, !rest.is_empty());
        parts.push(part.body);
    }
    parts
}

#[test]
fn d8_statistics_of_many_entries_come_in_whole_messages() {
    let parts = on_the_wire(RequestBody::Flow(FlowStatsRequest::all()));
    let entries = parts.iter().map(|part| match part {
        ReplyBody::Flow(entries) => entries.len(),
        other => panic!("{}", other.name()),
    });
    assert_eq!(entries.sum::<usize>(), LASTING as usize);
}

#[test]
fn d21_the_features_of_all_64_tables_are_reported() {
    let parts = on_the_wire(RequestBody::TableFeatures(Vec::new()));
    let tables = parts.iter().flat_map(|part| match part {
        ReplyBody::TableFeatures(tables) => tables,
        other => panic!("{}", other.name()),
    });
    let told: Vec<u8> = tables.map(|table| table.0.table_id.0).collect();
    assert!(parts.len() > 1);
    assert_eq!(told, (0..64).collect::<Vec<_>>());
}

#[test]
fn a_reply_is_completed_before_the_engine_changes() {
    let mut stage = Stage::new();
    let all = RequestBody::Flow(FlowStatsRequest::all());
    stage.message(READER, Message::MultipartRequest(all.into()));
    stage.switch.work(Time(1), &mut stage.io);
    assert!(stage.switch.has_work(&stage.io), "there is more to come");
    let config = Config {
        engine: Engine::Reference,
        ..Config::default()
    };
    let datapath = Datapath::new(config, stage.catalogue.clone(), Pool::new(1 << 20));
    let identity = Identity {
        datapath_id: 7,
        ..Identity::default()
    };
    let mut other = Switch::new(Time(0), datapath, identity, FailMode::Secure);
    let checked = stage
        .switch
        .check_reconfigure(Time(2), &mut other, &mut stage.io);
    assert_eq!(checked, Ok(()));
    stage.switch.reconfigure(Time(2), other, &mut stage.io);
    assert!(!stage.switch.has_work(&stage.io));
    assert_eq!(stage.switch.identity().datapath_id, 7);
    let mut told = HashSet::new();
    for (_, message) in &stage.io.sent {
        if let Message::MultipartReply(reply) = message
            && let ReplyBody::Flow(entries) = &reply.body
        {
            let ports = entries.iter().map(|e| e.0.fields.fields()[0].number());
            ports.for_each(|port| assert!(told.insert(port), "once only"));
        }
    }
    assert_eq!(told.len(), LASTING as usize);
}
