//! A data centre on this machine: servers in network namespaces with the kernel's TCP, switches of
//! a set-up, and links whose rate the kernel limits.

use std::path::PathBuf;
use std::time::Duration;

use bofuss_oflib::Version;
use bofuss_ports::NetNs;

use crate::data_centre::fct::LINK_MBPS;
use crate::data_centre::leaf_spine::LeafSpine;
use crate::error::Result;
use crate::subject::SetupName;
use crate::subject::controller::{ControlSession, STALL_SECONDS};
use crate::testbed::forwarder::{Forwarder, SwitchPlan};
use crate::testbed::net::{
    HOST_PORT, context, disable_ipv6, namespace_path, run, run_batch, run_lines, set_offloads,
};
use crate::testbed::setup::Setup;

/// Bytes that the token bucket of a link lets through at once: two frames at the paper's rate of
/// links, fewer on slower ones, and at least a whole frame, as a bucket never passes a larger one.
const BURST_BYTES: f64 = 3_100.0;
const LEAST_BURST_BYTES: f64 = 1_600.0;
/// Frames that wait at the end of a link, full ones.
const QUEUE_BYTES: u32 = 100 * 1_514;
/// The port on which the first switch listens for OpenFlow.
const FIRST_OPENFLOW_PORT: usize = 16_700;

/// The parts of a fabric.
pub struct FabricPlan {
    /// Its shape.
    pub network: LeafSpine,
    /// The rate of each link.
    pub link_bps: f64,
    /// True if ARP-Path chooses paths; otherwise the hash of the flow.
    pub arp_path: bool,
    /// The set-up of its switches.
    pub setup: SetupName,
    /// The folder of bofuss, and that of the original.
    pub programs: PathBuf,
    /// See `programs`.
    pub original: PathBuf,
}

/// A running fabric, which vanishes when dropped.
pub struct Fabric {
    /// The servers.
    pub servers: Vec<NetNs>,
    network: LeafSpine,
    /// The switches, which end before the links.
    switches: Vec<Forwarder>,
    /// The namespace of the links.
    place: NetNs,
}

/// Says why a set-up has no fabric; none if it has.
pub fn unsupported(setup: &SetupName, arp_path: bool) -> Option<&'static str> {
    let ours = matches!(setup, SetupName::Known(Setup::Bofuss | Setup::BofussStatic));
    let others = matches!(setup, SetupName::Known(Setup::Ovs) | SetupName::Original);
    match (ours, others, arp_path) {
        (true, ..) | (_, true, false) => None,
        (_, true, true) => Some("this switch has no ARP-Path"),
        _ => Some("only bofuss, ovs and bofuss-original are started as a network"),
    }
}

/// Bytes that a link of this rate lets through at once.
pub fn burst_bytes(link_bps: f64) -> f64 {
    (BURST_BYTES * link_bps / (LINK_MBPS * 1e6)).max(LEAST_BURST_BYTES)
}

impl FabricPlan {
    /// The ports of a spine or a leaf; their names say which.
    fn ports(&self, tier: char, number: usize) -> Vec<String> {
        let count = match tier {
            's' => self.network.leaves,
            _ => self.network.spines + self.network.servers_per_leaf,
        };
        (1..=count)
            .map(|port| format!("{tier}{number}p{port}"))
            .collect()
    }

    /// The switches: the spines first.
    fn switches(&self) -> Vec<SwitchPlan> {
        let mut plans = Vec::new();
        let fail_mode = if self.arp_path { "arp-path" } else { "secure" };
        for (tier, count) in [('s', self.network.spines), ('l', self.network.leaves)] {
            for number in 1..=count {
                plans.push(SwitchPlan {
                    // The names of bofuss' sockets are unique on a machine.
                    name: format!("{tier}{number}-{}", std::process::id()),
                    ports: self.ports(tier, number),
                    openflow_port: (FIRST_OPENFLOW_PORT + plans.len()) as u16,
                    fail_mode,
                    options: &[],
                    more: Vec::new(),
                });
            }
        }
        plans
    }

