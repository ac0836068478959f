//! The meter of a flow entry as each version says it: an action since 1.5, before that an
//! instruction.

use alloc::vec::Vec;

use super::{Instruction, Instructions};
use crate::action::Action;
use crate::version::Version;

impl Instructions {
    /// The list in the words of a version for a meter that comes first: since 1.5 the first of the
    /// actions that are applied, before that an instruction. `None` if the list has them already.
    ///
    /// The model keeps whichever of the two a controller sent: both do the same.
    pub(crate) fn with_meter_of(&self, version: Version) -> Option<Vec<Instruction>> {
        if version.meters_by_action() {
            self.with_meter_action()
        } else {
            self.with_meter_instruction()
        }
    }

    fn with_meter_action(&self) -> Option<Vec<Instruction>> {
        let mut all = self.0.iter();
        let at = all.position(|one| matches!(one, Instruction::Meter(_)))?;
        let mut list = self.0.to_vec();
        let Instruction::Meter(id) = list[at] else {
            return None;
        };
        // By the order of execution, actions that are applied follow the meter.
        if let Some(Instruction::ApplyActions(actions)) = list.get_mut(at + 1) {
            actions.insert(0, Action::Meter(id));
            list.remove(at);
        } else {
            list[at] = Instruction::ApplyActions([Action::Meter(id)].into());
        }
        Some(list)
    }

    fn with_meter_instruction(&self) -> Option<Vec<Instruction>> {
        for (at, one) in self.0.iter().enumerate() {
            if matches!(one, Instruction::Meter(_)) {
                return None;
            }
            let Instruction::ApplyActions(actions) = one else {
                continue;
            };
            // A meter after other actions measures other packets than an instruction would. It is
            // written as it is, which older versions cannot say.
            let Some((Action::Meter(id), others)) = actions.split_first() else {
                return None;
            };
            let mut list = self.0.to_vec();
            list[at] = Instruction::Meter(*id);
            if !others.is_empty() {
                list.insert(at + 1, Instruction::ApplyActions(others.to_vec()));
            }
            return Some(list);
        }
        None
    }
}
