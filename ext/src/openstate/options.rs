//! The operator's options: the dialect, who is notified, and whether to keep a defect of the
//! reference switches that a controller may depend on.

use bofuss_datapath::OptionError;

use super::StateDialect;
use crate::common::words::choice;

/// The names of the options.
const NAMES: [&str; 4] = [
    "dialect",
    "refuse-reset",
    "flow-notifications",
    "state-notifications",
];
const ON_OR_OFF: [(&str, bool); 2] = [("on", true), ("off", false)];

/// The options of the state tables, as `bofuss run --extension` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StateOptions {
    /// The dialect of all tables. If none, that of each table is inferred from the messages about
    /// it.
    pub(super) dialect: Option<StateDialect>,
    /// True if RESET_GLOBAL_STATE is refused with code 1, as the reference switches do.
    pub(super) refuses_reset: bool,
    /// True if controllers of BEBA and Open Packet Processor are notified of each flow-mod that was
    /// carried out.
    pub(super) notifies_flows: bool,
    /// True if controllers of BEBA and Open Packet Processor are notified of changed states without
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
    /// Sets an option.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match name {
            "dialect" => self.dialect = Some(choice(value, &StateDialect::ALL)?),
            "refuse-reset" => self.refuses_reset = choice(value, &ON_OR_OFF)?,
            "flow-notifications" => self.notifies_flows = choice(value, &ON_OR_OFF)?,
            "state-notifications" => self.notifies_states = choice(value, &ON_OR_OFF)?,
            _ => {
                return Err(OptionError::UnknownName {
                    name: name.into(),
                    known: &NAMES,
                });
            }
        }
        Ok(())
    }
}
