//! A network of switches with ARP-Path, hosts that send what is planned, and an observer that
//! follows every frame.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bofuss_datapath::Time;
use bofuss_embed::{EmbeddedConfig, EmbeddedSwitch, FailMode};
use bofuss_frame::Frame;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Mac, Message, PortNo, Version};
use bofuss_packet::craft::{Layer, arp, ethernet, ipv4, udp};
use bofuss_sim::host::{Host, HostOutput};
use bofuss_sim::{
    Change, EventKind, LinkConfig, LinkDirection, LinkId, LinkState, LogEvent, Network,
    NetworkConfig, NodeId, NodePort, Observer,
};

pub const MS: u64 = Time::SEC / 1000;
pub const BROADCAST: Mac = Mac([0xff; 6]);
/// The EtherType of ARP-Path.
const PATH_TYPE: [u8; 2] = [0x88, 0xb5];
/// The last bytes of a frame, which are its number.
const NUMBER_BYTES: usize = 8;
/// A test network with more events has a storm.
const MAX_EVENTS: u64 = 20_000_000;

/// The Ethernet address of host `number`.
pub fn mac(number: u16) -> Mac {
    let [high, low] = number.to_be_bytes();
    Mac([2, 0, 0, 0, high, low])
}

fn ip(number: u16) -> [u8; 4] {
    let [high, low] = number.to_be_bytes();
    [10, 0, high, low]
}

/// What a host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// An ARP request for a host.
    Ask(u16),
    /// An IPv6 neighbour solicitation, which nobody answers.
    Solicit,
    /// A datagram to a host, whose address is known.
    Data(u16),
    /// The same in a VLAN.
    Tagged(u16, u16),
}

/// A host that sends what is planned, answers ARP requests, and keeps what it received.
pub struct Station {
    number: u16,
    plan: BTreeMap<(Time, usize), Plan>,
    /// The number of the next frame; the upper half is the number of the host.
    next: u64,
    /// The numbers of frames that came in, how often, and when first.
    pub received: BTreeMap<u64, (u32, Time)>,
    /// Frames for other hosts.
    pub foreign: u32,
}

impl Station {
    pub fn new(number: u16, first: u64) -> Self {
        Self {
            number,
            plan: BTreeMap::new(),
            next: u64::from(number) << 32 | first,
            received: BTreeMap::new(),
            foreign: 0,
        }
    }

    pub fn plan(&mut self, at: Time, what: Plan) {
        let count = self.plan.len();
        self.plan.insert((at, count), what);
    }

    fn send(&mut self, to: Mac, payload: Layer, out: &mut HostOutput<'_>) {
        let mut bytes = ethernet(to, mac(self.number), payload);
        bytes.resize(bytes.len().max(60), 0);
        bytes.extend(self.next.to_be_bytes());
        self.next += 1;
        assert!(out.send_bytes(&bytes), "the pool is large enough");
    }

    fn carry_out(&mut self, what: Plan, out: &mut HostOutput<'_>) {
        let (own, own_ip) = (mac(self.number), ip(self.number).into());
        let datagram = |to: u16| ipv4(own_ip, ip(to).into(), 64, udp(7, 7, b"numbered"));
        match what {
            Plan::Ask(to) => {
                let request = arp(1, own, own_ip, Mac([0; 6]), ip(to).into());
                self.send(BROADCAST, request, out);
            }
            Plan::Solicit => {
                let group = Mac([0x33, 0x33, 0xff, 0, 0, 1]);
                self.send(group, Layer::new(0x86dd, &[0x60; 48]), out);
            }
            Plan::Data(to) => self.send(mac(to), datagram(to), out),
            Plan::Tagged(vlan, to) => {
                let tagged = bofuss_packet::craft::vlan(0x8100, vlan, datagram(to));
                self.send(mac(to), tagged, out);
            }
        }
    }
}

