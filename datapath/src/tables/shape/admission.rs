//! Checks of flow-mods against the features of their table. Spec: OpenFlow 1.3.5 sections 6.4 and
//! 7.3.5.5.
//!
//! These checks are about what a controller was told in the table features; facts that hold for all
//! tables are checked in `control/check.rs`. A table that lists everything is *open*: most checks
//! then end at once, so that a switch without a profile adds entries quickly.
//!
//! Without the feature `reshape`, `no_admission.rs` takes the place of this file.

use bofuss_oflib::error::{BadAction, BadInstruction, BadMatch};
use bofuss_oflib::field::{Field, METADATA, PACKET_TYPE, Style};
use bofuss_oflib::message::multipart::table_features::{FieldId, PropertyList, TypeId};
use bofuss_oflib::message::{FlowMod, FlowModCommand};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, ErrorCode, FieldMatch, Instruction, Match};

use super::PipelineShape;
use crate::tables::features::{
    APPLY_ACTIONS, APPLY_COPYFIELD, APPLY_SETFIELD, Abilities, EXPERIMENTERS, INSTRUCTIONS, MATCH,
    WILDCARDS, WRITE_ACTIONS, WRITE_COPYFIELD, WRITE_SETFIELD,
};

impl PipelineShape {
    /// Checks a flow-mod against the features of its table. A table that is not in the pipeline is
    /// not checked, as with ALL; the caller looks for it.
    ///
    /// Errors: a BAD_MATCH, BAD_INSTRUCTION or BAD_ACTION.
    pub(crate) fn check(&self, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
        let Some(Some(abilities)) = self.tables.get(usize::from(flow_mod.table_id.0)) else {
            return Ok(());
        };
        abilities.check_match(&flow_mod.fields)?;
        if flow_mod.deletes() {
            return Ok(());
        }
        let any = is_of_all(&flow_mod.fields);
        let loose = flow_mod.command == FlowModCommand::MODIFY;
        // The table-miss entry has features of its own, which may allow less.
        let miss = any && (flow_mod.priority == 0 || loose);
        if flow_mod.command == FlowModCommand::ADD && !miss {
            abilities.check_omitted(&flow_mod.fields)?;
        }
        for instruction in flow_mod.instructions.list() {
            self.check_stage(flow_mod.table_id, instruction)?;
            // A modify that covers all entries must be valid for each.
            if !miss || loose {
                abilities.check_instruction(instruction, 0)?;
            }
            if miss {
                abilities.check_instruction(instruction, 1)?;
            }
        }
        Ok(())
    }

    /// Checks an instruction of an entry against the stage of its table.
    ///
    /// Errors: BAD_INSTRUCTION/BAD_TABLE_ID for a table of the other stage, BAD_ACTION/BAD_TYPE for
    /// an output or a group in the action set of an egress table, whose output is already chosen.
    fn check_stage(&self, table: TableId, instruction: &Instruction) -> Result<(), ErrorCode> {
        if self.first_egress.is_none() {
            return Ok(());
        }
        if matches!(instruction, Instruction::GotoTable(next) if !self.joins(table, *next)) {
            return Err(BadInstruction::BAD_TABLE_ID);
        }
        let is_output = |action: &Action| matches!(action, Action::Output(_) | Action::Group(_));
        if let Instruction::WriteActions(actions) = instruction {
            if self.is_egress(table) && actions.iter().any(is_output) {
                return Err(BadAction::BAD_TYPE);
            }
        }
        Ok(())
    }
}

impl Abilities {
    /// Returns true if a property lists a type; `experimenter` is 0 for those of the text.
    fn has_type(&self, ty: u16, number: u16, experimenter: u32) -> bool {
        let id = TypeId {
            ty: number,
            experimenter,
        };
        self.open || matches!(self.list(ty), PropertyList::Types(list) if list.contains(&id))
    }

