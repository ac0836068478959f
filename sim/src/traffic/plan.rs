//! Plans the programs of hosts for the rows of traffic.

use std::fmt;
use std::net::IpAddr;

use bofuss_datapath::Time;

use super::{PingRow, TcpRow, TrafficEnds, TrafficRow, UdpRow};
use crate::host::{
    EndHost, HostConfig, HostProgram, MIN_DATA_BYTES, PingProgram, TcpProgram, UdpExpectation,
    UdpFlow, UdpProgram, exponential,
};
use crate::random::Random;
use crate::scenario::matches;
use crate::seconds::{nanoseconds, time};
use crate::tcp::WINDOW_BYTES;
use crate::tcp::congestion::CongestionControl;

/// The first source port of UDP flows; after the last one they begin here again.
const FIRST_PORT: u32 = 1_024;
/// The most flows of one row.
const MAX_FLOWS: u32 = 1_000_000;
/// Packets of a burst at most.
const MAX_BURST: u32 = 1_000_000;
/// The least data of echo requests: the time of sending.
const PING_MIN_BYTES: u16 = 8;
/// Bytes of IP and UDP or ICMP headers, for each IP version.
const UDP4_BYTES: u16 = 28;
const UDP6_BYTES: u16 = 48;

/// A host that may send or receive.
#[derive(Clone, Copy, Debug)]
pub struct TrafficHost<'a> {
    /// Its name in the scenario.
    pub name: &'a str,
    /// Its configuration.
    pub config: &'a HostConfig,
}

/// The reason for which a row of traffic is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficError {
    /// The number of the row, from 1.
    pub row: usize,
    /// The error in it.
    pub reason: String,
}

impl fmt::Display for TrafficError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "traffic {}: {}", self.row, self.reason)
    }
}

impl std::error::Error for TrafficError {}

/// A program, its host, and the row that it is for.
#[derive(Clone, Debug)]
pub(super) struct PlacedProgram {
    pub(super) row: usize,
    pub(super) host: usize,
    pub(super) program: HostProgram,
    /// The number by which its host knows it.
    pub(super) number: usize,
}

/// One flow of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowPair {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) to_ip: IpAddr,
}

/// The traffic of a scenario.
#[derive(Clone, Debug)]
pub struct Traffic {
    pub(super) rows: Vec<TrafficRow>,
    pub(super) hosts: Vec<String>,
    pub(super) placed: Vec<PlacedProgram>,
    /// For each row, the sender and receiver of each flow.
    pub(super) pairs: Vec<Vec<FlowPair>>,
    /// For each row, the number of its first UDP flow.
    pub(super) first_flow: Vec<u32>,
}

impl Traffic {
    /// Plans rows of traffic between `hosts`. Random choices are determined by `seed`.
    ///
    /// Errors: the first row that is refused, and why.
    pub fn plan(
        rows: Vec<TrafficRow>,
        hosts: &[TrafficHost<'_>],
        seed: u64,
    ) -> Result<Self, TrafficError> {
        let mut traffic = Self {
            rows: Vec::new(),
            hosts: hosts.iter().map(|host| host.name.to_string()).collect(),
            placed: Vec::new(),
            pairs: Vec::new(),
            first_flow: Vec::new(),
        };
        let mut flows = 0_u32;
        for (at, row) in rows.into_iter().enumerate() {
            let planner = Planner {
                hosts,
                row: at,
                first_flow: flows,
                random: Random::new(seed, at as u64),
                placed: &mut traffic.placed,
            };
            let pairs = planner.plan(&row).map_err(|reason| TrafficError {
                row: at + 1,
                reason,
            })?;
            traffic.first_flow.push(flows);
            flows = flows.saturating_add(pairs.len() as u32);
            traffic.pairs.push(pairs);
            traffic.rows.push(row);
        }
        Ok(traffic)
    }

    /// Adds its programs to a host; `host` is its index in the list with which the plan was made.
    pub fn give(&mut self, host: usize, station: &mut EndHost) {
        for placed in self.placed.iter_mut().filter(|placed| placed.host == host) {
            placed.number = station.add(placed.program.clone());
        }
    }
}

/// Plans one row.
struct Planner<'a, 'h> {
    hosts: &'a [TrafficHost<'h>],
    row: usize,
    first_flow: u32,
    random: Random,
    placed: &'a mut Vec<PlacedProgram>,
}

