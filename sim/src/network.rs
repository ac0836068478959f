//! The network: nodes, links and controllers, and planned changes. `run/mod.rs` has the loop.

use std::any::Any;
use std::fmt;

use bofuss_datapath::Time;
use bofuss_embed::EmbeddedSwitch;
use bofuss_embed::p4::P4Switch;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::{PortNo, Version};

use crate::control::ControlPlane;
use crate::controller::Controller;
use crate::event_queue::{Due, EventQueue};
use crate::host::Host;
use crate::link::{LinkConfig, LinkState, LinkStats, NodeId, NodePort, Transmitter};
use crate::observer::{ControllerId, LinkDirection, LinkId};
use crate::random::Random;
use crate::switch_node::SwitchNode;

/// The highest port number of a node.
pub const MAX_PORT: u32 = 65_535;

/// The configuration of a network.
#[derive(Clone, Copy, Debug)]
pub struct NetworkConfig {
    /// Seed of every random choice.
    pub seed: u64,
    /// The most bytes of buffers for all frames together. A frame of up to 1,920 bytes takes 2,048.
    pub pool_bytes: usize,
    /// The most events: a run with more ends with an error, because a storm of frames would not end
    /// by itself.
    pub max_events: u64,
    /// True if events at the same time come in a random order, by the seed.
    pub has_random_ties: bool,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            pool_bytes: 512 << 20,
            max_events: 1_000_000_000,
            has_random_ties: false,
        }
    }
}

/// A change of the network, for [`Network::plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A link goes up, down or silent.
    Link(LinkId, LinkState),
    /// The connection of a switch with a controller begins.
    Connect(NodeId, ControllerId),
    /// That connection ends; both sides notice it.
    Disconnect(NodeId, ControllerId),
    /// A host moves: its cable leaves the link that it has, and comes to another one of it.
    Move {
        /// The host.
        host: NodeId,
        /// Its first link, or one of [`Network::add_spare_link`].
        link: LinkId,
        /// True if it announces its addresses there.
        announces: bool,
    },
}

