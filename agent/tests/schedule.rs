//! Bundles that are committed at a scheduled time, on a virtual clock. Spec: OpenFlow 1.5.1 section
//! 7.3.5.22.
#![allow(clippy::unwrap_used)]

use bofuss_agent::{ConnId, FailMode};
use bofuss_datapath::{Engine, Time};
use bofuss_oflib::error::BundleFailed;
use bofuss_oflib::message::bundle::{BundleControlType as T, BundleFlags, Timestamp};
use bofuss_oflib::message::multipart::bundle_features::{BundleFeatureFlags, TimeCapability};
use bofuss_oflib::message::multipart::{BundleFeatures, BundleFeaturesRequest, ReplyBody};
use bofuss_oflib::message::multipart::{MultipartReply, RequestBody};
use bofuss_oflib::message::{BundleAdd, BundleControl, FlowModCommand as C};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{ErrorCode, Mac, Message, Version};
use bofuss_packet::craft;

use crate::common::{Lab, MS};

const BUNDLER: ConnId = ConnId(2);
const TOGETHER: BundleFlags = BundleFlags::ALL.without(BundleFlags::TIME);
/// What the clock shows at time 0.
const START_NS: u64 = 1_800_000_000 * Time::SEC;

fn lab() -> Lab {
    let mut lab = Lab::with_engine(20_000, FailMode::Secure, Engine::Cache);
    lab.switch.connected(lab.now, BUNDLER, Version::V1_4, false);
    lab.switch.clock_mut().set(START_NS);
    lab.flow(C::ADD, "priority=1,actions=output:2");
    lab
}

fn ask(lab: &mut Lab, xid: u32, message: Message) -> Vec<Message> {
    lab.ask(BUNDLER, xid, message)
}

/// A bundle request; `at_ms` schedules a commit, in milliseconds after the clock's start.
fn control(ty: T, at_ms: Option<u64>) -> Message {
    let time = at_ms.map(|ms| Timestamp::of_nanos(START_NS + ms * MS));
    let flags = if time.is_some() {
        BundleFlags::ALL
    } else {
        TOGETHER
    };
    Message::BundleControl(BundleControl {
        bundle_id: 5,
        ty,
        flags,
        scheduled: time,
        ..BundleControl::default()
    })
}

/// Adds a flow-mod to the bundle.
fn add(lab: &mut Lab, text: &str) {
    let flow = parse_flow(text, C::ADD, &lab.catalogue).expect(text);
    let add = BundleAdd {
        bundle_id: 5,
        flags: TOGETHER,
        xid: 3,
        message: Box::new(Message::FlowMod(flow)),
        experimenters: Vec::new(),
    };
    assert_eq!(ask(lab, 3, Message::BundleAdd(add)), []);
}

fn errors(messages: &[Message]) -> Vec<ErrorCode> {
    let error = |message: &Message| match message {
        Message::Error(error) => Some(error.error),
        _ => None,
    };
    messages.iter().filter_map(error).collect()
}

/// The port that a frame leaves by.
fn out(lab: &mut Lab) -> Vec<u32> {
    let frame = craft::ethernet(
        Mac([2; 6]),
        Mac([4; 6]),
        craft::Layer::new(0x88b5, &[0; 60]),
    );
    lab.io.out.clear();
    lab.send(1, &frame);
    std::mem::take(&mut lab.io.out)
}

/// Advances time in steps of 10 us and lets the switch do everything that is due. Returns when a
/// frame first left by another port, in microseconds after the start.
fn run_until(lab: &mut Lab, end_us: u64) -> Option<u64> {
    let before = out(lab);
    let mut changed = None;
    while lab.now < Time(end_us * 1_000) {
        lab.now = lab.now.after(10_000);
        if lab.switch.next_tick().is_some_and(|at| at <= lab.now) {
            lab.switch.tick(lab.now, &mut lab.io);
        }
        lab.switch.clock_mut().measure(lab.now);
        if lab.switch.has_work(&lab.io) {
            lab.switch.work(lab.now, &mut lab.io);
        }
        if changed.is_none() && out(lab) != before {
            changed = Some(lab.now.0 / 1_000);
        }
    }
    changed
}

#[test]
fn packets_see_a_scheduled_bundle_at_its_time() {
    for count in [1, 300] {
        let mut lab = lab();
        for n in 0..count {
            add(&mut lab, &format!("priority={},actions=output:3", 2 + n));
        }
        assert_eq!(ask(&mut lab, 9, control(T::COMMIT_REQUEST, Some(200))), []);
        let changed = run_until(&mut lab, 300_000);
        assert_eq!(changed, Some(200_000));
        let told = std::mem::take(&mut lab.io.messages);
        let Some(Message::BundleControl(reply)) = told.first() else {
            panic!("{told:?}");
        };
        assert_eq!((reply.ty, reply.scheduled), (T::COMMIT_REPLY, None));
        assert_eq!(lab.switch.clock().errors.counts[0], 1);
        assert_eq!(lab.switch.clock().errors.sum_ns, 0);
    }
}

