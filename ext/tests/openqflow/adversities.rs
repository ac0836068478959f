//! Adverse traffic and rules: idle flows, a new flow for each packet, and everything at once.

use bofuss_datapath::Time;
use bofuss_oflib::PortNo;
use bofuss_packet::craft;

use crate::shares::switch;
use crate::{Bench, flow_hook, ipv4};

/// Seconds of a run, of which the first `WARM_UP` do not count.
const SECONDS: u64 = 4;
const WARM_UP: u64 = 1;
/// Nanoseconds between two frames of 1,000 bytes: 40 Mb/s, half of them for each subscriber.
const GAP_NS: u64 = 200_000;
/// The source port of the flow that sends all the time; idle flows have the ports after it.
const ACTIVE: u16 = 9;

/// Pseudo-random numbers: the high half of Knuth's MMIX generator, whose low bits are not random.
fn next(random: &mut u64) -> u32 {
    *random = random
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*random >> 32) as u32
}

/// Sends a frame of a flow to a subscriber.
fn send(switch: &mut Bench, subscriber: u8, source_port: u16) {
    let mut frame = ipv4(subscriber, craft::udp(source_port, 9, &[]));
    frame.resize(1000, 0);
    let mut frames = vec![switch.pool.frame(&frame).expect("there is room")];
    let now = switch.now;
    switch
        .switch
        .receive(now, PortNo(1), &mut frames, &mut switch.io);
}

/// Jain's fairness index of two subscribers that are both sent 20 Mb/s over a port of 10 Mb/s, and
/// what each gets in Mb/s. The first also has idle flows, or a new flow for each packet.
fn index(discipline: &str, n_idle: u16, is_always_new: bool) -> (f64, [f64; 2]) {
    let mut switch = switch(discipline);
    switch.flow("table=3,priority=9,udp,actions=qflow_qos(weight=1)");
    for idle in 0..n_idle {
        send(&mut switch, 1, ACTIVE + 1 + idle);
    }
    let mut random = 7;
    let mut new = 0;
    let mut rates = [0.0; 2];
    let begin = switch.now;
    while switch.now.since(begin) < SECONDS * Time::SEC {
        switch.pass(GAP_NS);
        let subscriber = 1 + (next(&mut random) % 2) as u8;
        let mut source_port = ACTIVE;
        if is_always_new && subscriber == 1 {
            new += 1;
            source_port = new;
        }
        send(&mut switch, subscriber, source_port);
        let counts = switch.now.since(begin) >= WARM_UP * Time::SEC;
        for (_, frame) in switch.io.frames.drain(..) {
            rates[usize::from(frame[33]) - 1] += f64::from(u32::from(counts) * 8) / 3000.0;
        }
    }
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (rates.iter().sum::<f64>().powi(2) / (2.0 * squares), rates)
}

#[test]
fn t7_idle_flows_of_a_subscriber_neither_help_nor_harm_it() {
    for discipline in ["hfair", "ceta2"] {
        let (index, rates) = index(discipline, 50, false);
        assert!(index >= 0.999, "{discipline}: {index}, {rates:?}");
        assert!(rates.iter().sum::<f64>() >= 9.5, "{discipline}: {rates:?}");
    }
}

#[test]
fn t8_a_new_flow_for_each_packet_gains_nothing() {
    for discipline in ["hfair", "ceta2"] {
        let (index, rates) = index(discipline, 0, true);
        assert!(index >= 0.999, "{discipline}: {index}, {rates:?}");
    }
}

#[test]
fn packets_leave_as_rules_say_under_random_operations() {
    let mut random = 1;
    for _ in 0..40 {
        let operations: Vec<u8> = (0..2_001).map(|_| next(&mut random) as u8).collect();
        flow_hook::run(&operations);
    }
}
