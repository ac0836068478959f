//! A case: what is measured between two hosts.

use std::path::Path;

use bofuss_oflib::message::FlowModCommand;

use crate::error::Result;
use crate::testbed::forwarder::Forwarder;
use crate::testbed::net::Bed;
use crate::testbed::openflow::{adds, codec, encode, mods};
use crate::testbed::setup::Setup;

/// The place where a case runs.
pub struct CaseContext<'a> {
    /// The hosts.
    pub bed: &'a Bed,
    /// The running set-up between them.
    pub forwarder: &'a Forwarder,
    /// Its set-up.
    pub setup: Setup,
    /// The folder of our programs.
    pub programs: &'a Path,
    /// The case's parameter.
    pub parameter: u32,
    /// Frames per second that the yardstick forwards.
    pub capacity: f64,
}

/// A metric and its unit.
pub type BenchMetric = (&'static str, &'static str);
/// Processor time of the forwarder for each frame that arrives.
pub const PROCESSOR: BenchMetric = ("processor", "ns/frame");
/// Busy time of all processors for each frame that arrives: also that of sender and receiver.
pub const MACHINE: BenchMetric = ("whole machine", "ns/frame");
/// The same of a load that the kernel drops when it is at the switch's port.
pub const SENDER: BenchMetric = ("sender alone", "ns/frame");
/// Frames that arrive.
pub const RATE: BenchMetric = ("rate", "frames/s");

/// Bytes of TCP that arrive.
pub const TCP_RATE: BenchMetric = ("rate", "Gb/s");

/// The results of a case.
pub type Figures = Result<Vec<(BenchMetric, f64)>>;

/// One case.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The meaning of its parameter, and its values. A case without a parameter has one row,
    /// without a name.
    pub parameters: (&'static str, &'static [u32]),
    pub(super) run: fn(&CaseContext<'_>) -> Figures,
}

impl Case {
    /// Runs it. With `reset`, restores the rules of a switch afterwards.
    ///
    /// Errors: a wrong result, or an error of the set-up.
    pub fn run(&self, context: &CaseContext<'_>, reset: bool) -> Figures {
        let figures = (self.run)(context);
        if reset {
            let mut session = context.forwarder.session()?;
            let codec = codec();
            let mut rules = encode(
                &codec,
                mods(&codec.catalogue, FlowModCommand::DELETE, [""])?,
            );
            rules.extend(adds(&codec, context.setup.entries())?);
            session.change(&rules)?;
        }
        figures
    }
}
