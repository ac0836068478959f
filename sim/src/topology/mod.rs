//! Topologies: which switches and hosts there are, and which links.

mod generate;
mod gml;

use std::collections::BTreeMap;

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

    /// Adds a host to a switch, named `h1` and so on in their order; returns its place.
    pub fn add_host(&mut self, switch: usize) -> usize {
        let number = 1 + self.nodes.iter().filter(|node| node.is_host).count();
        self.nodes.push(TopologyNode {
            name: format!("h{number}"),
            is_host: true,
        });
        let host = self.nodes.len() - 1;
        self.link(switch, host);
        host
    }

    /// Adds a link without values of its own.
    pub fn link(&mut self, first: usize, second: usize) {
        self.links.push(TopologyLink {
            ends: (first, second),
            rate_bps: None,
            delay_ns: None,
        });
    }

    /// The port of each link at its first and at its second end: those of a node are given out from
    /// 1 in the order of the links.
    pub fn ports(&self) -> Vec<(u32, u32)> {
        let mut next: BTreeMap<usize, u32> = BTreeMap::new();
        let mut ports = Vec::new();
        for link in &self.links {
            let mut take = |node| {
                let port = next.entry(node).or_insert(0);
                *port += 1;
                *port
            };
            ports.push((take(link.ends.0), take(link.ends.1)));
        }
        ports
    }

    /// Whether all nodes are reached from the first.
    pub fn is_connected(&self) -> bool {
        let mut reached = vec![false; self.nodes.len()];
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        for link in &self.links {
            neighbours[link.ends.0].push(link.ends.1);
            neighbours[link.ends.1].push(link.ends.0);
        }
        let mut waiting = Vec::from_iter((!self.nodes.is_empty()).then_some(0));
        while let Some(node) = waiting.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                waiting.extend(&neighbours[node]);
            }
        }
        reached.iter().all(|reached| *reached)
    }
}
