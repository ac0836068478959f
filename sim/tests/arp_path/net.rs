//! A network of switches with ARP-Path, and an observer that follows every frame.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bofuss_datapath::Time;
use bofuss_embed::{Effect, EmbeddedConfig, EmbeddedSwitch, FailMode};
use bofuss_ext::{Listed, ValueList};
use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::message::multipart::{ExtBody, ReplyBody, RequestBody};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{ExtValue, Mac, Message, PortNo, Version};
use bofuss_packet::craft::{ethernet, ipv4, udp};
use bofuss_sim::host::Host;
use bofuss_sim::{
    Change, EventKind, LinkConfig, LinkDirection, LinkId, LinkState, LogEvent, Network,
    NetworkConfig, NodeId, NodePort, Observer,
};

pub use crate::station::{MS, PATH_TYPE, Plan, Station, ip, mac, number_of};

/// The option with which switches sign their frames.
pub const KEY: [(&str, &str); 1] = [("key", "000102030405060708090a0b0c0d0e0f")];
/// A test network with more events has a storm.
const MAX_EVENTS: u64 = 20_000_000;

/// Follows every frame of a host: the links that it passed, with their directions.
#[derive(Default)]
pub struct Trail {
    /// By the frame's number: the directions, in their order.
    pub directions: HashMap<u64, Vec<LinkDirection>>,
    /// The destination of each frame.
    pub destinations: HashMap<u64, Mac>,
    /// Frames of the protocol.
    pub path_frames: u64,
    /// Frames to one host that went over one link twice: one that has waited may have to go back.
    pub returned: Vec<(Time, u64, LinkDirection)>,
    /// Frames to a group that went over one link twice, and others that did so three times.
    pub repeated: Vec<(Time, u64, LinkDirection)>,
    /// Frames to one host of which a switch sent more than it had got.
    pub flooded: Vec<(Time, u64, NodeId)>,
    /// The nodes at the ends of each link.
    pub ends: HashMap<LinkId, (NodeId, NodeId)>,
    /// The nodes that must not send a frame to one host more often than they receive it.
    switches: BTreeSet<NodeId>,
    /// Learning bridges: a group's frames from several switches pass through their links.
    bridges: BTreeSet<NodeId>,
    /// The number of times that a node has received a frame to one host, less those that it has
    /// sent it.
    held: HashMap<(u64, NodeId), i32>,
}

impl Trail {
    /// Counts a frame to one host that goes from one node to another.
    fn count(&mut self, at: Time, number: u64, direction: LinkDirection) {
        let (first, second) = self.ends[&direction.link];
        let (from, to) = if direction.back {
            (second, first)
        } else {
            (first, second)
        };
        *self.held.entry((number, to)).or_default() += 1;
        let left = self.held.entry((number, from)).or_default();
        *left -= 1;
        if *left < 0 && self.switches.contains(&from) {
            self.flooded.push((at, number, from));
        }
    }
}

impl Observer for Trail {
    fn event(&mut self, event: &LogEvent<'_>) {
        let EventKind::Sent(direction, frame) = event.kind else {
            return;
        };
        let bytes = frame.bytes();
        if bytes[12..14] == PATH_TYPE {
            self.path_frames += 1;
            return;
        }
        let number = number_of(bytes);
        let trail = self.directions.entry(number).or_default();
        let (first, second) = self.ends[&direction.link];
        let is_shared = self.bridges.contains(&first) || self.bridges.contains(&second);
        let to = Mac(bytes[..6].try_into().expect("six bytes"));
        let before = trail.iter().filter(|other| **other == direction);
        let what = (event.at, number, direction);
        match before.count() {
            0 => {}
            _ if is_shared => {}
            1 if !to.is_multicast() => self.returned.push(what),
            _ => self.repeated.push(what),
        }
        trail.push(direction);
        self.destinations.insert(number, to);
        if !to.is_multicast() {
            self.count(event.at, number, direction);
        }
    }
}

/// A network under test.
pub struct Lab {
    pub network: Network,
    pub switches: Vec<NodeId>,
    /// Hosts with the number of each.
    pub hosts: Vec<(NodeId, u16)>,
    /// Links between switches: their ends, delays in nanoseconds, and what they are.
    pub links: Vec<(usize, usize, u64, LinkId)>,
    /// Links of switches without ARP-Path.
    pub bridge_links: Vec<LinkId>,
    pub trail: Trail,
    ports: Vec<u32>,
}

