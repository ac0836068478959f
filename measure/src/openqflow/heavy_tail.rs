//! Shows why hashing flows to links does not balance their load: in a trace, few flows have most of
//! the octets, as in figure 2 of OpenQFlow.

use std::collections::HashSet;
use std::path::Path;

use bofuss_datapath::Microflow;
use bofuss_ports::CaptureReader;
use bofuss_sim::Random;

use crate::error::Result;
use crate::openqflow::crc16::crc16;
use crate::reports::plot::Bar;
use crate::testbed::net::context;

/// Seconds of the trace, and of each interval.
pub const SECONDS: usize = 1_000;
const INTERVAL: usize = 10;
/// Bins, by the last bits of the CRC-16 of the 5-tuple.
pub const BINS: usize = 4;
/// Flows that begin in a second, at random.
const FLOWS_PER_SECOND: f64 = 500.0;
/// The octets of a flow have a bounded Pareto distribution: its exponent, minimum and maximum.
const EXPONENT: f64 = 0.9;
const LEAST_OCTETS: f64 = 1e3;
const MOST_OCTETS: f64 = 5e8;
/// The Ethernet type of IPv4.
const ETH_TYPE_IPV4: u16 = 0x0800;
/// Octets that a flow sends in a second at most.
const FLOW_RATE: f64 = 12.5e6;

