//! Reports of the traffic: what was sent, what arrived, and when.

use std::collections::BTreeMap;

use bofuss_datapath::Time;
use serde::Serialize;

use super::plan::{FlowPair, Traffic};
use super::{TrafficEnds, TrafficRow};
use crate::host::{
    EndHost, Outcome, PingCounts, Series, TcpCounts, TcpProgram, Times, TimesSummary, UdpCounts,
    mbps, milliseconds,
};

/// The report of one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TrafficReport {
    /// Echo requests.
    Ping(PingReport),
    /// UDP.
    Udp(UdpReport),
    /// TCP connections.
    Tcp(TcpReport),
}

/// The report of echo requests, of all senders together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PingReport {
    /// The sender and the receiver.
    #[serde(flatten)]
    pub ends: TrafficEnds,
    /// Requests sent.
    pub sent: u64,
    /// Requests answered.
    pub received: u64,
    /// Further replies to the same request.
    pub duplicates: u64,
    /// The distribution of the times to the replies.
    pub rtt: Option<TimesSummary>,
    /// Each of these times, in milliseconds, sorted by sender and arrival.
    pub rtts_ms: Vec<f64>,
}

/// The report of UDP.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UdpReport {
    /// The sender and the receiver.
    #[serde(flatten)]
    pub ends: TrafficEnds,
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived, without duplicates.
    pub received: u64,
    /// Bytes of their data.
    pub received_bytes: u64,
    /// Duplicates: packets that had arrived before.
    pub duplicates: u64,
    /// Packets that arrived after a later one.
    pub reordered: u64,
    /// The distribution of the times from sender to receiver.
    pub delay: Option<TimesSummary>,
    /// The rate of arriving data in each interval.
    pub intervals_mbps: Vec<f64>,
    /// Flow by flow.
    pub flows: Vec<UdpFlowReport>,
}

/// The report of one UDP flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UdpFlowReport {
    /// Its sender.
    pub from: String,
    /// Its receiver.
    pub to: String,
    /// Packets sent.
    pub sent: u64,
    /// The packets that arrived.
    #[serde(flatten)]
    pub received: UdpCounts,
}

/// The report of TCP connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TcpReport {
    /// The hosts that opened and accepted them.
    #[serde(flatten)]
    pub ends: TrafficEnds,
    /// Connections whose data was all acknowledged.
    pub completed: u64,
    /// Connections that were refused or given up.
    pub failed: u64,
    /// Bytes of data that were acknowledged.
    pub bytes: u64,
    /// The distribution of the times from the SYN to the acknowledgement of all data.
    pub completion: Option<TimesSummary>,
    /// Connection by connection.
    pub flows: Vec<TcpFlowReport>,
}

/// The report of one TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TcpFlowReport {
    /// The host that opened it.
    pub from: String,
    /// The host that accepted it.
    pub to: String,
    /// The time at which it was opened, in seconds.
    pub start: f64,
    /// Bytes of data that were acknowledged.
    pub bytes: u64,
    /// Seconds from the SYN to the acknowledgement of all data.
    pub completed: Option<f64>,
    /// The mean rate of acknowledged data until completion, or else until `stop` or now.
    pub goodput_mbps: f64,
    /// Segments that were retransmitted.
    pub retransmissions: u64,
    /// True if it was refused or given up.
    pub failed: bool,
    /// The rate of acknowledged data in each interval.
    pub intervals_mbps: Vec<f64>,
}

impl Traffic {
    /// The report of each row at `now`. `station` gives the host with an index.
    pub fn reports<'a>(
        &self,
        now: Time,
        station: impl Fn(usize) -> &'a EndHost,
    ) -> Vec<TrafficReport> {
        let mut outcomes: Vec<Vec<Outcome<'a>>> = self.rows.iter().map(|_| Vec::new()).collect();
        for placed in &self.placed {
            let outcome = station(placed.host).outcome(placed.number);
            outcomes[placed.row].push(outcome);
        }
        let mut reports = Vec::new();
        for (at, outcomes) in outcomes.iter().enumerate() {
            let ends = self.rows[at].ends();
            let names = FlowNames {
                hosts: &self.hosts,
                pairs: &self.pairs[at],
            };
            reports.push(match &self.rows[at] {
                TrafficRow::Ping(_) => TrafficReport::Ping(ping(ends, outcomes)),
                TrafficRow::Udp(_) => {
                    TrafficReport::Udp(udp(ends, outcomes, &names, self.first_flow[at]))
                }
                TrafficRow::Tcp(_) => TrafficReport::Tcp(tcp(ends, outcomes, &names, now)),
            });
        }
        reports
    }
}

