//! Fairness of subscribers and microflows, on a virtual clock.

use alloc::{vec, vec::Vec};

use bofuss_datapath::{Entitlement, Qos};
use bofuss_frame::Pool;
use bofuss_oflib::Mac;
use bofuss_packet::craft;

use super::*;
use crate::dumbbell::{PORT_KBPS, Sender, fairness, paper_senders, run};
use crate::entitlements::{entitled, of_aggregate, of_flow};

const NOW: Time = Time(0);
/// The deviation allowed between a share and what is expected, as a fraction.
const TOLERANCE: f64 = 0.03;

fn is_near(rate: f64, expected: f64) -> bool {
    (rate - expected).abs() <= TOLERANCE * expected
}

#[test]
fn t6_subscribers_get_equal_rates_whatever_they_offer_and_no_capacity_is_lost() {
    let senders = paper_senders();
    let rates = run("hfair", &senders, 6.0).kbps(&senders, 4, 2.0, 6.0);
    assert!(fairness(&rates) >= 0.9995, "{rates:?}");
    let sum: f64 = rates.iter().sum();
    assert!(sum >= 0.995 * f64::from(PORT_KBPS), "{rates:?}");
    // In the order of arrival they get what they offer.
    let rates = run("fifo", &senders, 6.0).kbps(&senders, 4, 2.0, 6.0);
    assert!((0.53..0.57).contains(&fairness(&rates)), "{rates:?}");
}

#[test]
fn t10_unused_shares_go_to_others_and_return() {
    let mut senders: Vec<Sender> = (0..4).map(|one| Sender::new(one, 20_000.0)).collect();
    for one in [1, 2] {
        senders[one].active = 0.0..2.0;
    }
    let mut back = [senders[1].clone(), senders[2].clone()];
    for sender in &mut back {
        sender.active = 4.0..6.0;
    }
    senders.extend(back);
    let arrivals = run("hfair", &senders, 6.0);
    // The frames that waited when they left take 0.1 s.
    let gone = arrivals.kbps(&senders, 4, 2.3, 4.0);
    assert!(
        is_near(gone[0], 5_000.0) && is_near(gone[3], 5_000.0),
        "{gone:?}"
    );
    let returned = arrivals.kbps(&senders, 4, 4.05, 6.0);
    assert!(
        returned.iter().all(|rate| is_near(*rate, 2_500.0)),
        "{returned:?}"
    );
}

#[test]
fn t7_t8_idle_microflows_and_new_ones_for_each_packet_gain_nothing() {
    for frames_per_tuple in [1, 2, 10] {
        let mut attacker = Sender::new(0, 20_000.0);
        (attacker.n_tuples, attacker.frames_per_tuple) = (u16::MAX / 2, frames_per_tuple);
        let senders = [attacker, Sender::new(1, 20_000.0)];
        let rates = run("hfair", &senders, 4.0).kbps(&senders, 2, 1.0, 4.0);
        assert!(fairness(&rates) >= 0.999, "{rates:?}");
    }

    let mut idle = Sender::new(0, 400.0);
    (idle.n_tuples, idle.active) = (50, 0.0..1.0);
    let senders = [idle, Sender::new(0, 20_000.0), Sender::new(1, 20_000.0)];
    let rates = run("hfair", &senders, 4.0).kbps(&senders, 2, 1.5, 4.0);
    assert!(fairness(&rates) >= 0.999, "{rates:?}");
}

#[test]
fn t6_a_sender_of_little_traffic_waits_little_and_loses_nothing() {
    let mut senders = paper_senders();
    senders[0].kbps = 281.0;
    let arrivals = run("hfair", &senders, 10.0);
    let mut waits: Vec<u64> = arrivals.0[0].iter().map(|(_, wait)| *wait).collect();
    let expected = 281e3 / 8e3 * 10.0;
    assert!(
        is_near(waits.len() as f64, expected),
        "{} of {expected}",
        waits.len()
    );
    waits.sort_unstable();
    let p99 = waits[waits.len() * 99 / 100];
    assert!(p99 <= 2_000_000, "{p99} ns");
}

#[test]
fn microflows_of_one_subscriber_share_evenly_what_they_ask_for() {
    let senders = [100.0, 1_500.0, 8_000.0, 30_000.0].map(|kbps| Sender::new(0, kbps));
    let arrivals = run("hfair", &senders, 6.0);
    let each: Vec<f64> = (0..4)
        .map(|n| arrivals.0[n].len() as f64 * 8.0 / 6.0)
        .collect();
    assert!(
        is_near(each[0], 100.0) && is_near(each[1], 1_500.0),
        "{each:?}"
    );
    assert!(
        is_near(each[2], 4_200.0) && is_near(each[3], 4_200.0),
        "{each:?}"
    );
}

