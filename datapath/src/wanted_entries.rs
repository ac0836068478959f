//! Entries that hooks want on a packet's path: they wait until no packet is on its way.

use alloc::{boxed::Box, collections::VecDeque};

use bofuss_oflib::ErrorCode;
use bofuss_oflib::message::FlowMod;

/// The most that wait; a hook may want others again with the next packet.
const MAX_WAITING: usize = 1024;

/// What became of an entry that a hook wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedResult {
    /// It was added.
    Added,
    /// It replaced another with its match and priority.
    Replaced,
    /// It was there. Its hard timeout begins anew.
    Kept,
    /// It was refused with this error.
    Refused(ErrorCode),
}

/// The entry that is being added, with the number of the hook that wants it, and what becomes of it
/// if no slice of the addition fails.
pub(crate) type BeingAdded = (usize, Box<FlowMod>, WantedResult);

/// The entries that wait, each with the number of the hook that wants it.
#[derive(Debug, Default)]
pub(crate) struct WantedEntries(VecDeque<(usize, Box<FlowMod>)>);

impl WantedEntries {
    /// Lets one wait. Returns false if there are too many.
    pub(crate) fn push(&mut self, hook: usize, flow_mod: FlowMod) -> bool {
        let has_room = self.0.len() < MAX_WAITING;
        if has_room {
            self.0.push_back((hook, flow_mod.into()));
        }
        has_room
    }

    /// Returns true if none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the first.
    pub(crate) fn pop(&mut self) -> Option<(usize, Box<FlowMod>)> {
        self.0.pop_front()
    }
}