    /// The command that limits the rate of an interface, as `tc` reads it.
    fn limit(&self, interface: &str) -> String {
        format!(
            "qdisc replace dev {interface} root tbf rate {:.0}bit burst {:.0} \
             limit {QUEUE_BYTES}\n",
            self.link_bps,
            burst_bytes(self.link_bps)
        )
    }

    /// Makes the links, those to the servers and those between the tiers.
    fn connect(&self, servers: &[NetNs]) -> Result<()> {
        disable_ipv6("default");
        let network = &self.network;
        let mut links = String::new();
        for leaf in 1..=network.leaves {
            for spine in 1..=network.spines {
                links += &format!("link add l{leaf}p{spine} type veth peer name s{spine}p{leaf}\n");
            }
        }
        for (number, server) in servers.iter().enumerate() {
            let port = network.spines + 1 + number % network.servers_per_leaf;
            links += &format!(
                "link add l{}p{port} type veth peer name {HOST_PORT} netns {}\n",
                network.leaf(number),
                namespace_path(server)
            );
        }
        let mut limits = String::new();
        for plan in self.switches() {
            for port in plan.ports {
                links += &format!("link set {port} up\n");
                limits += &self.limit(&port);
            }
        }
        run_batch(&links)?;
        run_lines("tc", &limits)
    }

    /// Makes a server of the namespace of this thread. Without ARP-Path it knows all others.
    fn serve(&self, server: usize) -> Result<()> {
        let network = &self.network;
        disable_ipv6("all");
        run("ip link set lo up")?;
        set_offloads(HOST_PORT, false)?;
        let mut lines = format!(
            "link set {HOST_PORT} address {}\naddress add {}/8 dev {HOST_PORT}\n\
             link set {HOST_PORT} up\n",
            mac(server),
            network.address(server)
        );
        for other in 0..network.servers() {
            if other != server && !self.arp_path {
                let address = network.address(other);
                lines += &format!(
                    "neighbour add {address} lladdr {} dev {HOST_PORT}\n",
                    mac(other)
                );
            }
        }
        run_batch(&lines)?;
        run_lines("tc", &self.limit(HOST_PORT))
    }

    /// Makes all that is between and in these servers, and starts the switches.
    fn build(&self, servers: &[NetNs]) -> Result<Vec<Forwarder>> {
        run("ip link set lo up")?;
        self.connect(servers)?;
        for (number, server) in servers.iter().enumerate() {
            let served = server.run(|| self.serve(number));
            served.map_err(context("a server"))??;
        }
        self.start()
    }

    /// Starts the switches, with their entries.
    fn start(&self) -> Result<Vec<Forwarder>> {
        let plans = self.switches();
        let mut started = Vec::new();
        match &self.setup {
            SetupName::Known(setup @ Setup::Ovs) => {
                started.push(Forwarder::open_vswitch(*setup, &plans)?);
            }
            SetupName::Known(setup) => {
                for plan in &plans {
                    started.push(Forwarder::bofuss(&setup.program(&self.programs), plan)?);
                }
            }
            SetupName::Original => {
                for plan in &plans {
                    started.push(Forwarder::original(&self.original, plan)?);
                }
            }
            SetupName::Faulty(_) => return Err("this is no switch".into()),
        }
        if !self.arp_path {
            for (number, plan) in plans.iter().enumerate() {
                self.configure(number, plan)?;
            }
        }
        Ok(started)
    }

    fn configure(&self, number: usize, plan: &SwitchPlan) -> Result<()> {
        let address = format!("tcp:127.0.0.1:{}", plan.openflow_port).parse()?;
        let stall = Duration::from_secs(STALL_SECONDS);
        // Groups came with 1.1, and 1.3 is what all of them speak.
        let mut session = ControlSession::connect(&address, &[Version::V1_3], stall)?;
        session.remove_all()?;
        if number < self.network.spines {
            session.add(&self.network.spine_flows())?;
        } else {
            session.add_groups(&[self.network.leaf_group()])?;
            let leaf = number - self.network.spines + 1;
            session.add(&self.network.leaf_flows(leaf))?;
        }
        Ok(())
    }
}