fn switch(
    network: &Network,
    id: u64,
    fail_mode: FailMode,
    options: &[(&str, &str)],
) -> EmbeddedSwitch {
    let mut config = EmbeddedConfig {
        datapath_id: id,
        pool: network.pool().clone(),
        fail_mode,
        ..EmbeddedConfig::default()
    };
    // Another one after each start.
    config.tables.secret = id << 32 | network.events();
    for hook in &mut config.hooks {
        if hook.name() == "arppath" {
            for (name, value) in options {
                hook.set_option(name, value).expect("the option is there");
            }
        }
    }
    EmbeddedSwitch::new(Time(0), config).expect("the configuration is sound")
}

/// A link with this delay, on which sending takes no time.
fn wire(delay_ns: u64) -> LinkConfig {
    LinkConfig {
        rate_bps: 0,
        delay_ns,
        queue_frames: 10_000,
        ..LinkConfig::default()
    }
}

impl Lab {
    /// `count` switches with these links: ends and delay.
    pub fn new(count: usize, links: &[(usize, usize, u64)], options: &[(&str, &str)]) -> Self {
        let config = NetworkConfig {
            max_events: MAX_EVENTS,
            pool_bytes: 64 << 20,
            ..NetworkConfig::default()
        };
        let mut network = Network::new(config);
        let mut switches = Vec::new();
        for number in 0..count {
            let id = number as u64 + 1;
            let switch = switch(&network, id, FailMode::ArpPath, options);
            switches.push(network.add_switch(&format!("s{number}"), switch));
        }
        let mut trail = Trail::default();
        trail.switches.extend(switches.iter().copied());
        let mut this = Self {
            network,
            switches,
            hosts: Vec::new(),
            links: Vec::new(),
            bridge_links: Vec::new(),
            trail,
            ports: vec![0; count],
        };
        for &(first, second, delay_ns) in links {
            let ends = (this.port(first), this.port(second));
            let link = this.link(ends, delay_ns);
            this.links.push((first, second, delay_ns, link));
        }
        this
    }

    /// Starts a switch anew: it knows nothing, and its ports are as they were.
    pub fn restart(&mut self, at: usize, options: &[(&str, &str)]) {
        let now = self.network.now();
        let id = at as u64 + 1;
        let mut fresh = switch(&self.network, id, FailMode::ArpPath, options);
        for port in 1..=self.ports[at] {
            let desc = bofuss_embed::port(port);
            let added = fresh.add_port(now, desc, OffloadCapabilities::default());
            added.expect("the port is a port");
        }
        let old = self.network.switch_mut(self.switches[at]);
        *old.expect("it is a switch") = fresh;
    }

    fn link(&mut self, (first, second): (NodePort, NodePort), delay_ns: u64) -> LinkId {
        let link = self.network.add_link(first, second, wire(delay_ns));
        let link = link.expect("the ports are free");
        self.trail.ends.insert(link, (first.node, second.node));
        link
    }

    /// Adds a switch without ARP-Path that has a link to each of some switches: a learning bridge,
    /// or, if it has `entries`, what these make it.
    pub fn add_bridge(&mut self, at: &[usize], entries: &[&str], delay_ns: u64) -> NodeId {
        let fail_mode = if entries.is_empty() {
            FailMode::Standalone
        } else {
            FailMode::Secure
        };
        let number = self.network.node_count();
        let bridge = switch(&self.network, 1000 + u64::from(number), fail_mode, &[]);
        let node = self.network.add_switch(&format!("bridge{number}"), bridge);
        if entries.is_empty() {
            self.trail.bridges.insert(node);
        }
        for (port, place) in (1..).zip(at) {
            let port = PortNo(port);
            let ends = (self.port(*place), NodePort { node, port });
            let link = self.link(ends, delay_ns);
            self.bridge_links.push(link);
        }
        for entry in entries {
            self.change_entry(node, FlowModCommand::ADD, entry);
        }
        node
    }

