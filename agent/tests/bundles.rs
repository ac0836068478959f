//! Bundles: each takes effect as a whole or not at all, and no packet sees a part of it.
#![allow(clippy::unwrap_used)]

mod atomic;
mod expiry;
mod groups;
mod limits;

use bofuss_agent::{ConnId, FailMode};
use bofuss_datapath::Engine;
use bofuss_oflib::error::{BadAction, BundleFailed, FlowModFailed};
use bofuss_oflib::message::bundle::{BundleControlType as T, BundleFlags};
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, MultipartRequest, ReplyBody, RequestBody,
};
use bofuss_oflib::message::{
    BundleAdd, BundleControl, Empty, FlowModCommand as C, FlowRemovedReason, PacketOut,
};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::{BufferId, GroupId, TableId};
use bofuss_oflib::{Action, ErrorCode, Mac, Message, PortNo, Version};
use bofuss_packet::craft;

use crate::common::{CONN, Lab};

/// The connection that sends bundles.
const BUNDLER: ConnId = ConnId(2);
const BOTH: BundleFlags = BundleFlags::ALL.without(BundleFlags::TIME);
const ENGINES: [Engine; 3] = [Engine::Reference, Engine::Tables, Engine::Cache];

fn lab(engine: Engine) -> Lab {
    let mut lab = Lab::with_engine(20_000, FailMode::Secure, engine);
    lab.switch.connected(lab.now, BUNDLER, Version::V1_4, false);
    lab
}

/// Sends a message on [`BUNDLER`] and returns what the switch sends at once.
fn ask(lab: &mut Lab, xid: u32, message: Message) -> Vec<Message> {
    lab.ask(BUNDLER, xid, message)
}

fn control(ty: T, flags: BundleFlags) -> Message {
    Message::BundleControl(BundleControl {
        bundle_id: 5,
        ty,
        flags,
        ..BundleControl::default()
    })
}

fn add(lab: &mut Lab, xid: u32, message: Message) -> Vec<Message> {
    let add = BundleAdd {
        bundle_id: 5,
        flags: BOTH,
        xid,
        message: Box::new(message),
        experimenters: Vec::new(),
    };
    ask(lab, xid, Message::BundleAdd(add))
}

fn flow(lab: &Lab, command: C, text: &str) -> Message {
    Message::FlowMod(parse_flow(text, command, &lab.catalogue).expect(text))
}

/// Adds flow-mods to a bundle and commits it. Returns what the switch sends at the end.
fn commit(lab: &mut Lab, mods: &[(C, &str)]) -> Vec<Message> {
    for (xid, (command, text)) in (100..).zip(mods) {
        let message = flow(lab, *command, text);
        assert_eq!(add(lab, xid, message), []);
    }
    assert_eq!(ask(lab, 9, control(T::COMMIT_REQUEST, BOTH)), []);
    lab.work();
    std::mem::take(&mut lab.io.messages)
}

fn errors(messages: &[Message]) -> Vec<ErrorCode> {
    let error = |message: &Message| match message {
        Message::Error(error) => Some(error.error),
        _ => None,
    };
    messages.iter().filter_map(error).collect()
}

fn frame(last: u8) -> Vec<u8> {
    let mac = |n| Mac([2, 0, 0, 0, 0, n]);
    craft::ethernet(mac(last), mac(2), craft::Layer::new(0x88b5, &[0; 60]))
}

/// The ports that a frame is sent out of.
fn out(lab: &mut Lab, last: u8) -> Vec<u32> {
    lab.io.out.clear();
    lab.send(1, &frame(last));
    std::mem::take(&mut lab.io.out)
}