/// The reason for which a network cannot be built, or its run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// The port has a link already, or the node cannot have this port.
    BadPort(NodePort),
    /// The configuration of a link is invalid; the text says why.
    BadLink(&'static str),
    /// There is no such node, link or controller, or the node is a host.
    Unknown,
    /// More events happened than [`NetworkConfig::max_events`].
    TooManyEvents,
    /// The observer ended the run.
    Ended,
    /// A controller cannot continue, in its words.
    Controller(String),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPort(at) => {
                write!(
                    f,
                    "port {} has a link already, or its node cannot have it",
                    at.port
                )
            }
            Self::BadLink(why) => f.write_str(why),
            Self::Unknown => f.write_str("there is no such node, link or controller"),
            Self::TooManyEvents => f.write_str(
                "more events than max_events: a storm of frames, or max_events is too low",
            ),
            Self::Ended => f.write_str("the run was ended"),
            Self::Controller(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for NetworkError {}

/// The kind of a node: a host, or a switch of OpenFlow or with a P4 program.
pub(crate) enum NodeKind {
    Host(Box<dyn Host>),
    Switch(Box<SwitchNode>),
    P4(Box<P4Switch>),
}

/// A node with its name and its ports.
pub(crate) struct Node {
    pub(crate) name: String,
    /// The number of the transmitter at each port, indexed by port number.
    pub(crate) ports: Vec<Option<u32>>,
    pub(crate) kind: NodeKind,
    /// The time for which a tick is scheduled, or [`Time::NEVER`].
    pub(crate) tick_at: Time,
}

impl Node {
    /// The number of the transmitter at a port.
    pub(crate) fn transmitter_at(&self, port: PortNo) -> Option<u32> {
        *self.ports.get(port.0 as usize)?
    }

    /// Returns true if a link can be added at a port.
    fn has_free(&self, port: PortNo) -> bool {
        let can_have = match &self.kind {
            NodeKind::Host(_) => port.0 == 1,
            NodeKind::Switch(_) => (1..=MAX_PORT).contains(&port.0),
            NodeKind::P4(switch) => port.0 > 0 && switch.check_port(port.0).is_ok(),
        };
        can_have && self.transmitter_at(port).is_none()
    }
}

/// A network of hosts, switches, links and controllers.
///
/// Link `i` has two transmitters: `2 * i` at its first end, and `2 * i + 1` at its second.
pub struct Network {
    pub(crate) now: Time,
    pub(crate) events: EventQueue,
    pub(crate) nodes: Vec<Node>,
    /// The switches with a P4 program whose packets wait before egress while a link is busy.
    pub(crate) p4_queues: std::collections::BTreeSet<NodeId>,
    pub(crate) transmitters: Vec<Transmitter>,
    pub(crate) links: Vec<LinkAtEnds>,
    pub(crate) control: ControlPlane,
    pub(crate) changes: Vec<Change>,
    pub(crate) pool: Pool,
    pub(crate) config: NetworkConfig,
    /// The number of events that were reported to the observer.
    pub(crate) reported: u64,
    pub(crate) frames: Vec<Frame>,
    /// The reason for which a controller cannot continue, if there is one.
    pub(crate) failure: Option<String>,
}

/// The state of a link: what was planned, and what the switches at its ends have set.
#[derive(Clone, Copy)]
pub(crate) struct LinkAtEnds {
    pub(crate) state: LinkState,
    /// True while the host of this link is at another one.
    pub(crate) is_spare: bool,
    /// True if a switch has set the first end down,
    pub(crate) first_down: bool,
    /// and whether one has set the second.
    pub(crate) second_down: bool,
}

impl LinkAtEnds {
    /// The resulting state.
    pub(crate) fn effective(&self) -> LinkState {
        if self.is_spare || self.first_down || self.second_down {
            LinkState::Down
        } else {
            self.state
        }
    }
}

impl Network {
    /// Makes an empty network at time 0.
    pub fn new(config: NetworkConfig) -> Self {
        Self {
            now: Time(0),
            events: EventQueue::with_ties(config.has_random_ties.then(|| {
                // A stream that no link has.
                Random::new(config.seed, u64::MAX)
            })),
            nodes: Vec::new(),
            p4_queues: Default::default(),
            transmitters: Vec::new(),
            links: Vec::new(),
            control: ControlPlane::default(),
            changes: Vec::new(),
            pool: Pool::new(config.pool_bytes),
            config,
            reported: 0,
            frames: Vec::new(),
            failure: None,
        }
    }

    /// The pool of all frames; switches have to be made with it.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The number of events so far.
    pub fn events(&self) -> u64 {
        self.reported
    }

    /// Adds a host.
    pub fn add_host(&mut self, name: &str, host: Box<dyn Host>) -> NodeId {
        self.add_node(name, NodeKind::Host(host))
    }

    /// Adds a switch without ports; [`Network::add_link`] adds them.
    pub fn add_switch(&mut self, name: &str, mut switch: EmbeddedSwitch) -> NodeId {
        // The clock of all switches is the network's.
        switch.set_clock(0);
        let node = Box::new(SwitchNode::new(switch));
        self.add_node(name, NodeKind::Switch(node))
    }

    /// One of its switches, as it is; `None` if the node is no switch of OpenFlow.
    pub fn into_switch(mut self, node: NodeId) -> Option<EmbeddedSwitch> {
        let at = node.0 as usize;
        if at >= self.nodes.len() {
            return None;
        }
        match self.nodes.swap_remove(at).kind {
            NodeKind::Switch(node) => Some(node.switch),
            NodeKind::Host(_) | NodeKind::P4(_) => None,
        }
    }

    /// Adds a switch with a P4 program and without ports; [`Network::add_link`] adds them.
    pub fn add_p4_switch(&mut self, name: &str, switch: P4Switch) -> NodeId {
        self.add_node(name, NodeKind::P4(Box::new(switch)))
    }

    fn add_node(&mut self, name: &str, kind: NodeKind) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node {
            name: name.into(),
            ports: Vec::new(),
            kind,
            tick_at: Time::NEVER,
        });
        self.schedule_tick(id);
        id
    }

    /// Connects two ports by a link that is up. At a switch, this adds the port.
    ///
    /// Errors: [`NetworkError::BadPort`], [`NetworkError::BadLink`], [`NetworkError::Unknown`].
    pub fn add_link(
        &mut self,
        first: NodePort,
        second: NodePort,
        config: LinkConfig,
    ) -> Result<LinkId, NetworkError> {
        check_link(&config)?;
        for end in [first, second] {
            self.check_free(end)?;
        }
        if first == second {
            return Err(NetworkError::BadPort(second));
        }
        Ok(self.join(first, second, config, false))
    }

    /// Adds a link of a host that has one already: it is down until the host moves to it, by
    /// [`Change::Move`]. At a switch, this adds the port.
    ///
    /// Errors: [`NetworkError::BadPort`], [`NetworkError::BadLink`], [`NetworkError::Unknown`].
    pub fn add_spare_link(
        &mut self,
        host: NodeId,
        at: NodePort,
        config: LinkConfig,
    ) -> Result<LinkId, NetworkError> {
        check_link(&config)?;
        self.check_free(at)?;
        if at.node == host || self.link_of_host(host).is_none() {
            return Err(NetworkError::Unknown);
        }
        let port = PortNo(1);
        let id = self.join(NodePort { node: host, port }, at, config, true);
        if let NodeKind::Switch(switch) = &mut self.nodes[at.node.0 as usize].kind {
            switch.set_link(self.now, at.port, false);
        }
        Ok(id)
    }

    /// The link that a host has now, if the node is a host with a link.
    pub(crate) fn link_of_host(&self, host: NodeId) -> Option<LinkId> {
        let node = self.nodes.get(host.0 as usize)?;
        let is_host = matches!(node.kind, NodeKind::Host(_));
        let number = node.transmitter_at(PortNo(1)).filter(|_| is_host)?;
        Some(LinkId(number / 2))
    }

    /// Errors: the port has a link, or its node cannot have it, or there is no such node.
    fn check_free(&self, end: NodePort) -> Result<(), NetworkError> {
        let node = self.nodes.get(end.node.0 as usize);
        if !node.ok_or(NetworkError::Unknown)?.has_free(end.port) {
            return Err(NetworkError::BadPort(end));
        }
        Ok(())
    }

    /// Adds a link between ends that were checked. If it is spare, its first end gets no port yet.
    fn join(
        &mut self,
        first: NodePort,
        second: NodePort,
        config: LinkConfig,
        is_spare: bool,
    ) -> LinkId {
        let id = LinkId(self.links.len() as u32);
        self.links.push(LinkAtEnds {
            state: LinkState::Up,
            is_spare,
            first_down: false,
            second_down: false,
        });
        for (from, to) in [(first, second), (second, first)] {
            let number = self.transmitters.len() as u32;
            let random = Random::new(self.config.seed, u64::from(number));
            let transmitter = Transmitter::new(from, to, config, random);
            self.transmitters.push(transmitter);
            if is_spare && from == first {
                continue;
            }
            let node = &mut self.nodes[from.node.0 as usize];
            let at = from.port.0 as usize;
            if node.ports.len() <= at {
                node.ports.resize(at + 1, None);
            }
            node.ports[at] = Some(number);
            match &mut node.kind {
                NodeKind::Host(_) => {}
                NodeKind::Switch(switch) => {
                    switch.add_port(self.now, &node.name, from.port, config.rate_bps);
                }
                NodeKind::P4(switch) => {
                    let added = switch.add_port(from.port.0);
                    added.expect("it was checked with the others");
                }
            }
        }
        id
    }

    /// Adds a controller without switches.
    pub fn add_controller(&mut self, controller: Box<dyn Controller>) -> ControllerId {
        self.control.add_controller(controller)
    }

    /// Adds a control link between a switch and a controller, on which everything takes `delay_ns`.
    /// [`Change::Connect`] opens the connection. It speaks `version`, unless the controller takes
    /// bytes: then it agrees on a version with HELLO.
    ///
    /// Errors: [`NetworkError::Unknown`].
    pub fn add_control_link(
        &mut self,
        switch: NodeId,
        controller: ControllerId,
        delay_ns: u64,
        version: Version,
    ) -> Result<(), NetworkError> {
        let node = self.nodes.get(switch.0 as usize);
        let is_switch = node.is_some_and(|node| matches!(node.kind, NodeKind::Switch(_)));
        if is_switch && self.control.add_link(switch, controller, delay_ns, version) {
            Ok(())
        } else {
            Err(NetworkError::Unknown)
        }
    }

    /// Plans a change; changes planned for the same time happen in the order of the calls.
    ///
    /// Errors: [`NetworkError::Unknown`].
    pub fn plan(&mut self, at: Time, change: Change) -> Result<(), NetworkError> {
        let known = match change {
            Change::Link(link, _) => (link.0 as usize) < self.links.len(),
            Change::Connect(switch, controller) | Change::Disconnect(switch, controller) => {
                self.control.link(switch, controller).is_some()
            }
            Change::Move { host, link, .. } => {
                let number = self.transmitter_of(host, link);
                number.is_some() && self.link_of_host(host).is_some()
            }
        };
        if !known {
            return Err(NetworkError::Unknown);
        }
        let number = self.changes.len() as u32;
        self.changes.push(change);
        self.events.schedule(at, Due::Change { change: number });
        Ok(())
    }

    /// The number of the transmitter at a node's end of a link, if it has one there.
    pub(crate) fn transmitter_of(&self, node: NodeId, link: LinkId) -> Option<u32> {
        let numbers = [link.0 * 2, link.0 * 2 + 1].into_iter();
        let mut ends = numbers.filter_map(|at| Some((at, self.transmitters.get(at as usize)?)));
        let (number, _) = ends.find(|(_, transmitter)| transmitter.from.node == node)?;
        Some(number)
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.0 as usize].name
    }

    /// The number of nodes; they are numbered in the order in which they were added.
    pub fn node_count(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The two ends of a link.
    pub fn ends(&self, link: LinkId) -> (NodePort, NodePort) {
        let transmitter = &self.transmitters[link.0 as usize * 2];
        (transmitter.from, transmitter.to)
    }

    /// The statistics of one direction of a link.
    pub fn link_stats(&self, direction: LinkDirection) -> LinkStats {
        let number = direction.link.0 * 2 + u32::from(direction.back);
        self.transmitters[number as usize].stats
    }

    /// A host, if the node is one.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        match &self.nodes[node.0 as usize].kind {
            NodeKind::Host(host) => Some(&**host),
            NodeKind::Switch(_) | NodeKind::P4(_) => None,
        }
    }

    /// A host of type `H`, if the node is one.
    pub fn host_as<H: Host>(&self, node: NodeId) -> Option<&H> {
        let host: &dyn Any = self.host(node)?;
        host.downcast_ref()
    }

    /// Returns when the next event is due.
    pub fn next_event(&self) -> Option<Time> {
        self.events.next()
    }

    /// A switch of OpenFlow, if the node is one. The effects of calls made here are not carried out
    /// before the next event of this switch.
    pub fn switch_mut(&mut self, node: NodeId) -> Option<&mut EmbeddedSwitch> {
        match &mut self.nodes[node.0 as usize].kind {
            NodeKind::Host(_) | NodeKind::P4(_) => None,
            NodeKind::Switch(node) => Some(&mut node.switch),
        }
    }

    /// A switch with a P4 program, if the node is one.
    pub fn p4_switch(&self, node: NodeId) -> Option<&P4Switch> {
        match &self.nodes[node.0 as usize].kind {
            NodeKind::Host(_) | NodeKind::Switch(_) => None,
            NodeKind::P4(switch) => Some(switch),
        }
    }
}

/// Errors: a value of a link's configuration is none that it can have.
pub(crate) fn check_link(config: &LinkConfig) -> Result<(), NetworkError> {
    let why = if config.delay_ns == 0 {
        "a link's delay is at least 1 ns"
    } else if !(0.0..=1.0).contains(&config.loss) {
        "a link's loss is 0 to 1"
    } else if config.bursts.is_some_and(|bursts| !bursts.are_valid()) {
        "a link's bursts have shares of 0 to 1, and an end above 0"
    } else if config.overhead_bytes > u32::from(u16::MAX) {
        "a link's overhead is at most 65535 bytes"
    } else {
        return Ok(());
    };
    Err(NetworkError::BadLink(why))
}
