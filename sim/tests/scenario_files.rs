//! The scenarios of `testdata/scenarios` have the same effects in a network as on a switch without
//! one.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::rc::Rc;

use bofuss_datapath::{Algorithm, Config, Time};
use bofuss_embed::{Effect, EmbeddedConfig, EmbeddedSwitch, FailMode};
use bofuss_frame::Frame;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::text::parse_bytes;
use bofuss_oflib::{Mac, PortNo, Version};
use bofuss_sim::controller::{Controller, ControllerOutput};
use bofuss_sim::host::{Host, HostOutput};
use bofuss_sim::{
    Change, ControllerId, LinkConfig, LinkId, LinkState, Network, NetworkConfig, NodeId, NodePort,
};

/// The delay, in nanoseconds, of everything to the switch and from it.
const DELAY_NANOS: u64 = 1;

/// The scenarios that are not played in a network, and why.
const NOT_IN_A_NETWORK: [(&str, &str); 14] = [
    (
        "arp_path",
        "what is due at once is sent before the next line",
    ),
    (
        "auxiliary",
        "controllers in a network have main connections only",
    ),
    ("fail_mode", "a network has controllers and no tools"),
    ("filling_alone", "a network has controllers and no tools"),
    ("groups", SETS_LINKS),
    ("hooks", "its switches have no hooks but the extensions'"),
    ("openflow10_session", SETS_LINKS),
    ("openflow14", SETS_LINKS),
    ("ports", SETS_LINKS),
    ("profile", "tables are shaped by TABLE_FEATURES only"),
    ("profile_masks", "tables are shaped by TABLE_FEATURES only"),
    ("reconfigure", "its switches keep their configuration"),
    (
        "stat_triggers",
        "what is due at once is sent before the next line",
    ),
    ("versions", "port numbers end at 65535"),
];
const SETS_LINKS: &str =
    "a link that a switch sets down goes down in a network, and the switch is informed";

/// The outputs of the switch at a time: frames by a port, or bytes on a connection.
type Left = BTreeMap<(Time, &'static str, u64), Vec<u8>>;

/// A host or a controller that sends its inputs at their times, and notes what arrives.
struct Script {
    kind: &'static str,
    number: u64,
    inputs: Vec<(Time, Vec<u8>)>,
    next: usize,
    switch: NodeId,
    left: Rc<RefCell<Left>>,
}

impl Script {
    /// Takes the next input, if it has to be sent now to arrive at its time.
    fn due(&mut self, now: Time) -> Option<Vec<u8>> {
        let (at, bytes) = self.inputs.get(self.next)?;
        if at.0 - DELAY_NANOS > now.0 {
            return None;
        }
        self.next += 1;
        Some(bytes.clone())
    }

    fn next_due(&self) -> Option<Time> {
        let (at, _) = self.inputs.get(self.next)?;
        Some(Time(at.0 - DELAY_NANOS))
    }

    fn arrived(&self, now: Time, bytes: &[u8]) {
        let is_hello = self.kind == "send" && bytes[1] == 0;
        if is_hello {
            return;
        }
        let key = (Time(now.0 - DELAY_NANOS), self.kind, self.number);
        let mut left = self.left.borrow_mut();
        left.entry(key).or_default().extend(bytes);
    }
}

impl Host for Script {
    fn receive(&mut self, now: Time, frame: Frame, _: &mut HostOutput<'_>) {
        self.arrived(now, frame.bytes());
    }
    fn tick(&mut self, now: Time, out: &mut HostOutput<'_>) {
        while let Some(bytes) = self.due(now) {
            assert!(out.send_bytes(&bytes));
        }
    }
    fn next_tick(&self) -> Option<Time> {
        self.next_due()
    }
}

impl Controller for Script {
    fn takes_bytes(&self) -> bool {
        true
    }
    fn bytes(&mut self, now: Time, _: NodeId, bytes: &[u8], _: &mut ControllerOutput) {
        self.arrived(now, bytes);
    }
    fn tick(&mut self, now: Time, out: &mut ControllerOutput) {
        while let Some(bytes) = self.due(now) {
            out.send_bytes(self.switch, bytes);
        }
    }
    fn next_tick(&self) -> Option<Time> {
        self.next_due()
    }
}

/// One call of a script.
#[derive(Clone)]
struct Call<'s> {
    at: Time,
    words: Vec<&'s str>,
}

/// The calls, what left, and the switch's configuration of a script.
#[derive(Default)]
struct Parsed<'s> {
    calls: Vec<Call<'s>>,
    left: Left,
    config: BTreeMap<&'s str, &'s str>,
}

