//! The controllers' side of extensions, with one that only this test has: a board for notes.
#![allow(clippy::unwrap_used)]

mod board;

use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::multipart::{ExtBody, ReplyBody, RequestBody};
use bofuss_oflib::message::request_forward::RequestForwardReason;
use bofuss_oflib::message::{
    AsyncConfig, BundleAdd, BundleControl, ControllerRole, FlowModCommand, PortDesc,
    RequestForward, Role,
};
use bofuss_oflib::text::{parse_flow, parse_group};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Catalogue, Codec, ErrorCode, ExtValue, Message, PortNo, Version};

use board::{
    BAD_LENGTH, BAD_TYPE, BOARD, Board, EVENT, LIST, NO_PLACE, Notes, PLACES, ROWS, WATCH, WRITE,
    WRITTEN, bytes, notes,
};

/// The switch with the fast path.
type Switch = bofuss_agent::Switch<bofuss_fastpath::FastPath>;

/// An [`SwitchIo`] that records what the switch does.
#[derive(Default)]
struct Kept {
    sent: Vec<(u64, u32, Message)>,
    frames: Vec<(u32, u8)>,
    /// A connection that accepts no messages.
    stuck: Option<ConnId>,
}

impl SwitchIo for Kept {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.frames.push((port.0, frame.bytes()[0]));
    }
    fn flush(&mut self) {}
    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        self.sent.push((conn.0, xid, message));
    }
    fn has_room(&self, conn: ConnId) -> bool {
        self.stuck != Some(conn)
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch with a board, four ports and two controllers.
struct Lab {
    switch: Switch,
    io: Kept,
    now: Time,
    catalogue: Arc<Catalogue>,
}

const ONE: ConnId = ConnId(1);
const TWO: ConnId = ConnId(2);

impl Lab {
    fn new() -> Self {
        let mut catalogue = Catalogue::default();
        catalogue.add("board", &[], &ROWS).unwrap();
        catalogue.add("nobody", &[], &NOBODYS).unwrap();
        let catalogue = Arc::new(catalogue);
        let pool = Pool::new(1 << 24);
        let mut datapath = Datapath::new(Config::default(), catalogue.clone(), pool);
        datapath.add_hook(Box::new(Board::default()));
        let identity = Identity::default();
        let mut switch = Switch::new(Time(0), datapath, identity, FailMode::Secure);
        for conn in [ONE, TWO] {
            switch.connected(Time(0), conn, Version::V1_3, true);
        }
        let mut lab = Self {
            switch,
            io: Kept::default(),
            now: Time(0),
            catalogue,
        };
        (1..=4).for_each(|port| lab.port(port));
        lab.io.sent.clear();
        lab
    }

    fn port(&mut self, number: u32) {
        let desc = PortDesc {
            port_no: PortNo(number),
            ..PortDesc::default()
        };
        let capabilities = OffloadCapabilities::default();
        self.switch.ports(self.now, &mut self.io, |ports| {
            ports.changed(desc, capabilities)
        });
    }

    fn message(&mut self, conn: ConnId, message: Message) -> Vec<(u64, u32, Message)> {
        let request = Request {
            xid: 7,
            head: &[4, 4, 0, 16],
            message: Ok(message),
        };
        self.switch.message(self.now, conn, request, &mut self.io);
        self.sent()
    }

    fn tell(&mut self, conn: ConnId, value: ExtValue) -> Vec<(u64, u32, Message)> {
        self.message(conn, Message::Experimenter(value))
    }

    fn list(&mut self, conn: ConnId, places: &[(u32, u64)]) -> Vec<(u64, u32, Message)> {
        let body = RequestBody::Experimenter(ExtBody(notes(LIST, places)));
        self.message(conn, Message::MultipartRequest(body.into()))
    }

    fn sent(&mut self) -> Vec<(u64, u32, Message)> {
        std::mem::take(&mut self.io.sent)
    }

    fn role(&mut self, conn: ConnId, role: ControllerRole) {
        let generation_id = 0;
        let asked = Role {
            role,
            generation_id,
            ..Role::default()
        };
        self.message(conn, Message::RoleRequest(asked));
    }

    fn flow(&mut self, command: FlowModCommand, text: &str) -> Vec<(u64, u32, Message)> {
        let flow_mod = parse_flow(text, command, &self.catalogue).unwrap();
        self.message(ONE, Message::FlowMod(flow_mod))
    }
}

/// A row whose extension has no behaviour.
static NOBODYS: [ExtRow; 1] = [ExtRow::new(ExtKind::Message, 0x00b0_a4d1, 1, "nobodys")];

fn told(conn: u64, xid: u32, value: ExtValue) -> (u64, u32, Message) {
    (conn, xid, Message::Experimenter(value))
}

/// The errors among these, with the connection.
fn errors(sent: &[(u64, u32, Message)]) -> Vec<(u64, u32, ErrorCode)> {
    let error = |(conn, xid, message): &(u64, u32, Message)| match message {
        Message::Error(error) => Some((*conn, *xid, error.error)),
        _ => None,
    };
    sent.iter().filter_map(error).collect()
}

/// The parts of a multipart reply: the flag MORE, and the places listed.
fn parts(sent: &[(u64, u32, Message)]) -> Vec<(bool, Vec<u32>)> {
    let part = |(_, xid, message): &(u64, u32, Message)| {
        let Message::MultipartReply(reply) = message else {
            panic!("{message}")
        };
        let ReplyBody::Experimenter(ExtBody(value)) = &reply.body else {
            panic!("{message}")
        };
        let Notes(list) = value.body().unwrap();
        assert_eq!(*xid, 7);
        (reply.more, list.iter().map(|note| note.place).collect())
    };
    sent.iter().map(part).collect()
}

#[test]
fn a_hook_knows_who_asks_and_answers() {
    let mut lab = Lab::new();
    let sent = lab.tell(TWO, bytes(WATCH, "short"));
    assert_eq!(sent, [told(2, 7, bytes(WATCH, "2 equal 1.3 0 4"))]);
    let sent = lab.tell(TWO, bytes(WATCH, ""));
    assert_eq!(sent, [told(2, 7, bytes(WATCH, "2 equal 1.3 1 4"))]);
    let nobodys = ExtValue::new(&NOBODYS[0], vec![], Bytes::default());
    let sent = lab.tell(ONE, nobodys);
    assert_eq!(errors(&sent), [(1, 7, BadRequest::BAD_EXPERIMENTER)]);
    let sent = lab.tell(ONE, bytes(EVENT, ""));
    assert_eq!(errors(&sent), [(1, 7, BadRequest::BAD_EXP_TYPE)]);
}

#[test]
fn a_slave_sends_nothing_that_changes_the_switch() {
    let mut lab = Lab::new();
    lab.role(TWO, ControllerRole::SLAVE);
    let sent = lab.tell(TWO, notes(WRITE, &[(1, 5)]));
    assert_eq!(errors(&sent), [(2, 7, BadRequest::IS_SLAVE)]);
    assert_eq!(parts(&{ lab.list(TWO, &[]) }), []);
    lab.switch.work(lab.now, &mut lab.io);
    let sent = lab.tell(TWO, bytes(WATCH, ""));
    assert!(sent.contains(&told(2, 7, bytes(WATCH, "2 slave 1.3 0 4"))));
}

#[test]
fn notifications_go_to_those_that_want_them_in_their_form() {
    let mut lab = Lab::new();
    let write = |text| notes(WRITE, &[(1, text)]);
    let written = |text| notes(WRITTEN, &[(1, text)]);
    // Every controller whose role is not slave gets it.
    let sent = lab.tell(ONE, write(5));
    assert_eq!(sent, [told(1, 0, written(5)), told(2, 0, written(5))]);
    // Each connection gets its own form.
    lab.tell(TWO, bytes(WATCH, "short"));
    let sent = lab.tell(ONE, write(6));
    assert_eq!(sent, [told(1, 0, written(6)), told(2, 0, written(0))]);
    lab.role(TWO, ControllerRole::SLAVE);
    let sent = lab.tell(ONE, write(7));
    assert_eq!(sent, [told(1, 0, written(7))]);
    // Only subscribers get it, in any role, until they unsubscribe or close.
    lab.port(5);
    assert!(
        lab.sent()
            .contains(&told(2, 0, bytes(EVENT, "port 5 true")))
    );
    lab.tell(TWO, bytes(WATCH, "no"));
    lab.port(6);
    let events = |sent: Vec<(u64, u32, Message)>| {
        let is_event = |message: &Message| matches!(message, Message::Experimenter(_));
        sent.iter().filter(|one| is_event(&one.2)).count()
    };
    assert_eq!(events(lab.sent()), 0);
    // A message that is answered with an error has no other effect.
    let sent = lab.tell(ONE, write(0));
    assert_eq!(
        errors(&sent),
        [(1, 7, ErrorCode::of_experimenter(BOARD, 9))]
    );
    assert_eq!(sent.len(), 1);
}

#[test]
fn a_connection_without_room_loses_notifications_and_that_is_counted() {
    let mut lab = Lab::new();
    lab.io.stuck = Some(TWO);
    for _ in 0..10 {
        let sent = lab.tell(ONE, notes(WRITE, &[(1, 5)]));
        assert_eq!(sent.len(), 1, "the others are told");
    }
    assert_eq!(lab.switch.lost(TWO).notifications, 10);
    assert_eq!(lab.switch.lost(ONE).notifications, 0);
}

#[test]
fn events_and_time_reach_the_controllers_and_send_packets() {
    let mut lab = Lab::new();
    lab.tell(ONE, bytes(WATCH, ""));
    let event = |text| told(1, 0, bytes(EVENT, text));
    lab.flow(FlowModCommand::ADD, "priority=5,in_port=1,actions=output:2");
    let sent = lab.flow(FlowModCommand::DELETE, "in_port=1");
    assert_eq!(sent, [event("removed 5")]);
    lab.switch
        .ports(lab.now, &mut lab.io, |ports| ports.removed(PortNo(4)));
    assert!(lab.sent().contains(&event("port 4 false")));
    lab.port(4);
    lab.sent();
    lab.now = Time(Time::SEC);
    lab.switch.tick(lab.now, &mut lab.io);
    assert_eq!(lab.sent(), [event("tick")]);
    assert_eq!(lab.io.frames, [(4, 9)]);
    lab.tell(ONE, notes(WRITE, &[]));
    assert_eq!(lab.io.frames, [(4, 9), (2, 7)]);
    // A reply to a flow-mod has its transaction id and goes only to its connection.
    let sent = lab.flow(FlowModCommand::ADD, "cookie=99,in_port=1,actions=output:2");
    assert_eq!(sent, [told(1, 7, bytes(EVENT, "flow-mod"))]);
}

#[test]
fn a_long_list_goes_in_slices_and_others_are_served_in_between() {
    let mut lab = Lab::new();
    let all: Vec<(u32, u64)> = (0..PLACES)
        .filter(|n| n % 300 == 7)
        .map(|n| (n, 5))
        .collect();
    lab.tell(ONE, notes(WRITE, &all));
    let mut sent = lab.list(ONE, &[]);
    assert_eq!(parts(&sent), [(true, vec![7])]);
    assert!(!lab.switch.is_ready(ONE, &lab.io) && lab.switch.is_ready(TWO, &lab.io));
    let mut turns = 1;
    while lab.switch.has_work(&lab.io) {
        lab.switch.work(lab.now, &mut lab.io);
        turns += 1;
    }
    sent.extend(lab.sent());
    let wanted = [
        (true, vec![7]),
        (true, vec![307]),
        (true, vec![607]),
        (false, vec![907]),
    ];
    assert_eq!(parts(&sent), wanted);
    assert_eq!(turns, 10, "a slice a turn");
    // An error in the middle ends it.
    lab.tell(ONE, notes(WRITE, &[(500, 13)]));
    lab.list(ONE, &[]);
    while lab.switch.has_work(&lab.io) {
        lab.switch.work(lab.now, &mut lab.io);
    }
    assert_eq!(errors(&lab.sent()), [(1, 7, NO_PLACE)]);
    // So does an error at the beginning, which quotes the request.
    lab.tell(ONE, notes(WRITE, &[(0, 13)]));
    let sent = lab.list(ONE, &[]);
    assert_eq!(errors(&sent), [(1, 7, NO_PLACE)]);
    assert!(matches!(&sent[0].2, Message::Error(error) if error.data.0 == [4, 4, 0, 16]));
    assert!(lab.switch.is_ready(ONE, &lab.io));
}

#[test]
fn an_extension_learns_that_a_main_connection_closed_but_not_an_auxiliary_one() {
    let mut lab = Lab::new();
    let auxiliary = ConnId(77);
    assert!(lab.switch.connected_auxiliary(ONE, auxiliary, 1, false));
    lab.switch.disconnected(lab.now, auxiliary);
    lab.switch.disconnected(lab.now, ONE);
    let sent = lab.list(TWO, &[]);
    assert_eq!(parts(&sent), [(true, vec![ONE.0 as u32])]);
}

/// A lab in which [`TWO`] is told of groups and of the board's events.
fn watched() -> Lab {
    let mut lab = Lab::new();
    for conn in [ONE, TWO] {
        lab.switch.disconnected(lab.now, conn);
        lab.switch.connected(lab.now, conn, Version::V1_4, true);
    }
    let masks = AsyncConfig {
        request_forward: 1 << RequestForwardReason::GROUP_MOD.0,
        ..AsyncConfig::default()
    };
    assert_eq!(lab.message(TWO, Message::SetAsync(masks)), []);
    lab.tell(TWO, bytes(WATCH, ""));
    lab
}

/// Closes [`ONE`] and completes what it began. Returns what was sent.
fn close_and_finish(lab: &mut Lab) -> Vec<(u64, u32, Message)> {
    assert!(lab.switch.is_changing(), "it is not complete");
    lab.switch.disconnected(lab.now, ONE);
    while lab.switch.has_work(&lab.io) {
        lab.switch.work(lab.now, &mut lab.io);
    }
    lab.sent()
}

#[test]
fn a_long_change_is_reported_although_its_connection_closed() {
    let mut lab = watched();
    for n in 0..1000 {
        lab.flow(FlowModCommand::ADD, &format!("priority={n},actions=drop"));
    }
    lab.flow(FlowModCommand::MODIFY, "cookie=98,actions=output:2");
    let event = bytes(EVENT, "flow-mod of None");
    assert_eq!(close_and_finish(&mut lab), [told(2, 0, event)]);
}

#[test]
fn a_bundle_that_packets_see_is_reported_although_its_connection_closed() {
    const FLOWS: u32 = 100;
    let mut lab = watched();
    let mut mods = Vec::new();
    for n in 1..=FLOWS {
        let text = format!("cookie=98,priority={n},actions=output:2");
        let flow_mod = parse_flow(&text, FlowModCommand::ADD, &lab.catalogue).unwrap();
        mods.push(Message::FlowMod(flow_mod));
    }
    let text = "group_id=1,type=all,bucket=output:2";
    let group = parse_group(text, GroupModCommand::ADD, &lab.catalogue).unwrap();
    mods.push(Message::GroupMod(group.clone()));
    for message in mods {
        let add = BundleAdd {
            bundle_id: 5,
            flags: BundleFlags(0),
            xid: 7,
            message: Box::new(message),
            experimenters: Vec::new(),
        };
        assert_eq!(lab.message(ONE, Message::BundleAdd(add)), []);
    }
    let commit = BundleControl {
        bundle_id: 5,
        ty: BundleControlType::COMMIT_REQUEST,
        flags: BundleFlags(0),
        ..BundleControl::default()
    };
    lab.message(ONE, Message::BundleControl(commit));
    while lab.io.frames.is_empty() {
        lab.switch.work(lab.now, &mut lab.io);
        let frame = lab.switch.datapath().pool().frame(&[9; 60]).unwrap();
        lab.switch
            .receive(lab.now, PortNo(1), &mut vec![frame], &mut lab.io);
    }
    let sent = close_and_finish(&mut lab);
    let event = told(2, 0, bytes(EVENT, "flow-mod of None"));
    assert_eq!(
        sent.iter().filter(|one| **one == event).count(),
        FLOWS as usize
    );
    let forward = RequestForward {
        xid: 7,
        request: Box::new(Message::GroupMod(group)),
    };
    let forward = (2, 0, Message::RequestForward(forward));
    assert_eq!(sent.last(), Some(&forward));
    assert_eq!(sent.len(), FLOWS as usize + 1, "nothing else is sent");
}

#[test]
fn errors_of_the_extension_come_from_its_bodies() {
    let lab = Lab::new();
    let codec = Codec::new(Version::V1_3, lab.catalogue.clone());
    let read = |body: &[u8]| {
        let mut bytes = vec![4, 4, 0, 12 + body.len() as u8, 0, 0, 0, 1];
        bytes.extend(BOARD.to_be_bytes());
        bytes.extend(body);
        codec.decode(&bytes).map_err(|error| error.error)
    };
    assert_eq!(read(&[0, 0, 0, 77]), Err(BAD_TYPE));
    assert_eq!(read(&[0, 0, 0, 1, 0]), Err(BAD_LENGTH));
    let far = [0, 0, 0, 1, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(read(&far), Err(NO_PLACE));
}
