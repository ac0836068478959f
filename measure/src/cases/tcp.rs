//! The case of one TCP stream between two hosts of the meter's own, by iperf3; and the highest rate
//! of small frames of UDP without loss.

use crate::cases::forwarding::{knee, knee_seconds};
use crate::cases::point::{CaseVerdict, Point, PointOutcome};
use crate::cases::workbench::{Limits, Workbench};
use crate::error::Result;
use crate::testbed::iperf;

/// The name of the case.
pub const NAME: &str = "iperf-single";
/// The variant of small frames, and their bytes.
const UDP: &str = "udp";
const UDP_BYTES: usize = 64;
/// The bytes of a KB of the bench's numbers.
const KB: f64 = 1024.0;

/// The points: with segments that the kernel cuts late, and without; and small frames.
pub fn points(_: &Limits) -> Vec<Point> {
    vec![
        Point::of("offloads off"),
        Point::of("offloads on"),
        Point::of(UDP).bytes(UDP_BYTES),
    ]
}

/// About how many seconds a point takes.
pub fn seconds(limits: &Limits, point: &Point) -> f64 {
    if point.kind == UDP {
        return knee_seconds(limits, point);
    }
    2.0 * iperf::TCP_SECONDS as f64
}

/// The rate of one stream, and the processor time of the switch for it; or that of small frames.
pub fn run(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    bench.reset()?;
    if point.kind == UDP {
        return knee(bench, point);
    }
    let (Some(bed), Some(forwarder)) = (bench.subject.bed(), &bench.subject.forwarder) else {
        let note = "the hosts are not the meter's own: run iperf3 on them";
        return Ok(PointOutcome::of(CaseVerdict::Unsupported, note));
    };
    let with_offloads = point.kind == "offloads on";
    bed.set_offloads(with_offloads)?;
    let figures = bench.served(|_| iperf::tcp(bed, forwarder, 1));
    bed.set_offloads(false)?;
    match figures {
        Ok(figures) => {
            let mut outcome = PointOutcome::default();
            let cpu = figures.processor_ns_per_kb;
            // What the kernel does has no process.
            if cpu > 0.0 {
                outcome.add("processor", "s/GB", cpu / KB);
            }
            outcome.add("rate", "Gb/s", figures.gbps);
            Ok(outcome)
        }
        // Open vSwitch drops frames with an unfinished checksum, unless userspace-tso is on.
        Err(why) if with_offloads => {
            Ok(PointOutcome::of(CaseVerdict::Unsupported, why.to_string()))
        }
        Err(why) => Err(why),
    }
}