impl Planner<'_, '_> {
    fn plan(mut self, row: &TrafficRow) -> Result<Vec<FlowPair>, String> {
        let ends = row.ends();
        match row {
            TrafficRow::Ping(row) => self.ping(row, &ends),
            TrafficRow::Udp(row) => self.udp(row, &ends),
            TrafficRow::Tcp(row) => self.tcp(row, &ends),
        }
    }

    fn ping(&mut self, row: &PingRow, ends: &TrafficEnds) -> Result<Vec<FlowPair>, String> {
        let senders = self.senders(ends)?.len() as u32;
        let pairs = self.pairs(ends, senders)?;
        self.check_size(ends, &pairs, PING_MIN_BYTES, row.size)?;
        for pair in &pairs {
            let program = PingProgram {
                to: pair.to_ip,
                start: time("start", row.start)?,
                stop: optional_time("stop", row.stop)?,
                interval_ns: positive("interval", row.interval)?,
                count: row.count.unwrap_or(u64::MAX),
                data_bytes: row.size,
            };
            self.place(pair.from, HostProgram::Ping(program));
        }
        Ok(pairs)
    }

    fn udp(&mut self, row: &UdpRow, ends: &TrafficEnds) -> Result<Vec<FlowPair>, String> {
        let pairs = self.pairs(ends, row.flows)?;
        self.check_size(ends, &pairs, MIN_DATA_BYTES, row.size)?;
        let mut left = row.count.unwrap_or(u64::MAX);
        for host in 0..self.hosts.len() {
            let flows = self.udp_flows(row, &pairs, host);
            if !flows.is_empty() {
                let mut program = self.udp_program(row, flows)?;
                program.count = program.count.min(left);
                left -= program.count;
                self.place(host, HostProgram::Udp(program));
            }
        }
        let start = time("start", row.start)?;
        let interval_ns = optional_ns("interval", row.interval)?;
        for host in 0..self.hosts.len() {
            let numbers = self.first_flow..;
            let flows = pairs
                .iter()
                .zip(numbers)
                .filter(|(pair, _)| pair.to == host);
            let expectation = UdpExpectation {
                flows: flows.map(|(_, number)| number).collect(),
                start,
                interval_ns,
            };
            if !expectation.flows.is_empty() {
                self.place(host, HostProgram::UdpExpectation(expectation));
            }
        }
        Ok(pairs)
    }

    /// The flows of a row that a host sends.
    fn udp_flows(&self, row: &UdpRow, pairs: &[FlowPair], host: usize) -> Vec<UdpFlow> {
        let mut flows = Vec::new();
        for (pair, number) in pairs.iter().zip(self.first_flow..) {
            if pair.from == host {
                flows.push(UdpFlow {
                    number,
                    to: pair.to_ip,
                    src_port: (FIRST_PORT + number % (65_536 - FIRST_PORT)) as u16,
                    dst_port: row.port,
                });
            }
        }
        flows
    }

