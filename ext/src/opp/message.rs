//! The commands that Open Packet Processor adds to STATE_MOD.

use alloc::vec::Vec;
use core::fmt;

use bofuss_oflib::wire::{Bytes, Reader, TextForm, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ErrorCode, ParseError};

use super::{Comparison, Condition, N_EXTRACTORS, Operand, OperandKind};
use crate::common::args::{Args, write_masked};
use crate::common::beba::N_CONDITIONS;
use crate::openstate::args::{take_fields, take_key, write_fields};
use crate::openstate::wire::check_key;
use crate::openstate::{check_length, error, table_id};

/// Bytes of a SET_FLOW_DATA_VAR before its key.
const FLOW_VARIABLE_BYTES: usize = 16;

/// A change of a table's registers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RegisterMod {
    /// Sets a header field extractor.
    HeaderExtractor {
        /// The number of the extractor.
        id: u8,
        /// The field's OXM header.
        field: u32,
    },
    /// Sets a condition.
    Condition {
        /// The number of the condition.
        id: u8,
        /// The condition.
        condition: Condition,
    },
    /// Changes bits of a variable of the table.
    GlobalVariable {
        /// The number of the variable.
        id: u8,
        /// The new value, where the mask has ones.
        value: u32,
        /// The bits that change.
        mask: u32,
    },
    /// Changes bits of a variable of a flow.
    FlowVariable {
        /// The number of the variable.
        id: u8,
        /// The new value, where the mask has ones.
        value: u32,
        /// The bits that change; all, if the flow has no entry.
        mask: u32,
        /// The flow's key in the update scope.
        key: Vec<u8>,
    },
}

/// Reads a number below `count`. Errors: `error` if it is not.
fn id(r: &mut Reader<'_>, count: usize, error: ErrorCode) -> Result<u8, DecodeError> {
    let at = r.at("id").clone();
    let id = r.get::<u8>()?;
    if usize::from(id) >= count {
        return Err(at.err(error));
    }
    Ok(id)
}

/// Reads the number of a variable. Errors: BAD_FLOW_DATA_VAR_ID or BAD_GLOBAL_DATA_VAR_ID.
pub(super) fn variable_id(r: &mut Reader<'_>, kind: OperandKind) -> Result<u8, DecodeError> {
    let at = r.at("id").clone();
    let variable = Operand { kind, id: r.get()? };
    variable.check(false).map_err(|error| at.err(error))?;
    Ok(variable.id)
}

impl RegisterMod {
    /// The number of the first command.
    pub(super) const FIRST_COMMAND: u8 = 7;
    /// The number of the last command.
    pub(super) const LAST_COMMAND: u8 = 10;
    /// The first words of these commands' texts.
    pub(super) const COMMANDS: [&str; 4] = [
        "set_header_extractor",
        "set_condition",
        "set_global_variable",
        "set_flow_variable",
    ];

    /// The error of this command for a table that is not enabled.
    pub(super) fn disabled(&self) -> ErrorCode {
        match self {
            Self::HeaderExtractor { .. } => error::BAD_HEADER_EXTRACTOR,
            Self::Condition { .. } | Self::GlobalVariable { .. } => error::BAD_CONDITION,
            Self::FlowVariable { .. } => error::SET_FLOW_STATE,
        }
    }

    /// The command's number on the wire.
    pub(super) fn command(&self) -> u8 {
        match self {
            Self::HeaderExtractor { .. } => Self::FIRST_COMMAND,
            Self::Condition { .. } => 8,
            Self::GlobalVariable { .. } => 9,
            Self::FlowVariable { .. } => Self::LAST_COMMAND,
        }
    }

    /// Reads what follows the number of a command: the table, and the change.
    ///
    /// Errors: BAD_EXP_LEN, BAD_TABLE_ID, then that of a wrong number, comparison or operand.
    pub(super) fn decode(command: u8, r: &mut Reader<'_>) -> Result<(u8, Self), DecodeError> {
        match command {
            7 => {
                check_length(r, 8)?;
                let table = table_id(r)?;
                let id = id(r, N_EXTRACTORS, error::BAD_EXTRACTOR_ID)?;
                r.take(2)?;
                let field = r.at("field").get()?;
                Ok((table, Self::HeaderExtractor { id, field }))
            }
            8 => {
                check_length(r, 8)?;
                let table = table_id(r)?;
                let id = id(r, N_CONDITIONS, error::BAD_CONDITION_ID)?;
                let condition = decode_condition(r)?;
                r.take(2)?;
                Ok((table, Self::Condition { id, condition }))
            }
            9 => {
                check_length(r, 12)?;
                let table = table_id(r)?;
                let id = variable_id(r, OperandKind::GlobalVariable)?;
                r.take(2)?;
                let value = r.at("value").get()?;
                let mask = r.at("mask").get()?;
                Ok((table, Self::GlobalVariable { id, value, mask }))
            }
            _ => {
                check_key(r, FLOW_VARIABLE_BYTES)?;
                let table = table_id(r)?;
                let id = variable_id(r, OperandKind::FlowVariable)?;
                r.take(6)?;
                let value = r.at("value").get()?;
                let mask = r.at("mask").get()?;
                let key = r.rest().into();
                let this = Self::FlowVariable {
                    id,
                    value,
                    mask,
                    key,
                };
                Ok((table, this))
            }
        }
    }