/// The names of senders and receivers of a row's flows.
struct FlowNames<'a> {
    hosts: &'a [String],
    pairs: &'a [FlowPair],
}

impl FlowNames<'_> {
    fn from(&self, flow: usize) -> String {
        self.hosts[self.pairs[flow].from].clone()
    }

    fn to(&self, flow: usize) -> String {
        self.hosts[self.pairs[flow].to].clone()
    }
}

fn ping(ends: TrafficEnds, outcomes: &[Outcome<'_>]) -> PingReport {
    let mut times = Times::default();
    let mut sum = PingCounts::default();
    for outcome in outcomes {
        let Outcome::Ping(counts) = outcome else {
            continue;
        };
        sum.sent += counts.sent;
        sum.received += counts.received;
        sum.duplicates += counts.duplicates;
        sum.rtts_ns.extend(&counts.rtts_ns);
    }
    sum.rtts_ns.iter().for_each(|&ns| times.add(ns));
    PingReport {
        ends,
        sent: sum.sent,
        received: sum.received,
        duplicates: sum.duplicates,
        rtt: times.summary(),
        rtts_ms: sum.rtts_ns.iter().map(|&ns| milliseconds(ns)).collect(),
    }
}

fn udp(
    ends: TrafficEnds,
    outcomes: &[Outcome<'_>],
    names: &FlowNames<'_>,
    first_flow: u32,
) -> UdpReport {
    let mut sent: BTreeMap<u32, u64> = BTreeMap::new();
    let mut received: BTreeMap<u32, UdpCounts> = BTreeMap::new();
    let mut delays = Times::default();
    let mut joined: Option<Series> = None;
    for outcome in outcomes {
        match outcome {
            Outcome::UdpSent(counts) => sent.extend(counts.iter().copied()),
            Outcome::UdpReceived(counts, times, series) => {
                received.extend(counts.iter().copied());
                delays.join(times);
                match &mut joined {
                    None => joined = Some((*series).clone()),
                    Some(joined) => joined.join(series),
                }
            }
            Outcome::Ping(_) | Outcome::Tcp(..) => {}
        }
    }
    let mut report = UdpReport {
        ends,
        sent: 0,
        received: 0,
        received_bytes: 0,
        duplicates: 0,
        reordered: 0,
        delay: delays.summary(),
        intervals_mbps: joined.map_or(Vec::new(), |series| series.mbps()),
        flows: Vec::new(),
    };
    for at in 0..names.pairs.len() {
        let number = first_flow + at as u32;
        let flow = UdpFlowReport {
            from: names.from(at),
            to: names.to(at),
            sent: sent.get(&number).copied().unwrap_or_default(),
            received: received.get(&number).copied().unwrap_or_default(),
        };
        report.sent += flow.sent;
        report.received += flow.received.packets;
        report.received_bytes += flow.received.bytes;
        report.duplicates += flow.received.duplicates;
        report.reordered += flow.received.reordered;
        report.flows.push(flow);
    }
    report
}

fn tcp(ends: TrafficEnds, outcomes: &[Outcome<'_>], names: &FlowNames<'_>, now: Time) -> TcpReport {
    let mut times = Times::default();
    let mut report = TcpReport {
        ends,
        completed: 0,
        failed: 0,
        bytes: 0,
        completion: None,
        flows: Vec::new(),
    };
    for (at, outcome) in outcomes.iter().enumerate() {
        let Outcome::Tcp(program, counts, series) = outcome else {
            continue;
        };
        if let Some(ns) = counts.completed_ns {
            report.completed += 1;
            times.add(ns);
        }
        report.failed += u64::from(counts.failed);
        report.bytes += counts.acknowledged_bytes;
        let flow = tcp_flow(program, counts, series, now);
        report.flows.push(TcpFlowReport {
            from: names.from(at),
            to: names.to(at),
            ..flow
        });
    }
    report.completion = times.summary();
    report
}

fn tcp_flow(program: &TcpProgram, counts: &TcpCounts, series: &Series, now: Time) -> TcpFlowReport {
    let until_now_ns = now.min(program.stop).since(program.start);
    let ns = counts.completed_ns.unwrap_or(until_now_ns);
    TcpFlowReport {
        from: String::new(),
        to: String::new(),
        start: program.start.0 as f64 / 1e9,
        bytes: counts.acknowledged_bytes,
        completed: counts.completed_ns.map(|ns| ns as f64 / 1e9),
        goodput_mbps: mbps(counts.acknowledged_bytes, ns),
        retransmissions: counts.retransmissions,
        failed: counts.failed,
        intervals_mbps: series.mbps(),
    }
}
