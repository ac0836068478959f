//! The meters and actions that the frames of a flow meet, in order.

use bofuss_datapath::engine::ActionSet;
use bofuss_oflib::types::MeterId;
use bofuss_oflib::{Action, Instruction};

use crate::cache::{Program, ProgramStep};

/// What instructions have executed.
pub(super) enum Executed<'a> {
    Meter(MeterId),
    Action(&'a Action),
}

impl<'a> Executed<'a> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whoever adds an action need not know of this"
    )]
    fn of(action: &'a Action) -> Self {
        match action {
            // OpenFlow 1.5 has no instruction for it.
            Action::Meter(id) => Self::Meter(*id),
            _ => Self::Action(action),
        }
    }
}

/// Passes the meters and actions of a program to `visit`, in the order in which they are executed;
/// `None` if `visit` returns it, or if there is more than these.
pub(super) fn each_action(
    program: &Program,
    mut visit: impl FnMut(Executed<'_>) -> Option<()>,
) -> Option<()> {
    let mut set = ActionSet::default();
    for step in &program.steps {
        let body = match step {
            ProgramStep::Execute(body) => body,
            // A field that is in no header is not read again on this path.
            ProgramStep::Set(field, _) if field.at.is_empty() => continue,
            ProgramStep::Set(..) | ProgramStep::Call(_) => return None,
        };
        for instruction in body.instructions.list() {
            match instruction {
                Instruction::Meter(id) => visit(Executed::Meter(*id))?,
                Instruction::ApplyActions(list) => {
                    for action in list {
                        visit(Executed::of(action))?;
                    }
                }
                Instruction::ClearActions => set.clear(),
                Instruction::WriteActions(list) => set.write(list),
                Instruction::WriteMetadata { .. }
                | Instruction::StatTrigger(_)
                | Instruction::GotoTable(_) => {}
                Instruction::Experimenter(_) => return None,
            }
        }
    }
    for action in set.in_order() {
        visit(Executed::of(action))?;
    }
    Some(())
}