#[test]
fn a_time_out_of_the_tolerance_is_refused() {
    for (at_ms, error) in [
        (Some(5_000 + 1_001), BundleFailed::SCHED_FUTURE),
        (Some(5_000 - 1_001), BundleFailed::SCHED_PAST),
        (None, BundleFailed::BAD_FLAGS),
    ] {
        let mut lab = lab();
        lab.advance(5_000);
        add(&mut lab, "priority=2,actions=output:3");
        let mut commit = control(T::COMMIT_REQUEST, at_ms);
        if let Message::BundleControl(commit) = &mut commit {
            commit.flags = BundleFlags::ALL;
        }
        let told = ask(&mut lab, 9, commit);
        assert_eq!(errors(&told), [error]);
        let told = ask(&mut lab, 9, control(T::DISCARD_REQUEST, None));
        assert_eq!(errors(&told), [BundleFailed::BAD_ID], "it is discarded");
    }
    let mut lab = lab();
    lab.advance(5_000);
    add(&mut lab, "priority=2,actions=output:3");
    ask(&mut lab, 9, control(T::COMMIT_REQUEST, Some(4_500)));
    lab.work();
    assert_eq!(out(&mut lab), [3], "a time that is past, but not too far");
}

#[test]
fn without_a_clock_nothing_is_scheduled() {
    let mut lab = Lab::with_engine(20_000, FailMode::Secure, Engine::Cache);
    lab.switch.connected(lab.now, BUNDLER, Version::V1_4, false);
    add(&mut lab, "priority=2,actions=output:3");
    let told = ask(&mut lab, 9, control(T::COMMIT_REQUEST, Some(1)));
    assert_eq!(errors(&told), [BundleFailed::SCHED_NOT_SUPPORTED]);
    let told = features(&mut lab, BundleFeatureFlags(0), None);
    assert_eq!((told.capabilities, told.time_capability), (TOGETHER, None));
}

#[test]
fn a_scheduled_bundle_may_be_discarded_and_takes_nothing_more() {
    let mut lab = lab();
    add(&mut lab, "priority=2,actions=output:3");
    assert_eq!(ask(&mut lab, 9, control(T::COMMIT_REQUEST, Some(900))), []);
    let again = ask(&mut lab, 9, control(T::COMMIT_REQUEST, Some(800)));
    assert_eq!(errors(&again), [BundleFailed::BUNDLE_IN_PROGRESS]);
    lab.advance(500);
    let told = ask(&mut lab, 9, control(T::DISCARD_REQUEST, None));
    assert_eq!(told, [control(T::DISCARD_REPLY, None)]);
    assert_eq!(run_until(&mut lab, 1_200_000), None);
    assert!(lab.io.messages.is_empty());
}

#[test]
fn a_clock_that_is_set_moves_what_is_scheduled() {
    // forward, so that it is due earlier
    let mut lab = lab();
    add(&mut lab, "priority=2,actions=output:3");
    ask(&mut lab, 9, control(T::COMMIT_REQUEST, Some(900)));
    run_until(&mut lab, 100_000);
    lab.switch.clock_mut().set(START_NS + 600 * MS);
    assert_eq!(run_until(&mut lab, 1_000_000), Some(300_000));
    // so far that it is missed
    lab.io.messages.clear();
    add(&mut lab, "priority=3,actions=output:4");
    ask(&mut lab, 9, control(T::COMMIT_REQUEST, Some(2_000)));
    lab.switch.clock_mut().set(START_NS + 60_000 * MS);
    lab.io.messages.clear();
    assert_eq!(run_until(&mut lab, 1_200_000), None);
    assert_eq!(errors(&lab.io.messages), [BundleFailed::SCHED_PAST]);
}

#[test]
fn a_prepared_bundle_waits_again_if_the_clock_is_set_back() {
    let mut lab = lab();
    add(&mut lab, "priority=2,actions=output:3");
    ask(&mut lab, 9, control(T::COMMIT_REQUEST, Some(100)));
    run_until(&mut lab, 99_000);
    assert!(lab.switch.is_changing(), "it is prepared");
    lab.switch.clock_mut().set(START_NS - 200 * MS);
    assert_eq!(run_until(&mut lab, 200_000), None);
    assert!(!lab.switch.is_changing(), "others' messages are handled");
    assert_eq!(run_until(&mut lab, 400_000), Some(300_000));
}

/// Sends a BUNDLE_FEATURES request.
fn features(
    lab: &mut Lab,
    flags: BundleFeatureFlags,
    time: Option<TimeCapability>,
) -> BundleFeatures {
    let request = RequestBody::BundleFeatures(BundleFeaturesRequest {
        flags,
        time_capability: time,
        experimenters: Vec::new(),
    });
    let told = ask(lab, 4, Message::MultipartRequest(request.into()));
    let Some(Message::MultipartReply(MultipartReply {
        body: ReplyBody::BundleFeatures(features),
        ..
    })) = told.into_iter().next()
    else {
        panic!("it is answered");
    };
    features
}

#[test]
fn a_controller_sets_how_far_it_may_schedule() {
    let mut lab = lab();
    lab.advance(3_000);
    let second = |seconds| Timestamp {
        seconds,
        nanoseconds: 0,
    };
    let told = features(&mut lab, BundleFeatureFlags::TIMESTAMP, None);
    let time = told.time_capability.unwrap();
    assert_eq!(told.capabilities, BundleFlags::ALL);
    assert_eq!(
        (time.sched_max_future, time.sched_max_past),
        (second(1), second(1))
    );
    assert_eq!(time.timestamp.nanos(), START_NS + 3_000 * MS);
    let asked = TimeCapability {
        sched_max_future: second(30),
        sched_max_past: second(1 << 40),
        ..TimeCapability::default()
    };
    let told = features(&mut lab, BundleFeatureFlags::TIME_SET_SCHED, Some(asked));
    let time = told.time_capability.unwrap();
    assert_eq!(
        (time.sched_max_future, time.sched_max_past),
        (second(30), second(86_400))
    );
    add(&mut lab, "priority=2,actions=output:3");
    assert_eq!(
        ask(&mut lab, 9, control(T::COMMIT_REQUEST, Some(32_000))),
        []
    );
}
