//! Changes of many entries and long lists are done in slices: packets pass in between, the
//! connection waits.
#![allow(clippy::unwrap_used)]

use bofuss_agent::{ConnId, FailMode};
use bofuss_oflib::message::{Empty, FlowModCommand as C};
use bofuss_oflib::text::{parse_flow, parse_group, parse_meter};
use bofuss_oflib::types::{GroupId, MeterId, TableId};
use bofuss_oflib::{Mac, Message, PortNo, Version};
use bofuss_packet::craft;

use crate::common::{CONN, Lab};

/// A second connection.
const OTHER: ConnId = ConnId(2);
/// How many entries the changed table has; they take many slices.
const ENTRIES: u16 = 1000;

/// A switch with many entries of low priority, one of which sends packets to port 2.
fn lab() -> Lab {
    let mut lab = Lab::new(u32::from(ENTRIES) + 1, FailMode::Secure);
    for n in 0..ENTRIES {
        let text = format!("table=1,priority={n},tcp,tp_dst={n},actions=output:3");
        lab.flow(C::ADD, &text);
    }
    lab.flow(C::ADD, "priority=9,cookie=9,actions=output:2");
    lab
}

fn frame() -> Vec<u8> {
    let mac = |n| Mac([2, 0, 0, 0, 0, n]);
    craft::ethernet(mac(1), mac(2), craft::Layer::new(0x88b5, &[0; 60]))
}

/// Completes the change in progress, with packets in between. Returns how many slices that took.
fn finish(lab: &mut Lab) -> usize {
    let mut slices = 0;
    while lab.switch.has_work(&lab.io) {
        assert!(!lab.switch.is_ready(CONN, &lab.io), "messages wait");
        lab.switch.work(lab.now, &mut lab.io);
        lab.io.out.clear();
        lab.send(1, &frame());
        assert_eq!(lab.io.out, [2], "packets do not");
        slices += 1;
    }
    slices
}

fn left(lab: &Lab) -> usize {
    lab.switch.datapath().tables()[1].len()
}

#[test]
fn a_delete_of_many_entries_lets_packets_pass() {
    let mut lab = lab();
    lab.flow(C::DELETE, "table=1");
    assert!(lab.switch.is_changing(), "it has begun");
    assert!(finish(&mut lab) > 5);
    assert_eq!((left(&lab), lab.io.messages.len()), (0, 0));
}

#[test]
fn a_modify_of_many_entries_lets_packets_pass_and_changes_all() {
    let mut lab = lab();
    lab.flow(C::MODIFY, "table=1,actions=output:4");
    assert!(finish(&mut lab) > 5);
    lab.flow(C::DELETE, "table=1,out_port=4");
    finish(&mut lab);
    assert_eq!(left(&lab), 0);
}

#[test]
fn an_overlap_that_is_found_late_is_reported_and_adds_nothing() {
    for (priority, error) in [(ENTRIES - 1, true), (ENTRIES, false)] {
        let mut lab = lab();
        let text = format!("table=1,priority={priority},check_overlap,ip,actions=drop");
        lab.flow(C::ADD, &text);
        assert!(finish(&mut lab) > 5);
        let told = lab.io.messages.pop();
        assert_eq!(matches!(told, Some(Message::Error(_))), error, "{told:?}");
        assert_eq!(left(&lab), usize::from(ENTRIES) + usize::from(!error));
    }
}

#[test]
fn the_entries_of_a_deleted_meter_go_in_slices() {
    let mut lab = lab();
    let meter = |command| {
        let text = "meter=1,pktps,bands=type=drop,rate=1000";
        Message::MeterMod(parse_meter(text, command).unwrap())
    };
    use bofuss_oflib::message::meter_mod::MeterModCommand;
    lab.message(meter(MeterModCommand::ADD));
    lab.flow(C::MODIFY, "table=1,actions=meter:1,output:4");
    finish(&mut lab);
    lab.message(meter(MeterModCommand::DELETE));
    assert!(finish(&mut lab) > 5);
    assert_eq!(left(&lab), 0);
}

