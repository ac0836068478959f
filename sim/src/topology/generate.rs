//! Topologies that are generated from a few numbers.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use super::{MAX_ELEMENTS, Topology};
use crate::random::Random;

/// A topology to generate. Switches are named `s1` and so on, or after their role, and hosts `h1`
/// and so on. `hosts` is the number of hosts of each switch that has any.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "shape", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Shape {
    /// Switches in a row.
    Line {
        /// Their number.
        switches: usize,
        /// Hosts of each.
        hosts: usize,
    },
    /// Switches in a ring.
    Ring {
        /// Their number, at least 3.
        switches: usize,
        /// Hosts of each.
        hosts: usize,
    },
    /// A tree; only its leaves have hosts.
    Tree {
        /// Levels of switches, at least 1.
        depth: usize,
        /// Children of each inner switch, and hosts of each leaf.
        fanout: usize,
    },
    /// A grid; each switch has links to its neighbours in its row and its column.
    Grid {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
        /// Hosts of each.
        hosts: usize,
    },
    /// A fat tree of `k` pods (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008): `k * k / 4` core
    /// switches, in each pod `k / 2` of aggregation and `k / 2` of the edge, with `k / 2` hosts
    /// each. Their names are `c1`, `a1` and `e1` and so on.
    FatTree {
        /// Pods and ports of a switch; even.
        k: usize,
    },
    /// Each leaf has a link to each spine; only leaves have hosts. The names are `spine1` and
    /// `leaf1` and so on.
    SpineLeaf {
        /// Spines.
        spines: usize,
        /// Leaves.
        leaves: usize,
        /// Hosts of each leaf.
        hosts: usize,
    },
    /// A connected random graph: a random tree, and further random links.
    Random {
        /// Switches.
        switches: usize,
        /// Links between switches; at least one fewer than switches.
        links: usize,
        /// Hosts of each.
        hosts: usize,
        /// Seed of the random choices.
        seed: u64,
    },
}

/// The reason for which a topology cannot be generated or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyError {
    /// The line, from 1, if the topology is read from a text.
    pub line: Option<usize>,
    /// The error.
    pub text: String,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl std::error::Error for TopologyError {}

fn error(text: impl Into<String>) -> TopologyError {
    TopologyError {
        line: None,
        text: text.into(),
    }
}

impl Shape {
    /// Generates the topology. Errors: a number that is too small or too large.
    pub fn make(&self) -> Result<Topology, TopologyError> {
        let elements = self.elements();
        if elements.is_none_or(|elements| elements > MAX_ELEMENTS) {
            let text = format!("more than {MAX_ELEMENTS} nodes and links");
            return Err(error(text));
        }
        match *self {
            Self::Line { switches, hosts } => line(switches, hosts),
            Self::Ring { switches, hosts } => ring(switches, hosts),
            Self::Tree { depth, fanout } => tree(depth, fanout),
            Self::Grid {
                rows,
                columns,
                hosts,
            } => grid(rows, columns, hosts),
            Self::FatTree { k } => fat_tree(k),
            Self::SpineLeaf {
                spines,
                leaves,
                hosts,
            } => spine_leaf(spines, leaves, hosts),
            Self::Random {
                switches,
                links,
                hosts,
                seed,
            } => random(switches, links, hosts, seed),
        }
    }

    /// An upper bound of the number of nodes and links; `None` if it overflows.
    fn elements(&self) -> Option<usize> {
        match *self {
            Self::Line { switches, hosts } | Self::Ring { switches, hosts } => {
                switches.checked_mul(hosts.checked_mul(2)?.checked_add(2)?)
            }
            Self::Tree { depth, fanout } => {
                let depth = u32::try_from(depth.checked_add(1)?).ok()?;
                fanout.max(2).checked_pow(depth)?.checked_mul(4)
            }
            Self::Grid {
                rows,
                columns,
                hosts,
            } => rows
                .checked_mul(columns)?
                .checked_mul(hosts.checked_mul(2)?.checked_add(3)?),
            Self::FatTree { k } => k.checked_pow(3)?.checked_mul(2),
            Self::SpineLeaf {
                spines,
                leaves,
                hosts,
            } => {
                let each = hosts.checked_mul(2)?.checked_add(1)?.checked_add(spines)?;
                leaves.checked_mul(each)?.checked_add(spines)
            }
            Self::Random {
                switches,
                links,
                hosts,
                ..
            } => switches
                .checked_mul(hosts.checked_mul(2)?.checked_add(1)?)?
                .checked_add(links),
        }
    }
}

