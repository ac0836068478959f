//! State tables of OpenState and BEBA: each flow has a state, which its packets read and change.
//!
//! This file has the rows of the wire format and joins the parts: [`extractor`] makes keys,
//! [`table`] keeps states, [`machine`] does what messages and actions say. See README.md.

pub(crate) mod action;
mod ahead;
pub(crate) mod args;
mod asked;
pub(crate) mod commands;
pub mod dialect;
pub mod drawing;
pub(crate) mod explain;
pub mod extractor;
mod field_source;
mod flow_key;
mod flow_states;
pub mod graph;
mod header_key;
pub(crate) mod hook;
pub mod machine;
pub(crate) mod metrics;
mod notification;
mod options;
mod report;
pub(crate) mod saved_flow;
pub(crate) mod state_mod;
pub mod stateful;
mod stats;
pub mod table;
mod timers;
mod trace_text;
pub(crate) mod wire;

pub use crate::common::beba as error;
pub use crate::common::beba::{EXPERIMENTER, FlowVariables, N_FLOW_VARIABLES, N_GLOBAL_VARIABLES};
pub use action::{IncState, SetGlobalState, SetState};
pub use asked::AskedStates;
pub use dialect::{Dialects, StateDialect};
pub use hook::hook;
pub use notification::{FlowNotification, StateChanged};
pub use state_mod::{ExtractorLayout, Scope, StateMod};
pub use stats::{GlobalStats, RecordForm, ShortStats, StateRecord, StateRequest, StateStats};
pub use wire::{ALL_TABLES, N_TABLES};
pub(crate) use wire::{check_length, table_id};

use bofuss_oflib::Field;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{Arg, BOFUSS, ExtKind, ExtRow, TypedBody};

use crate::common::list::{Listed, ValueList};

/// An action's row.
pub(crate) const fn action_row<T: TypedBody>(ty: u32, name: &'static str) -> ExtRow {
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
/// The index in [`VALUES`] of our own message that subscribes to this notification or unsubscribes.
const NOTIFY_STATES: usize = 6;

/// The arguments of the verbs that ask for states.
const WHICH: &str = "[table=N][,state=N][,match={MATCH}]";

/// The match fields.
pub static FIELDS: [Field; 2] = [error::GLOBAL_STATE, error::STATE];

/// The number of rows of this extension.
pub(crate) const N_ROWS: usize = 13;

/// The argument of the message that subscribes to notifications: 1 if they are wanted, 0 if not.
static WANTED: [Arg; 1] = [Arg::new("wanted", 1)];

/// The rows of an extension whose STATE_MODs have this type.
pub(crate) const fn rows<M: TypedBody + Listed>() -> [ExtRow; N_ROWS] {
    [
        action_row::<SetState>(0, "set_state"),
        action_row::<SetGlobalState>(1, "set_global_state"),
        action_row::<IncState>(2, "inc_state"),
        message::<M>(0, "state_mod")
            .that_changes()
            .with_error_names(error::ERRORS)
            .with_usage("COMMAND[,NAME=VALUE]...", "changes state tables"),
        message::<FlowNotification>(3, "flow_notification"),
        message::<StateChanged>(2, "state_changed").for_subscribers(),
        ExtRow::new(ExtKind::Message, BOFUSS, 16, "notify_states").with_args(&WANTED),
        multipart::<StateStats>(0, "state_stats").with_usage(WHICH, "prints states"),
        multipart::<GlobalStats>(1, "global_state").with_usage("", "prints the global state"),
        multipart::<StateStats>(2, "delete_states")
            .that_changes()
            .with_usage(WHICH, "prints states and deletes them"),
        multipart::<ShortStats>(3, "short_state_stats"),
        multipart::<ShortStats>(4, "delete_short_states").that_changes(),
        ExtRow::typed::<ValueList<M>>(ExtKind::Multipart, BOFUSS, 16, "state_tables").with_usage(
            "",
            "prints tables, scopes and states as state_mod takes them",
        ),
    ]
}

/// Actions, messages and multiparts.
pub static VALUES: [ExtRow; N_ROWS] = rows::<StateMod>();
