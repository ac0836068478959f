//! What leaves the pipeline.

use alloc::string::String;
use alloc::vec::Vec;

use crate::int::Int;

/// A frame that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The port, as the program numbers it.
    pub port: u32,
    /// Its bytes.
    pub frame: Vec<u8>,
    /// `standard_metadata.priority` after egress; after ingress, it chose the queue of the port.
    pub priority: u8,
}

/// The values of a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Its index in [`crate::Program::digests`].
    pub list: usize,
    /// One for each element of the list.
    pub values: Vec<Int>,
}

/// Why a packet, or a copy of one, ends without leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// `egress_spec` is 511 after ingress.
    Ingress,
    /// `egress_spec` is 511 after egress.
    Egress,
    /// The multicast group has no replicas, or is not there.
    EmptyGroup,
    /// An `assert` or `assume` did not hold.
    Assertion,
    /// It was resubmitted, recirculated or cloned too often.
    TooManyPasses,
    /// It became too many copies.
    TooManyCopies,
    /// It, or all copies together, took too many steps.
    TooManySteps,
    /// It would leave with more than 1 MiB.
    TooLong,
    /// The switch has no program yet.
    NoProgram,
    /// Too many packets wait for its port.
    QueueFull,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [Self; 10] = [
        Self::Ingress,
        Self::Egress,
        Self::EmptyGroup,
        Self::Assertion,
        Self::TooManyPasses,
        Self::TooManyCopies,
        Self::TooManySteps,
        Self::TooLong,
        Self::NoProgram,
        Self::QueueFull,
    ];

    /// Its name in traces and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingress => "drop_ingress",
            Self::Egress => "drop_egress",
            Self::EmptyGroup => "empty_multicast_group",
            Self::Assertion => "assertion",
            Self::TooManyPasses => "too_many_passes",
            Self::TooManyCopies => "too_many_copies",
            Self::TooManySteps => "too_many_steps",
            Self::TooLong => "too_long",
            Self::NoProgram => "no_program",
            Self::QueueFull => "queue_full",
        }
    }
}

/// Takes what leaves the pipeline. All but frames is ignored by default.
pub trait Sink {
    /// A frame leaves.
    fn transmit(&mut self, sent: Sent);

    /// A digest is for the control plane.
    fn digest(&mut self, digest: Digest) {
        let _ = digest;
    }

    /// The program calls `log_msg`.
    fn log(&mut self, text: String) {
        let _ = text;
    }

    /// A packet, or a copy of one, ends.
    fn dropped(&mut self, reason: DropReason) {
        let _ = reason;
    }

    /// Whether steps are wanted. They cost much.
    fn traces(&self) -> bool {
        false
    }

    /// A step of a packet: how deep it is within others, and a sentence.
    fn step(&mut self, depth: usize, text: String) {
        let _ = (depth, text);
    }
}

impl Sink for Vec<Sent> {
    fn transmit(&mut self, sent: Sent) {
        self.push(sent);
    }
}
