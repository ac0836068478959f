//! Why links are not balanced by how many flows hash to them: a trace of which few flows have most
//! of the octets, as in figure 2 of OpenQFlow.

use bofuss_sim::Random;

use crate::plot::Bar;

/// Seconds of the trace, and of each interval.
pub const SECONDS: usize = 1_000;
const INTERVAL: usize = 10;
/// Bins, by the last bits of the CRC-16 of the 5-tuple.
pub const BINS: usize = 4;
/// Flows that begin in a second, at random.
const FLOWS_PER_SECOND: f64 = 500.0;
/// Octets of a flow are Pareto's: this exponent, at least and at most so many.
const EXPONENT: f64 = 0.9;
const LEAST_OCTETS: f64 = 1e3;
const MOST_OCTETS: f64 = 5e8;
/// Octets that a flow sends in a second at most.
const FLOW_RATE: f64 = 12.5e6;

/// A random number above 0, and 1 at most.
fn fraction(random: &mut Random) -> f64 {
    ((random.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// CRC-16 of CCITT: polynomial 0x1021, from all ones.
fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = u16::MAX;
    for byte in bytes {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            let carries = crc & 0x8000 != 0;
            crc <<= 1;
            if carries {
                crc ^= 0x1021;
            }
        }
    }
    crc
}

/// Flows and octets of each bin in one interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceInterval {
    flows: [f64; BINS],
    octets: [f64; BINS],
}

/// How uneven bins are: the fullest over the mean.
fn unevenness(bins: &[f64; BINS]) -> f64 {
    let sum: f64 = bins.iter().sum();
    bins.iter().copied().fold(0.0, f64::max) * BINS as f64 / sum
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

/// The fullest bin over the mean, of flows and of octets: the mean of all intervals.
pub fn mean_unevenness(intervals: &[TraceInterval]) -> (f64, f64) {
    let flows: f64 = intervals.iter().map(|one| unevenness(&one.flows)).sum();
    let octets: f64 = intervals.iter().map(|one| unevenness(&one.octets)).sum();
    let count = intervals.len() as f64;
    (flows / count, octets / count)
}

/// Bars for each bin's part, over the mean of the four: the median of the intervals, and the least
/// and the most.
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
    use super::*;

    #[test]
    fn the_checksum_is_that_of_ccitt() {
        assert_eq!(crc16(b"123456789"), 0x29b1);
    }

    #[test]
    fn bins_have_as_many_flows_and_very_different_octets() {
        for seed in 1..=3 {
            let intervals = trace(seed);
            assert_eq!(intervals.len(), 100);
            let (flows, octets) = mean_unevenness(&intervals);
            assert!(flows < 1.1 && octets > 1.5, "{seed}: {flows}, {octets}");
        }
    }
}
