//! The operator's options: the dialect, who is notified, and whether to keep a defect of the
//! reference switches that a controller may depend on.

use alloc::{format, string::String};

use super::StateDialect;

/// The options of the state tables, as `bofuss run --extension` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StateOptions {
    /// The dialect of all tables. If none, that of each table is inferred from the messages about
    /// it.
    pub(super) dialect: Option<StateDialect>,
    /// Whether RESET_GLOBAL_STATE is refused with code 1, as the reference switches do.
    pub(super) refuses_reset: bool,
    /// Whether controllers of BEBA and Open Packet Processor are notified of each flow-mod that was
    /// carried out.
    pub(super) notifies_flows: bool,
    /// Whether controllers of BEBA and Open Packet Processor are notified of changed states without
    /// a subscription.
    pub(super) notifies_states: bool,
}

impl Default for StateOptions {
    fn default() -> Self {
        Self {
            dialect: None,
            refuses_reset: false,
            notifies_flows: true,
            notifies_states: false,
        }
    }
}

impl StateOptions {
    /// Sets an option. Errors: a sentence that says what would be right.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "dialect" => {
                let found = StateDialect::ALL.iter().find(|(known, _)| *known == value);
                let Some((_, dialect)) = found else {
                    let names = StateDialect::ALL.map(|(name, _)| name).join(", ");
                    return Err(format!("'{value}' is not one of {names}"));
                };
                self.dialect = Some(*dialect);
            }
            "refuse-reset" => self.refuses_reset = on_or_off(value)?,
            "flow-notifications" => self.notifies_flows = on_or_off(value)?,
            "state-notifications" => self.notifies_states = on_or_off(value)?,
            _ => {
                return Err(format!(
                    "'{name}' is not dialect, refuse-reset, flow-notifications or \
                     state-notifications"
                ));
            }
        }
        Ok(())
    }
}

fn on_or_off(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("'{value}' is not on or off")),
    }
}
