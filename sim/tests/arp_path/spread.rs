//! Measures how long the paths are and how the links share the load, compared with a spanning tree:
//! the table in docs/guide/arp-path.md.

use std::collections::BTreeSet;
use std::fmt::Write;

use bofuss_sim::Random;

use crate::net::{Lab, Plan, mac};
use crate::ring;

const PAGE: &str = include_str!("../../../docs/guide/arp-path.md");
/// Networks of each kind, which differ in the delays of their links.
const RUNS: u64 = 5;
/// The delay of a link, in nanoseconds, and the limit of what is added to it at random.
const DELAY: u64 = 10_000;
const SPREAD: u64 = 1_000;
/// When the first pair of hosts sends, and how long after each pair the next one, in milliseconds.
const FIRST: u64 = 4_000;
const PAUSE: u64 = 10;

/// A kind of network: its links, and the switches of its hosts.
struct Kind {
    name: &'static str,
    switches: usize,
    links: Vec<(usize, usize, u64)>,
    homes: Vec<usize>,
}

/// Four by four switches, a host on each.
fn grid() -> Kind {
    let mut links = Vec::new();
    for at in 0..16 {
        if at % 4 < 3 {
            links.push((at, at + 1, DELAY));
        }
        if at < 12 {
            links.push((at, at + 4, DELAY));
        }
    }
    Kind {
        name: "grid, 4 by 4",
        switches: 16,
        links,
        homes: (0..16).collect(),
    }
}

/// A fat tree of switches with four ports: switches 0 to 7 have two hosts each, 8 to 15 join those
/// of a pod, and 16 to 19 the pods. M. Al-Fares et al., "A scalable, commodity data center network
/// architecture", 2008.
fn fat_tree() -> Kind {
    let mut links = Vec::new();
    for pod in 0..4 {
        for upper in 0..2 {
            let aggregation = 8 + 2 * pod + upper;
            for lower in 0..2 {
                links.push((2 * pod + lower, aggregation, DELAY));
                links.push((aggregation, 16 + 2 * upper + lower, DELAY));
            }
        }
    }
    Kind {
        name: "fat tree, k = 4",
        switches: 20,
        links,
        homes: (0..16).map(|host| host / 2).collect(),
    }
}

fn kinds() -> [Kind; 3] {
    let ring = Kind {
        name: "ring of 8",
        switches: 8,
        links: ring(8, DELAY),
        homes: (0..8).collect(),
    };
    [ring, grid(), fat_tree()]
}

/// A frame to one host: the switches of both hosts, and the places of the links that it took.
struct Way {
    ends: (usize, usize),
    links: Vec<usize>,
}

/// The properties of the paths of a network.
#[derive(Clone, Copy, Default)]
struct Spread {
    /// The delay of a path over that of the shortest, on average and at most.
    stretch: f64,
    most: f64,
    /// The share of the links that are in use.
    used: f64,
    /// The share of the frames that the busiest link carries.
    busiest: f64,
}

impl Spread {
    fn of(lab: &Lab, ways: &[Way]) -> Self {
        let mut load = vec![0_u32; lab.links.len()];
        let mut sum = 0.0;
        let mut most: f64 = 0.0;
        for way in ways {
            let shortest = lab.distances(way.ends.0)[way.ends.1];
            let delay: u64 = way.links.iter().map(|place| lab.links[*place].2).sum();
            let stretch = delay as f64 / shortest as f64;
            sum += stretch;
            most = most.max(stretch);
            for place in &way.links {
                load[*place] += 1;
            }
        }
        let used = load.iter().filter(|frames| **frames > 0).count();
        let busiest = load.iter().max().expect("there are links");
        Self {
            stretch: sum / ways.len() as f64,
            most,
            used: used as f64 / load.len() as f64,
            busiest: f64::from(*busiest) / ways.len() as f64,
        }
    }

    /// The mean of several; the most is that of all.
    fn mean(all: &[Self]) -> Self {
        let mut mean = Self::default();
        for one in all {
            mean.stretch += one.stretch / all.len() as f64;
            mean.used += one.used / all.len() as f64;
            mean.busiest += one.busiest / all.len() as f64;
            mean.most = mean.most.max(one.most);
        }
        mean
    }
}

