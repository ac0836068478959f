//! What a host is to the network: frames and time in, frames and reports out.

mod end_host;
mod neighbours;
mod ping;
mod streams;
mod tally;
mod udp;
mod wire;

use std::any::Any;
use std::net::{Ipv4Addr, Ipv6Addr};

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

/// A host: the end of one link. All that it knows of the world are these calls.
///
/// Equal calls have equal effects: a host takes time and random numbers from nowhere else, and
/// nothing that it does depends on addresses in memory.
pub trait Host: Any {
    /// A frame arrived: whole, from the Ethernet destination address on, without FCS and without an
    /// offload record.
    fn receive(&mut self, now: Time, frame: Frame, out: &mut HostOutput<'_>);
    /// The time of [`Host::next_tick`] came. It may come late, and without need.
    fn tick(&mut self, now: Time, out: &mut HostOutput<'_>);
    /// When [`Host::tick`] wants to be called next; asked after each call of the other methods.
    fn next_tick(&self) -> Option<Time>;
    /// The host's link got or lost its carrier.
    fn link_changed(&mut self, _now: Time, _up: bool, _out: &mut HostOutput<'_>) {}
    /// What the host counted, by names that it keeps: `("echo_replies", 3)`.
    fn statistics(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// What a host does: frames that leave, and what it has to report, in order.
pub struct HostOutput<'a> {
    pool: &'a Pool,
    frames: &'a mut Vec<Frame>,
    reports: &'a mut Vec<HostReport>,
}

impl<'a> HostOutput<'a> {
    /// Collects what a host does; its frames come from `pool`.
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

    /// Sends a frame of these bytes. Returns false if the pool is empty or the frame too long, and
    /// nothing was sent.
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

    /// Puts a line into the event log.
    pub fn report(&mut self, report: HostReport) {
        self.reports.push(report);
    }
}

/// Something that a host has to say, for the event log: what happened, and facts about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// What happened: `echo_reply`. A name of lower case letters and `_`.
    pub what: &'static str,
    /// Facts by name, in the order in which they are written. Times are in nanoseconds.
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
    /// Its IPv4 address and the length of its network's prefix.
    pub ip4: Option<(Ipv4Addr, u8)>,
    /// Its IPv6 address and the length of its network's prefix.
    pub ip6: Option<(Ipv6Addr, u8)>,
}

/// What a host is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Its addresses.
    pub addresses: HostAddresses,
    /// The longest IP packet that it sends, in bytes.
    pub mtu_bytes: u16,
    /// Seed of every random choice of this host: ports, sequence numbers, jitter.
    pub seed: u64,
    /// Hosts whose Ethernet addresses it knows from the start, so that it need not ask for them.
    pub known: Vec<HostAddresses>,
}

#[cfg(test)]
mod tests;