fn parsed(script: &str) -> Parsed<'_> {
    let mut parsed = Parsed::default();
    for line in script.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["switch", ..] => {
                parsed.config = words[1..]
                    .iter()
                    .filter_map(|w| w.split_once('='))
                    .collect();
            }
            [">", "transmit", port, _, hex] => parsed.leaves("transmit", port, hex),
            [">", "send", conn, hex] => parsed.leaves("send", conn, hex),
            [">", ..] => panic!("{line}"),
            [at, ..] => parsed.calls.push(Call {
                at: Time(at.parse().unwrap()),
                words: words[1..].to_vec(),
            }),
            [] => {}
        }
    }
    parsed
}

impl Parsed<'_> {
    fn leaves(&mut self, kind: &'static str, number: &str, hex: &str) {
        let at = self.calls.last().unwrap().at;
        let bytes = self.left.entry((at, kind, number.parse().unwrap()));
        bytes.or_default().extend(parse_bytes(hex).unwrap());
    }

    fn number(&self, key: &str) -> u32 {
        self.config[key].parse().unwrap()
    }

    fn switch(&self, network: &Network) -> EmbeddedSwitch {
        let config = EmbeddedConfig::default();
        let tables = Config {
            n_tables: self.number("tables") as u8,
            max_entries: self.number("max_entries"),
            max_total_entries: self.number("max_total_entries"),
            max_groups: self.number("max_groups"),
            max_buckets: self.number("max_buckets"),
            max_meters: self.number("max_meters"),
            max_bands: self.number("max_bands") as u8,
            select: match self.config["select"] {
                "RoundRobin" => Algorithm::RoundRobin,
                "Random" => Algorithm::Random,
                _ => Algorithm::Hash,
            },
            ..config.tables
        };
        let fail_mode = if self.config["fail_mode"] == "standalone" {
            FailMode::Standalone
        } else {
            FailMode::Secure
        };
        let config = EmbeddedConfig {
            tables,
            fail_mode,
            pool: network.pool().clone(),
            links_fixed: self.number("links_fixed") == 1,
            ..config
        };
        EmbeddedSwitch::new(Time(0), config).unwrap()
    }

    /// The inputs of a port or a connection.
    fn inputs(&self, kind: &str, number: &str) -> Vec<(Time, Vec<u8>)> {
        let mut inputs = Vec::new();
        for call in &self.calls {
            if let [found, to, hex] = call.words[..]
                && (found, to) == (kind, number)
            {
                inputs.push((call.at, parse_bytes(hex).unwrap()));
            }
        }
        inputs
    }
}

/// A port as a call describes it, with its link up.
fn desc(words: &[&str]) -> PortDesc {
    let [number, address, supported, speed, _] = words else {
        panic!("{words:?}");
    };
    let address = parse_bytes(address).unwrap();
    let speed = speed.parse().unwrap();
    PortDesc {
        port_no: PortNo(number.parse().unwrap()),
        hw_addr: Mac(address.try_into().unwrap()),
        supported: PortFeatures(supported.parse().unwrap()),
        curr_speed: speed,
        max_speed: speed,
        ..PortDesc::default()
    }
}

/// A script in a network.
struct Stage<'s> {
    script: &'s Parsed<'s>,
    network: Network,
    switch: NodeId,
    /// The link of each port, and its last description.
    ports: BTreeMap<&'s str, (LinkId, Vec<&'s str>)>,
    /// Calls that no host, controller or link makes.
    by_hand: Vec<&'s Call<'s>>,
    connections: BTreeMap<&'s str, ControllerId>,
    left: Rc<RefCell<Left>>,
}

impl<'s> Stage<'s> {
    fn new(script: &'s Parsed<'s>) -> Self {
        let mut network = Network::new(NetworkConfig::default());
        let switch = network.add_switch("s1", script.switch(&network));
        Self {
            script,
            network,
            switch,
            ports: BTreeMap::new(),
            by_hand: Vec::new(),
            connections: BTreeMap::new(),
            left: Rc::default(),
        }
    }

    fn player(&self, input: &str, kind: &'static str, number: &str) -> Box<Script> {
        Box::new(Script {
            kind,
            number: number.parse().unwrap(),
            inputs: self.script.inputs(input, number),
            next: 0,
            switch: self.switch,
            left: self.left.clone(),
        })
    }

