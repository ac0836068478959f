//! Actions and instructions. Spec: OpenFlow 1.3.5 sections 7.2.4, 7.2.5.

use super::matching::{decode_set_field, encode_oxm};
use super::{V1_3, layout, onf};
use crate::action::{ACTIONS, Action, Output, SetField};
use crate::error::{BadAction, BadInstruction, DecodeError};
use crate::ext::{ExtKind, ExtValue};
use crate::forms::Form;
use crate::instruction::{INSTRUCTIONS, Instruction, Instructions};
use crate::version::Version;
use crate::wire::{Reader, Wire, Writer};

/// The type of experimenters' actions and instructions.
const EXPERIMENTER: u16 = 0xffff;

layout! {
    V1_3;
    // The six bytes of padding after it are the action's, whose form reads and writes them.
    Output { port, max_len }
}

/// The argument of a set-field: one OXM field. Its padding to 8 bytes belongs to the action.
impl Wire for SetField {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let takes_mask = r.version().sets_with_masks();
        decode_set_field(r, takes_mask).map(Self)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        encode_oxm(&self.0, w);
    }
}

/// Returns true if actions of a version have this type, and not one of the ONF's in its place.
///
/// An action that a version has from the ONF is an experimenter's there, and its later number none.
fn has_type(ty: u16, version: Version) -> bool {
    let row = ACTIONS.iter().find(|row| row.number == ty);
    let known = row.is_some_and(|row| row.versions.has(version));
    known && onf::action_type(ty, version).is_none()
}

/// The types of actions that came after a version, each as its bit.
///
/// For the words of group features in which bit N is the action of type N.
pub(super) fn newer_types(version: Version) -> u32 {
    let mut types = 0;
    for row in ACTIONS {
        if !has_type(row.number, version) {
            // A type past 31 has no bit, and cannot be announced.
            types |= 1_u32.checked_shl(row.number.into()).unwrap_or(0);
        }
    }
    types
}

/// Reads the body of an experimenter's action, or of one that has a type of its own in 1.5.
///
/// The ONF's actions are tried first, so that a catalogue need not have rows for them.
fn read_experimenter(body: &mut Reader<'_>) -> Result<Action, DecodeError> {
    if onf::has_actions(body.version()) {
        let newer = onf::newer_action(body);
        if let Some(action) = newer.and_then(|ty| Action::decode_body(ty, body)) {
            return action;
        }
        #[cfg(feature = "nicira")]
        if let Some(action) = crate::nicira::actions::read(body)? {
            return Ok(action);
        }
    }
    ExtValue::decode(ExtKind::Action, body).map(Action::Experimenter)
}

/// Type and length of 16 bits each, then the argument, then padding to a multiple of 8 bytes, which
/// the length counts. Spec: OpenFlow 1.3.5 section 7.2.5.
impl Form<V1_3> for Action {
    /// Errors: BAD_ACTION with BAD_TYPE, BAD_LEN, BAD_SET_*, BAD_EXPERIMENTER or BAD_EXP_TYPE.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r.at("action").sized(2, 8, 8, BadAction::BAD_LEN)?;
        // An unknown type is an error at the type, not at the argument after it.
        let at_type = body.at("action type").clone();
        let ty: u16 = body.get()?;
        body.take(2)?;
        let action = if ty == EXPERIMENTER {
            Some(read_experimenter(&mut body)?)
        } else if has_type(ty, body.version()) {
            Self::decode_body(ty, &mut body).transpose()?
        } else {
            None
        };
        match action {
            None => Err(at_type.err(BadAction::BAD_TYPE)),
            // Fewer than 8 bytes left over are padding, whose content is ignored. More mean that
            // the length is not that of this type.
            Some(_) if body.remaining() >= 8 => Err(body.err(BadAction::BAD_LEN)),
            Some(action) => Ok(action),
        }
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        // A set-field takes a mask since 1.5. In 1.3 and 1.4 Open vSwitch's action of the same
        // effect is sent in its place, if the feature for it is on.
        let masked = self.masked_set_field();
        let masked = masked.filter(|_| !w.version().sets_with_masks());
        #[cfg(feature = "nicira")]
        if let Some(one) = masked.filter(|_| onf::has_actions(w.version())) {
            w.put(&EXPERIMENTER).put(&0u16);
            crate::nicira::actions::write_masked(one, w);
            w.align8(start).patch_length(start, start + 2);
            return;
        }
        if masked.is_some() {
            w.unsupported("a set_field with a mask");
        }
        let row = self.row();
        // The span of an action that a version has from the ONF includes that version.
        if let Some(row) = row.filter(|row| !row.versions.has(w.version())) {
            w.unsupported(row.name);
        }
        let number = row.map_or(EXPERIMENTER, |row| row.number);
        match onf::action_type(number, w.version()) {
            Some(ty) => {
                w.put(&EXPERIMENTER).put(&0u16);
                onf::write_action_head(ty, w);
            }
            None => {
                w.put(&number).put(&0u16);
            }
        }
        self.encode_body(w);
        w.align8(start).patch_length(start, start + 2);
    }
}