    /// The program of a host for its flows of a row, with their share of the rate and the count.
    fn udp_program(&mut self, row: &UdpRow, flows: Vec<UdpFlow>) -> Result<UdpProgram, String> {
        let share = flows.len() as f64 / f64::from(row.flows);
        let seconds_per_packet = match (row.pps, row.mbps) {
            (Some(pps), None) => 1.0 / pps,
            (None, Some(mbps)) => f64::from(row.size) * 8e-6 / mbps,
            _ => return Err("either pps or mbps is needed".to_string()),
        };
        let interval_ns = positive("rate", seconds_per_packet / share)?;
        // A burst is one event, during which nothing else happens.
        if !(1..=MAX_BURST).contains(&row.burst) {
            return Err(format!("burst is 1 to {MAX_BURST}"));
        }
        // Senders start one after another, so that their flows take turns.
        let first = flows
            .first()
            .map_or(0, |flow| flow.number - self.first_flow);
        let begin_ns = nanoseconds("start", row.start + seconds_per_packet * f64::from(first))?;
        let on_off_ns = match row.on_off {
            Some((on, off)) => Some((positive("on_off", on)?, nanoseconds("on_off", off)?)),
            None => None,
        };
        let count = row.count.map(|count| (count as f64 * share).ceil() as u64);
        Ok(UdpProgram {
            flows,
            start: Time(begin_ns),
            stop: optional_time("stop", row.stop)?,
            interval_ns,
            arrivals: row.arrivals,
            burst: row.burst,
            on_off_ns,
            count: count.unwrap_or(u64::MAX),
            data_bytes: row.size,
            seed: self.random.next(),
        })
    }

    fn tcp(&mut self, row: &TcpRow, ends: &TrafficEnds) -> Result<Vec<FlowPair>, String> {
        let pairs = self.pairs(ends, row.flows)?;
        let mean_ns = match flows_per_second(row)? {
            Some(rate) => positive("per_second", 1.0 / rate)?,
            None => 0,
        };
        let mut start = time("start", row.start)?;
        for pair in &pairs {
            let program = TcpProgram {
                to: pair.to_ip,
                dst_port: row.port,
                start,
                stop: optional_time("stop", row.stop)?,
                size_bytes: self.size(row),
                algorithm: row.congestion,
                window_bytes: self.window(row, pair)?,
                min_timeout_ns: positive("min_timeout", row.min_timeout)?,
                ecn: row.ecn || row.congestion == CongestionControl::Dctcp,
                interval_ns: optional_ns("interval", row.interval)?,
            };
            self.place(pair.from, HostProgram::Tcp(program));
            start = start.after(exponential(&mut self.random, mean_ns));
        }
        Ok(pairs)
    }

    /// The window of a connection. Errors: no segment fits, or it is above that of receivers.
    fn window(&self, row: &TcpRow, pair: &FlowPair) -> Result<u64, String> {
        let least = u64::from(self.hosts[pair.from].config.mtu_bytes);
        match row.window {
            None => Ok(WINDOW_BYTES),
            Some(window) if (least..=WINDOW_BYTES).contains(&window) => Ok(window),
            Some(_) => Err(format!("window is {least} to {WINDOW_BYTES} bytes")),
        }
    }

    /// The bytes of the next connection.
    fn size(&mut self, row: &TcpRow) -> u64 {
        let most = row.size.unwrap_or(u64::MAX);
        match row.sizes {
            Some(sizes) => {
                let size = sizes.distribution().size_at(self.random.unit());
                (size as u64).clamp(1, most)
            }
            None => most,
        }
    }

    fn place(&mut self, host: usize, program: HostProgram) {
        self.placed.push(PlacedProgram {
            row: self.row,
            host,
            program,
            number: 0,
        });
    }

    /// Chooses the sender and receiver of each of `flows` flows.
    fn pairs(&mut self, ends: &TrafficEnds, flows: u32) -> Result<Vec<FlowPair>, String> {
        if !(1..=MAX_FLOWS).contains(&flows) {
            return Err(format!("flows is 1 to {MAX_FLOWS}"));
        }
        let senders = self.senders(ends)?;
        let receivers = self.named(&ends.to)?;
        let mut pairs = Vec::with_capacity(flows as usize);
        for flow in 0..flows as usize {
            let from = senders[flow % senders.len()];
            let own = receivers.binary_search(&from).ok();
            let others = receivers.len() - usize::from(own.is_some());
            let drawn = self.random.below(others as u64) as usize;
            // The sender is skipped.
            let skips = own.is_some_and(|own| drawn >= own);
            let to = receivers[drawn + usize::from(skips)];
            let to_ip = self.address(to, ends.ip)?;
            self.address(from, ends.ip)?;
            pairs.push(FlowPair { from, to, to_ip });
        }
        Ok(pairs)
    }