/// Lets all pairs of hosts exchange frames. Returns the paths of all frames to one host that had to
/// leave their switch.
fn explored(kind: &Kind, run: u64) -> (Lab, Vec<Way>) {
    let mut random = Random::new(run, 4);
    let links = kind.links.iter().map(|(first, second, delay)| {
        let delay = delay + random.below(SPREAD);
        (*first, *second, delay)
    });
    let links: Vec<_> = links.collect();
    let mut lab = Lab::new(kind.switches, &links, &[]);
    let count = kind.homes.len() as u16;
    let mut plans = vec![Vec::new(); kind.homes.len()];
    let mut at = FIRST;
    for one in 0..count {
        for other in one + 1..count {
            plans[usize::from(one)].push((at, Plan::Ask(other)));
            plans[usize::from(one)].push((at + 2, Plan::Data(other)));
            at += PAUSE;
        }
    }
    for (number, (home, plan)) in (0..).zip(kind.homes.iter().zip(&plans)) {
        lab.add_host(number, *home, plan);
    }
    lab.run(at + 1_000);
    lab.check();
    let mut ways = Vec::new();
    for (number, to) in &lab.trail.destinations {
        let Some(to) = (0..count).find(|host| mac(*host) == *to) else {
            continue;
        };
        let from = kind.homes[(number >> 32) as usize];
        let ends = (from, kind.homes[usize::from(to)]);
        if ends.0 != ends.1 {
            let links = lab.path(*number);
            ways.push(Way { ends, links });
        }
    }
    (lab, ways)
}

/// For each switch, the first link of the shortest path to `root`.
fn tree(lab: &Lab, root: usize) -> Vec<Option<usize>> {
    let distances = lab.distances(root);
    let mut up = vec![None; distances.len()];
    for (place, (first, second, delay, _)) in lab.links.iter().enumerate() {
        for (near, far) in [(*first, *second), (*second, *first)] {
            if distances[near] + delay == distances[far] {
                up[far].get_or_insert(place);
            }
        }
    }
    up
}

/// The links of the path in a tree between two switches.
fn way_in_tree(lab: &Lab, up: &[Option<usize>], (from, to): (usize, usize)) -> Vec<usize> {
    let towards_root = |mut at: usize| {
        let mut links = BTreeSet::new();
        while let Some(place) = up[at] {
            links.insert(place);
            let (first, second, ..) = lab.links[place];
            at = if at == first { second } else { first };
        }
        links
    };
    let difference = &towards_root(from) ^ &towards_root(to);
    difference.into_iter().collect()
}

/// The same frames over a spanning tree: that of the root with the shortest paths.
fn best_tree(lab: &Lab, ways: &[Way]) -> Spread {
    let of_root = |root| {
        let up = tree(lab, root);
        let ways = ways.iter().map(|way| Way {
            ends: way.ends,
            links: way_in_tree(lab, &up, way.ends),
        });
        Spread::of(lab, &ways.collect::<Vec<_>>())
    };
    let all = (0..lab.switches.len()).map(of_root);
    let best = all.min_by(|one, other| one.stretch.total_cmp(&other.stretch));
    best.expect("there are switches")
}

fn row(kind: &Kind, tree: &Spread, paths: &Spread) -> String {
    let of = |spread: &Spread| {
        [
            format!("{:.2}", spread.stretch),
            format!("{:.2}", spread.most),
            format!("{:.0} %", 100.0 * spread.used),
            format!("{:.1} %", 100.0 * spread.busiest),
        ]
    };
    let mut text = format!("| {}, {} links |", kind.name, kind.links.len());
    for (by_tree, by_path) in of(tree).into_iter().zip(of(paths)) {
        write!(text, " {by_tree} | {by_path} |").expect("a text takes what is written");
    }
    text
}

#[test]
fn paths_are_the_shortest_and_all_links_share_the_load() {
    let mut table = String::new();
    for kind in kinds() {
        let mut trees = Vec::new();
        let mut paths = Vec::new();
        for run in 0..RUNS {
            let (lab, ways) = explored(&kind, run);
            let by_path = Spread::of(&lab, &ways);
            let by_tree = best_tree(&lab, &ways);
            let name = kind.name;
            assert!(by_path.most == 1.0, "{name}: a path is not the shortest");
            assert!(by_path.used > by_tree.used, "{name}: links are not used");
            assert!(by_path.busiest < by_tree.busiest, "{name}: the load");
            paths.push(by_path);
            trees.push(by_tree);
        }
        table += &row(&kind, &Spread::mean(&trees), &Spread::mean(&paths));
        table += "\n";
    }
    println!("{table}");
    assert!(PAGE.contains(&table), "the page has other figures");
}