    /// Returns `None` if a property does not list a field; otherwise, true if it lists the field
    /// with a mask.
    fn field(&self, ty: u16, field: &Field) -> Option<bool> {
        // An open table lists each field, with a mask if the field can have one; other masks are
        // refused when a message is decoded.
        if self.open {
            return Some(true);
        }
        let PropertyList::Fields(list) = self.list(ty) else {
            return None;
        };
        list.iter().find_map(|id| match id {
            FieldId::Known(known, masked) => (*known == field).then_some(*masked),
            FieldId::Unknown(..) => None,
        })
    }

    /// Errors: BAD_MATCH with BAD_FIELD, BAD_DL_ADDR_MASK, BAD_NW_ADDR_MASK, BAD_MASK, or BAD_VALUE
    /// for a packet type that is not the table's.
    ///
    /// A delete is checked as well, since a match that no entry can have is an error and not an
    /// empty request.
    fn check_match(&self, fields: &Match) -> Result<(), ErrorCode> {
        for one in fields.fields() {
            match self.field(MATCH, one.field) {
                // A field that is not listed is allowed as the prerequisite of a listed one.
                None if self.needs(fields, one) => {}
                None => return Err(BadMatch::BAD_FIELD),
                Some(masked) if masked || one.is_exact() => {}
                Some(_) => return Err(mask_error(one.field.style)),
            }
        }
        self.check_packet_type(fields.get(PACKET_TYPE))?;
        // The bits of metadata that the table can match are a number of their own, besides the
        // field's place in the list.
        match fields.get(METADATA) {
            Some(metadata) if metadata.mask_number() as u64 & !self.head.metadata_match != 0 => {
                Err(BadMatch::BAD_MASK)
            }
            _ => Ok(()),
        }
    }

    /// Errors: BAD_MATCH/BAD_VALUE for a packet type that is not the table's; it is Ethernet if it
    /// is not named.
    fn check_packet_type(&self, named: Option<&FieldMatch>) -> Result<(), ErrorCode> {
        if self.open && named.is_none() {
            return Ok(());
        }
        // The type (0, 0) of namespace and number is Ethernet. Spec: OpenFlow 1.5.1 section
        // 7.2.3.11.
        let ethernet = FieldMatch::exact(PACKET_TYPE, 0);
        let wanted = named.unwrap_or(&ethernet);
        if self.has_packet_type(wanted) {
            return Ok(());
        }
        Err(BadMatch::BAD_VALUE)
    }

    /// Returns true if `other` is only a prerequisite: a field of the match that the table lists,
    /// or a prerequisite of one, needs just these bits of it.
    ///
    /// So a table that lists only `tcp_dst` accepts `eth_type` and `ip_proto` beside it.
    /// Prerequisites have no circles, so this ends.
    fn needs(&self, fields: &Match, other: &FieldMatch) -> bool {
        fields.fields().iter().any(|one| {
            one.field.need.is_some_and(|need| {
                let bits = need.mask == 0 || other.mask_number() == need.mask.into();
                need.id == other.field.id && bits
            }) && (self.field(MATCH, one.field).is_some() || self.needs(fields, one))
        })
    }

    /// Errors: BAD_MATCH/BAD_WILDCARDS if a field is omitted that may not be.
    ///
    /// A field counts as omitted only if its prerequisites are met, because a match could not name
    /// it otherwise. Not called for the table-miss entry, which omits all.
    fn check_omitted(&self, fields: &Match) -> Result<(), ErrorCode> {
        let PropertyList::Fields(list) = self.list(MATCH) else {
            return Ok(());
        };
        if self.open {
            return Ok(());
        }
        for id in list {
            let FieldId::Known(field, _) = id else {
                continue;
            };
            let is_left_out = self.field(WILDCARDS, field).is_none() && fields.get(field).is_none();
            if is_left_out && fields.meets_need(field) {
                return Err(BadMatch::BAD_WILDCARDS);
            }
        }
        Ok(())
    }

