//! Explains for the log why the state tables refused a message.

use alloc::{format, string::String};
use core::fmt;

use bofuss_oflib::{ErrorCode, Message};

use super::action::{Infer, evidence_in};
use super::args::write_fields;
use super::dialect::StateDialect;
use super::machine::Machine;
use super::{StateMod, error};

/// OXM headers, as the names of fields.
struct Fields<'a>(&'a [u32]);

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_fields(f, self.0)
    }
}

/// Explains why a message was refused with this error: because of what the table has already.
/// `None` if the error says it all.
pub(crate) fn explain(
    machine: &Machine,
    message: &Message,
    error: ErrorCode,
    infer: Infer,
) -> Option<String> {
    if let Message::FlowMod(flow_mod) = message {
        let mut all = evidence_in(flow_mod, infer);
        let refused = all.find(|one| !machine.allows(one.table, one.known))?;
        return present(machine, refused.table).filter(|_| refused.error == error);
    }
    let Message::Experimenter(value) = message else {
        return None;
    };
    of_state_mod(machine, value.body::<StateMod>()?.table()?, error)
}

/// As [`explain`], for a STATE_MOD about a table.
pub(crate) fn of_state_mod(machine: &Machine, table: u8, error: ErrorCode) -> Option<String> {
    let is_of_table = [error::BAD_EXP_LEN, error::BAD_COMMAND].contains(&error);
    present(machine, table).filter(|_| is_of_table)
}

/// Says what a table has, and how other scopes can replace it; `None` if it has no scope.
fn present(machine: &Machine, number: u8) -> Option<String> {
    let table = machine.table(number)?;
    let (_, scope) = table.scopes().next()?;
    let dialect = table.dialect();
    let mut names = StateDialect::ALL.into_iter();
    let (name, _) = names.find(|(_, one)| *one == dialect)?;
    let (fields, bytes) = (Fields(scope.headers()), scope.bytes());
    let flows = table.states.len();
    Some(format!(
        "table {number} has the dialect {name}, keys of {fields} ({bytes} bytes), and states of \
         {flows} flows; other scopes replace all this after stateful=0 and stateful=1, or after \
         stateful=1 alone if no flow has a state"
    ))
}
