//! Determines whether a program is simple enough for the direct path, and which steps it has there.

use alloc::vec::Vec;

use bofuss_datapath::engine::{Hooks, sole_output};
use bofuss_datapath::{DropReason, HookEffect};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, Field, Instruction};

use crate::cache::Body;
use crate::cache::End;
use crate::cache::PathAction;
use crate::cache::Program;
use crate::cache::ProgramStep;
use crate::direct_path::DirectPath;
use crate::direct_path::DirectStep;
use crate::executed::{Executed, each_action};
use crate::obstacles::obstacle;

/// Sets the end of a program with so many hits, and its actions or direct path if it is simple.
pub(super) fn note_end(program: &mut Program, hits: usize, hooks: &Hooks) {
    let mut bodies = program.executed();
    let judged = bodies
        .find(|body| is_metered(body))
        .map(|body| body.hit + 1);
    drop(bodies);
    program.judged = judged.filter(|judged| usize::from(*judged) < hits);
    let mut actions = Vec::new();
    if let Some(end) = simple_end(program, hooks, &mut actions) {
        (program.end, program.actions) = (end, actions);
        return;
    }
    program.may_go_below = obstacle(program).is_none();
    program.direct = direct_path(program);
    if program.direct.is_some() {
        program.end = End::Steps;
    }
}

/// Returns true if instructions send packets through a meter while they go through the tables.
fn is_metered(body: &Body) -> bool {
    let mut instructions = body.instructions.list().iter();
    instructions.any(|instruction| match instruction {
        Instruction::Meter(_) => true,
        Instruction::ApplyActions(list) => {
            let mut actions = list.iter();
            actions.any(|action| matches!(action, Action::Meter(_)))
        }
        Instruction::ClearActions
        | Instruction::WriteActions(_)
        | Instruction::WriteMetadata { .. }
        | Instruction::StatTrigger(_)
        | Instruction::Experimenter(_)
        | Instruction::GotoTable(_) => false,
    })
}

/// The direct path of a program; `None` if its frames have to become packets, or if they may be
/// dropped before the end of its path.
fn direct_path(program: &Program) -> Option<DirectPath> {
    let leaves = program.calls || program.asks || program.missed || program.next.is_some();
    if leaves || program.judged.is_some() {
        return None;
    }
    let mut steps = Vec::new();
    each_action(program, |step| {
        steps.push(match step {
            Executed::Meter(id) => DirectStep::Meter(id),
            Executed::Action(action) => DirectStep::of(action)?,
        });
        Some(())
    })?;
    DirectPath::of(steps)
}

/// The end of a program that, after initial actions of extensions, only outputs packets to one port
/// or drops them; adds these actions to `actions`. `None` if it does more.
fn simple_end(program: &Program, hooks: &Hooks, actions: &mut Vec<PathAction>) -> Option<End> {
    let mut at_once = None;
    let mut at_end = None;
    // The key is as it was at the start.
    let mut is_first = true;
    if program.asks {
        return asking_end(program, hooks, actions);
    }
    if program.calls || program.next.is_some() {
        return None;
    }
    for step in &program.steps {
        let body = match step {
            ProgramStep::Execute(body) => body,
            ProgramStep::Set(field, value) if field.at.is_empty() => {
                is_first &= keeps_key(field, *value);
                continue;
            }
            ProgramStep::Set(..) | ProgramStep::Call(_) => return None,
        };
        for instruction in body.instructions.list() {
            match instruction {
                Instruction::ApplyActions(list) if at_once.is_none() => {
                    let others = extension_actions(body, list, hooks, actions);
                    if others.len() < list.len() && !is_first {
                        return None;
                    }
                    if !others.is_empty() {
                        at_once = Some(sole_output(others)?);
                    }
                }
                Instruction::WriteActions(actions) => {
                    at_end = Some(sole_output(actions)?);
                    is_first = false;
                }
                Instruction::ClearActions => (at_end, is_first) = (None, false),
                Instruction::WriteMetadata { .. } => is_first = false,
                Instruction::StatTrigger(_) | Instruction::GotoTable(_) => {}
                Instruction::ApplyActions(_)
                | Instruction::Meter(_)
                | Instruction::Experimenter(_) => return None,
            }
        }
    }
    let acts = !actions.is_empty();
    match (at_once, at_end) {
        (None, _) if program.missed => Some(End::Drop {
            reason: DropReason::TableMiss,
            acts,
        }),
        (None, None) => Some(End::Drop {
            reason: DropReason::NoOutput,
            acts,
        }),
        (Some(port), None) | (None, Some(port)) if !program.missed => {
            Some(End::Port { port, acts })
        }
        (Some(_), _) | (None, Some(_)) => None,
    }
}

/// Returns true if setting this field changes nothing: it is a register and is set to its initial
/// value, as hooks do that have no value for it.
fn keeps_key(field: &Field, value: Option<u128>) -> bool {
    let initial = field.initial.map(u128::from);
    field.at.is_empty() && initial.is_some() && initial == value
}

/// As [`simple_end`], for packets that miss in table 0 where exactly one hook acts on misses.
fn asking_end(program: &Program, hooks: &Hooks, actions: &mut Vec<PathAction>) -> Option<End> {
    let [(hook, HookEffect::Live)] = *hooks.at_miss(program.last) else {
        return None;
    };
    let mut steps = program.steps.iter();
    let keep_key = steps.all(|step| match step {
        ProgramStep::Set(field, value) => keeps_key(field, *value),
        ProgramStep::Execute(_) | ProgramStep::Call(_) => false,
    });
    if program.last != TableId(0) || !keep_key {
        return None;
    }
    actions.push(PathAction {
        hook,
        action: None,
        table: program.last,
        hit: 0,
    });
    Some(End::Drop {
        reason: DropReason::TableMiss,
        acts: true,
    })
}

/// Collects the initial actions of extensions in an entry's list, as far as they keep packets on
/// their path. Returns the remaining actions.
fn extension_actions<'a>(
    body: &Body,
    list: &'a [Action],
    hooks: &Hooks,
    actions: &mut Vec<PathAction>,
) -> &'a [Action] {
    for (number, action) in list.iter().enumerate() {
        let Action::Experimenter(value) = action else {
            return &list[number..];
        };
        let Some((hook, row)) = hooks.of(value.row) else {
            return &list[number..];
        };
        if hooks.effect_of(value) != HookEffect::Live {
            return &list[number..];
        }
        actions.push(PathAction {
            hook,
            action: Some((row, value.clone())),
            table: body.table,
            hit: body.hit,
        });
    }
    &[]
}