/// Adds switches that are named `role` with a number from 1. Returns the index of the first.
fn switches(topology: &mut Topology, role: &str, count: usize) -> usize {
    let first = topology.nodes.len();
    for number in 1..=count {
        topology.add_switch(format!("{role}{number}"));
    }
    first
}

fn line(count: usize, hosts_each: usize) -> Result<Topology, TopologyError> {
    if count == 0 {
        return Err(error("a line has at least 1 switch"));
    }
    let mut topology = Topology::default();
    switches(&mut topology, "s", count);
    for switch in 1..count {
        topology.link(switch - 1, switch);
    }
    topology.add_hosts(0..count, hosts_each);
    Ok(topology)
}

fn ring(count: usize, hosts_each: usize) -> Result<Topology, TopologyError> {
    if count < 3 {
        return Err(error("a ring has at least 3 switches"));
    }
    let mut topology = line(count, 0)?;
    topology.link(count - 1, 0);
    topology.add_hosts(0..count, hosts_each);
    Ok(topology)
}

fn tree(depth: usize, fanout: usize) -> Result<Topology, TopologyError> {
    if depth == 0 || fanout == 0 {
        return Err(error("a tree has a depth and a fan-out of at least 1"));
    }
    let mut topology = Topology::default();
    switches(&mut topology, "s", 1);
    let mut level = 0..1;
    for _ in 1..depth {
        let below = topology.nodes.len();
        for parent in level {
            for _ in 0..fanout {
                let number = topology.nodes.len() + 1;
                let child = topology.add_switch(format!("s{number}"));
                topology.link(parent, child);
            }
        }
        level = below..topology.nodes.len();
    }
    topology.add_hosts(level, fanout);
    Ok(topology)
}

fn grid(rows: usize, columns: usize, hosts_each: usize) -> Result<Topology, TopologyError> {
    if rows == 0 || columns == 0 {
        return Err(error("a grid has at least 1 row and 1 column"));
    }
    let mut topology = Topology::default();
    switches(&mut topology, "s", rows * columns);
    for switch in 0..rows * columns {
        if (switch + 1) % columns != 0 {
            topology.link(switch, switch + 1);
        }
        if switch + columns < rows * columns {
            topology.link(switch, switch + columns);
        }
    }
    topology.add_hosts(0..rows * columns, hosts_each);
    Ok(topology)
}

fn fat_tree(k: usize) -> Result<Topology, TopologyError> {
    if k == 0 || k % 2 == 1 {
        return Err(error("a fat tree's k is even, and at least 2"));
    }
    let half = k / 2;
    let mut topology = Topology::default();
    let core = switches(&mut topology, "c", half * half);
    let aggregation = switches(&mut topology, "a", k * half);
    let edge = switches(&mut topology, "e", k * half);
    for pod in 0..k {
        for upper in 0..half {
            let above = aggregation + pod * half + upper;
            for place in 0..half {
                topology.link(core + upper * half + place, above);
            }
            for lower in 0..half {
                topology.link(above, edge + pod * half + lower);
            }
        }
    }
    topology.add_hosts(edge..edge + k * half, half);
    Ok(topology)
}

fn spine_leaf(spines: usize, leaves: usize, hosts_each: usize) -> Result<Topology, TopologyError> {
    if spines == 0 || leaves == 0 {
        return Err(error("there is at least 1 spine and 1 leaf"));
    }
    let mut topology = Topology::default();
    let first_spine = switches(&mut topology, "spine", spines);
    let first_leaf = switches(&mut topology, "leaf", leaves);
    for leaf in first_leaf..first_leaf + leaves {
        for spine in first_spine..first_spine + spines {
            topology.link(leaf, spine);
        }
    }
    topology.add_hosts(first_leaf..first_leaf + leaves, hosts_each);
    Ok(topology)
}

