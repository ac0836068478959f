//! Open Packet Processor: adds variables to flows and tables, conditions on them, and functions
//! that update them.
//!
//! The rows, the hook and the state tables are those of [`crate::openstate`], of which this is the
//! third dialect. This folder has what the dialect adds: [`Operand`]s, [`Condition`]s,
//! [`UpdateFunction`]s, and the messages and actions about them. See README.md.

mod action;
mod condition;
mod fields;
mod machine;
mod message;
mod operand;
mod registers;
mod update;

pub use action::{ContextSource, SetDataVar, WriteContext};
pub use condition::{Comparison, Condition};
pub(crate) use fields::PacketFields;
pub use message::OppMod;
pub use operand::{Operand, OperandKind};
pub use registers::Registers;
pub use update::{MAX_OPERANDS, Update, UpdateFunction};

use bofuss_oflib::Field;

use crate::openstate::EXPERIMENTER;

/// How many conditions a table has.
pub const N_CONDITIONS: usize = 8;
/// How many header field extractors a table has.
pub const N_EXTRACTORS: usize = 8;
/// How many variables each flow of a table has.
pub const N_FLOW_VARIABLES: usize = 6;
/// How many variables a table has.
pub const N_GLOBAL_VARIABLES: usize = 8;
/// The outcome of a condition that is not set, or that has an operand without a value.
pub const CONDITION_NULL: u8 = 0xff;

/// The variables of a flow.
pub type FlowVariables = [u32; N_FLOW_VARIABLES];

/// The number of the first condition's field.
const FIRST_CONDITION: u8 = 2;

/// A field for the outcome of a condition.
const fn condition(number: u8, name: &'static str) -> Field {
    Field::extension(EXPERIMENTER, FIRST_CONDITION + number, name, 8, false)
}

/// A field for something about a packet that is in no header: its time, length, a random number.
const fn fact(number: u8, name: &'static str, bits: u16) -> Field {
    Field {
        volatile: true,
        ..Field::extension(EXPERIMENTER, number, name, bits, false)
    }
}

/// The fields: outcomes of conditions, then what is in no header.
pub const FIELDS: [Field; N_CONDITIONS + 3] = [
    condition(0, "condition0"),
    condition(1, "condition1"),
    condition(2, "condition2"),
    condition(3, "condition3"),
    condition(4, "condition4"),
    condition(5, "condition5"),
    condition(6, "condition6"),
    condition(7, "condition7"),
    fact(10, "timestamp", 32),
    fact(11, "random", 16),
    fact(12, "pkt_len", 16),
];
