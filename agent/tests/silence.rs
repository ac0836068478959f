//! No change silences other connections: they are served between its slices, and each of their
//! reads shows one state.
#![allow(clippy::unwrap_used)]

mod every_message;

use bofuss_agent::{ConnId, FailMode};
use bofuss_oflib::error::{BadRequest, BundleFailed};
use bofuss_oflib::message::bundle::{BundleControlType as T, BundleFlags, Timestamp};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, GroupDescRequest, GroupRequest, ReplyBody, RequestBody,
};
use bofuss_oflib::message::{BundleAdd, BundleControl, Empty, FlowModCommand as C, GroupMod, Role};
use bofuss_oflib::text::{parse_flow, parse_group};
use bofuss_oflib::types::{GroupId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, ErrorCode, Mac, Message, PortNo, Version};
use bofuss_packet::craft;

use crate::common::{CONN, Lab, MS};

/// The connection that must not be silenced.
const OTHER: ConnId = ConnId(2);
/// How many entries the table with most of them has.
const ENTRIES: u16 = 1000;

/// A switch with two connections and many entries that lead to group 1, whose bucket outputs to
/// port 2.
fn lab() -> Lab {
    let mut lab = Lab::new(u32::from(ENTRIES) + 100, FailMode::Secure);
    lab.switch.connected(lab.now, OTHER, Version::V1_4, true);
    for id in 1..=100 {
        let group = group(&lab, GroupModCommand::ADD, id, 2);
        lab.message(group);
    }
    lab.flow(C::ADD, "priority=9,actions=output:2,goto_table:1");
    for n in 1..=ENTRIES {
        let text = format!("table=1,priority={n},tcp,tp_dst={n},actions=output:2");
        lab.flow(C::ADD, &text);
    }
    lab.io.messages.clear();
    lab
}

fn group(lab: &Lab, command: GroupModCommand, id: u32, port: u32) -> Message {
    let text = format!("group_id={id},type=all,bucket=output:{port}");
    Message::GroupMod(parse_group(&text, command, &lab.catalogue).unwrap())
}

fn flow(lab: &Lab, command: C, text: &str) -> Message {
    Message::FlowMod(parse_flow(text, command, &lab.catalogue).expect(text))
}

fn echo() -> Message {
    Message::EchoRequest(Bytes(vec![7]))
}

fn read(body: RequestBody) -> Message {
    Message::MultipartRequest(body.into())
}

fn all_flows() -> FlowStatsRequest {
    FlowStatsRequest {
        table_id: TableId::ALL,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        ..FlowStatsRequest::default()
    }
}

fn control(ty: T, flags: BundleFlags) -> BundleControl {
    BundleControl {
        bundle_id: 5,
        ty,
        flags,
        ..BundleControl::default()
    }
}

/// Puts messages into a bundle of a connection.
fn fill(lab: &mut Lab, conn: ConnId, messages: impl IntoIterator<Item = Message>) {
    for message in messages {
        let add = BundleAdd {
            bundle_id: 5,
            flags: BundleFlags::ATOMIC,
            xid: 3,
            message: Box::new(message),
            experimenters: Vec::new(),
        };
        assert_eq!(lab.ask(conn, 3, Message::BundleAdd(add)), []);
    }
}

/// Commits a bundle of [`CONN`] with these messages, without its slices.
fn begin_bundle(lab: &mut Lab, messages: impl IntoIterator<Item = Message>) {
    fill(lab, CONN, messages);
    let commit = control(T::COMMIT_REQUEST, BundleFlags::ATOMIC);
    assert_eq!(lab.ask(CONN, 4, Message::BundleControl(commit)), []);
}

/// Asks on [`OTHER`] for what must be answered at any time.
fn asks_at_once(lab: &mut Lab) {
    let waiting = std::mem::take(&mut lab.io.messages);
    let asked = [
        (echo(), "ECHO_REPLY"),
        (Message::RoleRequest(Role::default()), "ROLE_REPLY"),
        (Message::BarrierRequest(Empty), "BARRIER_REPLY"),
        (Message::GetConfigRequest(Empty), "GET_CONFIG_REPLY"),
        (read(RequestBody::Desc(Empty)), "MULTIPART_REPLY"),
    ];
    for (message, reply) in asked {
        assert!(
            lab.switch.takes(OTHER, Some(&message), &lab.io),
            "{message}"
        );
        let told = lab.ask(OTHER, 1, message);
        let mut names: Vec<_> = told.iter().map(Message::name).collect();
        // Others are told about the role.
        names.retain(|name| *name != "CONTROLLER_STATUS");
        assert_eq!(names, [reply]);
    }
    lab.io.messages = waiting;
}

