//! Actions and instructions: a class for each, called like its structure in the specification.

use bofuss_oflib::action::{Output, SetField};
use bofuss_oflib::copy_field::CopyField;
use bofuss_oflib::ext::{ExtKind, ExtValue};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::stats::Stats;
use bofuss_oflib::stat_trigger::{StatTrigger, StatTriggerFlags};
use bofuss_oflib::text::{parse_actions, parse_instructions};
use bofuss_oflib::types::{EtherType, GroupId, MaxLen, MeterId, PortNo, QueueId, TableId};
use bofuss_oflib::{Action, Field, FieldMatch, Instruction, Match};
use pyo3::prelude::*;

use crate::codecs::catalogue;
use crate::errors;
use crate::experimenter::of_kind;
use crate::form::{Fault, PyForm, To, list};
use crate::record::variants;

variants! {
    "Action" Action {
        ActionOutput [Action::Output(Output { port, max_len })] {
            port: PortNo, max_len: MaxLen = MaxLen(0)
        }
        ActionCopyTtlOut [Action::CopyTtlOut] {}
        ActionCopyTtlIn [Action::CopyTtlIn] {}
        ActionSetMplsTtl [Action::SetMplsTtl(mpls_ttl)] { mpls_ttl: u8 }
        ActionDecMplsTtl [Action::DecMplsTtl] {}
        ActionPushVlan [Action::PushVlan(ethertype)] { ethertype: EtherType }
        ActionPopVlan [Action::PopVlan] {}
        ActionPushMpls [Action::PushMpls(ethertype)] { ethertype: EtherType }
        ActionPopMpls [Action::PopMpls(ethertype)] { ethertype: EtherType }
        ActionSetQueue [Action::SetQueue(queue_id)] { queue_id: QueueId }
        ActionGroup [Action::Group(group_id)] { group_id: GroupId }
        ActionSetNwTtl [Action::SetNwTtl(nw_ttl)] { nw_ttl: u8 }
        ActionDecNwTtl [Action::DecNwTtl] {}
        ActionSetField [Action::SetField(SetField(field))] { field: FieldMatch }
        ActionPushPbb [Action::PushPbb(ethertype)] { ethertype: EtherType }
        ActionPopPbb [Action::PopPbb] {}
        ActionCopyField [Action::CopyField(CopyField {
            n_bits, src_offset, dst_offset, src, dst
        })] {
            src: &'static Field, dst: &'static Field, n_bits: u16,
            src_offset: u16 = 0, dst_offset: u16 = 0
        }
        ActionMeter [Action::Meter(meter_id)] { meter_id: MeterId }
        ActionExperimenter [Action::Experimenter(value)] { value: ExtValue }
    }
    check check_action, text Action::to_string, list actions_of_text
}

variants! {
    "Instruction" Instruction {
        InstructionGotoTable [Instruction::GotoTable(table_id)] { table_id: TableId }
        InstructionWriteMetadata [Instruction::WriteMetadata { value, mask }] {
            value "metadata": u64, mask "metadata_mask": u64 = u64::MAX
        }
        InstructionWriteActions [Instruction::WriteActions(actions)] { actions: Vec<Action> }
        InstructionApplyActions [Instruction::ApplyActions(actions)] { actions: Vec<Action> }
        InstructionClearActions [Instruction::ClearActions] {}
        InstructionStatTrigger [Instruction::StatTrigger(StatTrigger { flags, thresholds })] {
            flags: StatTriggerFlags = StatTriggerFlags(0), thresholds: Box<Stats>
        }
        InstructionMeter [Instruction::Meter(meter_id)] { meter_id: MeterId }
        InstructionExperimenter [Instruction::Experimenter(value)] { value: ExtValue }
    }
    check check_instruction, text Instruction::to_string, list instructions_of_text
}

/// Checks an action. Errors: a set-field of a field that cannot be set; a copy of bits that a field
/// does not have; an experimenter value that is no action.
fn check_action(action: Action) -> Result<Action, Fault> {
    match &action {
        Action::SetField(SetField(one)) if !one.field.settable => {
            Err(Fault::new(format!("{} cannot be set", one.field.name)))
        }
        Action::CopyField(copy) => {
            let checked = copy.check().map(|()| action.clone());
            checked.map_err(|error| Fault::new(catalogue().error_text(error)))
        }
        Action::Experimenter(value) => of_kind(value, ExtKind::Action).map(|()| action),
        _ => Ok(action),
    }
}

/// Checks an instruction. Errors: an experimenter value that is no instruction.
fn check_instruction(instruction: Instruction) -> Result<Instruction, Fault> {
    if let Instruction::Experimenter(value) = &instruction {
        of_kind(value, ExtKind::Instruction)?;
    }
    Ok(instruction)
}

fn actions_of_text(text: &str) -> Result<Vec<Action>, Fault> {
    Ok(parse_actions(text, &Match::ANY, catalogue()).map_err(errors::of_text)?)
}

fn instructions_of_text(text: &str) -> Result<Vec<Instruction>, Fault> {
    let found = parse_instructions(text, &Match::ANY, catalogue());
    Ok(found.map_err(errors::of_text)?.list().to_vec())
}

impl PyForm for Box<Stats> {
    fn annotation() -> String {
        Stats::annotation()
    }
    fn accepted() -> String {
        Stats::accepted()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        Stats::to_python(self, to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        Stats::from_python(value).map(Self::new)
    }
}

impl PyForm for Instructions {
    fn annotation() -> String {
        Vec::<Instruction>::annotation()
    }
    fn accepted() -> String {
        Vec::<Instruction>::accepted()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        list(self.list(), to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let list = Vec::<Instruction>::from_python(value)?;
        Self::new(list).map_err(|()| Fault::new("an instruction of one type stands twice"))
    }
}
