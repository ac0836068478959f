//! Open Packet Processor: adds variables to flows and tables, conditions on them, and functions
//! that update them.
//!
//! It is the third dialect of the state tables in [`crate::openstate`], which can do without it.
//! Its hook contains OpenState's and has the same name. This folder has what the dialect adds:
//! [`Operand`]s, [`Condition`]s, [`UpdateFunction`]s, and the messages and actions about them. See
//! README.md.

mod action;
mod condition;
mod fields;
mod hook;
mod message;
mod operand;
mod registers;
mod state_mod;
mod tables;
mod update;

pub use crate::common::beba::FIELDS;
pub use action::{ContextSource, SetDataVar, WriteContext};
pub use condition::{Comparison, Condition};
pub use hook::hook;
pub use message::RegisterMod;
pub use operand::{Operand, OperandKind};
pub use registers::Registers;
pub use state_mod::OppMod;
pub use update::{MAX_OPERANDS, Update, UpdateFunction};

use bofuss_oflib::ext::ExtRow;

use crate::openstate::{N_ROWS, action_row, rows};

/// The number of header field extractors of a table.
pub const N_EXTRACTORS: usize = 8;
/// The outcome of a condition that is not set, or that has an operand without a value.
pub const CONDITION_NULL: u8 = 0xff;

/// Actions, messages and multiparts: those of OpenState, and two actions.
pub static VALUES: [ExtRow; N_ROWS + 2] = {
    let of_openstate = rows::<OppMod>();
    let mut all = [action_row::<SetDataVar>(3, "set_data_var"); N_ROWS + 2];
    let mut i = 0;
    while i < N_ROWS {
        all[i] = of_openstate[i];
        i += 1;
    }
    all[N_ROWS + 1] = action_row::<WriteContext>(4, "write_context_to_field");
    all
};
