//! Shortest paths between switches, and the tree for what all hosts get.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bofuss_oflib::{Mac, PortNo};

use crate::link::{NodeId, NodePort};

/// The paths that a controller installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChoice {
    /// One of the shortest: at each switch by the lowest port.
    Shortest,
    /// All of the shortest: where several ports are as near, a select group chooses by flow.
    Ecmp,
}

/// The switches of a controller, the links between them, and the ports of hosts.
#[derive(Clone, Debug, Default)]
pub struct PathGraph {
    /// The switches.
    switches: BTreeSet<NodeId>,
    /// For each port with a link to another switch, the other end.
    peers: BTreeMap<NodePort, NodePort>,
    /// For each host, the ports where it may be: it is at the first that has a carrier.
    hosts: BTreeMap<Mac, Vec<NodePort>>,
}

/// The routes of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// For each host that can be reached, the ports nearest to it, ascending.
    pub hosts: BTreeMap<Mac, Vec<PortNo>>,
    /// The ports of hosts, and those of the tree.
    pub flood: Vec<PortNo>,
}

impl PathGraph {
    /// Makes the graph of some switches without links.
    pub fn new(switches: impl IntoIterator<Item = NodeId>) -> Self {
        Self {
            switches: switches.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Returns true if it has a switch.
    pub fn has(&self, node: NodeId) -> bool {
        self.switches.contains(&node)
    }

    /// Adds a link between two of the switches.
    pub fn add_link(&mut self, first: NodePort, second: NodePort) {
        self.peers.insert(first, second);
        self.peers.insert(second, first);
    }

    /// Adds a port of one of the switches where a host may be.
    pub fn add_host(&mut self, mac: Mac, at: NodePort) {
        self.hosts.entry(mac).or_default().push(at);
    }

    /// The routes of all switches, while the ports in `down` and those at the other end of them
    /// carry nothing.
    pub fn routes(
        &self,
        down: &BTreeSet<NodePort>,
        choice: PathChoice,
    ) -> BTreeMap<NodeId, Routes> {
        let links = self.live_links(down);
        let mut routes: BTreeMap<NodeId, Routes> = BTreeMap::new();
        let mut hops: BTreeMap<NodeId, BTreeMap<NodeId, Vec<PortNo>>> = BTreeMap::new();
        for (mac, ports) in &self.hosts {
            let Some(at) = ports.iter().find(|port| !down.contains(port)) else {
                continue;
            };
            let nearest = hops
                .entry(at.node)
                .or_insert_with(|| nearest_ports(&links, at.node, choice));
            for (switch, ports) in nearest {
                let route = routes.entry(*switch).or_default();
                route.hosts.insert(*mac, ports.clone());
            }
            let own = routes.entry(at.node).or_default();
            own.hosts.insert(*mac, vec![at.port]);
        }
        let ports = self.hosts.values().flatten();
        let hosts = ports.filter(|port| !down.contains(port)).copied();
        let flooded: BTreeSet<NodePort> = hosts.chain(self.tree(&links)).collect();
        for at in flooded {
            routes.entry(at.node).or_default().flood.push(at.port);
        }
        routes
    }

    /// The links of each switch whose ends both have a carrier, in the order of its ports.
    fn live_links(&self, down: &BTreeSet<NodePort>) -> Links {
        let mut links = Links::new();
        for (from, to) in &self.peers {
            if !down.contains(from) && !down.contains(to) {
                links.entry(from.node).or_default().push((*from, *to));
            }
        }
        links
    }

    /// The ports of a tree that joins all switches between which there are links.
    fn tree(&self, links: &Links) -> Vec<NodePort> {
        let mut ports = Vec::new();
        let mut seen = BTreeSet::new();
        for root in &self.switches {
            let mut next: VecDeque<NodeId> = VecDeque::new();
            if seen.insert(*root) {
                next.push_back(*root);
            }
            while let Some(switch) = next.pop_front() {
                for (from, to) in links.get(&switch).into_iter().flatten() {
                    if seen.insert(to.node) {
                        ports.extend([*from, *to]);
                        next.push_back(to.node);
                    }
                }
            }
        }
        ports
    }
}

/// The links of each switch: its port, and the other end.
type Links = BTreeMap<NodeId, Vec<(NodePort, NodePort)>>;

/// The ports of each other switch that are nearest to `target`: the first, or all.
fn nearest_ports(
    links: &Links,
    target: NodeId,
    choice: PathChoice,
) -> BTreeMap<NodeId, Vec<PortNo>> {
    let mut distances = BTreeMap::from([(target, 0_u32)]);
    let mut next = VecDeque::from([target]);
    while let Some(switch) = next.pop_front() {
        let distance = distances[&switch] + 1;
        for (_, to) in links.get(&switch).into_iter().flatten() {
            distances.entry(to.node).or_insert_with(|| {
                next.push_back(to.node);
                distance
            });
        }
    }
    let mut nearest: BTreeMap<NodeId, Vec<PortNo>> = BTreeMap::new();
    for (switch, distance) in &distances {
        for (from, to) in links.get(switch).into_iter().flatten() {
            if distances[&to.node] + 1 == *distance {
                nearest.entry(*switch).or_default().push(from.port);
            }
        }
    }
    if choice == PathChoice::Shortest {
        for ports in nearest.values_mut() {
            ports.truncate(1);
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(node: u32, port: u32) -> NodePort {
        NodePort {
            node: NodeId(node),
            port: PortNo(port),
        }
    }

    /// A square of switches 0 to 3 in which 0 and 3 are opposite, with a host at each of these.
    fn square() -> PathGraph {
        let mut graph = PathGraph::new((0..4).map(NodeId));
        graph.add_link(at(0, 1), at(1, 1));
        graph.add_link(at(0, 2), at(2, 1));
        graph.add_link(at(1, 2), at(3, 1));
        graph.add_link(at(2, 2), at(3, 2));
        graph.add_host(Mac([2; 6]), at(0, 3));
        graph.add_host(Mac([4; 6]), at(3, 3));
        graph
    }

    fn ports(routes: &BTreeMap<NodeId, Routes>, switch: u32, host: u8) -> Vec<u32> {
        let ports = routes[&NodeId(switch)].hosts.get(&Mac([host; 6]));
        ports.into_iter().flatten().map(|port| port.0).collect()
    }

    #[test]
    fn all_shortest_paths_are_found_or_the_first() {
        let all = square().routes(&BTreeSet::new(), PathChoice::Ecmp);
        assert_eq!(ports(&all, 0, 4), [1, 2]);
        assert_eq!(ports(&all, 3, 4), [3]);
        assert_eq!(ports(&all, 1, 4), [2]);
        let one = square().routes(&BTreeSet::new(), PathChoice::Shortest);
        assert_eq!(ports(&one, 0, 4), [1]);
    }

    #[test]
    fn paths_go_around_a_port_without_a_carrier() {
        let routes = square().routes(&BTreeSet::from([at(3, 1)]), PathChoice::Ecmp);
        assert_eq!(ports(&routes, 0, 4), [2]);
        assert_eq!(ports(&routes, 1, 4), [1], "the long way");
        let gone = square().routes(&BTreeSet::from([at(3, 3)]), PathChoice::Ecmp);
        assert!(ports(&gone, 0, 4).is_empty());
    }

    #[test]
    fn the_tree_has_no_loop_and_all_hosts() {
        let routes = square().routes(&BTreeSet::new(), PathChoice::Ecmp);
        let flood = |switch: u32| -> Vec<u32> {
            let ports = routes[&NodeId(switch)].flood.iter();
            ports.map(|port| port.0).collect()
        };
        assert_eq!(flood(0), [1, 2, 3]);
        assert_eq!(flood(1), [1, 2]);
        assert_eq!(flood(2), [1], "the link from 2 to 3 would close a loop");
        assert_eq!(flood(3), [1, 3]);
    }
}
