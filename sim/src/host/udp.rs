//! UDP at a rate: senders that follow a program, and receivers that count what arrives.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bofuss_datapath::Time;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::Mac;
use bofuss_packet::checksum::{fold, sum};
use bofuss_packet::craft;
use serde::{Deserialize, Serialize};

use super::tally::{Arrival, SequenceWindow, Series, Times};
use super::wire;
use crate::random::Random;

/// Bytes of a UDP header, and where in it the checksum is.
const HEADER_BYTES: usize = 8;
const CHECKSUM_AT: usize = 6;
/// The first data bytes of these datagrams.
const MAGIC: [u8; 2] = *b"bo";
/// The least data: two bytes that mark it, the flow's number, the sequence number and the time of
/// sending. With IPv4, this fits into the shortest frame.
pub const MIN_DATA_BYTES: u16 = 18;

/// The times at which packets leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// At equal intervals.
    #[default]
    Constant,
    /// As a Poisson process: intervals are exponentially distributed.
    Poisson,
}

/// The datagrams that one host sends for one row of traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpProgram {
    /// The flows, which send in turns.
    pub flows: Vec<UdpFlow>,
    /// The time at which the first is sent.
    pub start: Time,
    /// Nothing is sent at this time or later.
    pub stop: Time,
    /// The mean time from one packet to the next; at least 1.
    pub interval_ns: u64,
    /// The times at which packets, or bursts of them, leave.
    pub arrivals: Arrivals,
    /// The number of packets that leave together; the mean rate stays the same.
    pub burst: u32,
    /// The times for which it sends and then pauses, again and again, in nanoseconds; `None` for no
    /// pauses.
    pub on_off_ns: Option<(u64, u64)>,
    /// The number of packets that are sent in all.
    pub count: u64,
    /// Bytes after the UDP header; at least [`MIN_DATA_BYTES`].
    pub data_bytes: u16,
    /// Seed of the intervals of a Poisson process.
    pub seed: u64,
}

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpFlow {
    /// Its number, unique in the whole network.
    pub number: u32,
    /// The destination.
    pub to: IpAddr,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}

/// A flow with prepared headers.
#[derive(Clone, Debug)]
struct Prepared {
    flow: UdpFlow,
    /// The headers before the data; the checksum is that for data of zeros.
    headers: Vec<u8>,
    sent: u64,
}

/// Sends what a program says.
#[derive(Clone, Debug)]
pub(super) struct UdpSender {
    program: UdpProgram,
    flows: Vec<Prepared>,
    turn: usize,
    next_at: Time,
    random: Random,
    sent: u64,
}

impl UdpSender {
    /// Makes a sender with the Ethernet address `mac`. `own_ip` gives the source address for a
    /// destination; flows for which it gives none are left out.
    pub(super) fn new(
        mut program: UdpProgram,
        mac: Mac,
        own_ip: impl Fn(IpAddr) -> Option<IpAddr>,
    ) -> Self {
        let mut flows = Vec::new();
        let data = vec![0; program.data_bytes.into()];
        for flow in std::mem::take(&mut program.flows) {
            let Some(own_ip) = own_ip(flow.to) else {
                continue;
            };
            let udp = craft::udp(flow.src_port, flow.dst_port, &data);
            let mut headers = wire::ip_frame(Mac::default(), mac, own_ip, flow.to, udp);
            headers.truncate(headers.len() - data.len());
            flows.push(Prepared {
                flow,
                headers,
                sent: 0,
            });
        }
        let mut sender = Self {
            next_at: program.start,
            random: Random::new(program.seed, 0),
            program,
            flows,
            turn: 0,
            sent: 0,
        };
        sender.end_if_due();
        sender
    }

    pub(super) fn next_tick(&self) -> Time {
        self.next_at
    }

    /// Packets sent by each flow, with its number.
    pub(super) fn sent(&self) -> impl Iterator<Item = (u32, u64)> {
        self.flows.iter().map(|f| (f.flow.number, f.sent))
    }

    /// Calls `send` for each datagram of the burst that is due, with its destination. Returns for
    /// how many there was no buffer.
    pub(super) fn tick(
        &mut self,
        now: Time,
        pool: &Pool,
        mut send: impl FnMut(IpAddr, Frame),
    ) -> u64 {
        let mut missing = 0;
        for _ in 0..self.program.burst {
            if self.sent == self.program.count {
                break;
            }
            self.sent += 1;
            let flow = &mut self.flows[self.turn];
            match flow.frame(now, self.program.data_bytes, pool) {
                Some(frame) => send(flow.flow.to, frame),
                None => missing += 1,
            }
            self.turn = (self.turn + 1) % self.flows.len();
        }
        let next_at = self.next_at.after(self.distance_ns());
        self.next_at = self.after_pause(next_at);
        self.end_if_due();
        missing
    }

    /// The time to the next burst.
    fn distance_ns(&mut self) -> u64 {
        let mean_ns = self.program.interval_ns * u64::from(self.program.burst);
        match self.program.arrivals {
            Arrivals::Constant => mean_ns,
            Arrivals::Poisson => exponential(&mut self.random, mean_ns),
        }
    }

    /// Returns `at`, or the end of the pause that it falls into.
    fn after_pause(&self, at: Time) -> Time {
        let Some((on_ns, off_ns)) = self.program.on_off_ns else {
            return at;
        };
        let period_ns = on_ns + off_ns;
        let within_ns = at.since(self.program.start) % period_ns;
        if within_ns < on_ns {
            at
        } else {
            at.after(period_ns - within_ns)
        }
    }