/// The description of each entry without its age, sorted.
fn dump(lab: &mut Lab) -> Vec<String> {
    let request = FlowStatsRequest {
        table_id: TableId::ALL,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        ..FlowStatsRequest::default()
    };
    let body = RequestBody::Flow(request);
    let mut replies = ask(
        lab,
        1,
        Message::MultipartRequest(MultipartRequest { more: false, body }),
    );
    lab.work();
    replies.append(&mut lab.io.messages);
    let mut told = Vec::new();
    for reply in replies {
        if let Message::MultipartReply(reply) = reply
            && let ReplyBody::Flow(flows) = reply.body
        {
            told.extend(flows.iter().map(|flow| format!("{:?}", flow.0)));
        }
    }
    told.sort();
    told
}

#[test]
fn a_bundle_is_opened_filled_closed_and_committed() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        let open = ask(&mut lab, 1, control(T::OPEN_REQUEST, BOTH));
        assert_eq!(open, [control(T::OPEN_REPLY, BOTH)]);
        let message = flow(&lab, C::ADD, "actions=output:2");
        assert_eq!(add(&mut lab, 2, message), []);
        let close = ask(&mut lab, 3, control(T::CLOSE_REQUEST, BOTH));
        assert_eq!(close, [control(T::CLOSE_REPLY, BOTH)]);
        assert_eq!(out(&mut lab, 1), [], "nothing is done yet");
        assert_eq!(commit(&mut lab, &[]), [control(T::COMMIT_REPLY, BOTH)]);
        assert_eq!(out(&mut lab, 1), [2]);
        let again = ask(&mut lab, 4, control(T::COMMIT_REQUEST, BOTH));
        assert_eq!(errors(&again), [BundleFailed::BAD_ID], "it is gone");
    }
}

#[test]
fn a_discarded_bundle_does_nothing() {
    let mut lab = lab(Engine::default());
    let message = flow(&lab, C::ADD, "actions=output:2");
    assert_eq!(add(&mut lab, 2, message), []);
    let reply = ask(&mut lab, 3, control(T::DISCARD_REQUEST, BOTH));
    assert_eq!(reply, [control(T::DISCARD_REPLY, BOTH)]);
    let again = ask(&mut lab, 4, control(T::DISCARD_REQUEST, BOTH));
    assert_eq!(errors(&again), [BundleFailed::BAD_ID]);
    assert_eq!(out(&mut lab, 1), []);
}

#[test]
fn what_a_bundle_may_not_do_is_refused_with_its_error() {
    let wrong_control: [(&[T], T, BundleFlags, ErrorCode); 8] = [
        (&[], T::CLOSE_REQUEST, BOTH, BundleFailed::BAD_ID),
        (&[], T::COMMIT_REQUEST, BOTH, BundleFailed::BAD_ID),
        (&[], T(9), BOTH, BundleFailed::BAD_TYPE),
        (&[], T::OPEN_REPLY, BOTH, BundleFailed::BAD_TYPE),
        (
            &[],
            T::OPEN_REQUEST,
            BundleFlags(8),
            BundleFailed::BAD_FLAGS,
        ),
        (
            &[T::OPEN_REQUEST],
            T::OPEN_REQUEST,
            BOTH,
            BundleFailed::BAD_ID,
        ),
        (
            &[T::OPEN_REQUEST],
            T::COMMIT_REQUEST,
            BundleFlags(0),
            BundleFailed::BAD_FLAGS,
        ),
        (
            &[T::OPEN_REQUEST, T::CLOSE_REQUEST],
            T::CLOSE_REQUEST,
            BOTH,
            BundleFailed::BUNDLE_CLOSED,
        ),
    ];
    for (before, ty, flags, error) in wrong_control {
        let mut lab = lab(Engine::default());
        for ty in before {
            ask(&mut lab, 1, control(*ty, BOTH));
        }
        assert_eq!(errors(&ask(&mut lab, 2, control(ty, flags))), [error]);
        let left = ask(&mut lab, 3, control(T::COMMIT_REQUEST, BOTH));
        assert_eq!(errors(&left), [BundleFailed::BAD_ID], "none is left");
    }
    let mut lab = lab(Engine::default());
    ask(&mut lab, 1, control(T::OPEN_REQUEST, BundleFlags(0)));
    let message = flow(&lab, C::ADD, "actions=drop");
    let others = add(&mut lab, 2, message.clone());
    assert_eq!(errors(&others), [BundleFailed::BAD_FLAGS]);
    ask(&mut lab, 1, control(T::OPEN_REQUEST, BOTH));
    let barrier = add(&mut lab, 2, Message::BarrierRequest(Empty));
    assert_eq!(errors(&barrier), [BundleFailed::MSG_UNSUP]);
    let other_xid = BundleAdd {
        bundle_id: 5,
        flags: BOTH,
        xid: 77,
        message: Box::new(message.clone()),
        experimenters: Vec::new(),
    };
    let other_xid = ask(&mut lab, 2, Message::BundleAdd(other_xid));
    assert_eq!(errors(&other_xid), [BundleFailed::MSG_BAD_XID]);
    ask(&mut lab, 1, control(T::CLOSE_REQUEST, BOTH));
    let closed = add(&mut lab, 2, message);
    assert_eq!(errors(&closed), [BundleFailed::BUNDLE_CLOSED]);
}