    /// Checks an instruction of an entry, or with `miss` 1 of the table-miss entry.
    ///
    /// Errors: BAD_INSTRUCTION with UNSUP_INST, BAD_TABLE_ID, UNSUP_METADATA or
    /// UNSUP_METADATA_MASK, or BAD_ACTION with BAD_TYPE or BAD_SET_TYPE.
    fn check_instruction(&self, instruction: &Instruction, miss: u16) -> Result<(), ErrorCode> {
        let experimenter = if let Instruction::Experimenter(value) = instruction {
            value.row.experimenter
        } else {
            0
        };
        // The property of the table-miss entry has the next number.
        if !self.has_type(INSTRUCTIONS + miss, instruction.number(), experimenter) {
            return Err(BadInstruction::UNSUP_INST);
        }
        let able = self.head.metadata_write;
        match instruction {
            Instruction::WriteActions(actions) => {
                let properties = [WRITE_ACTIONS, WRITE_SETFIELD, WRITE_COPYFIELD];
                self.check_actions(actions, properties.map(|ty| ty + miss))
            }
            Instruction::ApplyActions(actions) => {
                let properties = [APPLY_ACTIONS, APPLY_SETFIELD, APPLY_COPYFIELD];
                self.check_actions(actions, properties.map(|ty| ty + miss))
            }
            // A bit of the value that the table cannot write, and then a bit of the mask alone.
            Instruction::WriteMetadata { value, mask } if value & mask & !able != 0 => {
                Err(BadInstruction::UNSUP_METADATA)
            }
            Instruction::WriteMetadata { mask, .. } if mask & !able != 0 => {
                Err(BadInstruction::UNSUP_METADATA_MASK)
            }
            Instruction::GotoTable(table) => {
                if self.has_next(*table, miss) {
                    return Ok(());
                }
                Err(BadInstruction::BAD_TABLE_ID)
            }
            Instruction::Meter(_)
            | Instruction::ClearActions
            | Instruction::WriteMetadata { .. }
            | Instruction::StatTrigger(_)
            | Instruction::Experimenter(_) => Ok(()),
        }
    }

    /// Checks actions against the properties of their types, of fields to set and to copy to.
    ///
    /// A reply names an experimenter and none of its actions, so an action of a listed experimenter
    /// is accepted here; its extension checks it further.
    fn check_actions(&self, actions: &[Action], properties: [u16; 3]) -> Result<(), ErrorCode> {
        let [types, set, copied] = properties;
        for action in actions {
            let known = if let Action::Experimenter(value) = action {
                (EXPERIMENTERS, value.row.experimenter)
            } else {
                (action.row().expect("it is no extension's").number, 0)
            };
            if !self.has_type(types, known.0, known.1) {
                return Err(BadAction::BAD_TYPE);
            }
            let missing = |list, field| self.field(list, field).is_none();
            if matches!(action, Action::SetField(one) if missing(set, one.0.field)) {
                return Err(BadAction::BAD_SET_TYPE);
            }
            if let Action::CopyField(copy) = action {
                // Only fields that can be set are in the lists; a copy to any other is allowed in
                // every table.
                if copy.dst.settable && missing(copied, copy.dst) {
                    return Err(BadAction::BAD_SET_TYPE);
                }
            }
        }
        Ok(())
    }
}

/// Returns true if a match covers all packets of a packet type.
fn is_of_all(fields: &Match) -> bool {
    fields.fields().iter().all(|one| one.field == PACKET_TYPE)
}

/// The error for a mask that a field of this style may not have.
fn mask_error(style: Style) -> ErrorCode {
    match style {
        Style::Mac => BadMatch::BAD_DL_ADDR_MASK,
        Style::Ip4 | Style::Ip6 => BadMatch::BAD_NW_ADDR_MASK,
        Style::Dec | Style::Hex | Style::Bits(_) | Style::Port | Style::PacketType => {
            BadMatch::BAD_MASK
        }
    }
}
