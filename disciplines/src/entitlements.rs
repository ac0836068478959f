//! Weights, guaranteed rates, maxima and priorities of QoS records on a virtual clock: tests of the
//! disciplines that respect them.

use alloc::{vec, vec::Vec};

use bofuss_datapath::{Entitlement, Qos};

use crate::dumbbell::{PORT_KBPS, Sender, fairness, paper_senders, run};

/// The disciplines that respect QoS records.
const HEEDING: [&str; 2] = ["hfair", "ceta2"];
/// The allowed deviation of a rate, as a fraction.
const TOLERANCE: f64 = 0.03;

fn assert_near(rates: &[f64], expected: &[f64], what: &str) {
    for (rate, expected) in rates.iter().zip(expected) {
        let is_near = (rate - expected).abs() <= TOLERANCE * expected;
        assert!(is_near, "{what}: {rates:?}, not {expected:?}");
    }
}

/// An entitlement with these values.
pub(super) fn entitled(weight: u16, guaranteed_kbps: u32, max_kbps: u32) -> Entitlement {
    Entitlement {
        weight,
        guaranteed_kbps,
        max_kbps,
    }
}

/// A record of an aggregate.
pub(super) fn of_aggregate(entitlement: Entitlement) -> Option<Qos> {
    Some(Qos {
        aggregate: Some(entitlement),
        ..Qos::DEFAULT
    })
}

/// A record of a microflow.
pub(super) fn of_flow(flow: Entitlement, priority: u8) -> Option<Qos> {
    Some(Qos {
        flow,
        priority,
        ..Qos::DEFAULT
    })
}

/// The rates of the four subscribers of the paper's evaluation, one of whom has a record.
fn subscribers(discipline: &str, one: usize, qos: Option<Qos>) -> Vec<f64> {
    let mut senders = paper_senders();
    for sender in senders.iter_mut().filter(|sender| sender.subscriber == one) {
        sender.qos = qos;
    }
    run(discipline, &senders, 10.0).kbps(&senders, 4, 4.0, 10.0)
}

#[test]
fn t11_weights_guarantees_and_maxima_of_subscribers_hold() {
    let cases = [
        (1, entitled(2, 0, 0), [2_000.0, 4_000.0, 2_000.0, 2_000.0]),
        (
            3,
            entitled(1, 4_000, 0),
            [1_500.0, 1_500.0, 1_500.0, 5_500.0],
        ),
        (
            3,
            entitled(1, 0, 1_000),
            [3_000.0, 3_000.0, 3_000.0, 1_000.0],
        ),
    ];
    for discipline in HEEDING {
        for (one, entitlement, expected) in cases {
            let rates = subscribers(discipline, one, of_aggregate(entitlement));
            let what = alloc::format!("{discipline} {entitlement:?}");
            assert_near(&rates, &expected, &what);
        }
    }
}

#[test]
fn t11_weights_guarantees_and_maxima_of_microflows_hold_within_their_subscriber() {
    let cases = [
        (entitled(3, 0, 0), [3_750.0, 1_250.0, 5_000.0]),
        // The guarantee reduces its own subscriber's share.
        (entitled(1, 2_000, 0), [3_500.0, 1_500.0, 5_000.0]),
        (entitled(1, 0, 1_000), [1_000.0, 4_000.0, 5_000.0]),
    ];
    for discipline in HEEDING {
        for (entitlement, expected) in cases {
            let mut senders = vec![Sender::new(0, 20_000.0); 2];
            senders[0].qos = of_flow(entitlement, 0);
            senders.push(Sender::new(1, 20_000.0));
            let arrivals = run(discipline, &senders, 6.0);
            let each: Vec<f64> = (0..3)
                .map(|n| arrivals.kbps_of(n, &senders[n], 3.0, 6.0))
                .collect();
            let what = alloc::format!("{discipline} {entitlement:?}");
            assert_near(&each, &expected, &what);
        }
    }
}