/// Completes the change in progress. Before each slice, [`OTHER`] asks and is answered, and the
/// connection that asked for the change waits. Returns the number of slices.
fn finish(lab: &mut Lab) -> usize {
    let mut slices = 0;
    while lab.switch.is_changing() {
        assert!(!lab.switch.takes(CONN, Some(&echo()), &lab.io), "its turn");
        asks_at_once(lab);
        lab.switch.work(lab.now, &mut lab.io);
        slices += 1;
    }
    slices
}

#[test]
fn a_bundle_of_modify_alls_lets_others_be_served_between_its_slices() {
    let mut lab = lab();
    let modify = flow(&lab, C::MODIFY, "table=1,actions=output:3");
    begin_bundle(&mut lab, vec![modify; 20]);
    let slices = finish(&mut lab);
    assert!(slices > 20 * usize::from(ENTRIES) / 64, "{slices}");
    assert_eq!(lab.io.messages.len(), 1, "the reply to the commit");
}

#[test]
fn plain_changes_of_many_entries_let_others_be_served_between_their_slices() {
    let mut lab = lab();
    for (command, text) in [
        (C::MODIFY, "table=1,actions=group:1"),
        (C::MODIFY, "table=1,actions=group:2"),
        (
            C::ADD,
            "table=1,priority=2000,check_overlap,udp,actions=drop",
        ),
    ] {
        lab.flow(command, text);
        assert!(finish(&mut lab) > 5, "{text}");
    }
    let delete = GroupMod {
        command: GroupModCommand::DELETE,
        group_id: GroupId::ALL,
        ..GroupMod::default()
    };
    lab.message(Message::GroupMod(delete));
    assert!(finish(&mut lab) > 50);
    assert_eq!(lab.switch.datapath().tables()[1].len(), 1);
    assert_eq!(lab.switch.datapath().groups().count(), 0);
    assert_eq!(lab.io.messages, []);
}

#[test]
fn waiting_scheduled_bundles_of_many_connections_let_others_be_served() {
    const CLOCK_NS: u64 = 1_700_000_000_000_000_000;
    let mut lab = lab();
    lab.switch.clock_mut().set(CLOCK_NS);
    let conns: Vec<ConnId> = (10..30).map(ConnId).collect();
    for (n, conn) in conns.iter().enumerate() {
        lab.switch.connected(lab.now, *conn, Version::V1_4, true);
        let text = format!("table=1,priority={},udp,actions=output:3", 3000 + n);
        let add = flow(&lab, C::ADD, &text);
        fill(&mut lab, *conn, vec![add; 40]);
        let commit = BundleControl {
            scheduled: Some(Timestamp::of_nanos(CLOCK_NS + (5 + n as u64) * MS)),
            ..control(T::COMMIT_REQUEST, BundleFlags::ATOMIC | BundleFlags::TIME)
        };
        lab.ask(*conn, 4, Message::BundleControl(commit));
    }
    lab.io.messages.clear();
    let mut changed = 0;
    for _ in 0..4000 {
        lab.now = lab.now.after(MS / 100);
        lab.switch.tick(lab.now, &mut lab.io);
        lab.switch.work(lab.now, &mut lab.io);
        changed += usize::from(lab.switch.is_changing());
        asks_at_once(&mut lab);
    }
    assert!(changed > 1000, "most of the time one is prepared or waits");
    assert_eq!(lab.io.messages.len(), conns.len(), "{:?}", lab.io.messages);
    assert_eq!(lab.switch.datapath().tables()[1].len(), 1020);
}

