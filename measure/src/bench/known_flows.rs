//! The case of known flows, each of which has an entry of its own in a switch.

use crate::bench::case::{CaseContext, Figures, SENDER};
use crate::bench::host_case::frames;
use crate::bench::switch_case::exact_rule;
use crate::error::Result;
use crate::testbed::net::{Bed, HOST_PORT, SWITCH_PORTS, run};
use crate::testbed::openflow::{adds, codec};
use crate::testbed::processors::busy_nanos;
use crate::testbed::setup::Setup;
use crate::testbed::traffic::{Load, send};

/// Frames that are measured, so many that clock ticks are short beside their time.
const MEASURED: u64 = 1_000_000;
/// Frames of each flow that come before, so that an accelerator learns of nearly all of them.
const BEFORE: u64 = 60;

/// Frames of as many flows as the parameter says, all of which have passed before. The bridge also
/// has what their sender needs alone.
pub fn known_flows(c: &CaseContext<'_>) -> Figures {
    let of_flows = |frames: u64| Load {
        flows: c.parameter,
        ..Load::of(frames)
    };
    let load = of_flows(MEASURED);
    if c.setup == Setup::Bridge {
        let mut figures = frames(c, load)?;
        figures.push((SENDER, sent_alone(c.bed, load)?));
        return Ok(figures);
    }
    let rules = (0..c.parameter).map(|flow| exact_rule(flow, "output:2"));
    c.forwarder.session()?.change(&adds(&codec(), rules)?)?;
    frames(c, of_flows(BEFORE * u64::from(c.parameter)))?;
    frames(c, load)
}

/// Sends a load to a port that the bridge does not have for so long, where the host's stack drops
/// frames for others. Returns the busy time of all processors for each frame.
fn sent_alone(bed: &Bed, load: Load) -> Result<f64> {
    let [port, _] = SWITCH_PORTS;
    run(&format!("ip link set {port} nomaster"))?;
    let busy = busy_nanos();
    bed.host(load.back, || send(HOST_PORT, load))?;
    let busy = busy_nanos() - busy;
    run(&format!("ip link set {port} master bridge0"))?;
    Ok(busy / load.frames as f64)
}
