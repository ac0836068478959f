//! The list of a switch's hooks, which notes when one may have changed.

use alloc::{boxed::Box, vec::Vec};
use core::cell::Cell;
use core::ops::{Deref, DerefMut};

use crate::{Hook, Time};

/// The hooks, by number. They change only in calls with `&mut self`, so those that were not called
/// are not asked again: among many switches, the memory of a switch's hooks is cold when a frame
/// comes.
#[derive(Default)]
pub struct HookList {
    list: Vec<Box<dyn Hook>>,
    /// True if one may have changed since [`HookList::take_changed`].
    may_have_changed: bool,
    /// True if `next_tick` is that of the hooks as they are.
    knows_tick: Cell<bool>,
    next_tick: Cell<Option<Time>>,
}

impl HookList {
    /// Returns true if a hook may have changed since the last call.
    #[inline]
    pub(crate) fn take_changed(&mut self) -> bool {
        core::mem::take(&mut self.may_have_changed)
    }

    /// The time when the first of them has to be called; `None` if there is no timer.
    #[inline]
    pub(crate) fn next_tick(&self) -> Option<Time> {
        if !self.knows_tick.replace(true) {
            let ticks = self.list.iter().filter_map(|hook| hook.next_tick());
            self.next_tick.set(ticks.min());
        }
        self.next_tick.get()
    }
}

impl Deref for HookList {
    type Target = Vec<Box<dyn Hook>>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.list
    }
}

impl DerefMut for HookList {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.may_have_changed = true;
        self.knows_tick.set(false);
        &mut self.list
    }
}