#[test]
fn microflows_and_aggregates_are_forgotten_while_new_ones_come() {
    let (pool, mut order) = (Pool::new(1 << 24), FairOrder::default());
    let mut most = 0;
    for n in 0..100_000_u32 {
        // Every second packet is one of a new subscriber, every fourth one of a new microflow.
        let subscriber = if n % 2 == 0 { n } else { n % 3 };
        let port = if n % 4 == 1 { n as u16 } else { 7 };
        let udp = craft::udp(port, 9, &[]);
        let ip = craft::ipv4([10, 9, 9, 9].into(), subscriber.into(), 64, udp);
        let frame = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        let frame = pool.frame(&frame).expect("within the limit");
        let bounds = Bounds {
            kbps: 0,
            limit_bytes: 1 << 20,
        };
        let taken = order.push(NOW, frame, &QueueClass::DEFAULT, bounds);
        assert_eq!(taken, Ok(()));
        if n >= 500 {
            order.pop(NOW).expect("500 wait");
        }
        most = most.max(order.flows.len() + order.aggregates.len());
    }
    assert!(most < 5_000, "{most}");
    while order.pop(NOW).is_some() {}
    assert_eq!(order.due(), None);
}

/// Has a frame of 1,000 bytes come, of a flow to a subscriber. Returns true if it waits.
fn push(order: &mut FairOrder, pool: &Pool, subscriber: u8, flow: u16, qos: Option<Qos>) -> bool {
    let ip = craft::ipv4([10, 9, 9, 9].into(), [10, 0, 0, subscriber].into(), 64, {
        craft::udp(flow, 9, &[])
    });
    let mut bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    bytes.resize(1000, 0);
    let class = QueueClass {
        qos,
        ..QueueClass::DEFAULT
    };
    let bounds = Bounds {
        kbps: PORT_KBPS,
        limit_bytes: 1 << 20,
    };
    let frame = pool.frame(&bytes).expect("within the limit");
    order.push(NOW, frame, &class, bounds).is_ok()
}

/// Returns what the discipline reports of a flow to a subscriber.
fn standing(order: &FairOrder, subscriber: u8, flow: u16) -> Standing {
    let microflow = Microflow {
        id: None,
        vlan: 0,
        source: u32::from_be_bytes([10, 9, 9, 9]).into(),
        destination: u32::from_be_bytes([10, 0, 0, subscriber]).into(),
        is_ip: true,
        eth_type: 0x800,
        ip_proto: 17,
        ports: [flow, 9],
    };
    order
        .standing(NOW, &microflow, PORT_KBPS)
        .expect("it waits")
}

#[test]
fn the_reported_share_of_a_flow_follows_from_its_records() {
    // Two flows of a subscriber, the first with a record, and one of another subscriber.
    let cases = [
        (None, [2_500, 2_500, 5_000]),
        (of_aggregate(entitled(3, 0, 0)), [3_750, 3_750, 2_500]),
        (of_aggregate(entitled(1, 4_000, 0)), [3_500, 3_500, 3_000]),
        (of_aggregate(entitled(1, 0, 1_000)), [500, 500, 5_000]),
        (of_flow(entitled(3, 0, 0), 0), [3_750, 1_250, 5_000]),
        (of_flow(entitled(1, 2_000, 0), 0), [3_500, 1_500, 5_000]),
        (of_flow(entitled(1, 0, 1_000), 0), [1_000, 2_500, 5_000]),
    ];
    let pool = Pool::new(1 << 24);
    for (qos, shares) in cases {
        let mut order = FairOrder::default();
        for _ in 0..5 {
            assert!(push(&mut order, &pool, 1, 1, qos));
            assert!(push(&mut order, &pool, 1, 2, None));
            assert!(push(&mut order, &pool, 2, 3, None));
        }
        let told = [(1, 1), (1, 2), (2, 3)].map(|(to, flow)| standing(&order, to, flow));
        assert_eq!(told.map(|one| one.share_kbps), shares, "{qos:?}");
        let etas = shares.map(|kbps| 5 * 1_000 * 8_000_000 / kbps);
        assert!(
            told.iter().all(|one| one.waiting_bytes == 5_000),
            "{told:?}"
        );
        assert_eq!(told.map(|one| one.eta_ns), etas, "{qos:?}");
        assert_eq!(told[0].aggregate_kbps, told[1].aggregate_kbps, "{qos:?}");
    }
}

