//! Packets other than UDP, and malformed packets, together with floods: tests of the fair
//! disciplines.

use alloc::vec;

use crate::dumbbell::{Kind, Sender, fairness, run};

/// One of a kind at a rate.
fn sender(kind: Kind, subscriber: usize, kbps: f64) -> Sender {
    Sender {
        kind,
        ..Sender::new(subscriber, kbps)
    }
}

#[test]
fn ping_arp_and_fragments_lose_nothing_and_keep_their_order_beside_floods() {
    for discipline in ["hfair", "ceta2"] {
        // Malformed frames arrive on another port than ARP, and belong to that port's aggregate.
        let mut wrong = sender(Kind::Wrong, 3, 20_000.0);
        wrong.ingress = 3;
        let senders = [
            sender(Kind::Ping, 0, 200.0),
            sender(Kind::Arp, 0, 100.0),
            sender(Kind::Fragments, 0, 500.0),
            sender(Kind::Udp, 1, 40_000.0),
            sender(Kind::Udp, 2, 40_000.0),
            wrong,
        ];
        // `run` checks that each sender's frames keep their order.
        let arrivals = run(discipline, &senders, 10.0);
        for n in 0..3 {
            let (sent, arrived) = (arrivals.1[n], arrivals.0[n].len());
            // The last frames may still wait.
            assert!(
                arrived + 2 >= sent,
                "{discipline}, {n}: {arrived} of {sent}"
            );
        }
        let floods = [3, 4, 5].map(|n| arrivals.kbps_of(n, &senders[n], 3.0, 10.0));
        assert!(fairness(&floods) >= 0.999, "{discipline}: {floods:?}");
        let sum: f64 = floods.iter().sum();
        assert!(
            (9_000.0..=9_250.0).contains(&sum),
            "{discipline}: {floods:?}"
        );
    }
}

#[test]
fn floods_of_pings_and_fragments_get_the_same_as_one_of_udp() {
    for discipline in ["hfair", "ceta2"] {
        let senders = vec![
            sender(Kind::Ping, 0, 20_000.0),
            sender(Kind::Fragments, 1, 40_000.0),
            sender(Kind::Udp, 2, 60_000.0),
            sender(Kind::Arp, 3, 30_000.0),
        ];
        let rates = run(discipline, &senders, 6.0).kbps(&senders, 4, 2.0, 6.0);
        assert!(fairness(&rates) >= 0.999, "{discipline}: {rates:?}");
    }
}
