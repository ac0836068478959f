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
mod saved;
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
pub use saved::{SAVED, Saved};
pub use state_mod::OppMod;
pub use update::{MAX_OPERANDS, Update, UpdateFunction};

use bofuss_oflib::ext::{BOFUSS, ExtKind, ExtRow};

use crate::common::list::ValueList;
use crate::openstate::saved_flow::SavedFlow;
use crate::openstate::{N_ROWS, action_row, rows};

/// The number of header field extractors of a table.
pub const N_EXTRACTORS: usize = 8;
/// The outcome of a condition that is not set, or that has an operand without a value.
pub const CONDITION_NULL: u8 = 0xff;

/// The places of our own rows after those of the dialect: the saved state, and the message that
/// gives a flow its past again; and that of STATE_MOD.
const SAVED_STATES: usize = N_ROWS + 2;
const RESTORE_FLOW: usize = N_ROWS + 3;
const STATE_MOD: usize = 3;

/// Actions, messages and multiparts: those of OpenState, two actions, and the saved state.
pub static VALUES: [ExtRow; N_ROWS + 4] = {
    let of_openstate = rows::<OppMod>();
    let mut all = [action_row::<SetDataVar>(3, "set_data_var"); N_ROWS + 4];
    let mut i = 0;
    while i < N_ROWS {
        all[i] = of_openstate[i];
        i += 1;
    }
    all[N_ROWS + 1] = action_row::<WriteContext>(4, "write_context_to_field");
    all[SAVED_STATES] =
        ExtRow::typed::<ValueList<Saved>>(ExtKind::Multipart, BOFUSS, 19, "saved_states");
    all[RESTORE_FLOW] =
        ExtRow::typed::<SavedFlow>(ExtKind::Message, BOFUSS, 19, "restore_flow").that_changes();
    all
};