#[test]
fn slaves_have_no_bundles() {
    use bofuss_oflib::error::BadRequest;
    use bofuss_oflib::message::{ControllerRole, Role};
    let mut lab = lab(Engine::default());
    let slave = Role {
        role: ControllerRole::SLAVE,
        generation_id: 1,
        ..Role::default()
    };
    ask(&mut lab, 1, Message::RoleRequest(slave));
    let open = ask(&mut lab, 1, control(T::OPEN_REQUEST, BOTH));
    assert_eq!(errors(&open), [BadRequest::IS_SLAVE]);
    let message = flow(&lab, C::ADD, "actions=drop");
    assert_eq!(errors(&add(&mut lab, 2, message)), [BadRequest::IS_SLAVE]);
}

#[test]
fn messages_of_others_wait_for_a_commit() {
    let mut lab = lab(Engine::default());
    let message = flow(&lab, C::ADD, "actions=output:2");
    add(&mut lab, 2, message);
    ask(&mut lab, 9, control(T::COMMIT_REQUEST, BOTH));
    assert!(!lab.switch.is_ready(CONN, &lab.io));
    lab.flow(C::ADD, "actions=output:3");
    assert_eq!(lab.io.messages, [control(T::COMMIT_REPLY, BOTH)]);
    assert_eq!(out(&mut lab, 1), [3]);
}

#[test]
fn a_failed_commit_reports_which_message_failed_and_changes_nothing() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        lab.flow(C::ADD, "priority=5,idle_timeout=5,actions=output:2");
        assert_eq!(out(&mut lab, 1), [2]);
        let before = dump(&mut lab);
        let told = commit(
            &mut lab,
            &[
                (C::MODIFY, "actions=output:3"),
                (C::ADD, "priority=5,actions=output:4"),
                (C::DELETE, "priority=5"),
                (C::ADD, "priority=6,actions=group:7"),
                (C::ADD, "priority=7,actions=output:4"),
            ],
        );
        let wanted = [BadAction::BAD_OUT_GROUP, BundleFailed::MSG_FAILED];
        assert_eq!(errors(&told), wanted);
        let Message::Error(failed) = &told[0] else {
            panic!("{told:?}")
        };
        assert_eq!(failed.data.0[..2], [5, 14], "it quotes the flow-mod");
        assert_eq!(failed.data.0[4..8], [0, 0, 0, 103]);
        assert_eq!(dump(&mut lab), before);
        assert_eq!(out(&mut lab, 1), [2]);
        lab.advance(4_000);
        assert_eq!(out(&mut lab, 1), [2], "its timer goes on");
        lab.advance(5_100);
        assert_eq!(out(&mut lab, 1), []);
    }
}