#[test]
fn a_commit_that_takes_too_long_is_refused_and_changes_nothing() {
    const SLICES: usize = 1 << 18;
    const LONG: usize = 100;
    let mut lab = lab();
    lab.flow(C::DELETE, "table=1");
    // An entry with such a list has a slice of its own.
    let list = ",output:2".repeat(600);
    for n in 0..LONG {
        lab.flow(
            C::ADD,
            &format!("table=1,tcp,tp_dst={n},actions=output:2{list}"),
        );
    }
    let modify = flow(&lab, C::MODIFY, "table=1,udp,actions=output:3");
    begin_bundle(&mut lab, vec![modify; SLICES / LONG + 1]);
    lab.work();
    let errors: Vec<ErrorCode> = lab.io.messages.drain(..).map(error_of).collect();
    assert_eq!(
        errors,
        [BundleFailed::MSG_TOO_MANY, BundleFailed::MSG_FAILED]
    );
    assert_eq!(ports(&read_all(&mut lab)), vec![2; LONG + 1]);
}

fn error_of(message: Message) -> ErrorCode {
    match message {
        Message::Error(error) => error.error,
        other => panic!("{other:?}"),
    }
}

/// A complete reply to a read of all entries, when no change is in progress.
fn read_all(lab: &mut Lab) -> Vec<ReplyBody> {
    lab.io.messages = lab.ask(OTHER, 1, read(RequestBody::Flow(all_flows())));
    lab.work();
    lab.io.messages.drain(..).map(body_of).collect()
}

fn body_of(message: Message) -> ReplyBody {
    match message {
        Message::MultipartReply(reply) => reply.body,
        other => panic!("{other:?}"),
    }
}

/// The port to which each entry or group of a reply outputs.
fn ports(parts: &[ReplyBody]) -> Vec<u32> {
    let of = |action: &Action| match action {
        Action::Output(output) => output.port.0,
        other => panic!("{other:?}"),
    };
    let mut ports = Vec::new();
    for part in parts {
        match part {
            ReplyBody::Flow(list) => ports.extend(list.iter().map(|entry| {
                let mut actions = entry.0.instructions.actions();
                of(actions.next().unwrap())
            })),
            ReplyBody::GroupDesc(list) => {
                ports.extend(list.iter().map(|group| of(&group.buckets[0].actions[0])));
            }
            other => panic!("{other:?}"),
        }
    }
    ports
}

/// What a read shows, in short: a count of entries or groups and the ports that they output to.
fn shown(parts: &[ReplyBody]) -> (usize, Vec<u32>) {
    match &parts[0] {
        ReplyBody::Aggregate(sums) => (sums.flow_count as usize, Vec::new()),
        ReplyBody::Table(tables) => {
            let counts = tables.iter().map(|table| table.active_count as usize);
            (counts.sum(), Vec::new())
        }
        ReplyBody::Group(_) => {
            let lists = parts.iter().map(|part| match part {
                ReplyBody::Group(list) => list.iter().map(|group| group.0.ref_count).collect(),
                other => panic!("{other:?}"),
            });
            let counts: Vec<Vec<u32>> = lists.collect();
            (counts.concat().len(), Vec::new())
        }
        _ => {
            let mut ports = ports(parts);
            let count = ports.len();
            ports.sort_unstable();
            ports.dedup();
            (count, ports)
        }
    }
}

/// Completes a change, while [`OTHER`] reads again and again, and a frame passes after each slice.
/// Returns what its reads showed, each differing result once.
fn read_throughout(lab: &mut Lab, body: &RequestBody) -> Vec<(usize, Vec<u32>)> {
    let mut seen: Vec<(usize, Vec<u32>)> = Vec::new();
    let mut parts = Vec::new();
    let mut left = 50;
    let mut last_out = 2;
    while lab.switch.is_changing() || left > 0 {
        left -= usize::from(!lab.switch.is_changing()).min(left);
        let request = read(body.clone());
        if lab.switch.takes(OTHER, Some(&request), &lab.io) {
            assert!(parts.is_empty());
            lab.io.messages = lab.ask(OTHER, 1, request);
        }
        lab.switch.work(lab.now, &mut lab.io);
        for message in std::mem::take(&mut lab.io.messages) {
            let Message::MultipartReply(reply) = message else {
                continue;
            };
            parts.push(reply.body);
            if !reply.more {
                let result = shown(&std::mem::take(&mut parts));
                if !seen.contains(&result) {
                    seen.push(result);
                }
            }
        }
        lab.io.out.clear();
        lab.send(1, &frame());
        let out = lab.io.out[0];
        assert!(
            out >= last_out,
            "packets see the state before, then that after"
        );
        last_out = out;
    }
    seen
}

