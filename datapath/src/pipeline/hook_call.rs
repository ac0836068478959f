//! What hooks return on a packet's path, and what of a call an engine has already done.

use alloc::{boxed::Box, vec::Vec};

use bofuss_oflib::{Field, FieldSet};

use crate::Verdict;
use crate::hook_context::HookOutcome;

/// The result of a call of a hook at a point, and requests that are not carried out yet.
#[derive(Debug)]
pub struct HookReply {
    /// The number of the hook.
    pub hook: usize,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its requests.
    pub outcome: HookOutcome,
    /// True if the plan of hooks has changed.
    pub replanned: bool,
    /// True if it wants a packet that missed to be looked up again.
    pub again: bool,
}

impl HookReply {
    /// The reply of a hook that asks for nothing.
    pub fn of(hook: usize) -> Self {
        Self {
            hook,
            verdict: Verdict::Continue,
            outcome: HookOutcome::default(),
            replanned: false,
            again: false,
        }
    }
}

/// The part that an engine has already done of the next call of a hook.
#[derive(Debug)]
pub enum BegunCall {
    /// Nothing.
    Nothing,
    /// All.
    Done,
    /// The hook was called; what it asked for is not carried out yet.
    Replied(Box<HookReply>),
}

/// The decision of hooks on a packet that missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissReply {
    /// Nothing.
    Nothing,
    /// It is looked up again.
    Again,
    /// One of them has taken it.
    Taken,
}

/// The effects of one call of a hook, for engines that record them.
#[derive(Debug, Default)]
pub struct HookCall {
    /// The fields that it set, if they are recorded.
    pub sets: Vec<(&'static Field, Option<u128>)>,
    /// The fields that it read.
    pub read: FieldSet,
    /// True if `sets` is all that it did.
    pub only_sets: bool,
    /// True if the packet's fields changed, it continues elsewhere, or the plan of hooks changed.
    pub uncacheable: bool,
    /// True if the hook has taken the packet.
    pub(crate) taken: bool,
}
