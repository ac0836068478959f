//! The case of one TCP stream between two hosts of the meter's own, by iperf3.

use std::path::Path;

use super::point::{CaseVerdict, Point, PointOutcome};
use super::workbench::{Limits, Workbench};
use crate::case::CaseContext;
use crate::host_case;
use crate::setup::Setup;

/// The points: with segments that the kernel cuts late, and without.
pub fn points(_: &Limits) -> Vec<Point> {
    vec![Point::of("offloads off"), Point::of("offloads on")]
}

/// The rate of one stream, and the processor time of the switch for it.
pub fn run(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome, String> {
    bench.reset()?;
    let (Some(bed), Some(forwarder)) = (bench.subject.bed(), &bench.subject.forwarder) else {
        let note = "the hosts are not the meter's own: run iperf3 on them";
        return Ok(PointOutcome::of(CaseVerdict::Unsupported, note));
    };
    let with_offloads = point.kind == "offloads on";
    bed.set_offloads(with_offloads)?;
    let context = CaseContext {
        bed,
        forwarder,
        setup: Setup::Direct,
        programs: Path::new(""),
        parameter: 1,
        capacity: 0.0,
    };
    let figures = host_case::tcp(&context);
    bed.set_offloads(false)?;
    match figures {
        Ok(figures) => {
            let mut outcome = PointOutcome::default();
            for ((name, unit), value) in figures {
                outcome.add(name, unit, value);
            }
            Ok(outcome)
        }
        // Open vSwitch drops frames with an unfinished checksum, unless userspace-tso is on.
        Err(why) if with_offloads => Ok(PointOutcome::of(CaseVerdict::Unsupported, why)),
        Err(why) => Err(why),
    }
}