/// Type and length of 16 bits each, then the argument. All have a multiple of 8 bytes. Spec:
/// OpenFlow 1.3.5 section 7.2.4.
impl Form<V1_3> for Instruction {
    /// Errors: BAD_INSTRUCTION with UNKNOWN_INST, BAD_LEN, BAD_EXPERIMENTER or BAD_EXP_TYPE, or an
    /// action's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bad = BadInstruction::BAD_LEN;
        let mut body = r.at("instruction").sized(2, 8, 8, bad)?;
        let at_type = body.at("instruction type").clone();
        let ty = body.get()?;
        body.take(2)?;
        let row = INSTRUCTIONS.iter().find(|row| row.number == ty);
        // UNKNOWN_INST is for types that the version does not have. An instruction that it has and
        // a table does not support is refused by the switch, with UNSUP_INST.
        if !row.is_some_and(|row| row.versions.has(body.version())) {
            return Err(at_type.err(BadInstruction::UNKNOWN_INST));
        }
        let instruction = match ty {
            1 => {
                let table = body.at("table_id").get()?;
                body.take(3)?;
                Self::GotoTable(table)
            }
            2 => {
                body.take(4)?;
                let value = body.at("metadata").get()?;
                Self::WriteMetadata {
                    value,
                    mask: body.at("metadata_mask").get()?,
                }
            }
            3 => {
                body.take(4)?;
                Self::WriteActions(body.get()?)
            }
            4 => {
                body.take(4)?;
                Self::ApplyActions(body.get()?)
            }
            5 => {
                body.take(4)?;
                Self::ClearActions
            }
            6 => Self::Meter(body.at("meter_id").get()?),
            7 => Self::StatTrigger(body.get()?),
            EXPERIMENTER => Self::Experimenter(ExtValue::decode(ExtKind::Instruction, &mut body)?),
            _ => return Err(at_type.err(BadInstruction::UNKNOWN_INST)),
        };
        // The arms above have taken their padding, so that a length too great for the type is
        // refused.
        body.finish()?;
        Ok(instruction)
    }

    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        let row = self.row();
        if !row.versions.has(w.version()) {
            w.unsupported(row.name);
        }
        w.put(&row.number).put(&0u16);
        match self {
            Self::GotoTable(table) => w.put(table).pad(3),
            Self::WriteMetadata { value, mask } => w.pad(4).put(value).put(mask),
            Self::WriteActions(actions) | Self::ApplyActions(actions) => w.pad(4).put(actions),
            Self::ClearActions => w.pad(4),
            Self::Meter(meter) => w.put(meter),
            Self::StatTrigger(trigger) => w.put(trigger),
            Self::Experimenter(value) => {
                value.encode(w);
                w.align8(start)
            }
        };
        w.patch_length(start, start + 2);
    }
}

/// A list up to the end of the window, in any order: [`Instructions::new`] sorts it by the order of
/// execution.
impl Wire for Instructions {
    /// Errors: an instruction's; BAD_INSTRUCTION/DUP_INST if a type stands twice, and before 1.4
    /// UNSUP_INST. Choice: these versions have no code for it; a set with two is one that no table
    /// supports.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.at("instructions").clone();
        let duplicate = if r.version().has_bundles() {
            BadInstruction::DUP_INST
        } else {
            BadInstruction::UNSUP_INST
        };
        Self::new(r.get()?).map_err(|()| start.err(duplicate))
    }
    fn encode(&self, w: &mut Writer<'_>) {
        // A reply lists what the version can say of an entry. In a request nothing is left out.
        if w.leaves_out {
            if let Some(reported) = self.reported_in(w.version()) {
                return reported.encode(w);
            }
        }
        // 1.5 has the meter as an action, and versions before it as an instruction: each reads an
        // entry in its own words, whoever has added it.
        #[cfg(feature = "v1_5")]
        if let Some(list) = self.with_meter_of(w.version()) {
            w.put(&list);
            return;
        }
        w.put(self.shared());
    }
}
