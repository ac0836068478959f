//! Topologies: which switches and hosts there are, and which links.

mod generate;
mod gml;

use std::ops::Range;

pub use generate::{Shape, TopologyError};
pub use gml::read_gml;

/// The most nodes and links of a topology, so that a small file cannot ask for a huge one.
pub const MAX_ELEMENTS: usize = 200_000;

/// The switches, hosts and links of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Nodes; links refer to them by index.
    pub nodes: Vec<TopologyNode>,
    /// Links, in the order in which they get their ports.
    pub links: Vec<TopologyLink>,
}

/// A switch or a host.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyNode {
    /// Its name, unique in the topology.
    pub name: String,
    /// True if it is a host.
    pub is_host: bool,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyLink {
    /// The indexes of the nodes at its ends.
    pub ends: (usize, usize),
    /// Bits per second, if the topology has a rate.
    pub rate_bps: Option<u64>,
    /// Nanoseconds, if the topology has a delay.
    pub delay_ns: Option<u64>,
}

impl Topology {
    /// Adds a switch; returns its index.
    pub fn add_switch(&mut self, name: String) -> usize {
        let is_host = false;
        self.nodes.push(TopologyNode { name, is_host });
        self.nodes.len() - 1
    }

    /// Adds `count` hosts with links to each of some switches. Hosts are named `h1` and so on, in
    /// the order in which they are added.
    pub fn add_hosts(&mut self, switches: Range<usize>, count: usize) {
        let mut number = self.nodes.iter().filter(|node| node.is_host).count();
        for switch in switches {
            for _ in 0..count {
                number += 1;
                self.nodes.push(TopologyNode {
                    name: format!("h{number}"),
                    is_host: true,
                });
                self.link(switch, self.nodes.len() - 1);
            }
        }
    }

    /// Adds a link without a rate or delay of its own.
    pub fn link(&mut self, first: usize, second: usize) {
        self.links.push(TopologyLink {
            ends: (first, second),
            rate_bps: None,
            delay_ns: None,
        });
    }
}