    /// Writes what [`RegisterMod::decode`] reads.
    pub(super) fn encode(&self, table: u8, w: &mut Writer<'_>) {
        w.put(&table);
        match self {
            Self::HeaderExtractor { id, field } => {
                w.put(id).pad(2).put(field);
            }
            Self::Condition { id, condition } => {
                let types = condition.first.kind.bits() << 6 | condition.second.kind.bits() << 4;
                w.put(id)
                    .put(&condition.comparison.code())
                    .put(&(types as u8));
                w.put(&condition.first.id).put(&condition.second.id).pad(2);
            }
            Self::GlobalVariable { id, value, mask } => {
                w.put(id).pad(2).put(value).put(mask);
            }
            Self::FlowVariable {
                id,
                value,
                mask,
                key,
            } => {
                w.put(id).pad(2).put(&(key.len() as u32));
                w.put(value).put(mask).raw(key);
            }
        }
    }

    /// Writes the text form, which [`RegisterMod::parse`] reads.
    pub(super) fn text(&self, table: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeaderExtractor { id, field } => {
                write!(f, "set_header_extractor,table={table},id={id},fields=")?;
                write_fields(f, &[*field])
            }
            Self::Condition { id, condition } => {
                write!(
                    f,
                    "set_condition,table={table},id={id},condition={condition}"
                )
            }
            Self::GlobalVariable { id, value, mask } => {
                write!(f, "set_global_variable,table={table},id={id},")?;
                write_masked(f, "value", *value, *mask)
            }
            Self::FlowVariable {
                id,
                value,
                mask,
                key,
            } => {
                write!(f, "set_flow_variable,table={table},id={id},key=")?;
                Bytes(key.clone()).text(f)?;
                f.write_str(",")?;
                write_masked(f, "value", *value, *mask)
            }
        }
    }

    /// Reads the arguments of a command's text; `None` if it is no command of this dialect. Errors:
    /// what is wrong, in words.
    pub(super) fn parse(
        command: &str,
        args: &mut Args<'_>,
        catalogue: &Catalogue,
    ) -> Result<Option<Self>, ParseError> {
        let this = match command {
            "set_header_extractor" => Self::HeaderExtractor {
                id: args.number("id")?,
                field: match take_fields(args, catalogue)?[..] {
                    [field] => field,
                    _ => return Err("it needs fields=NAME, of one field".into()),
                },
            },
            "set_condition" => Self::Condition {
                id: args.number("id")?,
                condition: Condition::parse(args.take("condition").unwrap_or(""))?,
            },
            "set_global_variable" => {
                let (value, mask) = args.masked("value")?;
                let id = args.number("id")?;
                Self::GlobalVariable { id, value, mask }
            }
            "set_flow_variable" => {
                let (value, mask) = args.masked("value")?;
                Self::FlowVariable {
                    id: args.number("id")?,
                    value,
                    mask,
                    key: take_key(args, catalogue)?,
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(this))
    }
}

/// Reads the comparison, the types of both operands and their numbers. Errors: BAD_CONDITION,
/// BAD_OPERAND_TYPE, or that of an operand's number.
fn decode_condition(r: &mut Reader<'_>) -> Result<Condition, DecodeError> {
    let at = r.at("condition").clone();
    let comparison = Comparison::of_code(r.get()?);
    let types = r.at("operand_types").get::<u8>()?;
    let at_operands = r.at("operands").clone();
    let first = Operand {
        kind: OperandKind::of_bits(u16::from(types >> 6)),
        id: r.get()?,
    };
    let second = Operand {
        kind: OperandKind::of_bits(u16::from(types >> 4)),
        id: r.get()?,
    };
    let comparison = comparison.ok_or_else(|| at.err(error::BAD_CONDITION))?;
    for operand in [first, second] {
        operand
            .check(false)
            .map_err(|error| at_operands.err(error))?;
    }
    Ok(Condition {
        comparison,
        first,
        second,
    })
}