    /// The hosts that match `from` and have a receiver other than themselves.
    fn senders(&self, ends: &TrafficEnds) -> Result<Vec<usize>, String> {
        let receivers = self.named(&ends.to)?;
        let mut senders = self.named(&ends.from)?;
        senders.retain(|from| receivers.iter().any(|to| to != from));
        if senders.is_empty() {
            return Err(format!("{} has no other host to send to", ends.from));
        }
        Ok(senders)
    }

    /// The indexes, ascending, of the hosts that match a name, in which `*` stands for any
    /// characters.
    fn named(&self, pattern: &str) -> Result<Vec<usize>, String> {
        let mut found = Vec::new();
        for (at, host) in self.hosts.iter().enumerate() {
            if matches(pattern, host.name) {
                found.push(at);
            }
        }
        if found.is_empty() {
            return Err(format!("no host is called {pattern:?}"));
        }
        Ok(found)
    }

    fn address(&self, host: usize, version: u8) -> Result<IpAddr, String> {
        let addresses = &self.hosts[host].config.addresses;
        let address = match version {
            4 => addresses.ip4.map(|(ip, _)| IpAddr::from(ip)),
            6 => addresses.ip6.map(|(ip, _)| IpAddr::from(ip)),
            _ => return Err("ip is 4 or 6".to_string()),
        };
        let name = self.hosts[host].name;
        address.ok_or_else(|| format!("{name} has no address of IPv{version}"))
    }

    /// Checks a length of data. Errors: it is too short for what it has to hold, or too long for
    /// one packet.
    fn check_size(
        &self,
        ends: &TrafficEnds,
        pairs: &[FlowPair],
        least: u16,
        size: u16,
    ) -> Result<(), String> {
        let headers = if ends.ip == 6 { UDP6_BYTES } else { UDP4_BYTES };
        let mtus = pairs
            .iter()
            .map(|pair| self.hosts[pair.from].config.mtu_bytes);
        let most = mtus.min().unwrap_or(0).saturating_sub(headers);
        if (least..=most).contains(&size) {
            Ok(())
        } else {
            Err(format!("size is {least} to {most} bytes"))
        }
    }
}

/// The mean rate at which connections are opened, if there is one. Errors: it is said twice, or
/// bits per second are, but not the bits of a connection.
fn flows_per_second(row: &TcpRow) -> Result<Option<f64>, String> {
    let Some(mbps) = row.mbps else {
        return Ok(row.per_second);
    };
    if row.per_second.is_some() {
        return Err("either per_second or mbps is possible".to_string());
    }
    let most = row.size.map(|size| size as f64);
    let mean = match row.sizes {
        Some(sizes) => Some(sizes.distribution().mean(most.unwrap_or(f64::INFINITY))),
        None => most,
    };
    let bytes = mean.ok_or("mbps needs size or sizes")?;
    Ok(Some(mbps * 1e6 / 8.0 / bytes))
}

fn positive(key: &str, seconds: f64) -> Result<u64, String> {
    match nanoseconds(key, seconds)? {
        0 => Err(format!("{key} is out of range")),
        nanoseconds => Ok(nanoseconds),
    }
}

fn optional_time(key: &str, seconds: Option<f64>) -> Result<Time, String> {
    seconds.map_or(Ok(Time::NEVER), |seconds| time(key, seconds))
}

fn optional_ns(key: &str, seconds: Option<f64>) -> Result<u64, String> {
    seconds.map_or(Ok(0), |seconds| positive(key, seconds))
}