    /// Changes an entry of a switch.
    pub fn change_entry(&mut self, node: NodeId, command: FlowModCommand, entry: &str) {
        let now = self.network.now();
        let switch = self.network.switch_mut(node).expect("it is a switch");
        let flow = parse_flow(entry, command, switch.catalogue()).expect("it is an entry");
        let conn = switch.connect_typed(now, Version::V1_3);
        let done = switch.message(now, conn, 1, Message::FlowMod(flow));
        assert_eq!(done, Ok(true));
        switch.disconnect(now, conn).expect("it is connected");
    }

    /// Returns what a switch would do with a datagram that comes in through a port.
    pub fn trace(&mut self, node: NodeId, port: u32, (from, to): (u16, u16)) -> String {
        let now = self.network.now();
        let layer = ipv4(ip(from).into(), ip(to).into(), 64, udp(7, 7, b"traced"));
        let frame = ethernet(mac(to), mac(from), layer);
        let switch = self.network.switch_mut(node).expect("it is a switch");
        let trace = switch.explain(now, PortNo(port), 0, &frame);
        trace.expect("the port is there").to_string()
    }

    /// The next free port of a switch.
    fn port(&mut self, switch: usize) -> NodePort {
        self.ports[switch] += 1;
        NodePort {
            node: self.switches[switch],
            port: PortNo(self.ports[switch]),
        }
    }

    /// Adds host `number` to a switch, with its plan. Returns its place and its link.
    pub fn add_host(&mut self, number: u16, at: usize, plan: &[(u64, Plan)]) -> (usize, LinkId) {
        let place = self.hosts.len();
        let mut station = Station::new(number, (place as u64) << 24);
        for (ms, what) in plan {
            station.plan(Time(ms * MS), *what);
        }
        let (node, link) = self.attach(at, Box::new(station));
        self.hosts.push((node, number));
        (place, link)
    }

    /// Adds any host to a switch. Returns its node and its link.
    pub fn attach(&mut self, at: usize, host: Box<dyn Host>) -> (NodeId, LinkId) {
        let name = format!("h{}", self.network.node_count());
        let node = self.network.add_host(&name, host);
        let port = PortNo(1);
        let ends = (self.port(at), NodePort { node, port });
        let link = self.link(ends, 1_000);
        (node, link)
    }

    /// Lets hosts be added to a bridge that has this many links. Returns its number as a switch.
    pub fn with_hosts(&mut self, bridge: NodeId, links: u32) -> usize {
        self.switches.push(bridge);
        self.ports.push(links);
        self.switches.len() - 1
    }

    /// Changes a link at a time.
    pub fn plan_link(&mut self, ms: u64, link: LinkId, state: LinkState) {
        let planned = self.network.plan(Time(ms * MS), Change::Link(link, state));
        planned.expect("the link is there");
    }

    /// Runs the network until `ms`. Panics in a storm.
    pub fn run(&mut self, ms: u64) {
        let ran = self.network.run_until(Time(ms * MS), &mut self.trail);
        ran.expect("there is no storm");
    }

    pub fn station(&self, place: usize) -> &Station {
        let host = self.network.host_as(self.hosts[place].0);
        host.expect("it is a station")
    }

    /// Checks what holds while each host can be found: no switch makes several of a frame to one
    /// host, and no host gets one to another host.
    pub fn check(&self) {
        let flooded = &self.trail.flooded;
        assert!(flooded.is_empty(), "one became several: {flooded:?}");
        for (place, (_, number)) in self.hosts.iter().enumerate() {
            let foreign = self.station(place).foreign;
            assert_eq!(foreign, 0, "host {number} got another's frames");
        }
        self.check_copies();
    }

    /// Checks what always holds: no frame goes round in a loop.
    pub fn check_loops(&self) {
        let repeated = &self.trail.repeated;
        assert!(repeated.is_empty(), "round in a loop: {repeated:?}");
    }

    /// As [`Lab::check`], if no frame was offered; or else that none goes round in a loop. While a
    /// part of the network that was cut off comes back, an offered frame may arrive twice.
    pub fn check_in_trouble(&mut self) {
        if self.metric("offered") == 0 {
            self.check();
        } else {
            self.check_loops();
        }
    }

