//! Small networks for tests, and a log of their events.
#![allow(dead_code)] // Each test uses a part of it.

use std::fmt::Write;

use bofuss_datapath::Time;
use bofuss_embed::{EmbeddedConfig, EmbeddedSwitch, FailMode};
use bofuss_oflib::{Mac, PortNo, Version};
use bofuss_sim::controller::{Controller, LearningController};
use bofuss_sim::host::{EndHost, HostAddresses, HostConfig, HostProgram, PingProgram};
use bofuss_sim::{
    Change, EventKind, LinkConfig, LinkId, LogEvent, Network, NetworkConfig, NodeId, NodePort,
    Observer,
};

/// Logs all events, one a line.
#[derive(Debug, Default)]
pub struct Log(pub String);

impl Log {
    /// The lines with a word.
    pub fn lines_with(&self, word: &str) -> Vec<&str> {
        self.0.lines().filter(|line| line.contains(word)).collect()
    }
}

impl Observer for Log {
    fn event(&mut self, event: &LogEvent<'_>) {
        let LogEvent { number, at, kind } = event;
        write!(self.0, "{number} {} ", at.0).expect("a string takes everything");
        match kind {
            EventKind::Sent(direction, frame) => {
                writeln!(self.0, "sent {direction:?} {:x?}", frame.bytes())
            }
            EventKind::Arrived(direction, frame) => {
                writeln!(self.0, "arrived {direction:?} {:x?}", frame.bytes())
            }
            EventKind::Dropped(direction, reason, frame) => {
                writeln!(
                    self.0,
                    "dropped {direction:?} {reason:?} {:x?}",
                    frame.bytes()
                )
            }
            EventKind::ToController(node, _, data) => {
                writeln!(self.0, "to_controller {node:?} {data:?}")
            }
            EventKind::ToSwitch(node, _, data) => writeln!(self.0, "to_switch {node:?} {data:?}"),
            other => writeln!(self.0, "{other:?}"),
        }
        .expect("a string takes everything");
    }
}

/// Host `number`, 10.0.0.`number`.
pub fn host_config(number: u8) -> HostConfig {
    HostConfig {
        addresses: HostAddresses {
            mac: Mac([2, 0, 0, 0, 0, number]),
            ip4: Some(([10, 0, 0, number].into(), 24)),
            ip6: None,
        },
        mtu_bytes: 1500,
        seed: number.into(),
        known: Default::default(),
    }
}

/// Adds a switch with this fail mode and the default configuration.
pub fn add_switch(network: &mut Network, name: &str, fail_mode: FailMode) -> NodeId {
    let config = EmbeddedConfig {
        pool: network.pool().clone(),
        fail_mode,
        ..EmbeddedConfig::default()
    };
    let switch = EmbeddedSwitch::new(Time(0), config).expect("the configuration is sound");
    network.add_switch(name, switch)
}

/// Adds a link between ports of nodes.
pub fn link(
    network: &mut Network,
    first: (NodeId, u32),
    second: (NodeId, u32),
    config: LinkConfig,
) -> LinkId {
    let at = |(node, port)| NodePort {
        node,
        port: PortNo(port),
    };
    let added = network.add_link(at(first), at(second), config);
    added.expect("the ports are free")
}

/// Connects switches to a controller at time 0.
pub fn connect_all(
    network: &mut Network,
    controller: Box<dyn Controller>,
    switches: &[NodeId],
    delay_ns: u64,
) {
    let controller = network.add_controller(controller);
    for &switch in switches {
        let added = network.add_control_link(switch, controller, delay_ns, Version::V1_3);
        added.expect("they are there");
        let planned = network.plan(Time(0), Change::Connect(switch, controller));
        planned.expect("they are there");
    }
}

/// Host 1, two switches in a line with a learning controller, and host 2; host 1 pings host 2 three
/// times, each second from 1 s on.
pub fn line_of_two(config: NetworkConfig) -> Network {
    let mut network = Network::new(config);
    let s1 = add_switch(&mut network, "s1", FailMode::Secure);
    let s2 = add_switch(&mut network, "s2", FailMode::Secure);
    let mut first = EndHost::new(host_config(1));
    first.add(HostProgram::Ping(PingProgram {
        to: [10, 0, 0, 2].into(),
        start: Time(Time::SEC),
        stop: Time::NEVER,
        interval_ns: Time::SEC,
        count: 3,
        data_bytes: 56,
    }));
    let h1 = network.add_host("h1", Box::new(first));
    let h2 = network.add_host("h2", Box::new(EndHost::new(host_config(2))));
    link(&mut network, (s1, 1), (s2, 1), LinkConfig::default());
    link(&mut network, (s1, 2), (h1, 1), LinkConfig::default());
    link(&mut network, (s2, 2), (h2, 1), LinkConfig::default());
    let controller = Box::<LearningController>::default();
    connect_all(&mut network, controller, &[s1, s2], 100_000);
    network
}