/// A random number above 0, and 1 at most.
pub fn fraction(random: &mut Random) -> f64 {
    ((random.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Flows and octets of each bin in one interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceInterval {
    flows: [f64; BINS],
    octets: [f64; BINS],
}

/// Returns how uneven bins are: the fullest over the mean.
fn unevenness(bins: &[f64; BINS]) -> f64 {
    let sum: f64 = bins.iter().sum();
    let fullest = bins.iter().copied().max_by(f64::total_cmp);
    fullest.unwrap_or(0.0) * BINS as f64 / sum
}

/// The trace of a seed, interval by interval.
pub fn trace(seed: u64) -> Vec<TraceInterval> {
    let mut random = Random::new(seed, 0);
    let mut intervals = vec![TraceInterval::default(); SECONDS / INTERVAL];
    let mut start = 0.0;
    loop {
        start -= fraction(&mut random).ln() / FLOWS_PER_SECOND;
        if start >= SECONDS as f64 {
            return intervals;
        }
        // Addresses, ports and protocol.
        let mut tuple = [17; 13];
        tuple[..8].copy_from_slice(&random.next().to_be_bytes());
        tuple[8..12].copy_from_slice(&random.next().to_be_bytes()[..4]);
        let bin = usize::from(crc16(&tuple)) % BINS;
        let octets = (LEAST_OCTETS / fraction(&mut random).powf(1.0 / EXPONENT)).min(MOST_OCTETS);
        let end = start + octets / FLOW_RATE;
        let first = start as usize / INTERVAL;
        let last = end as usize / INTERVAL;
        for (number, interval) in intervals.iter_mut().enumerate().take(last + 1).skip(first) {
            let from = (number * INTERVAL) as f64;
            let part = end.min(from + INTERVAL as f64) - start.max(from);
            interval.flows[bin] += 1.0;
            interval.octets[bin] += octets * part / (end - start);
        }
    }
}

/// The bin of a flow: the last bits of the CRC-16 of its addresses, ports and protocol.
fn bin_of(flow: &Microflow) -> usize {
    let mut tuple = Vec::new();
    for address in [flow.source, flow.destination] {
        let bytes = address.to_be_bytes();
        // An IPv4 address has 4 bytes, so that a tuple has 13, as in the paper.
        let unused = if flow.eth_type == ETH_TYPE_IPV4 {
            12
        } else {
            0
        };
        tuple.extend(&bytes[unused..]);
    }
    tuple.extend(flow.ports.iter().flat_map(|port| port.to_be_bytes()));
    tuple.push(flow.ip_proto);
    usize::from(crc16(&tuple)) % BINS
}

/// The first 1,000 s of a capture, interval by interval, from its first packet on; what is not IP
/// does not count. An interval without packets is left out.
///
/// Errors: the file's, in words; it has no packets of IP.
pub fn of_capture(path: &Path) -> Result<Vec<TraceInterval>> {
    let name = path.display().to_string();
    let mut capture = CaptureReader::open(path).map_err(context(&name))?;
    let mut intervals = vec![TraceInterval::default(); SECONDS / INTERVAL];
    let mut seen = HashSet::new();
    let mut present = 0;
    let mut bytes = Vec::new();
    let mut began = None;
    while let Some(packet) = capture.next(&mut bytes).map_err(context(&name))? {
        let flow = Microflow::of(&bytes);
        if !flow.is_ip {
            continue;
        }
        let since = packet.at.saturating_sub(*began.get_or_insert(packet.at));
        let number = since.as_secs() as usize / INTERVAL;
        if number > present {
            present = number;
            seen.clear();
        }
        let Some(interval) = intervals.get_mut(present) else {
            break;
        };
        let bin = bin_of(&flow);
        interval.octets[bin] += f64::from(packet.wire_bytes);
        if seen.insert(flow) {
            interval.flows[bin] += 1.0;
        }
    }
    intervals.retain(|interval| interval.flows.iter().any(|flows| *flows > 0.0));
    if intervals.is_empty() {
        return Err(format!("{name}: it has no packets of IP").into());
    }
    Ok(intervals)
}

/// The fullest bin over the mean, of flows and of octets: the mean of all intervals.
pub fn mean_unevenness(intervals: &[TraceInterval]) -> (f64, f64) {
    let flows: f64 = intervals.iter().map(|one| unevenness(&one.flows)).sum();
    let octets: f64 = intervals.iter().map(|one| unevenness(&one.octets)).sum();
    let count = intervals.len() as f64;
    (flows / count, octets / count)
}

/// A bar for each bin: its part over the mean of the four. The height is the median of all
/// intervals, the line goes from the least to the most.
pub fn bars(intervals: &[TraceInterval]) -> Vec<Bar> {
    let flows = intervals.iter().map(|one| one.flows).collect();
    let octets = intervals.iter().map(|one| one.octets).collect();
    let mut bars = bars_of("flows", flows);
    bars.extend(bars_of("octets", octets));
    bars
}

/// The bars of one group.
fn bars_of(group: &str, intervals: Vec<[f64; BINS]>) -> Vec<Bar> {
    let mut bars = Vec::new();
    for bin in 0..BINS {
        let mut parts = Vec::new();
        for bins in &intervals {
            let sum: f64 = bins.iter().sum();
            parts.push(bins[bin] * BINS as f64 / sum);
        }
        parts.sort_unstable_by(f64::total_cmp);
        bars.push(Bar {
            group: group.into(),
            series: bin,
            name: format!("bin {}", bin + 1),
            value: parts[parts.len() / 2],
            range: (parts[0], parts[parts.len() - 1]),
        });
    }
    bars
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use bofuss_oflib::Mac;
    use bofuss_packet::craft;
    use bofuss_ports::{CaptureFile, CaptureSource, Direction, LinkType};

    use super::*;

    #[test]
    fn bins_have_as_many_flows_and_very_different_octets() {
        for seed in 1..=3 {
            let intervals = trace(seed);
            assert_eq!(intervals.len(), 100);
            let (flows, octets) = mean_unevenness(&intervals);
            assert!(flows < 1.1 && octets > 1.5, "{seed}: {flows}, {octets}");
        }
    }

    /// A capture with these packets: seconds, source port, bytes on the wire.
    fn captured(packets: &[(u64, u16, usize)]) -> Result<Vec<TraceInterval>> {
        let name = format!(
            "bofuss-heavy-tail-{}-{}.pcap",
            std::process::id(),
            packets.len()
        );
        let path = std::env::temp_dir().join(name);
        let mut file = CaptureFile::create(&path, LinkType::Ethernet).unwrap();
        let source = CaptureSource {
            name: "eth0".into(),
            link_type: LinkType::Ethernet,
            comment: String::new(),
        };
        let source = file.add_source(&source).unwrap();
        for (seconds, port, bytes) in packets {
            let address = [10, 0, 0, 1].into();
            let ip = craft::ipv4(address, address, 64, craft::udp(*port, 7, &[]));
            let mut frame = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
            frame.resize(*bytes, 0);
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds);
            file.write(source, at, Direction::In, &frame).unwrap();
        }
        file.flush().unwrap();
        let intervals = of_capture(&path);
        std::fs::remove_file(&path).unwrap();
        intervals
    }

    #[test]
    fn a_capture_has_each_flow_once_in_an_interval_and_all_its_octets() {
        let packets = [
            (0, 1, 100),
            (9, 1, 1000),
            (9, 2, 60),
            (25, 1, 70),
            (1200, 1, 80),
        ];
        let intervals = captured(&packets).unwrap();
        let sums = |interval: &TraceInterval| {
            let flows: f64 = interval.flows.iter().sum();
            let octets: f64 = interval.octets.iter().sum();
            (flows, octets)
        };
        let all: Vec<_> = intervals.iter().map(sums).collect();
        // The interval from 10 s to 20 s has no packets, and the last one is too late.
        assert_eq!(all, [(2.0, 1160.0), (1.0, 70.0)]);
        assert!(
            captured(&[])
                .unwrap_err()
                .to_string()
                .contains("no packets of IP")
        );
    }
}