#[test]
fn t11_a_guaranteed_microflow_of_top_priority_loses_nothing_and_waits_for_one_frame() {
    for discipline in HEEDING {
        let mut senders = paper_senders();
        let mut voice = Sender::new(3, 64.0);
        voice.frame_bytes = 200;
        voice.qos = of_flow(entitled(1, 64, 0), 3);
        senders.push(voice);
        let arrivals = run(discipline, &senders, 20.0);
        let voice = arrivals.0.last().expect("it is there");
        // The last frame may still wait at the end.
        let lost = arrivals.1[senders.len() - 1] - voice.len();
        assert!(lost <= 1, "{discipline}: {lost} lost of {}", voice.len());
        let mut waits: Vec<u64> = voice.iter().map(|(_, wait)| *wait).collect();
        waits.sort_unstable();
        let p99 = waits[waits.len() * 99 / 100];
        // A frame of 1,514 bytes at 10 Mb/s, and a slot.
        let most = 1_514 * 8 * 1_000_000 / u64::from(PORT_KBPS) + 8_000;
        assert!(p99 <= most, "{discipline}: {p99} ns");
        let rates = arrivals.kbps(&senders, 4, 4.0, 20.0);
        assert!(fairness(&rates) >= 0.999, "{discipline}: {rates:?}");
    }
}

#[test]
fn t11_guarantees_beyond_the_rate_of_the_port_are_none() {
    for discipline in HEEDING {
        let mut senders = Vec::new();
        for subscriber in 0..4 {
            let mut sender = Sender::new(subscriber, 20_000.0);
            // The third and the fourth do not fit.
            let guaranteed_kbps = [6_000, 2_000, 6_000, 2_001][subscriber];
            sender.qos = of_aggregate(entitled(1, guaranteed_kbps, 0));
            sender.active = 0.1 * subscriber as f64..f64::INFINITY;
            senders.push(sender);
        }
        let rates = run(discipline, &senders, 6.0).kbps(&senders, 4, 3.0, 6.0);
        assert_near(&rates, &[6_500.0, 2_500.0, 500.0, 500.0], discipline);
    }
}

#[test]
fn numbered_aggregates_share_evenly_whatever_the_addresses() {
    for discipline in HEEDING {
        // Traffic to the first two addresses is one aggregate.
        let mut senders: Vec<Sender> = (0..4).map(|one| Sender::new(one, 20_000.0)).collect();
        for (n, sender) in senders.iter_mut().enumerate() {
            sender.qos = Some(Qos {
                aggregate_id: Some((n / 2) as u64),
                ..Qos::DEFAULT
            });
        }
        let mut third = Sender::new(3, 20_000.0);
        third.qos = Some(Qos {
            aggregate_id: Some(7),
            ..Qos::DEFAULT
        });
        senders.push(third);
        let arrivals = run(discipline, &senders, 6.0);
        let of = |n: usize| arrivals.kbps_of(n, &senders[n], 3.0, 6.0);
        let rates = [of(0) + of(1), of(2) + of(3), of(4)];
        assert!(fairness(&rates) >= 0.999, "{discipline}: {rates:?}");
    }
}

#[test]
fn a_record_that_changes_counts_at_once_and_keeps_the_order() {
    for discipline in HEEDING {
        // After one second the first sender is limited to 500 kb/s; later it belongs to another
        // aggregate.
        let mut senders: Vec<Sender> = (0..2).map(|one| Sender::new(one, 20_000.0)).collect();
        senders[0].later = vec![
            (1.0, of_flow(entitled(1, 0, 500), 3)),
            (
                3.0,
                Some(Qos {
                    aggregate_id: Some(5),
                    priority: 2,
                    ..Qos::DEFAULT
                }),
            ),
            (5.0, None),
        ];
        // `run` checks that frames keep their order.
        let arrivals = run(discipline, &senders, 7.0);
        let of = |n: usize, from, to| arrivals.kbps_of(n, &senders[n], from, to);
        assert_near(
            &[of(0, 1.5, 3.0), of(1, 1.5, 3.0)],
            &[500.0, 9_500.0],
            discipline,
        );
        assert_near(
            &[of(0, 3.5, 5.0), of(1, 3.5, 5.0)],
            &[5_000.0, 5_000.0],
            discipline,
        );
        assert_near(
            &[of(0, 5.5, 7.0), of(1, 5.5, 7.0)],
            &[5_000.0, 5_000.0],
            discipline,
        );
    }
}

