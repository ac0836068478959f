//! What hooks return on a packet's path, and what of a call an engine has already done.

use alloc::{boxed::Box, vec::Vec};

use bofuss_oflib::{Field, FieldSet};

use crate::Verdict;
use crate::hook_context::HookOutcome;

/// What a hook returned at a point, and requests that are not carried out yet.
#[derive(Debug)]
pub struct HookReply {
    /// The number of the hook.
    pub hook: usize,
    /// Its verdict.
    pub verdict: Verdict,
    /// What it asked for.
    pub outcome: HookOutcome,
    /// Whether the plan of hooks has changed.
    pub replanned: bool,
    /// Whether it wants a packet that missed to be looked up again.
    pub again: bool,
}

/// What an engine has already done of the next call of a hook.
#[derive(Debug)]
pub enum BegunCall {
    /// Nothing.
    Nothing,
    /// All.
    Done,
    /// The hook was called; what it asked for is not carried out yet.
    Replied(Box<HookReply>),
}

/// What hooks do with a packet that missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissReply {
    /// Nothing.
    Nothing,
    /// It is looked up again.
    Again,
    /// One of them has taken it.
    Taken,
}

/// What a hook did in a call, for engines that record it.
#[derive(Debug, Default)]
pub struct HookCall {
    /// What it set, if asked for.
    pub sets: Vec<(&'static Field, Option<u128>)>,
    /// The fields that it read.
    pub read: FieldSet,
    /// Whether `sets` is all that it did.
    pub only_sets: bool,
    /// Whether the packet's fields changed, it continues elsewhere, or the plan of hooks changed.
    pub deviates: bool,
    /// Whether the hook has taken the packet.
    pub(crate) taken: bool,
}
