//! What became of a test case.

use alloc::string::String;
use alloc::vec::Vec;

/// Something that differs from what the case expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line that expects it; `None` for a packet that no line does.
    pub line: Option<usize>,
    /// A sentence, perhaps with lines for both packets.
    pub what: String,
}

/// What became of a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// None if the case passes.
    pub differences: Vec<Difference>,
    /// Commands that the switch refused, with their lines. bmv2's runner goes on then, and so does
    /// this.
    pub refused: Vec<(usize, String)>,
    /// What the program logged.
    pub log: Vec<String>,
    /// Packets that went in.
    pub received: usize,
    /// Packets that left, at all ports.
    pub sent: usize,
}
