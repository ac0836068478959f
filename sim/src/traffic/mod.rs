//! The traffic of a scenario: rows of its text, the programs of hosts for them, and reports.

mod plan;
mod report;
pub mod sizes;

use serde::{Deserialize, Serialize};

pub use plan::{Traffic, TrafficError, TrafficHost};
pub use report::{PingReport, TcpFlowReport, TcpReport, TrafficReport, UdpFlowReport, UdpReport};

use self::sizes::Sizes;
use crate::host::Arrivals;
use crate::tcp::congestion::CongestionControl;

/// One `[[traffic]]` of a scenario. Times are in seconds from the start of the simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TrafficRow {
    /// Echo requests at intervals.
    Ping(PingRow),
    /// UDP at a rate.
    Udp(UdpRow),
    /// TCP connections.
    Tcp(TcpRow),
}

/// The pairs of senders and receivers.
///
/// In a name, `*` stands for any characters. Flows are assigned to the senders in turn. Where
/// several hosts may receive a flow, the receiver is chosen at random; it is never the sender.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficEnds {
    /// The senders.
    pub from: String,
    /// The receivers.
    pub to: String,
    /// IP version, 4 or 6.
    pub ip: u8,
}

/// Echo requests, from each sender to one receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PingRow {
    /// See [`TrafficEnds`].
    pub from: String,
    /// See [`TrafficEnds`].
    pub to: String,
    /// IP version, 4 or 6.
    #[serde(default = "ip_version")]
    pub ip: u8,
    /// The time at which the first is sent.
    #[serde(default)]
    pub start: f64,
    /// Nothing is sent at this time or later; if missing, there is no such time.
    pub stop: Option<f64>,
    /// Seconds from one to the next.
    #[serde(default = "one_second")]
    pub interval: f64,
    /// The number of requests that each sender sends; if missing, there is no limit.
    pub count: Option<u64>,
    /// Bytes after the ICMP header.
    #[serde(default = "ping_bytes")]
    pub size: u16,
}

/// UDP at a rate. Either `pps` or `mbps` is the rate of all flows together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpRow {
    /// See [`TrafficEnds`].
    pub from: String,
    /// See [`TrafficEnds`].
    pub to: String,
    /// IP version, 4 or 6.
    #[serde(default = "ip_version")]
    pub ip: u8,
    /// The time at which the first packet is sent.
    #[serde(default)]
    pub start: f64,
    /// Nothing is sent at this time or later.
    pub stop: Option<f64>,
    /// Packets per second.
    pub pps: Option<f64>,
    /// Megabits of data per second, without headers.
    pub mbps: Option<f64>,
    /// Bytes after the UDP header.
    #[serde(default = "udp_bytes")]
    pub size: u16,
    /// The number of flows. Each has its own source port.
    #[serde(default = "one")]
    pub flows: u32,
    /// The times at which packets, or bursts, leave: `constant` or `poisson`.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// The number of packets that leave together; the mean rate stays the same.
    #[serde(default = "one")]
    pub burst: u32,
    /// Seconds of sending and then of pausing, again and again.
    pub on_off: Option<(f64, f64)>,
    /// The most packets of all flows together.
    pub count: Option<u64>,
    /// Destination port.
    #[serde(default = "discard")]
    pub port: u16,
    /// The length, in seconds, of the intervals in which arriving bytes are counted; if missing,
    /// there are none.
    pub interval: Option<f64>,
}

/// TCP connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpRow {
    /// See [`TrafficEnds`].
    pub from: String,
    /// See [`TrafficEnds`].
    pub to: String,
    /// IP version, 4 or 6.
    #[serde(default = "ip_version")]
    pub ip: u8,
    /// The time at which the first is opened.
    #[serde(default)]
    pub start: f64,
    /// The time at which all stop sending and close; if missing, each does when it has sent
    /// everything.
    pub stop: Option<f64>,
    /// Bytes that each sends, or with `sizes` the most; if both are missing, it sends until
    /// `stop`.
    pub size: Option<u64>,
    /// The distribution of the bytes that each sends: `web-search` or `data-mining`.
    pub sizes: Option<Sizes>,
    /// The number of connections.
    #[serde(default = "one")]
    pub flows: u32,
    /// Connections are opened as a Poisson process with this mean rate per second; if missing, all
    /// at `start`.
    pub per_second: Option<f64>,
    /// Megabits of data per second that all offer together: another way to say `per_second`.
    pub mbps: Option<f64>,
    /// Congestion control: `cubic`, `reno`, or `dctcp`, which offers explicit congestion
    /// notification in any case.
    #[serde(default)]
    pub congestion: CongestionControl,
    /// The most bytes that each has in flight; if missing, the 8 MiB of the receiver's window.
    pub window: Option<u64>,
    /// The minimum retransmission timeout in seconds.
    #[serde(default = "min_timeout")]
    pub min_timeout: f64,
    /// True if they offer explicit congestion notification.
    #[serde(default)]
    pub ecn: bool,
    /// Destination port.
    #[serde(default = "discard")]
    pub port: u16,
    /// The length, in seconds, of the intervals in which each connection's acknowledged bytes are
    /// counted; if missing, there are none.
    pub interval: Option<f64>,
}

impl TrafficRow {
    /// The pairs of senders and receivers.
    pub fn ends(&self) -> TrafficEnds {
        let (from, to, ip) = match self {
            Self::Ping(row) => (&row.from, &row.to, row.ip),
            Self::Udp(row) => (&row.from, &row.to, row.ip),
            Self::Tcp(row) => (&row.from, &row.to, row.ip),
        };
        TrafficEnds {
            from: from.clone(),
            to: to.clone(),
            ip,
        }
    }
}

fn ip_version() -> u8 {
    4
}

fn one_second() -> f64 {
    1.0
}

/// As `ping` does.
fn ping_bytes() -> u16 {
    56
}

/// The most that an Ethernet frame has room for with IPv6.
fn udp_bytes() -> u16 {
    1_452
}

fn one() -> u32 {
    1
}

/// The port of the discard service. Spec: RFC 863.
fn discard() -> u16 {
    9
}

/// As in Linux.
fn min_timeout() -> f64 {
    0.2
}

#[cfg(test)]
mod tests;