impl Host for Station {
    fn receive(&mut self, now: Time, frame: Frame, out: &mut HostOutput<'_>) {
        let bytes = frame.bytes();
        if bytes[12..14] == PATH_TYPE {
            return;
        }
        let to = Mac(bytes[..6].try_into().expect("six bytes"));
        if to != mac(self.number) && !to.is_multicast() {
            self.foreign += 1;
            return;
        }
        let entry = self.received.entry(number_of(bytes)).or_insert((0, now));
        entry.0 += 1;
        let is_request = bytes[12..14] == [8, 6] && bytes[20..22] == [0, 1];
        if is_request && bytes[38..42] == ip(self.number) {
            let asker = u16::from_be_bytes([bytes[30], bytes[31]]);
            let (own, own_ip) = (mac(self.number), ip(self.number).into());
            let reply = arp(2, own, own_ip, mac(asker), ip(asker).into());
            self.send(mac(asker), reply, out);
        }
    }

    fn tick(&mut self, now: Time, out: &mut HostOutput<'_>) {
        while let Some((&(at, count), &what)) = self.plan.first_key_value() {
            if at > now {
                break;
            }
            self.plan.remove(&(at, count));
            self.carry_out(what, out);
        }
    }

    fn next_tick(&self) -> Option<Time> {
        self.plan.keys().next().map(|(at, _)| *at)
    }
}

/// The number of a frame of a [`Station`].
fn number_of(bytes: &[u8]) -> u64 {
    let (_, number) = bytes.split_at(bytes.len() - NUMBER_BYTES);
    u64::from_be_bytes(number.try_into().expect("eight bytes"))
}

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
    ends: HashMap<LinkId, (NodeId, NodeId)>,
    /// The nodes that must not send a frame to one host more often than they receive it.
    switches: BTreeSet<NodeId>,
    /// Learning bridges: a group's frames from several switches pass through their links.
    bridges: BTreeSet<NodeId>,
    /// How often a node has received a frame to one host, less how often it has sent it.
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

    /// What a switch would do with a datagram that comes in through a port.
    pub fn trace(&mut self, node: NodeId, port: u32, (from, to): (u16, u16)) -> String {
        let now = self.network.now();
        let layer = ipv4(ip(from).into(), ip(to).into(), 64, udp(7, 7, b"traced"));
        let frame = ethernet(mac(to), mac(from), layer);
        let switch = self.network.switch_mut(node).expect("it is a switch");
        let trace = switch.explain(now, PortNo(port), &frame);
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
        let node = self
            .network
            .add_host(&format!("h{place}"), Box::new(station));
        let ends = (
            self.port(at),
            NodePort {
                node,
                port: PortNo(1),
            },
        );
        let link = self.link(ends, 1_000);
        self.hosts.push((node, number));
        (place, link)
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

    /// Checks what always holds: no frame goes round in a loop, no switch makes several of a frame
    /// to one host, no host gets a frame twice, and none gets one to another host.
    pub fn check(&self) {
        let flooded = &self.trail.flooded;
        assert!(flooded.is_empty(), "one became several: {flooded:?}");
        let repeated = &self.trail.repeated;
        assert!(repeated.is_empty(), "round in a loop: {repeated:?}");
        for (place, (_, number)) in self.hosts.iter().enumerate() {
            let station = self.station(place);
            assert_eq!(station.foreign, 0, "host {number} got another's frames");
            let twice = station.received.iter().find(|(_, (count, _))| *count > 1);
            assert_eq!(twice, None, "host {number} got a frame twice");
        }
    }

    /// How many of the frames that host `from` sent came to the host at `place`, of those of which
    /// it is the destination.
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
        let Some((extension, _)) = datapath.extension_metrics(now, hook, 0, &mut list) else {
            break;
        };
        if extension == "arppath" {
            break;
        }
    }
    let found = list.iter().filter(|metric| metric.name == name);
    found.map(|metric| metric.value).sum()
}
