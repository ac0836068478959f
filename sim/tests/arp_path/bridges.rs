//! Switches that have an ordinary learning bridge between them.

use bofuss_sim::LinkState;

use crate::net::{Lab, Plan};
use crate::{ring, slow_stream};

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
fn a_ring_that_a_bridge_is_part_of_heals_when_the_bridge_is_cut_off() {
    let mut lab = Lab::new(4, &ring(4, 100_000)[1..], &[]);
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
