//! ARP-Path switches with an ordinary learning bridge between them.

use bofuss_ext::arppath::{NeighbourKind, PathPortRecord};
use bofuss_sim::{LinkState, Random};
use proptest::prelude::*;

use crate::net::{KEY, Lab, MS, Plan};
use crate::{graph, ring, slow_stream};

/// When the path between two hosts is explored, and when datagrams follow.
const ASKED: u64 = 5_000;

#[test]
fn a_bridge_between_two_switches_carries_what_is_for_the_other_side() {
    let mut lab = Lab::new(2, &[], &[]);
    lab.add_bridge(&[0, 1], &[], 10_000);
    let mut plan = vec![(ASKED, Plan::Ask(2))];
    plan.extend(slow_stream(2, 5_100..8_000));
    let (first, _) = lab.add_host(1, 0, &plan);
    let (second, _) = lab.add_host(2, 1, &slow_stream(1, 5_100..8_000));
    lab.run(9_000);
    lab.check();
    assert_eq!(lab.arrived(second, 1), 290);
    assert_eq!(lab.arrived(first, 2), 291);
}

#[test]
fn a_host_on_a_bridge_gets_a_broadcast_from_each_switch_there_at_most() {
    // Switches 0 and 1 are joined by a slow bridge, and by a fast path through switch 2.
    let mut lab = Lab::new(3, &[(0, 2, 1_000), (2, 1, 1_000)], &[]);
    let bridge = lab.add_bridge(&[0, 1], &[], 50_000);
    let shared = lab.with_hosts(bridge, 2);
    let (first, _) = lab.add_host(1, 0, &[(ASKED, Plan::Ask(2)), (ASKED + 100, Plan::Data(2))]);
    let (second, _) = lab.add_host(2, shared, &[(ASKED + 200, Plan::Data(1))]);
    let (third, _) = lab.add_host(3, 2, &[]);
    lab.run(6_000);
    lab.check_loops();
    let counts = |place: usize| {
        let received = lab.station(place).received.values();
        received.map(|(count, _)| *count).collect::<Vec<u32>>()
    };
    assert_eq!(counts(second), [2, 1], "the broadcast, and the datagram");
    assert_eq!(counts(first), [1, 1, 1], "its answers, and its datagram");
    assert_eq!(counts(third), [1], "the broadcast");
}

#[test]
fn a_ring_that_a_bridge_is_part_of_heals_when_the_bridge_is_cut_off() {
    for options in [&[][..], &KEY] {
        heals(options);
    }
}

fn heals(options: &[(&str, &str)]) {
    let mut lab = Lab::new(4, &ring(4, 100_000)[1..], options);
    lab.add_bridge(&[0, 1], &[], 10_000);
    let mut plan = vec![(ASKED, Plan::Ask(2))];
    plan.extend(slow_stream(2, 5_100..12_000));
    lab.add_host(1, 0, &plan);
    let (second, _) = lab.add_host(2, 1, &slow_stream(1, 5_100..12_000));
    let at_the_bridge = lab.bridge_links[0];
    lab.plan_link(7_000, at_the_bridge, LinkState::Down);
    lab.run(13_000);
    lab.check();
    let arrived = lab.arrived(second, 1);
    assert!(arrived >= 688, "{arrived} of 690");
}

#[test]
fn switches_on_one_bridge_send_as_few_hellos_as_any() {
    for options in [&[][..], &KEY] {
        let mut lab = Lab::new(4, &[], options);
        lab.add_bridge(&[0, 1, 2, 3], &[], 10_000);
        lab.run(5_000);
        let before = lab.trail.path_frames;
        lab.run(15_000);
        // Two of each in a second, of which the bridge passes one on to three others.
        let hellos = lab.trail.path_frames - before;
        assert!((190..=210).contains(&hellos), "{hellos}");
        for at in 0..4 {
            let ports: Vec<PathPortRecord> = lab.list(at, "arp_path_ports");
            assert_eq!(ports[0].kind, NeighbourKind::Shared);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        max_shrink_iters: 20,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_bridge_anywhere_makes_no_storm_and_no_duplicate(
        seed in any::<u64>(), switches in 3..30_usize, more in 0..30_usize, ports in 2..5_usize,
    ) {
        let mut random = Random::new(seed, 3);
        let links = graph(switches, more, &mut random);
        let mut lab = Lab::new(switches, &links, &[]);
        let mut place = || random.below(switches as u64) as usize;
        let at: Vec<usize> = (0..ports).map(|_| place()).collect();
        lab.add_bridge(&at, &[], 50_000);
        let mut hosts = Vec::new();
        for pair in 0..3 {
            let (one, other) = (2 * pair + 1, 2 * pair + 2);
            let mut plan = vec![(ASKED + u64::from(pair), Plan::Ask(other))];
            plan.extend(slow_stream(other, 5_100..9_000));
            let first = lab.add_host(one, place(), &plan).0;
            let second = lab.add_host(other, place(), &slow_stream(one, 5_105..9_000)).0;
            hosts.push((first, one, second, other));
        }
        lab.run(10_000);
        lab.check();
        prop_assert!(lab.trail.returned.is_empty(), "no frame has to go back");
        for (first, one, second, other) in hosts {
            for (to, from) in [(second, one), (first, other)] {
                let received = lab.station(to).received.iter();
                let late = received.filter(|(number, (_, at))| {
                    **number >> 32 == u64::from(from) && at.0 >= 8_000 * MS
                });
                prop_assert!(late.count() >= 99, "from {}", from);
            }
        }
    }
}
