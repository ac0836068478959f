//! Flow monitors: a copy to which all reports are applied has the same entries as the switch. Spec:
//! OpenFlow 1.4.1 section 7.3.5.17.
#![allow(clippy::unwrap_used)]

mod mirror;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Engine, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::error::FlowMonitorFailed as E;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::multipart::flow_monitor::{
    FlowMonitorCommand as C, FlowMonitorFlags as F, FlowUpdateEvent,
};
use bofuss_oflib::message::multipart::{FlowMonitorRequest, FlowUpdate, ReplyBody, RequestBody};
use bofuss_oflib::message::{
    BundleAdd, BundleControl, ControllerRole, FlowMod, FlowModCommand, MultipartReply, PortDesc,
    Role,
};
use bofuss_oflib::text::{parse_flow, parse_group, parse_match};
use bofuss_oflib::types::{GroupId, QueueId, TableId};
use bofuss_oflib::wire::Text;
use bofuss_oflib::{Catalogue, ErrorCode, Message, PortNo, Version};

/// The switch with the fast path.
type Switch = bofuss_agent::Switch<bofuss_fastpath::FastPath>;

/// The connection that monitors.
const READER: ConnId = ConnId(1);
/// The connection that changes entries.
const WRITER: ConnId = ConnId(2);
const ALL: F = F(F::INITIAL.0 | F::ADD.0 | F::REMOVED.0 | F::MODIFY.0 | F::INSTRUCTIONS.0);
const ENGINES: [Engine; 3] = [Engine::Reference, Engine::Tables, Engine::Cache];

/// Records what is sent to each connection.
#[derive(Default)]
struct Outbox {
    sent: Vec<(ConnId, u32, Message)>,
    /// Whether the reader accepts no messages.
    is_full: Cell<bool>,
}

