//! ARP-Path in networks with loops. Every frame is followed.

mod bridges;
mod moved;
mod net;
mod replay;
mod spread;
mod station;
mod trouble;

use std::ops::Range;

use bofuss_oflib::message::FlowModCommand;
use bofuss_sim::{LinkState, Random};
use net::{Lab, MS, Plan};
use proptest::prelude::*;

/// A ring of switches, each link with this delay.
fn ring(count: usize, delay_ns: u64) -> Vec<(usize, usize, u64)> {
    (0..count)
        .map(|at| (at, (at + 1) % count, delay_ns))
        .collect()
}

/// A connected graph: a random tree, and further links; delays of 1 us to 1 ms.
fn graph(switches: usize, more: usize, random: &mut Random) -> Vec<(usize, usize, u64)> {
    let mut links: Vec<(usize, usize, u64)> = Vec::new();
    let mut add = |first: usize, second: usize, random: &mut Random| {
        let is_there = links
            .iter()
            .any(|(a, b, _)| (*a, *b) == (first, second) || (*a, *b) == (second, first));
        if first != second && !is_there {
            links.push((first, second, 1_000 + random.below(1_000_000)));
        }
    };
    for at in 1..switches {
        add(random.below(at as u64) as usize, at, random);
    }
    for _ in 0..more {
        let ends = [(); 2].map(|()| random.below(switches as u64) as usize);
        add(ends[0], ends[1], random);
    }
    links
}

/// Datagrams to a host at 1 kHz, between two times in milliseconds.
fn stream(to: u16, ms: Range<u64>) -> Vec<(u64, Plan)> {
    ms.map(|at| (at, Plan::Data(to))).collect()
}

/// Datagrams to a host at 100 Hz, between two times in milliseconds.
fn slow_stream(to: u16, ms: Range<u64>) -> Vec<(u64, Plan)> {
    ms.step_by(10).map(|at| (at, Plan::Data(to))).collect()
}

#[test]
fn a_ring_has_no_storm_and_a_ping_goes_the_short_way() {
    let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
    let (first, _) = lab.add_host(1, 0, &[(1000, Plan::Ask(2)), (1100, Plan::Data(2))]);
    let (second, _) = lab.add_host(2, 2, &[(1200, Plan::Data(1))]);
    let (third, _) = lab.add_host(3, 3, &[]);
    lab.run(5000);
    lab.check();
    assert_eq!(lab.arrived(first, 2), 2, "the ARP reply and the datagram");
    assert_eq!(lab.arrived(second, 1), 1);
    assert_eq!(lab.station(third).received.len(), 1, "the ARP request");
    let datagram = 1 << 32 | 1;
    assert_eq!(lab.path(datagram).len(), 2);
    assert_eq!(lab.path_delay(datagram), 20_000);
}

#[test]
fn a_link_in_use_that_loses_its_carrier_costs_few_frames() {
    let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
    let mut plan = vec![(1000, Plan::Ask(2))];
    plan.extend(stream(2, 1100..3100));
    let (first, _) = lab.add_host(1, 0, &plan);
    let (second, _) = lab.add_host(2, 2, &stream(1, 1100..3100));
    let used = lab.links[0].3;
    lab.plan_link(2000, used, LinkState::Down);
    lab.run(5000);
    lab.check();
    assert!(lab.arrived(second, 1) >= 1999, "{}", lab.arrived(second, 1));
    assert!(lab.arrived(first, 2) >= 1999, "{}", lab.arrived(first, 2));
}

#[test]
fn a_frame_that_waits_where_no_way_is_left_goes_back_and_arrives() {
    let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
    lab.add_host(
        1,
        0,
        &[
            (1000, Plan::Ask(2)),
            (1100, Plan::Data(2)),
            (2200, Plan::Data(2)),
        ],
    );
    let (second, _) = lab.add_host(2, 2, &[]);
    let beyond_the_first_switch = lab.links[1].3;
    lab.plan_link(2000, beyond_the_first_switch, LinkState::Down);
    lab.run(3000);
    lab.check();
    assert_eq!(lab.arrived(second, 1), 2);
    assert_eq!(lab.path(1 << 32 | 1), [0, 1]);
    assert_eq!(lab.path(1 << 32 | 2), [0, 0, 4, 3, 2]);
    assert_eq!(lab.metric("repairs"), 2, "at the switch, and at the edge");
}

#[test]
fn a_frame_that_waits_where_the_answer_does_not_pass_takes_the_way_from_there() {
    // The short way is 0-1-2; then that from the edge is 0-3-2, and that from switch 1 is 1-4-2.
    let links = [
        (0, 1, 10_000),
        (1, 2, 10_000),
        (0, 3, 20_000),
        (3, 2, 20_000),
        (1, 4, 19_000),
        (4, 2, 19_000),
    ];
    let mut lab = Lab::new(5, &links, &[]);
    let plan = [
        (1000, Plan::Ask(2)),
        (2200, Plan::Data(2)),
        (2300, Plan::Data(2)),
    ];
    lab.add_host(1, 0, &plan);
    let (second, _) = lab.add_host(2, 2, &[]);
    let short = lab.links[1].3;
    lab.plan_link(2000, short, LinkState::Down);
    lab.run(3000);
    lab.check();
    assert_eq!(lab.arrived(second, 1), 2);
    assert_eq!(lab.path(1 << 32 | 1), [0, 4, 5]);
    assert_eq!(lab.path(1 << 32 | 2), [2, 3]);
}

