//! Random failures of links and moves of hosts. Every frame of a host is followed.

use std::ops::Range;

use bofuss_oflib::message::FlowModCommand;
use bofuss_sim::{LinkState, NodeId, Random};
use proptest::prelude::*;

use crate::graph;
use crate::net::{Lab, MS, Plan};

/// The entries of a switch that acts as a cable.
const CABLE: [&str; 2] = ["in_port=1,actions=output:2", "in_port=2,actions=output:1"];
/// When both hosts of a pair send, in milliseconds. Links fail and hosts move meanwhile.
const SENDING: Range<u64> = 1_000..16_000;
/// Milliseconds between two datagrams of a host.
const PAUSE: u64 = 20;
/// When all links are up again, and when repair must have ended.
const RESTORED: u64 = 12_000;
const REPAIRED: u64 = 15_000;
/// The lifetime of an unused path.
const LEARNT_MS: &str = "4000";
/// When all paths are forgotten: [`LEARNT_MS`] after the last frame, and 2 s more.
const FORGOTTEN: u64 = 22_000;

/// Two hosts that send each other datagrams. Both know the other's address from the beginning.
struct Pair {
    /// The places of each, with its number: one, or two if it moves.
    places: [(Vec<usize>, u16); 2],
}

/// The datagrams of a host while it is at one place.
fn datagrams(to: u16, during: Range<u64>, offset: u64) -> Vec<(u64, Plan)> {
    let times = during.step_by(PAUSE as usize);
    times.map(|at| (at + offset, Plan::Data(to))).collect()
}

/// Adds a host that stays, or one that moves to another switch at a time.
fn add_host(
    lab: &mut Lab,
    (number, to): (u16, u16),
    switches: [usize; 2],
    moves_at: Option<u64>,
) -> Vec<usize> {
    let offset = u64::from(number) % PAUSE;
    let Some(at) = moves_at else {
        let plan = datagrams(to, SENDING, offset);
        return vec![lab.add_host(number, switches[0], &plan).0];
    };
    let before = datagrams(to, SENDING.start..at, offset);
    let after = datagrams(to, at + PAUSE..SENDING.end, offset);
    let (old, old_link) = lab.add_host(number, switches[0], &before);
    let (new, new_link) = lab.add_host(number, switches[1], &after);
    lab.plan_link(0, new_link, LinkState::Down);
    lab.plan_link(at, old_link, LinkState::Down);
    lab.plan_link(at, new_link, LinkState::Up);
    vec![old, new]
}

/// Plans failures of links, one after the other: some with the carrier, some silent.
fn break_links(lab: &mut Lab, random: &mut Random) {
    let mut at = 2_000;
    while at < RESTORED - 2_000 {
        let link = lab.links[random.below(lab.links.len() as u64) as usize].3;
        let state = if random.below(2) == 0 {
            LinkState::Down
        } else {
            LinkState::Silent
        };
        lab.plan_link(at, link, state);
        let back = at + 100 + random.below(5_000);
        lab.plan_link(back.min(RESTORED), link, LinkState::Up);
        at += 300 + random.below(1_000);
    }
}

/// Runs the network; for some seconds, the cable carries frames in one direction only.
fn run_with_a_deaf_end(lab: &mut Lab, cable: NodeId) {
    lab.run(4_000);
    lab.change_entry(cable, FlowModCommand::DELETE, "in_port=1");
    lab.run(9_000);
    lab.change_entry(cable, FlowModCommand::ADD, CABLE[0]);
    lab.run(FORGOTTEN);
}

/// Returns how many of the datagrams of host `from` arrived at the other host after [`REPAIRED`].
fn late(lab: &Lab, (to, _): &(Vec<usize>, u16), from: u16) -> usize {
    let mut count = 0;
    for place in to {
        let received = lab.station(*place).received.iter();
        let from_it = received
            .filter(|(number, (_, at))| **number >> 32 == u64::from(from) && at.0 >= REPAIRED * MS);
        count += from_it.count();
    }
    count
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        max_shrink_iters: 20, // A network of 50 switches takes a second.
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_fails_there_is_no_storm_and_paths_are_found_again(
        seed in any::<u64>(), switches in 3..50_usize, more in 2..60_usize, pairs in 1..5_u16,
    ) {
        let mut random = Random::new(seed, 2);
        let links = graph(switches, more, &mut random);
        let mut lab = Lab::new(switches, &links, &[("learnt-ms", LEARNT_MS)]);
        let cable = lab.add_bridge(&[0, switches - 1], &CABLE, 1_000);
        let mut hosts = Vec::new();
        for pair in 0..pairs {
            let (one, other) = (2 * pair + 1, 2 * pair + 2);
            let places = [(one, other), (other, one)].map(|numbers| {
                let at = [(); 2].map(|()| random.below(switches as u64) as usize);
                let moves = random.below(2) == 0;
                let moves_at = moves.then(|| 3_000 + random.below(8_000));
                (add_host(&mut lab, numbers, at, moves_at), numbers.0)
            });
            hosts.push(Pair { places });
        }
        break_links(&mut lab, &mut random);
        run_with_a_deaf_end(&mut lab, cable);
        lab.check_in_trouble();
        let most = (SENDING.end - REPAIRED) / PAUSE;
        for Pair { places: [first, second] } in &hosts {
            for (to, from) in [(second, first.1), (first, second.1)] {
                let count = late(&lab, to, from);
                prop_assert!(count as u64 >= most - 2, "{} of {} from {}", count, most, from);
            }
        }
        prop_assert_eq!(lab.metric("entries"), 0, "tables forget");
        prop_assert_eq!(lab.metric("waiting"), 0, "no frame waits");
    }
}
