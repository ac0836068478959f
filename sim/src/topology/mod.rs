//! Topologies: which switches and hosts there are, and which links.

mod generate;
mod gml;

use std::ops::Range;

pub use generate::{Shape, TopologyError};
pub use gml::read_gml;

/// The most nodes and links of a topology, so that a small file cannot ask for a huge one.
pub const MAX_ELEMENTS: usize = 200_000;

/// Which switches and hosts there are, and which links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Nodes; links name them by their place.
    pub nodes: Vec<TopologyNode>,
    /// Links, in the order in which ports are given out.
    pub links: Vec<TopologyLink>,
}

/// A switch or a host.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyNode {
    /// Its name, unique in the topology.
    pub name: String,
    /// Whether it is a host.
    pub is_host: bool,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyLink {
    /// The places of its ends.
    pub ends: (usize, usize),
    /// Bits per second, if the topology says.
    pub rate_bps: Option<u64>,
    /// Nanoseconds, if the topology says.
    pub delay_ns: Option<u64>,
}

impl Topology {
    /// Adds a switch; returns its place.
    pub fn add_switch(&mut self, name: String) -> usize {
        let is_host = false;
        self.nodes.push(TopologyNode { name, is_host });
        self.nodes.len() - 1
    }

    /// Adds `count` hosts to each of some switches; all are named `h1` and so on in their order.
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

    /// Adds a link without values of its own.
    pub fn link(&mut self, first: usize, second: usize) {
        self.links.push(TopologyLink {
            ends: (first, second),
            rate_bps: None,
            delay_ns: None,
        });
    }
}
