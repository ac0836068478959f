//! The match fields of the state tables.

use bofuss_oflib::Field;

use super::error::{self, EXPERIMENTER};
use super::opp;

/// The global state, the state, and the fields of Open Packet Processor.
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