#[test]
fn in_hfair_priority_is_strict_among_the_microflows_of_a_subscriber() {
    let mut senders = vec![Sender::new(0, 20_000.0); 2];
    senders[0].qos = of_flow(Entitlement::DEFAULT, 1);
    senders[0].active = 0.0..2.0;
    senders.push(Sender::new(1, 20_000.0));
    let arrivals = run("hfair", &senders, 4.0);
    let of = |n: usize, from, to| arrivals.kbps_of(n, &senders[n], from, to);
    assert_near(
        &[of(0, 0.5, 2.0), of(2, 0.5, 2.0)],
        &[5_000.0, 5_000.0],
        "both send",
    );
    assert!(of(1, 0.5, 2.0) < 50.0, "{}", of(1, 0.5, 2.0));
    assert_near(
        &[of(1, 2.5, 4.0), of(2, 2.5, 4.0)],
        &[5_000.0, 5_000.0],
        "one is left",
    );
}

#[test]
fn four_priorities_are_strict() {
    // In hfair among the microflows of a subscriber; in ceta2 among frames whose time has come,
    // which guarantees make earlier than the port can send them.
    let mut senders = Vec::new();
    for priority in 0..4 {
        let mut sender = Sender::new(0, 4_000.0);
        sender.qos = of_flow(Entitlement::DEFAULT, priority);
        senders.push(sender);
    }
    let arrivals = run("hfair", &senders, 6.0);
    let each: Vec<f64> = (0..4)
        .map(|n| arrivals.kbps_of(n, &senders[n], 2.0, 6.0))
        .collect();
    assert!(each[0] < 50.0, "{each:?}");
    assert_near(&each[1..], &[2_000.0, 4_000.0, 4_000.0], "hfair");

    for (n, sender) in senders.iter_mut().enumerate() {
        sender.kbps = 2_400.0;
        sender.qos = of_flow(entitled(1, 2_500, 0), n as u8);
    }
    for discipline in HEEDING {
        let arrivals = run(discipline, &senders, 6.0);
        let worst: Vec<u64> = (0..4)
            .map(|n| arrivals.0[n].iter().map(|(_, wait)| *wait).max())
            .map(|wait| wait.expect("frames arrive"))
            .collect();
        // A frame takes 0.8 ms. Each waits for one of any, and those of higher priority.
        let ordered = worst.windows(2).all(|two| two[0] >= two[1]);
        assert!(ordered, "{discipline}: {worst:?}");
        assert!(worst[3] <= 1_700_000, "{discipline}: {worst:?}");
        assert!(worst[0] > 2 * worst[3], "{discipline}: {worst:?}");
    }
}

#[test]
fn a_maximum_holds_on_an_idle_port_and_spaces_frames_evenly() {
    let mut sender = Sender::new(0, 3_000.0);
    sender.qos = of_flow(entitled(1, 0, 1_000), 0);
    let senders = [sender];
    for discipline in HEEDING {
        let arrivals = run(discipline, &senders, 6.0);
        assert_near(
            &[arrivals.kbps_of(0, &senders[0], 1.0, 6.0)],
            &[1_000.0],
            discipline,
        );
    }
    let arrivals = run("hfair", &senders, 2.0);
    for two in arrivals.0[0].windows(2).skip(1) {
        let gap = two[1].0 - two[0].0;
        assert!(gap.abs_diff(8_000_000) <= 8_000, "{gap} ns");
    }
}
