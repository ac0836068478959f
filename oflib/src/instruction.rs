//! The instructions of a flow entry.

use alloc::{sync::Arc, vec::Vec};
use core::fmt;

use crate::action::Action;
use crate::error::{BadInstruction, DecodeError};
use crate::ext::{ExtKind, ExtValue};
use crate::text::Actions;
use crate::types::{MeterId, TableId};
use crate::wire::{Reader, Wire, Writer};

/// One instruction. The order of the variants is the order of execution.
///
/// Spec: OpenFlow 1.3.5 sections 5.9 and 7.2.4.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Directs the packet to a meter, which may drop it.
    Meter(MeterId),
    /// Applies actions at once, in their order.
    ApplyActions(Vec<Action>),
    /// Empties the action set.
    ClearActions,
    /// Merges actions into the action set.
    WriteActions(Vec<Action>),
    /// Writes the bits of the metadata that the mask selects.
    WriteMetadata {
        /// The bits.
        value: u64,
        /// Which of them.
        mask: u64,
    },
    /// An extension's instruction.
    Experimenter(ExtValue),
    /// Goes on in a later table.
    GotoTable(TableId),
}

/// The instruction type of experimenters.
const EXPERIMENTER: u16 = 0xffff;

/// Type, name in text, and place in the order of execution of each instruction.
pub const INSTRUCTIONS: &[(u16, &str, u8)] = &[
    (1, "goto_table", 6),
    (2, "write_metadata", 4),
    (3, "write_actions", 3),
    (4, "apply_actions", 1),
    (5, "clear_actions", 2),
    (6, "meter", 0),
    (EXPERIMENTER, "experimenter", 5),
];

impl Instruction {
    /// The type on the wire.
    pub fn number(&self) -> u16 {
        match self {
            Self::GotoTable(_) => 1,
            Self::WriteMetadata { .. } => 2,
            Self::WriteActions(_) => 3,
            Self::ApplyActions(_) => 4,
            Self::ClearActions => 5,
            Self::Meter(_) => 6,
            Self::Experimenter(_) => EXPERIMENTER,
        }
    }

    /// Whether only one of the two may stand in a flow entry.
    pub fn is_same_type(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Experimenter(a), Self::Experimenter(b)) => core::ptr::eq(a.row, b.row),
            (a, b) => a.number() == b.number(),
        }
    }

    fn order(&self) -> u8 {
        let number = self.number();
        let row = INSTRUCTIONS.iter().find(|row| row.0 == number);
        row.expect("every instruction has a row").2
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Wire::text(self, f)
    }
}

impl Wire for Instruction {
    /// Errors: BAD_INSTRUCTION with UNKNOWN_INST, BAD_LEN, BAD_EXPERIMENTER or BAD_EXP_TYPE, or an
    /// action's.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r
            .at("instruction")
            .sized(2, 8, 8, BadInstruction::BAD_LEN)?;
        let at_type = body.at("instruction type").clone();
        let ty = body.get()?;
        body.take(2)?;
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
            3 | 4 => {
                body.take(4)?;
                let actions = body.get()?;
                if ty == 3 {
                    Self::WriteActions(actions)
                } else {
                    Self::ApplyActions(actions)
                }
            }
            5 => {
                body.take(4)?;
                Self::ClearActions
            }
            6 => Self::Meter(body.at("meter_id").get()?),
            EXPERIMENTER => Self::Experimenter(ExtValue::decode(ExtKind::Instruction, &mut body)?),
            _ => return Err(at_type.err(BadInstruction::UNKNOWN_INST)),
        };
        body.finish()?;
        Ok(instruction)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&self.number()).put(&0u16);
        match self {
            Self::GotoTable(table) => w.put(table).pad(3),
            Self::WriteMetadata { value, mask } => w.pad(4).put(value).put(mask),
            Self::WriteActions(actions) | Self::ApplyActions(actions) => w.pad(4).put(actions),
            Self::ClearActions => w.pad(4),
            Self::Meter(meter) => w.put(meter),
            Self::Experimenter(value) => {
                value.encode(w);
                w.align8(start)
            }
        };
        w.patch_length(start, start + 2);
    }

    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GotoTable(table) => write!(f, "goto_table:{}", table.0),
            Self::WriteMetadata {
                value,
                mask: u64::MAX,
            } => write!(f, "write_metadata:{value:#x}"),
            Self::WriteMetadata { value, mask } => write!(f, "write_metadata:{value:#x}/{mask:#x}"),
            Self::WriteActions(actions) => write!(f, "write_actions({})", Actions(actions)),
            Self::ApplyActions(actions) if actions.is_empty() => f.write_str("apply_actions(drop)"),
            Self::ApplyActions(actions) => write!(f, "{}", Actions(actions)),
            Self::ClearActions => f.write_str("clear_actions"),
            Self::Meter(meter) => write!(f, "meter:{meter}"),
            Self::Experimenter(value) => fmt::Display::fmt(value, f),
        }
    }
}

/// The instructions of a flow entry, in the order of execution, at most one of each type (of an
/// experimenter's, one of each of its types). Copies share them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instructions(Arc<Vec<Instruction>>);

impl Instructions {
    /// Puts instructions in order. Errors: `Err(())` if one type stands twice.
    #[allow(clippy::result_unit_err)]
    pub fn new(mut list: Vec<Instruction>) -> Result<Self, ()> {
        list.sort_by_key(Instruction::order);
        match list.windows(2).any(|pair| pair[0].is_same_type(&pair[1])) {
            true => Err(()),
            false => Ok(Self(list.into())),
        }
    }

    /// One apply-actions instruction, or none if `actions` is empty.
    pub fn apply(actions: Vec<Action>) -> Self {
        let one = (!actions.is_empty()).then_some(Instruction::ApplyActions(actions));
        Self(Arc::new(one.into_iter().collect()))
    }

    /// The same in memory of their own, no more than they need.
    pub fn unshared(&self) -> Self {
        Self(Arc::new(self.list().to_vec()))
    }

    /// The instructions in the order of execution.
    pub fn list(&self) -> &[Instruction] {
        &self.0
    }

    /// Every action in them.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.0.iter().flat_map(|instruction| match instruction {
            Instruction::ApplyActions(list) | Instruction::WriteActions(list) => list.as_slice(),
            Instruction::Meter(_)
            | Instruction::ClearActions
            | Instruction::WriteMetadata { .. }
            | Instruction::Experimenter(_)
            | Instruction::GotoTable(_) => &[],
        })
    }
}

impl Wire for Instructions {
    /// Errors: an instruction's; BAD_INSTRUCTION/UNSUP_INST if a type stands twice.
    /// Choice: OpenFlow 1.3 has no code for a duplicate (1.4 adds DUP_INST); a set with two is one
    /// that no table supports.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.at("instructions").clone();
        Self::new(r.get()?).map_err(|()| start.err(BadInstruction::UNSUP_INST))
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&*self.0);
    }
    /// The text behind `actions=`: `drop` if there is nothing.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Actions(&self.0), f)
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Wire::text(self, f)
    }
}
