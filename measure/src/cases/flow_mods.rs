//! The flow-mods of rules of single flows, and what it says of a switch if one fails.

use std::ops::Range;

use bofuss_oflib::Message;
use bofuss_oflib::message::FlowModCommand;

use crate::cases::point::{CaseVerdict, PointOutcome};
use crate::cases::workbench::Workbench;
use crate::error::{ControlError, Result};

/// The flow-mods of some flows.
pub fn flow_mods(
    bench: &mut Workbench<'_>,
    flows: Range<u32>,
    actions: &str,
    command: FlowModCommand,
) -> Result<Vec<Message>> {
    let mut messages = Vec::with_capacity(flows.len());
    for flow in flows {
        let mut text = bench.flow_rule(flow, actions);
        if command == FlowModCommand::DELETE_STRICT {
            text.truncate(text.find(",actions=").unwrap_or(text.len()));
            // Without a table, all tables are affected.
            if !bench.control()?.version().deletes_from_all_tables() {
                text.insert_str(0, "table=0,");
            }
        }
        messages.push(bench.control()?.flow(&text, command)?);
    }
    Ok(messages)
}

/// The outcome of changes that the switch may refuse, or not answer in time.
pub fn judged(timed: Result<PointOutcome, ControlError>) -> Result<PointOutcome> {
    match timed {
        Err(error @ (ControlError::Refused(_) | ControlError::Unsupported(_))) => Ok(
            PointOutcome::of(CaseVerdict::Unsupported, error.to_string()),
        ),
        Err(error @ ControlError::Hangs) => {
            Ok(PointOutcome::of(CaseVerdict::Hangs, error.to_string()))
        }
        other => Ok(other?),
    }
}
