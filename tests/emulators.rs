//! The topologies of contrib for containerlab and Kathará. Network namespaces take the place of the
//! containers: what the engines do for these files is done here in the same order.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bofuss_ports::NetNs;
use bofuss_tests::{Process, have, ip, ok, program, run, until};

/// The nodes of a topology.
#[derive(Default)]
struct Topology {
    networks: BTreeMap<String, NetNs>,
    switches: Vec<Process>,
}

impl Topology {
    fn add(&mut self, name: &str) {
        let network = NetNs::new().unwrap();
        network.run(|| ip("link set lo up")).unwrap();
        self.networks.insert(name.into(), network);
    }

    /// Joins two interfaces, each of a node.
    fn join(&self, one: (&str, &str), other: (&str, &str)) {
        let there = |name: &str| {
            let descriptor = self.networks[name].as_fd().as_raw_fd();
            format!("/proc/{}/fd/{descriptor}", std::process::id())
        };
        let (first, second) = (there(one.0), there(other.0));
        let (near, far) = (one.1, other.1);
        ip(&format!(
            "link add {near} netns {first} type veth peer name {far} netns {second}"
        ));
        for (node, interface) in [one, other] {
            let up = || ip(&format!("link set {interface} up"));
            self.networks[node].run(up).unwrap();
        }
    }

    /// Starts a switch in a node, with the words after the name of the program.
    fn start(&mut self, node: &str, words: &[&str]) {
        let mut bofuss = Command::new(program("bofuss"));
        bofuss
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let start = || Process::start(&mut bofuss);
        let process = self.networks[node].run(start).unwrap();
        self.switches.push(process);
    }

    /// Runs a command in a node. Panics: if it fails.
    fn on(&self, node: &str, line: &str) {
        let mut words = line.split(' ');
        let mut command = match words.next().unwrap() {
            "bofuss" => Command::new(program("bofuss")),
            name => Command::new(name),
        };
        let work = || ok(command.args(words));
        self.networks[node].run(work).unwrap();
    }

    /// Checks that each host reaches each other: h1, h2 and h3 are 10.0.0.1 to 10.0.0.3.
    fn all_ping(&self) {
        for from in 1..=3 {
            for to in (1..=3).filter(|to| *to != from) {
                let address = format!("10.0.0.{to}");
                let ping = || run(Command::new("ping").args(["-c1", "-W1", &address]));
                let network = &self.networks[&format!("h{from}")];
                until(&format!("h{from} reaches h{to}"), || {
                    network.run(ping).unwrap().status.success()
                });
            }
        }
    }
}

/// A file of contrib.
fn read(path: &str) -> String {
    let contrib = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../contrib");
    std::fs::read_to_string(contrib.join(path)).unwrap()
}

#[test]
fn the_ring_for_containerlab_is_one_network() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let text = read("containerlab/ring.clab.yml");
    let mut topology = Topology::default();
    let (mut commands, mut links) = (Vec::new(), Vec::new());
    let mut node = "";
    for line in text.lines() {
        let (depth, line) = (line.len() - line.trim_start().len(), line.trim());
        if depth == 4
            && let Some(name) = line.strip_suffix(':')
        {
            node = name;
            topology.add(name);
        } else if let Some(words) = line.strip_prefix("cmd: ") {
            // The image's entry point is bofuss. Containers run before they have links.
            topology.start(node, &words.split(' ').collect::<Vec<_>>());
        } else if let Some(ends) = line.strip_prefix("- endpoints: ") {
            let ends = ends
                .trim_matches(['[', ']', '"'])
                .split_once("\", \"")
                .unwrap();
            links.push((
                ends.0.split_once(':').unwrap(),
                ends.1.split_once(':').unwrap(),
            ));
        } else if let Some(command) = line.strip_prefix("- ") {
            commands.push((node, command));
        }
    }
    assert_eq!(
        (
            topology.networks.len(),
            topology.switches.len(),
            links.len()
        ),
        (6, 3, 6)
    );
    for name in ["s1", "s2", "s3"] {
        let mut ports = Command::new(program("bofuss"));
        ports.args(["ctl", name, "ports"]);
        until("the switch runs", || run(&mut ports).status.success());
    }
    for (one, other) in links {
        topology.join(one, other);
    }
    for (node, command) in commands {
        topology.on(node, command);
    }
    topology.all_ping();
}

#[test]
fn the_ring_for_kathara_is_one_network() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let mut topology = Topology::default();
    let mut domains: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for line in read("kathara/lab.conf").lines() {
        let Some((node, rest)) = line.split_once('[') else {
            continue;
        };
        let (number, domain) = rest.split_once("]=").unwrap();
        if !topology.networks.contains_key(node) {
            topology.add(node);
        }
        let interface = format!("eth{number}");
        let ends = domains.entry(domain.into()).or_default();
        ends.push((node.into(), interface));
    }
    assert_eq!((topology.networks.len(), domains.len()), (6, 6));
    for ends in domains.values() {
        let [one, other] = &ends[..] else {
            panic!("a domain joins two: {ends:?}");
        };
        topology.join((&one.0, &one.1), (&other.0, &other.1));
    }
    // Devices run these when they have their links.
    for node in ["s1", "s2", "s3", "h1", "h2", "h3"] {
        let script = read(&format!("kathara/{node}.startup"));
        match script.strip_prefix("/shared/bin/bofuss ") {
            Some(words) => {
                let words = words.split(" >").next().unwrap();
                topology.start(node, &words.split(' ').collect::<Vec<_>>());
            }
            None => topology.on(node, script.trim()),
        }
    }
    topology.all_ping();
}