#[test]
fn a_silent_link_is_left_within_the_hello_timeout() {
    let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
    let mut plan = vec![(1000, Plan::Ask(2))];
    plan.extend(stream(2, 1100..8100));
    lab.add_host(1, 0, &plan);
    let (second, _) = lab.add_host(2, 2, &[]);
    let used = lab.links[0].3;
    lab.plan_link(2000, used, LinkState::Silent);
    lab.run(9000);
    lab.check();
    let lost = 7000 - lab.arrived(second, 1);
    assert!((1900..3100).contains(&lost), "{lost}");
}

#[test]
fn hosts_with_warm_arp_caches_find_each_other() {
    let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
    let (first, _) = lab.add_host(1, 0, &stream(2, 1000..2000));
    let (second, _) = lab.add_host(2, 2, &stream(1, 1005..2000));
    lab.run(5000);
    lab.check();
    assert!(lab.arrived(second, 1) >= 990, "{}", lab.arrived(second, 1));
    assert!(lab.arrived(first, 2) >= 990, "{}", lab.arrived(first, 2));
}

#[test]
fn a_host_that_moves_is_found_where_it_speaks() {
    let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
    let mut plan = vec![(1000, Plan::Ask(2))];
    plan.extend(stream(2, 1100..5100));
    lab.add_host(1, 0, &plan);
    let (old, link) = lab.add_host(2, 2, &stream(1, 1100..2000));
    lab.plan_link(2000, link, LinkState::Down);
    // It says a word to somebody else, from the other side of the ring.
    let (new, link) = lab.add_host(2, 4, &[(2100, Plan::Ask(3))]);
    lab.plan_link(0, link, LinkState::Down);
    lab.plan_link(2050, link, LinkState::Up);
    lab.run(6000);
    lab.check();
    let all = lab.arrived(old, 1) + lab.arrived(new, 1);
    assert!(all >= 3800, "{all}");
}

#[test]
fn a_stream_in_one_direction_keeps_its_path_also_when_a_link_fails() {
    let mut lab = Lab::new(5, &ring(5, 10_000), &[("learnt-ms", "2000")]);
    let mut plan = vec![(1000, Plan::Ask(2))];
    plan.extend(stream(2, 1100..6100));
    lab.add_host(1, 0, &plan);
    // It has answered by ARP, and says nothing more.
    let (second, _) = lab.add_host(2, 2, &[]);
    let used = lab.links[1].3;
    lab.plan_link(5000, used, LinkState::Down);
    lab.run(8000);
    lab.check();
    assert!(lab.arrived(second, 1) >= 4998, "{}", lab.arrived(second, 1));
}

#[test]
fn what_nobody_uses_is_forgotten() {
    let options = [("learnt-ms", "2000")];
    let mut lab = Lab::new(4, &ring(4, 10_000), &options);
    lab.add_host(1, 0, &[(1000, Plan::Ask(2)), (1001, Plan::Solicit)]);
    lab.add_host(2, 2, &[]);
    lab.run(1100);
    assert_eq!(
        lab.metric("entries"),
        4 + 3,
        "host 1 everywhere, host 2 on its path"
    );
    lab.run(6000);
    lab.check();
    assert_eq!(lab.metric("entries"), 0);
}

#[test]
fn a_neighbour_solicitation_explores_as_an_arp_request_does() {
    let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
    let (first, _) = lab.add_host(1, 0, &[(1000, Plan::Solicit)]);
    lab.add_host(2, 2, &[(1100, Plan::Data(1))]);
    let (third, _) = lab.add_host(3, 4, &[]);
    lab.run(2000);
    lab.check();
    assert_eq!(lab.station(third).received.len(), 1, "the solicitation");
    assert_eq!(lab.arrived(first, 2), 1);
    assert_eq!(lab.path(2 << 32 | 1 << 24), [1, 0]);
    assert_eq!(lab.metric("repairs"), 0, "the path is known");
}

#[test]
fn vlans_are_separate() {
    let mut lab = Lab::new(5, &ring(5, 10_000), &[]);
    lab.add_host(1, 0, &[(1000, Plan::Ask(2)), (1100, Plan::Tagged(7, 2))]);
    let (second, _) = lab.add_host(2, 2, &[(1300, Plan::Tagged(7, 1))]);
    lab.run(5000);
    lab.check();
    // In VLAN 7 nobody knew host 2 until it spoke there: the frame waited, and then arrived.
    assert_eq!(lab.arrived(second, 1), 1);
    let (_, at) = lab.station(second).received[&(1 << 32 | 1)];
    assert!(at.0 >= 1300 * MS);
}

