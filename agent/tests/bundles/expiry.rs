//! Entries that expire while a bundle is prepared.

use bofuss_oflib::Message;
use bofuss_oflib::error::BundleFailed;
use bofuss_oflib::message::bundle::BundleControlType as T;
use bofuss_oflib::message::group_mod::GroupModCommand as G;
use bofuss_oflib::message::{FlowModCommand as C, FlowRemovedReason};

use super::groups::{ALL_GROUPS, group};
use super::{BOTH, ENGINES, add, ask, control, errors, flow, lab, out};
use crate::common::Lab;

/// So many entries that their preparation takes several slices.
const MANY: u32 = 200;

/// Commits a bundle of these messages and many entries, and prepares a part of it.
fn begin(lab: &mut Lab, first: Vec<Message>, last: Option<Message>) {
    let text = |n| format!("table=1,priority={n},actions=output:1");
    let many: Vec<Message> = (0..MANY).map(|n| flow(lab, C::ADD, &text(n))).collect();
    for message in first.into_iter().chain(many).chain(last) {
        assert_eq!(add(lab, 1, message), []);
    }
    assert_eq!(ask(lab, 9, control(T::COMMIT_REQUEST, BOTH)), []);
    for _ in 0..3 {
        lab.switch.work(lab.now, &mut lab.io);
    }
    assert!(lab.switch.is_changing());
}

/// The reasons for which entries were removed, by priority; checks that both connections are
/// informed.
fn removals(lab: &Lab) -> Vec<(u16, FlowRemovedReason)> {
    let removal = |message: &Message| match message {
        Message::FlowRemoved(removed) => Some((removed.priority, removed.reason)),
        _ => None,
    };
    let mut removals: Vec<_> = lab.io.messages.iter().filter_map(removal).collect();
    removals.dedup();
    removals
}

#[test]
fn an_entry_expires_while_a_bundle_is_prepared() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        lab.message(group(G::ADD, 4, "output:2"));
        let entry = "priority=9,hard_timeout=1,send_flow_rem,actions=group:4";
        lab.flow(C::ADD, entry);
        assert_eq!(out(&mut lab, 1), [2]);
        let other = flow(&lab, C::ADD, "priority=3,actions=group:4");
        begin(&mut lab, vec![group(G::ADD, 7, "output:3"), other], None);
        lab.advance(1_500);
        let hard = FlowRemovedReason::HARD_TIMEOUT;
        assert_eq!(removals(&lab), [(9, hard)]);
        assert!(out(&mut lab, 1).is_empty(), "packets do not see it");
        lab.work();
        assert_eq!(out(&mut lab, 1), [2], "they see the bundle's entry");
        let stats = lab.switch.datapath().groups().stats(lab.now, ALL_GROUPS);
        let references: Vec<u32> = stats.map(|group| group.0.ref_count).collect();
        assert_eq!(references, [1, 0]);
    }
}

#[test]
fn an_entry_that_a_bundle_removes_expires_with_its_end() {
    for engine in ENGINES {
        for wrong in [None, Some("table=1,actions=group:77")] {
            let mut lab = lab(engine);
            let entry = "priority=9,hard_timeout=1,send_flow_rem,actions=output:2";
            lab.flow(C::ADD, entry);
            let delete = flow(&lab, C::DELETE, "table=0");
            let last = wrong.map(|text| flow(&lab, C::ADD, text));
            begin(&mut lab, vec![delete], last);
            lab.advance(1_500);
            assert_eq!(removals(&lab), []);
            lab.work();
            let failed = errors(&lab.io.messages).contains(&BundleFailed::MSG_FAILED);
            assert_eq!(failed, wrong.is_some());
            lab.advance(1);
            let hard = FlowRemovedReason::HARD_TIMEOUT;
            assert_eq!(removals(&lab), [(9, hard)]);
        }
    }
}

#[test]
fn an_entry_that_had_a_packet_before_its_deadline_is_replaced_and_not_expired() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        let entry = "priority=9,idle_timeout=1,send_flow_rem,actions=output:2";
        lab.flow(C::ADD, entry);
        assert_eq!(out(&mut lab, 1), [2]);
        assert_eq!(out(&mut lab, 1), [2]);
        lab.now = lab.now.after(900_000_000);
        assert_eq!(out(&mut lab, 1), [2], "by the cache, if there is one");
        // The commit comes before the tick at which the deadline would be put off.
        lab.now = lab.now.after(200_000_000);
        let again = flow(&lab, C::ADD, entry);
        assert_eq!(add(&mut lab, 1, again), []);
        assert_eq!(ask(&mut lab, 9, control(T::COMMIT_REQUEST, BOTH)), []);
        lab.work();
        assert_eq!(removals(&lab), [], "{engine:?}");
    }
}