#[test]
fn counters_stay_with_entries_that_a_bundle_changes() {
    for engine in ENGINES {
        for (mods, packets) in [
            (&[(C::MODIFY, "actions=output:3")][..], 2),
            (&[(C::MODIFY, "reset_counts,actions=output:3")], 1),
            (&[(C::ADD, "priority=5,actions=output:3")], 2),
            (&[(C::ADD, "priority=5,reset_counts,actions=output:3")], 1),
            (
                &[(C::DELETE, ""), (C::ADD, "priority=5,actions=output:3")],
                1,
            ),
            (
                &[
                    (C::MODIFY, "reset_counts,actions=4"),
                    (C::ADD, "priority=5,actions=3"),
                ],
                1,
            ),
            (
                &[(C::ADD, "priority=5,actions=4"), (C::MODIFY, "actions=3")],
                2,
            ),
        ] {
            let mut lab = lab(engine);
            lab.flow(C::ADD, "priority=5,actions=output:2");
            assert_eq!(out(&mut lab, 1), [2]);
            commit(&mut lab, mods);
            assert_eq!(out(&mut lab, 1), [3], "{mods:?}");
            let told = dump(&mut lab);
            let wanted = format!("packet_count: {packets},");
            assert!(
                told.len() == 1 && told[0].contains(&wanted),
                "{mods:?} {told:?}"
            );
        }
    }
}

#[test]
fn an_entry_that_is_due_before_a_commit_counts_as_expired() {
    let mut lab = lab(Engine::default());
    lab.flow(
        C::ADD,
        "priority=5,hard_timeout=5,send_flow_rem,actions=output:2",
    );
    let message = flow(&lab, C::DELETE, "priority=5");
    add(&mut lab, 2, message);
    ask(&mut lab, 9, control(T::COMMIT_REQUEST, BOTH));
    lab.now = lab.now.after(6_000_000_000);
    lab.work();
    let removed: Vec<_> = lab
        .io
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::FlowRemoved(removed) => Some(removed.reason),
            _ => None,
        })
        .collect();
    assert_eq!(removed, [FlowRemovedReason::HARD_TIMEOUT; 2]);
}

#[test]
fn a_full_table_may_be_replaced_by_a_bundle() {
    let mut lab = Lab::with_engine(100, FailMode::Secure, Engine::default());
    lab.switch.connected(lab.now, BUNDLER, Version::V1_4, false);
    let all = |port: u32, n: u32| -> Vec<String> {
        let text = |n| format!("tcp,tp_dst={n},actions=output:{port}");
        (0..n).map(text).collect()
    };
    for text in all(2, 100) {
        lab.flow(C::ADD, &text);
    }
    for (count, error) in [(101, true), (100, false)] {
        let texts = all(3, count);
        let mods = texts.iter().map(|text| (C::ADD, text.as_str()));
        let mods: Vec<_> = [(C::DELETE, "table=0")].into_iter().chain(mods).collect();
        let told = commit(&mut lab, &mods);
        let wanted = [FlowModFailed::TABLE_FULL, BundleFailed::MSG_FAILED];
        assert_eq!(errors(&told), wanted[..if error { 2 } else { 0 }]);
        assert_eq!(lab.switch.datapath().tables()[0].len(), 100);
        let port = if error {
            "port: PortNo(2)"
        } else {
            "port: PortNo(3)"
        };
        assert!(dump(&mut lab).iter().all(|told| told.contains(port)));
    }
}

#[test]
fn packets_and_ports_of_a_bundle_follow_its_flows() {
    let mut lab = lab(Engine::default());
    let message = Message::PacketOut(PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNo::CONTROLLER,
        actions: vec![Action::output(PortNo::TABLE)],
        data: bofuss_oflib::wire::Bytes(frame(1)),
        ..PacketOut::default()
    });
    add(&mut lab, 1, message);
    let told = commit(&mut lab, &[(C::ADD, "actions=output:2")]);
    assert_eq!(told, [control(T::COMMIT_REPLY, BOTH)]);
    assert_eq!(lab.io.out, [2]);
}
