//! What a switch asks while it has an input, and how often it has asked that.

use alloc::collections::BTreeMap;
use core::cell::RefCell;

use bofuss_agent::ConnId;
use bofuss_oflib::PortNo;

/// What a switch asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Has the connection room for messages?
    Room(ConnId),
    /// Has the connection room for a packet-in?
    PacketIn(ConnId),
    /// Does the port accept frames?
    Frames(PortNo),
    /// May controllers change links?
    Links,
}

/// Counts the questions of a switch within one input, each for itself. So the answer to one is
/// known also in a replica that does not ask others, as it sends no packet-outs and has no states.
#[derive(Debug, Default)]
pub struct AskedQuestions {
    counts: RefCell<BTreeMap<Question, u32>>,
}

impl AskedQuestions {
    /// How often this was asked before.
    pub fn next(&self, question: Question) -> u32 {
        let mut counts = self.counts.borrow_mut();
        let count = counts.entry(question).or_default();
        let before = *count;
        *count += 1;
        before
    }

    /// Begins the next input.
    pub fn begin(&self) {
        self.counts.borrow_mut().clear();
    }
}