impl SwitchIo for Outbox {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn flush(&mut self) {}
    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        self.sent.push((conn, xid, message));
    }
    fn has_room(&self, conn: ConnId) -> bool {
        conn != READER || !self.is_full.get()
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

struct Stage {
    switch: Switch,
    io: Outbox,
    now: Time,
    catalogue: Arc<Catalogue>,
}

impl Stage {
    fn new(engine: Engine) -> Self {
        let catalogue = Arc::new(Catalogue::default());
        let config = Config {
            n_tables: 3,
            engine,
            ..Config::default()
        };
        let datapath = Datapath::new(config, catalogue.clone(), Pool::new(1 << 20));
        let identity = Identity::default();
        let mut switch = Switch::new(Time(0), datapath, identity, FailMode::Secure);
        switch.connected(Time(0), READER, Version::V1_4, true);
        switch.connected(Time(0), WRITER, Version::V1_4, true);
        let mut io = Outbox::default();
        let desc = PortDesc {
            port_no: PortNo(1),
            ..PortDesc::default()
        };
        switch.ports(Time(0), &mut io, |ports| {
            ports.changed(desc, OffloadCapabilities::default())
        });
        io.sent.clear();
        Self {
            switch,
            io,
            now: Time(0),
            catalogue,
        }
    }

    fn ask(&mut self, conn: ConnId, xid: u32, message: Message) {
        let request = Request {
            xid,
            head: &[],
            message: Ok(message),
        };
        self.switch.message(self.now, conn, request, &mut self.io);
    }

    /// Commits these flow-mods in one bundle of the writer, each with its transaction id.
    fn commit(&mut self, flows: Vec<(u32, FlowMod)>) {
        let flags = BundleFlags::ALL.without(BundleFlags::TIME);
        for (xid, flow) in flows {
            let add = BundleAdd {
                bundle_id: 5,
                flags,
                xid,
                message: Box::new(Message::FlowMod(flow)),
                experimenters: Vec::new(),
            };
            self.ask(WRITER, xid, Message::BundleAdd(add));
        }
        let control = BundleControl {
            bundle_id: 5,
            ty: BundleControlType::COMMIT_REQUEST,
            flags,
            ..BundleControl::default()
        };
        self.ask(WRITER, 9, Message::BundleControl(control));
    }

    fn flow(&mut self, conn: ConnId, xid: u32, command: FlowModCommand, text: &str) {
        let flow = parse_flow(text, command, &self.catalogue).expect(text);
        self.ask(conn, xid, Message::FlowMod(flow));
    }

    /// Adds an entry as the writer.
    fn add(&mut self, text: &str) {
        self.flow(WRITER, 5, FlowModCommand::ADD, text);
    }

    /// Deletes entries as the writer.
    fn delete(&mut self, text: &str) {
        self.flow(WRITER, 5, FlowModCommand::DELETE, text);
    }

    fn monitor(&mut self, requests: &[FlowMonitorRequest]) {
        let body = RequestBody::FlowMonitor(requests.to_vec());
        self.ask(READER, 3, Message::MultipartRequest(body.into()));
    }

    fn work(&mut self) {
        while self.switch.has_work(&self.io) {
            self.switch.work(self.now, &mut self.io);
        }
    }

    /// What was reported to the reader since the last call, one line per update.
    fn told(&mut self) -> Vec<String> {
        self.work();
        let mut lines = Vec::new();
        for (conn, xid, message) in std::mem::take(&mut self.io.sent) {
            if conn != READER {
                continue;
            }
            match message {
                Message::MultipartReply(MultipartReply {
                    body: ReplyBody::FlowMonitor(updates),
                    ..
                }) => {
                    if updates.is_empty() {
                        lines.push(format!("{xid} nothing"));
                    }
                    let updates = updates.iter();
                    lines.extend(updates.map(|update| format!("{xid} {}", Text(update))));
                }
                Message::Error(error) => lines.push(self.catalogue.error_text(error.error)),
                _ => lines.push(message.name().to_string()),
            }
        }
        lines
    }
}

/// A request for a monitor.
fn monitor(monitor_id: u32, flags: F, command: C) -> FlowMonitorRequest {
    FlowMonitorRequest {
        monitor_id,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        flags,
        table_id: TableId::ALL,
        command,
        ..FlowMonitorRequest::default()
    }
}

#[test]
fn a_monitor_begins_with_what_is_there_and_follows_it() {
    for engine in ENGINES {
        let mut stage = Stage::new(engine);
        stage.add("table=1,priority=5,cookie=9,hard_timeout=3,ip,actions=output:1");
        stage.monitor(&[monitor(1, ALL, C::ADD)]);
        let entry = "table=1,hard_timeout=3,cookie=0x9,priority=5,ip";
        let initial = format!("3 event=initial,{entry} actions=output:1");
        assert_eq!(stage.told(), [initial]);
        stage.add("table=2,priority=6,actions=drop");
        let added = "0 event=added,table=2,cookie=0x0,priority=6 actions=drop";
        assert_eq!(stage.told(), [added]);
        stage.flow(
            WRITER,
            5,
            FlowModCommand::MODIFY,
            "table=1,actions=output:2",
        );
        let modified = format!("0 event=modified,{entry} actions=output:2");
        assert_eq!(stage.told(), [modified]);
        // An entry that replaces another is reported as modified.
        stage.add("table=2,priority=6,cookie=7,actions=output:3");
        let replaced = "0 event=modified,table=2,cookie=0x7,priority=6 actions=output:3";
        assert_eq!(stage.told(), [replaced]);
        stage.now = Time(4 * Time::SEC);
        stage.switch.tick(stage.now, &mut stage.io);
        let expired = format!("0 event=removed,reason=hard,{entry} actions=drop");
        assert_eq!(stage.told(), [expired]);
        stage.delete("table=2");
        let removed = "0 event=removed,reason=delete,table=2,cookie=0x7,priority=6 actions=drop";
        assert_eq!(stage.told(), [removed]);
    }
}

#[test]
fn flags_and_filters_say_what_is_reported() {
    let mut stage = Stage::new(Engine::Cache);
    let catalogue = stage.catalogue.clone();
    let mut wants_adds = monitor(1, F::ADD, C::ADD);
    wants_adds.fields = parse_match("ip", &catalogue).unwrap();
    let mut wants_output = monitor(2, F(F::REMOVED.0 | F::MODIFY.0), C::ADD);
    wants_output.out_port = PortNo(2);
    wants_output.table_id = TableId(1);
    stage.monitor(&[wants_adds, wants_output]);
    assert_eq!(stage.told(), ["3 nothing"]);
    stage.add("priority=1,arp,actions=output:2");
    stage.add("table=1,priority=2,actions=output:2");
    assert_eq!(stage.told(), [""; 0]);
    // without instructions
    stage.add("priority=3,ip,nw_dst=10.0.0.1,actions=output:1");
    let added = "0 event=added,table=0,cookie=0x0,priority=3,ip,nw_dst=10.0.0.1 actions=drop";
    assert_eq!(stage.told(), [added]);
    // It suffices that the entry outputs to the port either before or after the change.
    stage.flow(
        WRITER,
        5,
        FlowModCommand::MODIFY,
        "table=1,actions=output:3",
    );
    stage.flow(
        WRITER,
        5,
        FlowModCommand::MODIFY,
        "table=1,actions=output:4",
    );
    let modified = "0 event=modified,table=1,cookie=0x0,priority=2 actions=drop";
    assert_eq!(stage.told(), [modified]);
    stage.delete("");
    assert_eq!(stage.told(), [""; 0]);
    // It suffices that one of two monitors wants the change, and their flags are combined.
    stage.monitor(&[monitor(3, F(F::ADD.0 | F::INSTRUCTIONS.0), C::ADD)]);
    stage.told();
    stage.add("priority=3,ip,actions=output:1");
    let added = "0 event=added,table=0,cookie=0x0,priority=3,ip actions=output:1";
    assert_eq!(stage.told(), [added]);
}

#[test]
fn own_changes_are_abbreviated_unless_asked_otherwise() {
    let mut stage = Stage::new(Engine::Cache);
    let seen = F(ALL.0 & !F::INITIAL.0);
    stage.monitor(&[monitor(1, seen, C::ADD)]);
    stage.told();
    stage.flow(READER, 77, FlowModCommand::ADD, "priority=1,actions=drop");
    stage.flow(READER, 78, FlowModCommand::ADD, "priority=2,actions=drop");
    let abbreviated = ["0 event=abbrev,xid=0x4d", "0 event=abbrev,xid=0x4e"];
    assert_eq!(stage.told(), abbreviated);
    // One change of many entries is one abbreviation.
    for priority in 3..60 {
        stage.add(&format!("priority={priority},actions=drop"));
    }
    assert_eq!(stage.told().len(), 57);
    stage.flow(READER, 79, FlowModCommand::DELETE, "");
    assert_eq!(stage.told(), ["0 event=abbrev,xid=0x4f"]);
    let request = monitor(1, F(seen.0 | F::NO_ABBREV.0), C::MODIFY);
    stage.monitor(&[request]);
    stage.flow(READER, 80, FlowModCommand::ADD, "priority=1,actions=drop");
    let added = "0 event=added,table=0,cookie=0x0,priority=1 actions=drop";
    assert_eq!(stage.told(), ["3 nothing", added]);
    // With ONLY_OWN other controllers' changes are omitted, but not what the switch does itself.
    let request = monitor(1, F(seen.0 | F::ONLY_OWN.0), C::MODIFY);
    stage.monitor(&[request]);
    stage.add("priority=9,actions=drop");
    stage.flow(
        READER,
        81,
        FlowModCommand::ADD,
        "priority=8,hard_timeout=1,actions=drop",
    );
    assert_eq!(stage.told(), ["3 nothing", "0 event=abbrev,xid=0x51"]);
    stage.now = Time(2 * Time::SEC);
    stage.switch.tick(stage.now, &mut stage.io);
    let entry = "table=0,hard_timeout=1,cookie=0x0,priority=8";
    assert_eq!(
        stage.told(),
        [format!("0 event=removed,reason=hard,{entry} actions=drop")]
    );
}

#[test]
fn a_request_is_carried_out_whole_or_refused() {
    let mut stage = Stage::new(Engine::Cache);
    let refusal = |stage: &mut Stage, requests: &[FlowMonitorRequest], error: ErrorCode| {
        stage.monitor(requests);
        let text = stage.catalogue.error_text(error);
        assert_eq!(stage.told(), [text]);
    };
    let good = monitor(1, ALL, C::ADD);
    let missing = monitor(2, ALL, C::MODIFY);
    refusal(&mut stage, &[good.clone(), missing], E::UNKNOWN_MONITOR);
    stage.add("priority=1,actions=drop");
    assert_eq!(stage.told(), [""; 0], "the first of them did not begin");
    let twice = [good.clone(), good.clone()];
    refusal(&mut stage, &twice, E::MONITOR_EXISTS);
    refusal(
        &mut stage,
        &[monitor(1, ALL, C::DELETE)],
        E::UNKNOWN_MONITOR,
    );
    refusal(&mut stage, &[monitor(1, F(0x80), C::ADD)], E::BAD_FLAGS);
    let mut wrong = good.clone();
    wrong.table_id = TableId(3);
    refusal(&mut stage, &[wrong], E::BAD_TABLE_ID);
    let mut wrong = good.clone();
    wrong.out_port = PortNo(0);
    refusal(&mut stage, &[wrong], E::BAD_OUT);
    let mut wrong = good.clone();
    wrong.out_group = GroupId::ALL;
    refusal(&mut stage, &[wrong], E::BAD_OUT);
    let many: Vec<_> = (0..17).map(|id| monitor(id, ALL, C::ADD)).collect();
    refusal(&mut stage, &many, E::INVALID_MONITOR);
    stage.monitor(&[good]);
    stage.monitor(&[monitor(1, ALL, C::DELETE)]);
    stage.add("priority=2,actions=drop");
    let initial = "3 event=initial,table=0,cookie=0x0,priority=1 actions=drop";
    assert_eq!(stage.told(), [initial, "3 nothing"]);
}

#[test]
fn a_slave_may_monitor_and_a_connection_that_ends_takes_its_monitors() {
    let mut stage = Stage::new(Engine::Cache);
    let slave = Role {
        role: ControllerRole::SLAVE,
        generation_id: 1,
        ..Role::default()
    };
    stage.ask(READER, 1, Message::RoleRequest(slave));
    stage.monitor(&[monitor(1, ALL, C::ADD)]);
    stage.add("priority=2,actions=drop");
    assert_eq!(stage.told().len(), 3);
    assert!(stage.switch.datapath().changes().news().is_followed());
    stage.switch.disconnected(stage.now, READER);
    assert!(!stage.switch.datapath().changes().news().is_followed());
    stage.add("priority=3,actions=drop");
    stage.work();
    assert!(stage.io.sent.is_empty());
}

#[test]
fn a_bundle_is_reported_when_packets_see_it() {
    for engine in ENGINES {
        let mut stage = Stage::new(engine);
        stage.add("priority=1,actions=output:1");
        stage.add("priority=2,actions=output:2");
        stage.add("priority=3,actions=output:3");
        stage.monitor(&[monitor(1, F(ALL.0 & !F::INITIAL.0), C::ADD)]);
        assert_eq!(stage.told(), ["3 nothing"]);
        let mods = [
            (FlowModCommand::ADD, "priority=9,actions=output:9"),
            (FlowModCommand::ADD, "priority=8,actions=output:8"),
            (FlowModCommand::DELETE_STRICT, "priority=8"),
            (FlowModCommand::DELETE_STRICT, "table=0,priority=1"),
            (FlowModCommand::MODIFY_STRICT, "priority=2,actions=output:7"),
            (FlowModCommand::ADD, "priority=3,cookie=4,actions=output:6"),
        ];
        let mut flows = Vec::new();
        for (xid, (command, text)) in (100..).zip(mods) {
            flows.push((xid, parse_flow(text, command, &stage.catalogue).unwrap()));
        }
        let mut wrong = flows.clone();
        wrong[5].1.table_id = TableId(9);
        stage.commit(wrong);
        assert_eq!(stage.told(), [""; 0], "one that fails changes nothing");
        stage.commit(flows);
        let told: BTreeSet<String> = stage.told().into_iter().collect();
        let wanted = [
            "0 event=added,table=0,cookie=0x0,priority=9 actions=output:9",
            "0 event=modified,table=0,cookie=0x0,priority=2 actions=output:7",
            "0 event=modified,table=0,cookie=0x4,priority=3 actions=output:6",
            "0 event=removed,reason=delete,table=0,cookie=0x0,priority=1 actions=drop",
        ];
        assert_eq!(told, wanted.map(String::from).into());
    }
}

#[test]
fn a_connection_that_did_not_read_gets_the_changes_later() {
    let mut stage = Stage::new(Engine::Cache);
    stage.add("priority=1,actions=drop");
    stage.monitor(&[monitor(1, ALL, C::ADD)]);
    stage.told();
    stage.io.is_full.set(true);
    stage.add("priority=2,actions=drop");
    assert_eq!(stage.told(), ["0 event=paused"]);
    stage.add("priority=3,actions=drop");
    stage.add("priority=4,actions=drop");
    stage.flow(
        WRITER,
        5,
        FlowModCommand::DELETE_STRICT,
        "table=0,priority=3",
    );
    assert_eq!(stage.told(), [""; 0], "one that came and went meanwhile");
    stage.flow(WRITER, 5, FlowModCommand::MODIFY, "actions=output:1");
    assert_eq!(stage.told(), [""; 0]);
    stage.io.is_full.set(false);
    let late = [
        "0 event=added,table=0,cookie=0x0,priority=4 actions=output:1",
        "0 event=added,table=0,cookie=0x0,priority=2 actions=output:1",
        "0 event=modified,table=0,cookie=0x0,priority=1 actions=output:1",
        "0 event=resumed",
    ];
    assert_eq!(stage.told(), late);
    stage.io.is_full.set(true);
    stage.flow(
        WRITER,
        5,
        FlowModCommand::DELETE_STRICT,
        "table=0,priority=4",
    );
    let gone = "0 event=removed,reason=delete,table=0,cookie=0x0,priority=4 actions=drop";
    assert_eq!(
        stage.told(),
        ["0 event=paused", gone],
        "nothing is left for later"
    );
    stage.io.is_full.set(false);
    assert_eq!(stage.told(), ["0 event=resumed"]);
}

#[test]
fn a_monitor_of_a_group_reports_the_entries_deleted_with_it() {
    let mut stage = Stage::new(Engine::Cache);
    let text = "group_id=4,type=indirect,bucket=actions=output:1";
    let catalogue = stage.catalogue.clone();
    let command = bofuss_oflib::message::group_mod::GroupModCommand::ADD;
    let group = parse_group(text, command, &catalogue).unwrap();
    stage.ask(WRITER, 5, Message::GroupMod(group.clone()));
    let mut request = monitor(1, ALL, C::ADD);
    request.out_group = GroupId(4);
    stage.monitor(&[request]);
    stage.add("priority=1,actions=group:4");
    stage.add("priority=2,actions=output:4");
    let delete = bofuss_oflib::message::GroupMod {
        command: bofuss_oflib::message::group_mod::GroupModCommand::DELETE,
        buckets: Vec::new(),
        ..group
    };
    stage.ask(WRITER, 5, Message::GroupMod(delete));
    let told = [
        "3 nothing",
        "0 event=added,table=0,cookie=0x0,priority=1 actions=group:4",
        "0 event=removed,reason=group_delete,table=0,cookie=0x0,priority=1 actions=drop",
    ];
    assert_eq!(stage.told(), told);
}

/// The events of a message's updates, for [`mirror`].
fn events(message: &Message) -> Vec<FlowUpdateEvent> {
    let Message::MultipartReply(MultipartReply {
        body: ReplyBody::FlowMonitor(updates),
        ..
    }) = message
    else {
        return Vec::new();
    };
    let event = |update: &FlowUpdate| match update {
        FlowUpdate::Full(event, _) | FlowUpdate::Stream(event) => *event,
        FlowUpdate::Abbrev(_) => FlowUpdateEvent::ABBREV,
    };
    updates.iter().map(event).collect()
}
