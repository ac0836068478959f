//! Tests of the common point in many orders of the steps of its threads, which a scheduler draws.
#![allow(clippy::unwrap_used)]

use bofuss_oflib::message::multipart::port::PortRequest;
use bofuss_oflib::message::multipart::{ReplyBody, RequestBody};
use bofuss_oflib::{Message, PortNo};
use shuttle::scheduler::RandomScheduler;
use shuttle::sync::mpsc::sync_channel;
use shuttle::{Config, Runner, thread};

use crate::exchange::{Follower, Next, Order, PLACES};
use crate::{Dispatch, Fault, Workers};
use common::CONN;
use common::endless::{Numbered, change_entries};

#[path = "../tests/common/mod.rs"]
mod common;

/// Room for a whole switch on the stack of each thread.
const STACK_BYTES: usize = 4 << 20;
const WORKERS: usize = 3;
/// Frames that each worker receives at most, before its last burst.
const MAX_FRAMES: usize = 24;
/// Changes of the entry; the flows move to one worker and back.
const ROUNDS: u32 = 8;
const SCHEDULES: usize = 200;

/// Runs a test in so many random orders. One in which nobody can go on fails.
fn in_random_orders(count: usize, test: fn()) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    Runner::new(RandomScheduler::new(count), config).run(test);
}

/// The packets that port 1 has received, as its statistics say.
fn counted(workers: &mut Workers, frames: &Numbered) -> Result<u64, Fault> {
    let of_port = RequestBody::PortStats(PortRequest { port_no: PortNo(1) });
    let request = Message::MultipartRequest(of_port.into());
    workers.message(frames.tick(), CONN, 1, request)?;
    let sent = workers.sent();
    let Some(Message::MultipartReply(reply)) = sent.last().map(|sent| &sent.message) else {
        panic!("{sent:?}");
    };
    let ReplyBody::PortStats(ports) = &reply.body else {
        panic!("{reply:?}");
    };
    Ok(ports[0].rx_packets)
}

/// Frames are in order, see changes in order, and each is counted by its worker and then by all.
fn order_and_counters_hold() {
    let frames = Numbered::new(5, MAX_FRAMES);
    let mut workers = change_entries(&frames, WORKERS, ROUNDS);
    let counted = loop {
        let before = frames.received();
        let counted = counted(&mut workers, &frames).unwrap();
        if frames.received() == before {
            break counted;
        }
        thread::yield_now();
    };
    assert_eq!(counted, frames.received());
    drop(workers);
    frames.assert_in_order();
}

#[test]
fn order_and_counters_hold_in_random_orders_of_steps() {
    in_random_orders(SCHEDULES, order_and_counters_hold);
}

/// The last order of a common point and the first of the next: neither waits for who takes them.
fn orders_that_nobody_takes() {
    let (orders, _ordered) = sync_channel(PLACES);
    let (_reporting, reports) = sync_channel(PLACES);
    let follower = Follower {
        worker: 1,
        thread: thread::current(),
        orders,
        reports,
    };
    let going_on = Order::GoOn(Dispatch::Flows, Default::default(), None, Next::Bursts);
    assert_eq!(follower.order(going_on), Ok(()));
    assert_eq!(follower.order(Order::Stop), Ok(()));
}

#[test]
fn a_leader_waits_for_no_follower_that_takes_no_orders() {
    in_random_orders(1, orders_that_nobody_takes);
}