#[test]
fn reported_shares_follow_changing_records_and_frames() {
    let (pool, mut order) = (Pool::new(1 << 24), FairOrder::default());
    let mut random = 1_u64;
    let mut below = |bound: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % bound
    };
    let mut n_waiting = 0;
    for _ in 0..10_000 {
        if below(100) < 52 {
            let entitlement = Entitlement {
                weight: below(3) as u16,
                guaranteed_kbps: below(2) as u32 * 100,
                max_kbps: below(2) as u32 * 2_000,
            };
            let mut qos = Qos {
                priority: below(2) as u8,
                ..Qos::DEFAULT
            };
            match below(8) {
                0 => qos.flow = entitlement,
                1 => qos.aggregate = Some(entitlement),
                2 => qos.aggregate_id = Some(below(2)),
                _ => {}
            }
            let waits = push(
                &mut order,
                &pool,
                below(3) as u8,
                below(4) as u16,
                Some(qos),
            );
            n_waiting += usize::from(waits);
        } else {
            n_waiting -= usize::from(order.pop(Time(below(2) * 1_000_000)).is_some());
        }
        let mut of_all = WaitingSiblings::default();
        for &number in order.aggregate_of.values() {
            let aggregate = &order.aggregates[number];
            of_all.add(&aggregate.account);
            let mut own = WaitingSiblings::default();
            for flow in order.flow_of.values() {
                let flow = &order.flows[*flow];
                if flow.aggregate == number {
                    own.add(&flow.account);
                }
            }
            assert_eq!(aggregate.backlog, own);
        }
        assert_eq!(order.backlog, of_all);
    }
    assert!(
        n_waiting > 50,
        "{n_waiting} wait: there was something to share"
    );
}

#[test]
fn what_a_maximum_holds_back_waits_no_longer_than_at_a_port_of_that_rate() {
    const MOST_NS: u64 = 250_000_000;
    for max_kbps in [500, 2_000] {
        let max = entitled(1, 0, max_kbps);
        for qos in [of_flow(max, 0), of_aggregate(max)] {
            let mut capped = Sender::new(0, 20_000.0);
            capped.qos = qos;
            // Also beside another microflow of its subscriber, and of others.
            for beside in [vec![], vec![0], vec![0, 1]] {
                let mut senders = vec![capped.clone()];
                for subscriber in beside {
                    let mut other = Sender::new(subscriber, 20_000.0);
                    other.qos = qos.filter(|qos| subscriber == 0 && qos.aggregate.is_some());
                    senders.push(other);
                }
                let arrivals = run("hfair", &senders, 4.0);
                let longest = arrivals.0[0].iter().map(|(_, wait)| *wait).max();
                assert!(longest <= Some(MOST_NS), "{longest:?} ns of {max_kbps}");
                let all = arrivals.kbps(&senders, 2, 1.0, 4.0);
                let own = arrivals.kbps_of(0, &senders[0], 1.0, 4.0);
                let held = if qos.is_some_and(|qos| qos.aggregate.is_some()) {
                    all[0]
                } else {
                    own
                };
                assert!(is_near(held, f64::from(max_kbps)), "{held} of {max_kbps}");
            }
        }
    }
}

#[test]
fn a_hundred_thousand_microflows_keep_to_their_maxima() {
    let (pool, mut order) = (Pool::new(1 << 24), FairOrder::default());
    let bounds = Bounds {
        kbps: 0,
        limit_bytes: 1 << 20,
    };
    let mut class = QueueClass {
        qos: of_flow(entitled(1, 0, 1), 0),
        ..QueueClass::DEFAULT
    };
    // The first round is sent at once; the maximum of each forbids a second frame for 8 s.
    for round in 0..2 {
        for flow in 0..100_000 {
            class.qos.as_mut().expect("it has one").flow_id = Some(flow);
            let frame = pool.frame(&[0; 1000]).expect("within the limit");
            let taken = order.push(Time(round), frame, &class, bounds);
            if round == 0 {
                assert_eq!((taken, order.pop(Time(round)).is_some()), (Ok(()), true));
            } else if taken.is_ok() {
                assert!(order.pop(Time(round)).is_none(), "{flow}");
            }
        }
    }
    assert_eq!(order.flows.len(), 100_000);
}
