//! What replicas of a switch have to know of its tables: which entries have had packets since the
//! replicas last compared notes, and how many do what one replica has to do alone.

use alloc::vec::Vec;

use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::{Action, Instruction, PortNo};

use crate::Time;
use crate::references::count_use;

/// The slots of entries that have had packets. An entry is listed when a packet hits it that was
/// not used after the last comparison; so what is read is in the part of the entry that the packet
/// changes anyway.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// The time when the replicas last compared notes; no packet before that is counted later.
    pub(crate) since: Time,
    /// The slots; one may be there several times if packets have exactly that time.
    pub(crate) slots: Vec<u32>,
}

impl Touched {
    /// Notes that an entry is hit which was last used at this time.
    #[inline]
    pub(crate) fn note(&mut self, slot: u32, used: Time) {
        if used <= self.since {
            self.slots.push(slot);
        }
    }
}

/// The number of uses of what one replica has to do alone, by entries and groups.
#[derive(Debug, Default)]
pub(crate) struct AloneUses {
    /// Actions NORMAL.
    pub(crate) normal: u32,
    /// Actions that show other headers than the packet had, or hide them.
    pub(crate) reshapes: u32,
    /// Actions of extensions, by their rows.
    pub(crate) actions: Vec<(&'static ExtRow, u32)>,
    /// Instructions of extensions.
    pub(crate) instructions: u32,
}

impl AloneUses {
    /// Notes that an entry or a bucket was added with this action, or removed.
    pub(crate) fn action(&mut self, action: &Action, adds: bool) {
        if matches!(action, Action::Output(output) if output.port == PortNo::NORMAL) {
            count_use(&mut self.normal, adds);
        }
        if let Action::PopMpls(_) | Action::PushPbb(_) | Action::PopPbb = action {
            count_use(&mut self.reshapes, adds);
        }
        if let Action::Experimenter(value) = action {
            let place = self.actions.iter().position(|(row, _)| *row == value.row);
            let place = place.unwrap_or_else(|| {
                self.actions.push((value.row, 0));
                self.actions.len() - 1
            });
            count_use(&mut self.actions[place].1, adds);
            if self.actions[place].1 == 0 {
                self.actions.swap_remove(place);
            }
        }
    }

    /// Notes that an entry was added with this instruction, or removed.
    pub(crate) fn instruction(&mut self, instruction: &Instruction, adds: bool) {
        if matches!(instruction, Instruction::Experimenter(_)) {
            count_use(&mut self.instructions, adds);
        }
    }
}