    fn end_if_due(&mut self) {
        let is_done = self.sent == self.program.count || self.flows.is_empty();
        if is_done || self.next_at >= self.program.stop {
            self.next_at = Time::NEVER;
        }
    }
}

impl Prepared {
    /// Makes the next datagram; `None` if the pool is exhausted.
    fn frame(&mut self, now: Time, data_bytes: u16, pool: &Pool) -> Option<Frame> {
        let headers_bytes = self.headers.len();
        let mut frame = pool.take(headers_bytes + usize::from(data_bytes))?;
        frame.set_len(headers_bytes + usize::from(data_bytes));
        let bytes = frame.bytes_mut();
        let (headers, data) = bytes.split_at_mut(headers_bytes);
        headers.copy_from_slice(&self.headers);
        let (mark, rest) = data.split_at_mut(MIN_DATA_BYTES.into());
        mark[..2].copy_from_slice(&MAGIC);
        mark[2..6].copy_from_slice(&self.flow.number.to_be_bytes());
        mark[6..10].copy_from_slice(&(self.sent as u32).to_be_bytes());
        mark[10..].copy_from_slice(&now.0.to_be_bytes());
        rest.fill(0);
        let checksum_at = headers_bytes - HEADER_BYTES + CHECKSUM_AT;
        let of_zeros = u16::from_be_bytes([headers[checksum_at], headers[checksum_at + 1]]);
        let checksum = match !fold(u64::from(!of_zeros) + sum(mark)) {
            0 => u16::MAX,
            checksum => checksum,
        };
        headers[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
        self.sent += 1;
        Some(frame)
    }
}

/// An exponentially distributed number with this mean, by von Neumann's method. It compares random
/// numbers and needs no logarithm, so all machines compute the same.
pub(crate) fn exponential(random: &mut Random, mean: u64) -> u64 {
    let mut whole = 0;
    loop {
        let first = random.next();
        let mut last = first;
        let mut falling = 1;
        loop {
            let next = random.next();
            if next > last {
                break;
            }
            last = next;
            falling += 1;
        }
        if falling % 2 == 1 {
            let part = (u128::from(first) * u128::from(mean)) >> 64;
            return mean.saturating_mul(whole).saturating_add(part as u64);
        }
        whole += 1;
    }
}

/// The datagrams that one host expects for one row of traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpExpectation {
    /// The numbers of the flows.
    pub flows: Vec<u32>,
    /// The beginning of the first of the intervals in which bytes are counted.
    pub start: Time,
    /// The length of these intervals; 0 for none.
    pub interval_ns: u64,
}

/// Counts what arrives of the flows of one row of traffic.
#[derive(Clone, Debug)]
pub(super) struct UdpReceiver {
    pub(super) delays: Times,
    pub(super) series: Series,
    flows: BTreeMap<u32, (SequenceWindow, UdpCounts)>,
}

impl UdpReceiver {
    pub(super) fn new(expectation: &UdpExpectation) -> Self {
        let flows = expectation.flows.iter();
        Self {
            delays: Times::default(),
            series: Series::new(expectation.start, expectation.interval_ns),
            flows: flows.map(|&number| (number, Default::default())).collect(),
        }
    }

    /// The tally of each flow, with its number.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u32, UdpCounts)> {
        self.flows.iter().map(|(&number, flow)| (number, flow.1))
    }

    /// Counts a datagram. Returns false if its flow is not expected.
    pub(super) fn receive(&mut self, now: Time, mark: &Mark) -> bool {
        let Some((sequence, counts)) = self.flows.get_mut(&mark.flow) else {
            return false;
        };
        match sequence.arrive(mark.sequence) {
            Arrival::Duplicate => {
                counts.duplicates += 1;
                return true;
            }
            Arrival::Reordered => counts.reordered += 1,
            Arrival::InOrder => {}
        }
        counts.packets += 1;
        counts.bytes += mark.data_bytes;
        self.delays.add(now.since(mark.sent_at));
        self.series.add(now, mark.data_bytes);
        true
    }
}

/// The tally of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UdpCounts {
    /// Packets, without duplicates.
    pub packets: u64,
    /// Bytes of their data.
    pub bytes: u64,
    /// Duplicates: packets that had arrived before.
    pub duplicates: u64,
    /// Packets that arrived after a later one.
    pub reordered: u64,
}

/// The data that a [`UdpSender`] wrote into a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub flow: u32,
    pub sequence: u32,
    pub sent_at: Time,
    pub data_bytes: u64,
}

impl Mark {
    /// Reads a datagram with its UDP header; `None` if no [`UdpSender`] made it.
    pub(super) fn read(datagram: &[u8]) -> Option<Self> {
        let data = datagram.get(HEADER_BYTES..)?;
        let mark = data.first_chunk::<{ MIN_DATA_BYTES as usize }>()?;
        let [m, k, f0, f1, f2, f3, s0, s1, s2, s3, time @ ..] = *mark;
        let mark = Self {
            flow: u32::from_be_bytes([f0, f1, f2, f3]),
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            sent_at: Time(u64::from_be_bytes(time)),
            data_bytes: data.len() as u64,
        };
        ([m, k] == MAGIC).then_some(mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_numbers_have_their_mean_and_variance() {
        let mut random = Random::new(5, 0);
        let numbers: Vec<f64> = (0..100_000)
            .map(|_| exponential(&mut random, 1_000_000) as f64 / 1e6)
            .collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let variance = numbers.iter().map(|x| (x - 1.0).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }
}
