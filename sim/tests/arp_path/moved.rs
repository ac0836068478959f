//! Hosts that move without a word, and are found.

use bofuss_sim::{LinkId, LinkState, Random};
use proptest::prelude::*;

use crate::net::{Lab, MS, Plan};
use crate::{graph, ring, slow_stream};

/// When host 2 moves, in milliseconds.
const MOVED: u64 = 5_000;
/// The time from the first frame to a silent host until it is reached, in milliseconds: until the
/// repair has failed, and the way to the source's edge and back.
const FOUND: u64 = 510;

/// Host 2, which moves from one switch to another, and does not say so. Returns its two places.
fn add_mover(lab: &mut Lab, from: usize, to: usize, after: &[(u64, Plan)]) -> [(usize, LinkId); 2] {
    let old = lab.add_host(2, from, &[]);
    let new = lab.add_host(2, to, after);
    lab.plan_link(0, new.1, LinkState::Down);
    lab.plan_link(MOVED, old.1, LinkState::Down);
    lab.plan_link(MOVED, new.1, LinkState::Up);
    [old, new]
}

/// The plan of host 1: it asks for host 2, and sends to it then and after it has moved.
fn plan(after: impl Iterator<Item = u64>) -> Vec<(u64, Plan)> {
    let mut plan = vec![(4_000, Plan::Ask(2)), (4_100, Plan::Data(2))];
    plan.extend(after.map(|at| (at, Plan::Data(2))));
    plan
}

/// When the first frame of a host came to a place, and how many came.
fn arrived_from(lab: &Lab, place: usize, from: u16) -> (u64, usize) {
    let received = lab.station(place).received.iter();
    let of_it = received.filter(|(number, _)| **number >> 32 == u64::from(from));
    let times: Vec<u64> = of_it.map(|(_, (_, at))| at.0 / MS).collect();
    let first = times.iter().min().copied().unwrap_or(u64::MAX);
    (first, times.len())
}

#[test]
fn frames_to_a_silent_host_that_has_moved_reach_it() {
    for is_silent in [true, false] {
        let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
        lab.add_host(1, 0, &plan(MOVED + 100..MOVED + 5_100));
        // It answers half a second after it was reached, or never.
        let answer = [(MOVED + 1_200, Plan::Data(1))];
        let answers = if is_silent { &[][..] } else { &answer };
        let [_, (new, _)] = add_mover(&mut lab, 2, 4, answers);
        lab.run(MOVED + 6_000);
        lab.check_copies();
        let (first, count) = arrived_from(&lab, new, 1);
        assert!(first <= MOVED + 100 + FOUND, "{first}");
        assert!(count >= 4_400, "{count}");
    }
}

#[test]
fn one_frame_to_a_silent_host_that_has_moved_reaches_it() {
    let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
    lab.add_host(1, 0, &plan([MOVED + 100].into_iter()));
    let [_, (new, _)] = add_mover(&mut lab, 2, 4, &[]);
    lab.run(MOVED + 6_000);
    lab.check_copies();
    let (first, count) = arrived_from(&lab, new, 1);
    assert_eq!(count, 1);
    assert!(first <= MOVED + 100 + FOUND, "{first}");
}

#[test]
fn the_first_frame_of_a_host_that_has_moved_arrives_and_so_do_those_to_it() {
    // Its new switch knew it, or not.
    for is_known in [false, true] {
        let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
        let (first, _) = lab.add_host(1, 0, &[(4_000, Plan::Ask(2)), (4_100, Plan::Data(2))]);
        // It answers before it moves, and then speaks once.
        let old = lab.add_host(2, 2, &[(4_200, Plan::Data(1)), (4_300, Plan::Data(3))]);
        let new = lab.add_host(2, 4, &[(MOVED + 100, Plan::Data(1))]);
        lab.plan_link(0, new.1, LinkState::Down);
        lab.plan_link(MOVED, new.1, LinkState::Up);
        lab.plan_link(MOVED, old.1, LinkState::Down);
        if is_known {
            lab.add_host(5, 4, &[(4_550, Plan::Ask(2))]);
        }
        // The new switch knows the way to host 1, and need not ask for it.
        lab.add_host(4, 4, &[(4_400, Plan::Ask(1)), (4_500, Plan::Data(1))]);
        let mut plan = vec![(4_000, Plan::Ask(2))];
        plan.extend(slow_stream(2, MOVED + 200..MOVED + 1_200));
        lab.add_host(3, 2, &plan);
        lab.run(MOVED + 2_000);
        lab.check_copies();
        let spoken = lab.arrived(first, 2);
        let (_, heard) = arrived_from(&lab, new.0, 3);
        assert_eq!(
            spoken, 3,
            "its answer, its datagram, and that after it has moved"
        );
        assert_eq!(heard, 100, "all that host 3 sends after that");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        max_shrink_iters: 20,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_silent_host_is_found_wherever_it_moves(
        seed in any::<u64>(), switches in 2..30_usize, more in 0..30_usize, senders in 1..4_u16,
    ) {
        let mut random = Random::new(seed, 5);
        let links = graph(switches, more, &mut random);
        let mut lab = Lab::new(switches, &links, &[]);
        let mut place = || random.below(switches as u64) as usize;
        let [_, (new, _)] = add_mover(&mut lab, place(), place(), &[]);
        for number in 0..senders {
            // The addresses of hosts: 1, 3 and 5.
            lab.add_host(2 * number + 1, place(), &plan((MOVED..MOVED + 4_000).step_by(10)));
        }
        lab.run(MOVED + 6_000);
        lab.check_copies();
        for number in 0..senders {
            let from = 2 * number + 1;
            let (first, count) = arrived_from(&lab, new, from);
            prop_assert!(first <= MOVED + FOUND + 100, "{}", first);
            prop_assert!(count >= 345, "{} of 400", count);
        }
    }
}
