//! The scenarios of 1.3 over OpenFlow 1.5, and what differs.

use super::openflow12::play_in;
use super::openflow14::in_1_4;
use super::*;

/// The scenarios that differ in 1.5 by more than [`in_1_5`] says: in how many lines, and by what.
const DIFFERENT_IN_1_5: &[(&str, usize, &str)] = &[
    ("async.txt", 4, "reasons that 1.3 has not"),
    ("copy_field.txt", 15, "the action of the ONF"),
    ("flow_mods.txt", 1, "BAD_METER"),
    ("groups.txt", 1, "COPY_FIELD"),
    ("masked_set_field.txt", 10, "the action of Nicira"),
    ("meters.txt", 5, "METER_DELETE, BAD_METER, the action"),
    ("packet_in.txt", 1, "ACTION_SET"),
    ("requests.txt", 1, "reasons that 1.3 has not"),
    ("roles.txt", 2, "reasons that 1.3 has not, ROLE_STATUS"),
    (
        "table_features.txt",
        3,
        "DUP_TYPE, configurations that 1.3 has not",
    ),
];

#[test]
fn scenarios_of_1_3_play_in_1_5() {
    play_in(Version::V1_5, DIFFERENT_IN_1_5);
}

/// What an effect is for a connection that speaks 1.5.
pub(super) fn in_1_5(effect: &str) -> String {
    in_1_4(effect)
}

/// Whether an effect is what connections of 1.5 alone are told: of other controllers.
pub(super) fn is_told_in_1_5(effect: &str) -> bool {
    effect.split(' ').nth(1) == Some("controller")
}