fn frame() -> Vec<u8> {
    let mac = |n| Mac([2, 0, 0, 0, 0, n]);
    craft::ethernet(mac(1), mac(2), craft::Layer::new(0x88b5, &[0; 60]))
}

/// Every read of entries and groups.
fn reads() -> Vec<RequestBody> {
    vec![
        RequestBody::Flow(all_flows()),
        RequestBody::Aggregate(all_flows()),
        RequestBody::Table(Empty),
        RequestBody::GroupDesc(GroupDescRequest::ALL),
        RequestBody::Group(GroupRequest {
            group_id: GroupId::ALL,
        }),
    ]
}

#[test]
fn each_read_shows_a_bundle_wholly_or_not_at_all() {
    for body in reads() {
        let mut lab = lab();
        let mut messages = vec![
            flow(&lab, C::MODIFY, "table=1,actions=output:3"),
            flow(&lab, C::MODIFY, "table=0,actions=output:3,goto_table:1"),
            flow(&lab, C::DELETE, "table=1,tcp,tp_dst=7"),
        ];
        for n in 0..50 {
            let text = format!("table=1,priority=7,udp,tp_dst={n},actions=output:3");
            messages.push(flow(&lab, C::ADD, &text));
        }
        for id in 1..=120 {
            messages.push(group(&lab, GroupModCommand::ADD_OR_MOD, id, 3));
        }
        begin_bundle(&mut lab, messages);
        let n = usize::from(ENTRIES) + 1;
        let expected = match &body {
            RequestBody::Flow(_) => [(n, vec![2]), (n + 49, vec![3])],
            RequestBody::GroupDesc(_) => [(100, vec![2]), (120, vec![3])],
            RequestBody::Group(_) => [(100, vec![]), (120, vec![])],
            _ => [(n, vec![]), (n + 49, vec![])],
        };
        assert_eq!(read_throughout(&mut lab, &body), expected, "{body:?}");
    }
}

#[test]
fn each_read_shows_a_plain_change_wholly_or_not_at_all() {
    let n = usize::from(ENTRIES);
    for begun in [false, true] {
        let mut lab = lab();
        if begun {
            lab.io.messages = lab.ask(OTHER, 1, read(RequestBody::Flow(all_flows())));
        }
        let modify = "table=1,actions=output:3";
        let started = lab.io.messages.clone();
        lab.flow(C::MODIFY, modify);
        assert_eq!(lab.io.messages, started);
        let seen = if begun {
            let parts = finish_read(&mut lab);
            ports(&parts)
        } else {
            Vec::new()
        };
        assert!(seen.iter().all(|port| *port == 2), "it began before");
        lab.work();
        let mut after = ports(&read_all(&mut lab));
        after.retain(|port| *port == 3);
        assert_eq!(after.len(), n);
        lab.flow(C::DELETE, "table=1,out_port=3");
        let seen = read_throughout(&mut lab, &RequestBody::Aggregate(all_flows()));
        assert_eq!(seen, [(1, vec![])], "a read waits for a plain change");
    }
}

/// The parts of a read that has begun.
fn finish_read(lab: &mut Lab) -> Vec<ReplyBody> {
    let mut parts = Vec::new();
    loop {
        for message in std::mem::take(&mut lab.io.messages) {
            let Message::MultipartReply(reply) = message else {
                panic!("{message:?}");
            };
            parts.push(reply.body);
            if !reply.more {
                return parts;
            }
        }
        lab.switch.work(lab.now, &mut lab.io);
    }
}

// I11
#[test]
fn a_reader_that_does_not_read_holds_a_change_up_for_a_moment_only() {
    let mut lab = lab();
    lab.ask(OTHER, 1, read(RequestBody::Flow(all_flows())));
    lab.io.stuck = true;
    lab.flow(C::DELETE, "table=1");
    lab.switch.work(lab.now, &mut lab.io);
    assert!(!lab.switch.has_work(&lab.io), "it waits without spinning");
    assert_eq!(
        lab.switch.datapath().tables()[1].len(),
        usize::from(ENTRIES)
    );
    lab.advance(100);
    lab.work();
    assert_eq!(lab.switch.datapath().tables()[1].len(), 0);
    let told: Vec<ErrorCode> = lab.io.messages.drain(..).map(error_of).collect();
    assert_eq!(
        told,
        [BadRequest::MULTIPART_REPLY_TIMEOUT],
        "not a mixed list"
    );
}
