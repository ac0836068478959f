//! State tables of OpenState and BEBA: each flow has a state, which its packets read and change.
//!
//! This file has the rows of the wire format and joins the parts: [`extractor`] makes keys,
//! [`table`] keeps states, [`machine`] does what messages and actions say. See README.md.

mod action;
mod ahead;
pub(crate) mod args;
mod asked;
mod commands;
pub mod dialect;
pub mod drawing;
pub mod error;
pub mod extractor;
mod flow_key;
pub mod graph;
mod header_key;
mod hook;
pub mod machine;
mod metrics;
mod notification;
mod options;
mod report;
pub(crate) mod state_mod;
pub mod stateful;
mod stats;
pub mod table;
mod timers;
mod trace_text;

pub use action::{IncState, SetGlobalState, SetState};
pub use asked::AskedStates;
pub use dialect::{Dialects, StateDialect};
pub use hook::hook;
pub use notification::{FlowNotification, StateChanged};
pub use state_mod::{ExtractorLayout, Scope, StateMod};
pub use stats::{GlobalStats, RecordForm, ShortStats, StateRecord, StateRequest, StateStats};

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{Arg, BOFUSS, ExtKind, ExtRow, TypedBody, ValueList};
use bofuss_oflib::wire::Reader;
use bofuss_oflib::{DecodeError, Field};

use crate::opp;

/// The experimenter of OpenState, BEBA and Open Packet Processor.
pub const EXPERIMENTER: u32 = 0xbeba_beba;
/// How many tables can have states, as in the reference switches: those with numbers below this.
pub const N_TABLES: usize = 64;
/// The number that stands for all tables in a request.
pub const ALL_TABLES: u8 = 0xff;

/// The fields of all dialects.
pub static FIELDS: [Field; 2 + opp::FIELDS.len()] = {
    let mut all = [GLOBAL_STATE; 2 + opp::FIELDS.len()];
    all[1] = STATE;
    let mut i = 0;
    while i < opp::FIELDS.len() {
        all[2 + i] = opp::FIELDS[i];
        i += 1;
    }
    all
};

/// The global state of the switch.
const GLOBAL_STATE: Field = Field {
    bad_wildcards: Some(error::BAD_MATCH_WILDCARD),
    ..Field::register(EXPERIMENTER, 0, "global_state", 32, 0)
};

/// The state of the packet's flow in a stateful table.
const STATE: Field = Field {
    bad_wildcards: Some(error::BAD_MATCH_WILDCARD),
    ..Field::extension(EXPERIMENTER, 1, "state", 32, true)
};

/// An action's row.
const fn action<T: TypedBody>(ty: u32, name: &'static str) -> ExtRow {
    let row = ExtRow::typed::<T>(ExtKind::Action, EXPERIMENTER, ty, name);
    row.with_errors(error::BAD_EXP_ACTION, error::BAD_EXP_LEN)
}

/// A message's row.
const fn message<T: TypedBody>(ty: u32, name: &'static str) -> ExtRow {
    let row = ExtRow::typed::<T>(ExtKind::Message, EXPERIMENTER, ty, name);
    row.with_errors(error::BAD_EXP_MESSAGE, error::BAD_EXP_LEN)
}

/// A multipart's row.
const fn multipart<T: TypedBody>(ty: u32, name: &'static str) -> ExtRow {
    let row = ExtRow::typed::<T>(ExtKind::Multipart, EXPERIMENTER, ty, name);
    row.with_errors(BadRequest::BAD_EXPERIMENTER, error::BAD_EXP_LEN)
}

/// The row of the notification that a flow-mod was carried out.
const FLOW_NOTIFICATION: &ExtRow = &VALUES[4];

/// The row of the notification that a flow's state has changed.
const STATE_CHANGED: &ExtRow = &VALUES[5];
/// The row of our own message that subscribes to these notifications, or unsubscribes.
const NOTIFY_STATES: usize = 6;

/// The arguments of the verbs that ask for states.
const WHICH: &str = "[table=N][,state=N][,match={MATCH}]";

/// Actions, messages and multiparts.
pub static VALUES: [ExtRow; 15] = [
    action::<SetState>(0, "set_state"),
    action::<SetGlobalState>(1, "set_global_state"),
    action::<IncState>(2, "inc_state"),
    message::<StateMod>(0, "state_mod")
        .that_changes()
        .with_error_names(error::ERRORS)
        .with_usage("COMMAND[,NAME=VALUE]...", "changes state tables"),
    message::<FlowNotification>(3, "flow_notification"),
    message::<StateChanged>(2, "state_changed").for_subscribers(),
    ExtRow::new(ExtKind::Message, BOFUSS, 16, "notify_states").with_args(&[Arg::new("wanted", 1)]),
    multipart::<StateStats>(0, "state_stats").with_usage(WHICH, "prints states"),
    multipart::<GlobalStats>(1, "global_state").with_usage("", "prints the global state"),
    multipart::<StateStats>(2, "delete_states")
        .that_changes()
        .with_usage(WHICH, "prints states and deletes them"),
    multipart::<ShortStats>(3, "short_state_stats"),
    multipart::<ShortStats>(4, "delete_short_states").that_changes(),
    ExtRow::typed::<ValueList<StateMod>>(ExtKind::Multipart, BOFUSS, 16, "state_tables")
        .with_usage(
            "",
            "prints tables, scopes and states as state_mod takes them",
        ),
    action::<opp::SetDataVar>(3, "set_data_var"),
    action::<opp::WriteContext>(4, "write_context_to_field"),
];

/// Checks how many bytes are left. Errors: BAD_EXP_LEN if it is another number.
pub(crate) fn check_length(r: &Reader<'_>, bytes: usize) -> Result<(), DecodeError> {
    if r.remaining() != bytes {
        return Err(r.err(error::BAD_EXP_LEN));
    }
    Ok(())
}

/// Reads a table's number. Errors: BAD_TABLE_ID.
pub(crate) fn table_id(r: &mut Reader<'_>) -> Result<u8, DecodeError> {
    let at = r.at("table_id").clone();
    let table = r.get::<u8>()?;
    if usize::from(table) >= N_TABLES {
        return Err(at.err(error::BAD_TABLE_ID));
    }
    Ok(table)
}