    /// Checks that no frame goes round in a loop, and that no host gets one twice.
    pub fn check_copies(&self) {
        self.check_loops();
        for (place, (_, number)) in self.hosts.iter().enumerate() {
            let station = self.station(place);
            let twice = station.received.iter().find(|(_, (count, _))| *count > 1);
            assert_eq!(twice, None, "host {number} got a frame twice");
        }
    }

    /// Returns how many of the frames that host `from` sent came to the host at `place`, of those
    /// of which it is the destination.
    pub fn arrived(&self, place: usize, from: u16) -> usize {
        let received = self.station(place).received.keys();
        let own = mac(self.hosts[place].1);
        let is_it = |number: &&u64| {
            **number >> 32 == u64::from(from) && self.trail.destinations[number] == own
        };
        received.filter(is_it).count()
    }

    /// The delay of the shortest path from a switch to each.
    pub fn distances(&self, from: usize) -> Vec<u64> {
        let mut best = vec![u64::MAX; self.switches.len()];
        let mut waiting = BTreeSet::from([(0, from)]);
        best[from] = 0;
        while let Some((distance, at)) = waiting.pop_first() {
            for &(first, second, delay, _) in &self.links {
                let next = match at {
                    _ if at == first => second,
                    _ if at == second => first,
                    _ => continue,
                };
                if distance + delay < best[next] {
                    best[next] = distance + delay;
                    waiting.insert((best[next], next));
                }
            }
        }
        best
    }

    /// The links between switches that a frame took, by place, in order.
    pub fn path(&self, number: u64) -> Vec<usize> {
        let taken = self.trail.directions.get(&number).into_iter().flatten();
        let place = |direction: &LinkDirection| {
            let mut links = self.links.iter();
            links.position(|(_, _, _, link)| *link == direction.link)
        };
        taken.filter_map(place).collect()
    }

    /// The delay of the links between switches that a frame took.
    pub fn path_delay(&self, number: u64) -> u64 {
        let path = self.path(number);
        path.iter().map(|place| self.links[*place].2).sum()
    }

    /// A list that the extension of a switch reports.
    pub fn list<T: Listed>(&mut self, at: usize, name: &str) -> Vec<T> {
        let now = self.network.now();
        let switch = self.network.switch_mut(self.switches[at]);
        let switch = switch.expect("it is a switch");
        let catalogue = Arc::clone(switch.catalogue());
        let mut rows = catalogue.values(ExtKind::Multipart);
        let row = rows.find(|row| row.name == name).expect("it is a list");
        let request = ExtValue::parse(row, "", &catalogue).expect("it has no body");
        let request = RequestBody::Experimenter(ExtBody(request)).into();
        let conn = switch.connect_typed(now, Version::V1_3);
        let asked = switch.message(now, conn, 1, Message::MultipartRequest(request));
        assert_eq!(asked, Ok(true));
        let mut records = Vec::new();
        for effect in switch.drain() {
            if let Effect::Message { message, .. } = effect
                && let Message::MultipartReply(reply) = message
                && let ReplyBody::Experimenter(ExtBody(value)) = reply.body
            {
                let list: Option<&ValueList<T>> = value.body();
                records.extend(list.expect("it has this type").0.iter().cloned());
            }
        }
        switch.disconnect(now, conn).expect("it is connected");
        records
    }

    /// A counter of the extension, summed over all switches.
    pub fn metric(&mut self, name: &str) -> u64 {
        let mut sum = 0;
        for node in self.switches.clone() {
            sum += metric(&mut self.network, node, name);
        }
        sum
    }
}

/// A counter of the extension at one switch.
pub fn metric(network: &mut Network, node: NodeId, name: &str) -> u64 {
    let now = network.now();
    let switch = network.switch_mut(node).expect("it is a switch");
    let datapath = switch.switch().datapath();
    let mut list = Vec::new();
    for hook in 0.. {
        list.clear();
        let Some((extension, _)) = datapath.hooks().metrics(now, hook, 0, &mut list) else {
            break;
        };
        if extension == "arppath" {
            break;
        }
    }
    let found = list.iter().filter(|metric| metric.name == name);
    found.map(|metric| metric.value).sum()
}
