//! The interface of hosts. In: frames and the time. Out: frames and reports.

mod end_host;
mod neighbours;
mod ping;
mod streams;
mod tally;
mod udp;
mod wire;

use std::any::Any;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use bofuss_datapath::Time;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::Mac;

pub use end_host::{EndHost, HostProgram, MIN_MTU_BYTES, Outcome};
pub use ping::{PingCounts, PingProgram};
pub use streams::{TcpCounts, TcpProgram};
pub use tally::{Series, Times, TimesSummary};
pub use udp::{Arrivals, MIN_DATA_BYTES, UdpCounts, UdpExpectation, UdpFlow, UdpProgram};

pub(crate) use tally::{mbps, milliseconds};
pub(crate) use udp::exponential;

/// A host, at the end of one link. These calls are its only input.
///
/// It has to be deterministic, so that equal calls have equal effects: it takes the time and random
/// numbers from nowhere else, and nothing that it does depends on addresses in memory.
pub trait Host: Any {
    /// Called for each frame that arrives. It begins with the Ethernet destination address, and has
    /// no FCS and no offload record.
    fn receive(&mut self, now: Time, frame: Frame, out: &mut HostOutput<'_>);
    /// Called at the time of [`Host::next_tick`], or later. A call may also find nothing due.
    fn tick(&mut self, now: Time, out: &mut HostOutput<'_>);
    /// Returns when [`Host::tick`] has to be called next; asked after each call of the other
    /// methods.
    fn next_tick(&self) -> Option<Time>;
    /// Called when the host's link gets or loses its carrier.
    fn link_changed(&mut self, _now: Time, _up: bool, _out: &mut HostOutput<'_>) {}
    /// Called when the host has moved to another port, if it is to announce its addresses there.
    fn announce(&mut self, _now: Time, _out: &mut HostOutput<'_>) {}
    /// The host's counters with their names, which are always the same: `("echo_requests", 3)`.
    fn statistics(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// The outputs of a host, in order: frames and reports.
pub struct HostOutput<'a> {
    pool: &'a Pool,
    frames: &'a mut Vec<Frame>,
    reports: &'a mut Vec<HostReport>,
}

impl<'a> HostOutput<'a> {
    /// Collects outputs; frames come from `pool`.
    pub fn new(
        pool: &'a Pool,
        frames: &'a mut Vec<Frame>,
        reports: &'a mut Vec<HostReport>,
    ) -> Self {
        Self {
            pool,
            frames,
            reports,
        }
    }

    /// Sends a frame.
    pub fn send(&mut self, frame: Frame) {
        self.frames.push(frame);
    }

    /// Sends a frame with these bytes. Returns false, and sends nothing, if the pool is exhausted
    /// or the frame is too long.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> bool {
        let frame = self.pool.frame(bytes);
        let taken = frame.is_some();
        self.frames.extend(frame);
        taken
    }

    /// The pool that frames come from.
    pub fn pool(&self) -> &'a Pool {
        self.pool
    }

    /// Adds a report to the event log.
    pub fn report(&mut self, report: HostReport) {
        self.reports.push(report);
    }
}

/// A report for the event log: what happened at a host or controller, and facts about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// The event, as a name of lower case letters and `_`: `refused`.
    pub what: &'static str,
    /// Facts with their names. Times are in nanoseconds.
    pub facts: Vec<(&'static str, Fact)>,
}

/// The value of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// The addresses of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAddresses {
    /// Its Ethernet address.
    pub mac: Mac,
    /// Its IPv4 address, with the prefix length of its network.
    pub ip4: Option<(Ipv4Addr, u8)>,
    /// Its IPv6 address, with the prefix length of its network.
    pub ip6: Option<(Ipv6Addr, u8)>,
}

/// The configuration of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Its addresses.
    pub addresses: HostAddresses,
    /// The longest IP packet that it sends, in bytes.
    pub mtu_bytes: u16,
    /// Seed of its random choices: the initial sequence numbers of TCP.
    pub seed: u64,
    /// The Ethernet addresses that it knows from the start, so that it need not ask for them. Hosts
    /// that know the same share them.
    pub known: Arc<BTreeMap<IpAddr, Mac>>,
}

/// The Ethernet address of each IP address of hosts.
pub fn known_addresses<'a>(
    hosts: impl IntoIterator<Item = &'a HostAddresses>,
) -> Arc<BTreeMap<IpAddr, Mac>> {
    let mut known = BTreeMap::new();
    for host in hosts {
        let ip4 = host.ip4.map(|(ip, _)| IpAddr::from(ip));
        let ip6 = host.ip6.map(|(ip, _)| IpAddr::from(ip));
        known.extend(ip4.into_iter().chain(ip6).map(|ip| (ip, host.mac)));
    }
    Arc::new(known)
}

#[cfg(test)]
mod tests;