    /// Adds a port with its link and host, or plans a change of it.
    fn port(&mut self, call: &'s Call<'s>) {
        let words = &call.words[1..];
        let number = words[0];
        if let Some((link, before)) = self.ports.get_mut(number) {
            let before = std::mem::replace(before, words.into());
            if before[..4] != words[..4] || before[4] == words[4] {
                self.by_hand.push(call);
                return;
            }
            let state = if words[4] == "up" {
                LinkState::Up
            } else {
                LinkState::Down
            };
            let change = Change::Link(*link, state);
            self.network.plan(call.at, change).unwrap();
            return;
        }
        let host = self.player("frame", "transmit", number);
        let host = self.network.add_host(&format!("h{number}"), host);
        let desc = desc(words);
        let ends = [(self.switch, desc.port_no), (host, PortNo(1))];
        let [first, second] = ends.map(|(node, port)| NodePort { node, port });
        let config = LinkConfig {
            rate_bps: 0,
            delay_ns: DELAY_NANOS,
            ..LinkConfig::default()
        };
        let link = self.network.add_link(first, second, config).unwrap();
        self.ports.insert(number, (link, words.into()));
        let switch = self.network.switch_mut(self.switch).unwrap();
        switch.add_port(Time(0), desc, Default::default()).unwrap();
    }

    fn plan(&mut self, call: &'s Call<'s>) {
        match call.words[..] {
            ["port", ..] => self.port(call),
            ["gone", ..] => self.by_hand.push(call),
            ["connect", conn, _] => {
                let controller = self.player("feed", "send", conn);
                let controller = self.network.add_controller(controller);
                let version = Version::V1_3;
                let network = &mut self.network;
                let added = network.add_control_link(self.switch, controller, DELAY_NANOS, version);
                added.unwrap();
                self.connections.insert(conn, controller);
                let change = Change::Connect(self.switch, controller);
                network.plan(call.at, change).unwrap();
            }
            ["disconnect", conn] => {
                let change = Change::Disconnect(self.switch, self.connections[conn]);
                self.network.plan(call.at, change).unwrap();
            }
            // Hosts and controllers send these, and time goes on by itself.
            ["frame" | "feed", ..] | ["tick"] => {}
            _ => panic!("{:?}", call.words),
        }
    }

    /// Makes a call now, and notes what it causes.
    fn make(&mut self, call: &Call<'s>) {
        self.network.run_until(call.at, &mut ()).unwrap();
        let switch = self.network.switch_mut(self.switch).unwrap();
        if let ["gone", number] = call.words[..] {
            let number = PortNo(number.parse().unwrap());
            switch.remove_port(call.at, number).unwrap();
        } else {
            let desc = desc(&call.words[1..]);
            switch.add_port(call.at, desc, Default::default()).unwrap();
        }
        let mut left = self.left.borrow_mut();
        for effect in switch.drain() {
            let (kind, number, bytes) = match effect {
                Effect::Transmit { port, frame, .. } => {
                    ("transmit", port.0.into(), frame.bytes().to_vec())
                }
                Effect::Send { conn, bytes } => ("send", conn.0, bytes),
                other => panic!("{other:?}"),
            };
            let noted = left.entry((call.at, kind, number));
            noted.or_default().extend(bytes);
        }
    }

    /// Plays it; returns what left.
    fn play(mut self) -> Left {
        for call in &self.script.calls {
            self.plan(call);
        }
        for call in std::mem::take(&mut self.by_hand) {
            self.make(call);
        }
        let last = self.script.calls.last().map_or(0, |call| call.at.0);
        let end = Time(last + DELAY_NANOS);
        self.network.run_until(end, &mut ()).unwrap();
        self.left.take()
    }
}

#[test]
fn the_scenarios_have_the_effect_in_a_network_that_they_have_alone() {
    // Of the whole workspace, as it is tested: alone it would be compiled with other features.
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--workspace"]);
    cargo.args(["--example", "scenario_scripts"]);
    let built = cargo.status().unwrap();
    assert!(built.success(), "{built}");
    let here = std::env::current_exe().unwrap();
    let program = here.with_file_name("../examples/scenario_scripts");
    let output = Command::new(program).arg("10").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let scripts = String::from_utf8(output.stdout).unwrap();
    let mut played = BTreeSet::new();
    let mut failures = Vec::new();
    for scenario in scripts.split("scenario ").skip(1) {
        let (name, script) = scenario.split_once('\n').unwrap();
        if NOT_IN_A_NETWORK.iter().any(|row| row.0 == name) {
            continue;
        }
        // Versions that are not offered yet, configured fields and super-frames are for the switch
        // alone.
        if ["! version", "! set field ", "! super-frame"]
            .iter()
            .any(|what| script.contains(what))
        {
            continue;
        }
        let strange = script.lines().find(|line| line.starts_with('!'));
        assert_eq!(strange, None, "{name}");
        let script = parsed(script);
        let left = Stage::new(&script).play();
        let mut both = left.iter().zip(&script.left);
        if let Some((one, other)) = both.find(|(one, other)| one != other) {
            failures.push(format!("{name}: {one:?} and not {other:?}"));
        } else if left.len() != script.left.len() {
            let (count, wanted) = (left.len(), script.left.len());
            failures.push(format!("{name}: {count} and not {wanted} effects"));
        }
        played.insert(name);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(played.len() > 35, "{}", played.len());
}
