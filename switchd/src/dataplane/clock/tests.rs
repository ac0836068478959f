//! Steps of the clock of scheduled commits. A test cannot step the system's clock, which all
//! programs of the machine share, so the clock here is a number. Where the kernel's timer would
//! wake the thread, because the clock was set, the test calls `wake`.

use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request};
use bofuss_datapath::Time;
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::Pool;
use bofuss_oflib::error::BundleFailed;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags, Timestamp};
use bofuss_oflib::message::{BundleAdd, BundleControl, FlowModCommand};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Catalogue, ErrorCode, Message, Version};

use super::*;
use crate::offline::Replies;

const CONN: ConnId = ConnId(1);
/// What the clock says at first.
const START_NS: u64 = 1_800_000_000 * Time::SEC;
const MS: u64 = Time::SEC / 1000;

/// A switch as the data-plane thread drives it, on a clock that is set at will.
struct ClockedSwitch {
    switch: Switch,
    io: Replies,
    now: Time,
    /// What the clock said at time 0.
    clock_at_0: u64,
}

impl ClockedSwitch {
    fn new() -> Self {
        let catalogue = Arc::new(Catalogue::default());
        let datapath = Datapath::new(Default::default(), catalogue, Pool::new(1 << 20));
        let identity = Identity::default();
        let mut this = Self {
            switch: Switch::new(Time(0), datapath, identity, FailMode::Secure),
            io: Replies::default(),
            now: Time(0),
            clock_at_0: START_NS,
        };
        this.switch.connected(Time(0), CONN, Version::V1_4, false);
        this
    }

    /// Reads the clock as the thread does when it wakes up.
    fn wake(&mut self, has_inputs: bool) {
        let clock_ns = self.clock_at_0 + self.now.0;
        if let Some(at_0) = changed_clock(&self.switch, has_inputs, self.now, || clock_ns) {
            self.switch.clock_mut().set(at_0);
        }
    }

    fn message(&mut self, message: Message) {
        self.wake(true);
        let request = Request {
            xid: 7,
            head: &[],
            message: Ok(message),
        };
        self.switch.message(self.now, CONN, request, &mut self.io);
    }

    /// A switch that commits an entry `at_ms` milliseconds after the clock's start.
    fn schedules(at_ms: u64) -> Self {
        let mut this = Self::new();
        let catalogue = Catalogue::default();
        let flow = parse_flow("actions=drop", FlowModCommand::ADD, &catalogue).unwrap();
        this.message(Message::BundleAdd(BundleAdd {
            bundle_id: 1,
            flags: BundleFlags::ALL.without(BundleFlags::TIME),
            xid: 7,
            message: Box::new(Message::FlowMod(flow)),
            experimenters: Vec::new(),
        }));
        this.message(Message::BundleControl(BundleControl {
            bundle_id: 1,
            ty: BundleControlType::COMMIT_REQUEST,
            flags: BundleFlags::ALL,
            scheduled: Some(Timestamp::of_nanos(START_NS + at_ms * MS)),
            ..BundleControl::default()
        }));
        assert!(this.io.0.is_empty(), "it waits");
        this
    }

    /// Sets the clock forward or back by `ms` milliseconds, which wakes the thread.
    fn step(&mut self, ms: i64) {
        self.clock_at_0 = self.clock_at_0.saturating_add_signed(ms * MS as i64);
        self.wake(false);
    }

    /// Runs as the thread does: sleeps until each alarm. Returns how many milliseconds it slept in
    /// all before what it was sent, or before the end.
    fn run(&mut self, end_ms: u64) -> u64 {
        let end = Time(end_ms * MS);
        while self.io.0.is_empty() {
            self.wake(false);
            if self.switch.has_work(&self.io) {
                self.switch.work(self.now, &mut self.io);
                continue;
            }
            let tick = self.switch.next_tick().unwrap_or(Time(u64::MAX));
            let due = match alarm(&self.switch, tick, self.now) {
                Some(alarm) => alarm,
                // It does not sleep, but time goes by.
                None => tick.max(self.now),
            };
            if due > end {
                self.now = end;
                break;
            }
            self.now = due;
            if tick <= self.now {
                self.switch.tick(self.now, &mut self.io);
            }
        }
        self.now.0 / MS
    }

    fn entries(&self) -> usize {
        self.switch.datapath().tables()[0].len()
    }

    fn errors(&self) -> Vec<ErrorCode> {
        let error = |message: &Message| match message {
            Message::Error(error) => Some(error.error),
            _ => None,
        };
        self.io.0.iter().filter_map(error).collect()
    }
}

#[test]
fn without_a_step_the_alarm_is_at_the_time_of_the_commit() {
    let mut clocked = ClockedSwitch::schedules(900);
    assert_eq!((clocked.run(2_000), clocked.entries()), (900, 1));
}

#[test]
fn a_step_forward_brings_the_alarm_nearer() {
    let mut clocked = ClockedSwitch::schedules(900);
    assert_eq!((clocked.run(100), clocked.entries()), (100, 0));
    clocked.step(600);
    assert_eq!((clocked.run(2_000), clocked.entries()), (300, 1));
}

#[test]
fn a_step_back_puts_the_alarm_off() {
    let mut clocked = ClockedSwitch::schedules(900);
    assert_eq!((clocked.run(100), clocked.entries()), (100, 0));
    clocked.step(-600);
    assert_eq!((clocked.run(1_400), clocked.entries()), (1_400, 0));
    assert_eq!((clocked.run(2_000), clocked.entries()), (1_500, 1));
}

#[test]
fn a_step_past_the_tolerance_discards_the_commit_at_once() {
    let mut clocked = ClockedSwitch::schedules(900);
    assert_eq!((clocked.run(100), clocked.entries()), (100, 0));
    clocked.step(60_000);
    assert_eq!((clocked.run(2_000), clocked.entries()), (100, 0));
    assert_eq!(clocked.errors(), [BundleFailed::SCHED_PAST]);
}

#[test]
fn the_clock_is_not_read_while_nobody_asks_and_nothing_waits() {
    let clocked = ClockedSwitch::new();
    let read = || -> u64 { panic!("it is read") };
    assert_eq!(changed_clock(&clocked.switch, false, Time(0), read), None);
}

#[test]
fn what_two_readings_differ_by_is_not_taken_for_a_step() {
    let mut clocked = ClockedSwitch::new();
    clocked.wake(true);
    for (late_ns, is_reported) in [(0, false), (1_000, false), (3_000, true)] {
        let clock_ns = clocked.clock_at_0 + late_ns;
        let reported = changed_clock(&clocked.switch, true, Time(0), || clock_ns);
        assert_eq!(reported, is_reported.then_some(clock_ns));
    }
}