/// The Ethernet address of a server.
fn mac(server: usize) -> String {
    format!("02:00:00:00:01:{server:02x}")
}

impl Fabric {
    /// Makes the network of a plan and starts its switches.
    ///
    /// Errors: the system's, or a switch that does not start.
    pub fn start(plan: &FabricPlan) -> Result<Self> {
        let failed = context("a network namespace");
        let place = NetNs::new().map_err(failed)?;
        let mut servers = Vec::new();
        for _ in 0..plan.network.servers() {
            servers.push(NetNs::new().map_err(failed)?);
        }
        // The kernel ends a switch together with the thread that started it, so that this one
        // moves there, and back.
        let here = NetNs::current().map_err(failed)?;
        place.enter().map_err(failed)?;
        let started = plan.build(&servers);
        here.enter().map_err(failed)?;
        Ok(Self {
            servers,
            network: plan.network,
            switches: started?,
            place,
        })
    }

    /// Processor nanoseconds of all switches so far.
    pub fn cpu_nanos(&self) -> f64 {
        self.switches.iter().map(Forwarder::cpu_nanos).sum()
    }

    /// Processor nanoseconds of each switch so far, by its name; nothing if one program is all of
    /// them.
    pub fn cpu_of_each(&self) -> Vec<(String, f64)> {
        let network = &self.network;
        if self.switches.len() != network.spines + network.leaves {
            return Vec::new();
        }
        let spines = (1..=network.spines).map(|number| format!("spine {number}"));
        let leaves = (1..=network.leaves).map(|number| format!("leaf {number}"));
        let nanos = self.switches.iter().map(Forwarder::cpu_nanos);
        spines.chain(leaves).zip(nanos).collect()
    }

    /// Bytes that each spine has received so far.
    ///
    /// Errors: the system's.
    pub fn spine_bytes(&self) -> Result<Vec<f64>> {
        let failed = context("counters");
        let place = &self.place;
        let read = place.run(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
        let counters = read.map_err(failed)?.map_err(failed)?;
        let mut sums = vec![0.0; self.network.spines];
        for line in counters.lines() {
            let Some((name, numbers)) = line.split_once(':') else {
                continue;
            };
            let spine = name.trim().strip_prefix('s').and_then(|rest| {
                let number = rest.split_once('p')?.0;
                number.parse::<usize>().ok()
            });
            let received = numbers.split_whitespace().next();
            let bytes = received.and_then(|word| word.parse::<f64>().ok());
            if let (Some(spine), Some(bytes)) = (spine, bytes) {
                sums[spine - 1] += bytes;
            }
        }
        Ok(sums)
    }

    /// Segments that the servers have sent again so far.
    ///
    /// Errors: the system's.
    pub fn resent(&self) -> Result<f64> {
        let failed = context("counters");
        let mut sum = 0.0;
        for server in &self.servers {
            let counters = server.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp"));
            sum += resent_in(&counters.map_err(failed)?.map_err(failed)?);
        }
        Ok(sum)
    }
}

/// `RetransSegs` of `/proc/net/snmp`: a line of names, then one of values.
fn resent_in(counters: &str) -> f64 {
    let mut lines = counters.lines().filter(|line| line.starts_with("Tcp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return 0.0;
    };
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    let found = pairs.find(|(name, _)| *name == "RetransSegs");
    found
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_of_a_link_scales_with_its_rate_down_to_a_frame() {
        assert_eq!(burst_bytes(100e6), 3_100.0);
        assert_eq!(burst_bytes(75e6), 2_325.0);
        assert_eq!(burst_bytes(12.5e6), 1_600.0);
    }

    #[test]
    fn segments_sent_again_are_counted_by_their_name() {
        let text = "Ip: A B\nIp: 1 2\nTcp: InSegs OutSegs RetransSegs InErrs\nTcp: 10 20 3 0\n";
        assert_eq!(resent_in(text), 3.0);
        assert_eq!(resent_in(""), 0.0);
    }
}
