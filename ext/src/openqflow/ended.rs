//! The last reports of flows that have ended, until they are sent.

use alloc::collections::VecDeque;

use super::flow::FlowRecord;

/// The most reports that wait.
const MAX_ENDED: usize = 65_536;

/// Reports, the oldest first.
#[derive(Debug, Default)]
pub(super) struct EndedFlows(VecDeque<FlowRecord>);

impl EndedFlows {
    /// Adds a report. Returns false if too many wait.
    pub(super) fn push(&mut self, record: FlowRecord) -> bool {
        if self.0.len() >= MAX_ENDED {
            return false;
        }
        self.0.push_back(record);
        true
    }

    /// Takes the oldest report.
    pub(super) fn pop(&mut self) -> Option<FlowRecord> {
        self.0.pop_front()
    }

    /// Returns true if none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