#[test]
fn a_barrier_waits_for_the_entries_of_a_table_that_loses_features() {
    use bofuss_oflib::message::multipart::{ReplyBody, RequestBody};
    let mut lab = lab();
    let mut shape = |tables| {
        let request = RequestBody::TableFeatures(tables);
        let told = lab.ask(CONN, 7, Message::MultipartRequest(request.into()));
        match told.as_slice() {
            [Message::MultipartReply(reply)] => match &reply.body {
                ReplyBody::TableFeatures(tables) => tables.clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    let mut tables = shape(Vec::new());
    tables[1].0.metadata_match = 0;
    assert_eq!(shape(tables.clone()), tables);
    // Another connection that only asks for the features does not make the change its own.
    lab.switch.connected(lab.now, OTHER, Version::V1_3, true);
    let asked = RequestBody::TableFeatures(Vec::new());
    let asked = Message::MultipartRequest(asked.into());
    assert!(lab.switch.takes(OTHER, Some(&asked), &lab.io));
    assert_eq!(lab.ask(OTHER, 8, asked).len(), 1);
    let barrier = Message::BarrierRequest(Empty);
    assert!(lab.switch.takes(OTHER, Some(&barrier), &lab.io));
    assert!(!lab.switch.takes(CONN, Some(&barrier), &lab.io));
    assert!(finish(&mut lab) > 5);
    assert!(lab.switch.takes(CONN, Some(&barrier), &lab.io));
    assert_eq!((left(&lab), lab.io.messages.len()), (0, 0));
}

#[test]
fn groups_and_meters_are_listed_in_parts_each_once() {
    use bofuss_oflib::message::group_mod::GroupModCommand;
    use bofuss_oflib::message::meter_mod::MeterModCommand;
    use bofuss_oflib::message::multipart::{
        GroupDescRequest, GroupRequest, MeterRequest, ReplyBody, RequestBody,
    };
    const COUNT: u32 = 300;
    let mut lab = Lab::new(10, FailMode::Secure);
    for id in 1..=COUNT {
        let text = format!("group_id={id},type=all,bucket=output:2");
        let group = parse_group(&text, GroupModCommand::ADD, &lab.catalogue).unwrap();
        lab.message(Message::GroupMod(group));
        let text = format!("meter={id},pktps,bands=type=drop,rate=1000");
        lab.message(Message::MeterMod(
            parse_meter(&text, MeterModCommand::ADD).unwrap(),
        ));
    }
    let groups = GroupRequest {
        group_id: GroupId::ALL,
    };
    let meters = MeterRequest {
        meter_id: MeterId::ALL,
    };
    for request in [
        RequestBody::Group(groups),
        RequestBody::GroupDesc(GroupDescRequest::ALL),
        RequestBody::Meter(meters.clone()),
        RequestBody::MeterConfig(meters),
    ] {
        lab.message(Message::MultipartRequest(request.into()));
        lab.work();
        let parts = lab.io.messages.len();
        assert!(parts > 5, "{parts} parts");
        let mut ids: Vec<u32> = Vec::new();
        for (i, message) in lab.io.messages.drain(..).enumerate() {
            let Message::MultipartReply(reply) = message else {
                panic!("{message:?}")
            };
            assert_eq!(reply.more, i + 1 < parts);
            match reply.body {
                ReplyBody::Group(list) => ids.extend(list.iter().map(|g| g.0.group_id.0)),
                ReplyBody::GroupDesc(list) => ids.extend(list.iter().map(|g| g.group_id.0)),
                ReplyBody::Meter(list) => ids.extend(list.iter().map(|m| m.meter_id.0)),
                ReplyBody::MeterConfig(list) => ids.extend(list.iter().map(|m| m.meter_id.0)),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(ids, (1..=COUNT).collect::<Vec<_>>());
    }
}

#[test]
fn packets_pass_in_each_turn_while_a_slow_reader_gets_a_list_and_flow_removeds() {
    use bofuss_oflib::message::multipart::{FlowStatsRequest, RequestBody};
    let mut lab = lab();
    lab.flow(C::MODIFY, "table=1,actions=output:4");
    lab.flow(C::ADD, "table=1,send_flow_rem,sctp,actions=output:4");
    finish(&mut lab);
    let all = FlowStatsRequest {
        table_id: TableId::ALL,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        ..FlowStatsRequest::default()
    };
    lab.message(Message::MultipartRequest(RequestBody::Flow(all).into()));
    let (mut turns, mut most) = (0, 0);
    loop {
        // The reader takes messages in one turn of three.
        lab.io.stuck = turns % 3 != 0;
        if !lab.io.stuck && !lab.switch.has_work(&lab.io) {
            break;
        }
        let before = lab.io.messages.len();
        lab.switch.work(lab.now, &mut lab.io);
        most = most.max(lab.io.messages.len() - before);
        lab.io.out.clear();
        lab.send(1, &frame());
        assert_eq!(lab.io.out, [2], "packets do not pass");
        turns += 1;
    }
    assert!(turns > 30, "{turns} turns");
    assert_eq!(most, 1, "a turn makes one part of a list");
    let parts = lab.io.messages.drain(..).count();
    lab.flow(C::DELETE, "table=1");
    assert!(finish(&mut lab) > 5);
    assert_eq!((left(&lab), lab.io.messages.len()), (0, 1), "{parts} parts");
    // A connection that closes in the middle of its list leaves no work.
    lab.flow(C::ADD, "table=1,priority=1,actions=output:3");
    let all = FlowStatsRequest {
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        ..FlowStatsRequest::default()
    };
    lab.io.stuck = true;
    lab.message(Message::MultipartRequest(RequestBody::Flow(all).into()));
    lab.switch.disconnected(lab.now, CONN);
    lab.io.stuck = false;
    assert!(!lab.switch.has_work(&lab.io));
}

#[test]
fn a_buffered_packet_that_expires_during_its_flow_mod_is_lost_and_the_change_is_made() {
    for (waits_ms, out) in [(1_000, vec![4]), (6_000, vec![])] {
        let mut lab = lab();
        lab.flow(C::ADD, "priority=10,actions=controller:16");
        lab.send(1, &frame());
        let Some(Message::PacketIn(held)) = lab.io.messages.pop() else {
            panic!("no packet-in");
        };
        lab.flow(C::ADD, "priority=10,actions=output:4");
        let text = "table=1,actions=output:4";
        let mut flow_mod = parse_flow(text, C::MODIFY, &lab.catalogue).unwrap();
        flow_mod.buffer_id = held.buffer_id;
        lab.message(Message::FlowMod(flow_mod));
        assert!(lab.switch.is_changing(), "it has begun");
        lab.advance(waits_ms);
        lab.work();
        assert_eq!((&lab.io.out, &lab.io.messages), (&out, &vec![]));
        lab.flow(C::DELETE, "table=1,out_port=4");
        lab.work();
        assert_eq!(left(&lab), 0);
    }
}

#[test]
fn a_message_that_does_not_wait_finds_the_change_complete() {
    let mut lab = lab();
    lab.flow(C::DELETE, "table=1");
    lab.message(Message::BarrierRequest(Empty));
    assert_eq!(left(&lab), 0);
    assert_eq!(lab.io.messages, [Message::BarrierReply(Empty)]);
}