fn random(
    count: usize,
    links: usize,
    hosts_each: usize,
    seed: u64,
) -> Result<Topology, TopologyError> {
    let most = count.saturating_mul(count.saturating_sub(1)) / 2;
    if count == 0 || links + 1 < count || links > most {
        let text = format!("{count} switches have {} to {most} links", count.max(1) - 1);
        return Err(error(text));
    }
    let mut random = Random::new(seed, 0);
    let mut topology = Topology::default();
    switches(&mut topology, "s", count);
    let mut taken = BTreeSet::new();
    // A random tree: each switch has a link to a random earlier one.
    for switch in 1..count {
        let other = random.below(switch as u64) as usize;
        taken.insert((other, switch));
        topology.link(other, switch);
    }
    while taken.len() < links {
        let one = random.below(count as u64) as usize;
        let other = random.below(count as u64) as usize;
        let pair = (one.min(other), one.max(other));
        if one != other && taken.insert(pair) {
            topology.link(pair.0, pair.1);
        }
    }
    topology.add_hosts(0..count, hosts_each);
    Ok(topology)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if all nodes are reached from the first.
    fn is_connected(topology: &Topology) -> bool {
        let mut reached = BTreeSet::from([0]);
        let mut waiting = vec![0];
        while let Some(node) = waiting.pop() {
            for link in &topology.links {
                let (first, second) = link.ends;
                for (from, to) in [(first, second), (second, first)] {
                    if from == node && reached.insert(to) {
                        waiting.push(to);
                    }
                }
            }
        }
        reached.len() == topology.nodes.len()
    }

    /// Switches, hosts and links.
    fn counts(shape: Shape) -> (usize, usize, usize) {
        let topology = shape.make().unwrap();
        assert!(is_connected(&topology), "{shape:?}");
        let hosts = topology.nodes.iter().filter(|node| node.is_host).count();
        let elements = topology.nodes.len() + topology.links.len();
        assert!(elements <= shape.elements().unwrap(), "{shape:?}");
        (topology.nodes.len() - hosts, hosts, topology.links.len())
    }

    #[test]
    fn each_shape_is_connected_and_has_what_its_numbers_say() {
        let (switches, hosts) = (5, 2);
        assert_eq!(counts(Shape::Line { switches, hosts }), (5, 10, 14));
        assert_eq!(counts(Shape::Ring { switches, hosts }), (5, 10, 15));
        let tree = Shape::Tree {
            depth: 3,
            fanout: 2,
        };
        assert_eq!(counts(tree), (7, 8, 14));
        let grid = Shape::Grid {
            rows: 3,
            columns: 4,
            hosts: 1,
        };
        assert_eq!(counts(grid), (12, 12, 17 + 12));
        assert_eq!(counts(Shape::FatTree { k: 4 }), (20, 16, 48));
        let spine_leaf = Shape::SpineLeaf {
            spines: 4,
            leaves: 4,
            hosts: 20,
        };
        assert_eq!(counts(spine_leaf), (8, 80, 96));
        let random = Shape::Random {
            switches: 50,
            links: 80,
            hosts: 1,
            seed: 3,
        };
        assert_eq!(counts(random), (50, 50, 130));
    }

    #[test]
    fn a_random_graph_follows_from_its_seed() {
        let of = |seed| Shape::Random {
            switches: 20,
            links: 40,
            hosts: 0,
            seed,
        };
        assert_eq!(of(1).make(), of(1).make());
        assert_ne!(of(1).make(), of(2).make());
    }

    #[test]
    fn numbers_out_of_bounds_are_refused_without_work() {
        let refused = [
            Shape::Ring {
                switches: 2,
                hosts: 0,
            },
            Shape::FatTree { k: 5 },
            Shape::FatTree { k: usize::MAX },
            Shape::Tree {
                depth: 60,
                fanout: 10,
            },
            Shape::Line {
                switches: 10,
                hosts: usize::MAX / 4,
            },
            Shape::Random {
                switches: 4,
                links: 7,
                hosts: 0,
                seed: 0,
            },
        ];
        for shape in refused {
            assert!(shape.make().is_err(), "{shape:?}");
        }
    }
}