#[test]
fn a_trace_says_that_a_table_miss_entry_turns_it_off() {
    let mut lab = Lab::new(1, &[], &[("tables", "0")]);
    lab.add_host(1, 0, &[]);
    lab.add_host(2, 0, &[]);
    let node = lab.switches[0];
    lab.change_entry(node, FlowModCommand::DELETE, "");
    let on = lab.trace(node, 1, (1, 2));
    assert!(on.contains("arppath: the source is new"), "{on}");
    lab.change_entry(node, FlowModCommand::ADD, "priority=0,actions=drop");
    let off = lab.trace(node, 1, (1, 2));
    assert!(off.contains("arppath: off in this table"), "{off}");
}

#[test]
fn a_host_that_floods_takes_no_bandwidth_of_others() {
    let mut lab = Lab::new(3, &ring(3, 10_000), &[("floods", "100")]);
    let storm: Vec<(u64, Plan)> = (1000..3000).map(|ms| (ms, Plan::Solicit)).collect();
    lab.add_host(1, 0, &storm);
    let (second, _) = lab.add_host(2, 1, &[(2500, Plan::Ask(3))]);
    let (third, _) = lab.add_host(3, 2, &[]);
    lab.run(4000);
    lab.check();
    // 100 at once and 100 a second, in two seconds.
    let of_the_storm = lab.station(third).received.len() - 1;
    assert!((250..=300).contains(&of_the_storm), "{of_the_storm}");
    assert_eq!(lab.arrived(second, 3), 1, "the answer");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        max_shrink_iters: 40, // A network of 50 switches takes a second.
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_path_is_that_of_the_lowest_delay(
        seed in any::<u64>(), switches in 2..50_usize, more in 0..60_usize,
    ) {
        let mut random = Random::new(seed, 0);
        let links = graph(switches, more, &mut random);
        let mut lab = Lab::new(switches, &links, &[]);
        let at = [(); 2].map(|()| random.below(switches as u64) as usize);
        let (first, _) = lab.add_host(1, at[0], &[(1000, Plan::Ask(2)), (1100, Plan::Data(2))]);
        let (second, _) = lab.add_host(2, at[1], &[(1200, Plan::Data(1))]);
        for switch in 0..switches {
            lab.add_host(100 + switch as u16, switch, &[]);
        }
        lab.run(3000);
        lab.check();
        let shortest = lab.distances(at[0])[at[1]];
        prop_assert_eq!(lab.arrived(first, 2), 2);
        prop_assert_eq!(lab.arrived(second, 1), 1);
        prop_assert_eq!(lab.path_delay(1 << 32 | 1), shortest);
        prop_assert_eq!(lab.path_delay(2 << 32 | 1 << 24 | 1), shortest);
        for place in 2..lab.hosts.len() {
            prop_assert_eq!(lab.station(place).received.len(), 1, "the request");
        }
        prop_assert!(lab.trail.directions.len() == 4);
        prop_assert!(lab.trail.returned.is_empty(), "no frame has to go back");
    }

    #[test]
    fn links_fail_and_return_and_paths_are_repaired(
        seed in any::<u64>(), switches in 3..50_usize, more in 2..60_usize, pairs in 1..5_u16,
    ) {
        let mut random = Random::new(seed, 1);
        let links = graph(switches, more, &mut random);
        let mut lab = Lab::new(switches, &links, &[]);
        let place = |random: &mut Random| random.below(switches as u64) as usize;
        let mut hosts = Vec::new();
        for pair in 0..pairs {
            let (one, other) = (2 * pair + 1, 2 * pair + 2);
            let mut plan = vec![(1000, Plan::Ask(other))];
            plan.extend(slow_stream(other, 1100..7000));
            let first = lab.add_host(one, place(&mut random), &plan).0;
            let back = slow_stream(one, 1100..7000);
            let second = lab.add_host(other, place(&mut random), &back).0;
            hosts.push((first, one, second, other));
        }
        // One link at a time, so that the graph may fall apart for 400 ms, and no longer.
        for turn in 0..8 {
            let link = lab.links[random.below(links.len() as u64) as usize].3;
            lab.plan_link(1500 + 500 * turn, link, LinkState::Down);
            lab.plan_link(1900 + 500 * turn, link, LinkState::Up);
        }
        lab.run(9000);
        lab.check_in_trouble();
        for (first, one, second, other) in hosts {
            // What was sent last arrives: repair has ended.
            for (to, from) in [(second, one), (first, other)] {
                let received = lab.station(to).received.iter();
                let late = received.filter(|(number, (_, at))| {
                    **number >> 32 == u64::from(from) && at.0 >= 6500 * MS
                });
                let count = late.count();
                prop_assert!(count >= 45, "{} of 50 from {}", count, from);
            }
        }
    }
}
