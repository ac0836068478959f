//! The scenarios of 1.3 over OpenFlow 1.4, and what differs.

use super::openflow12::play_in;
use super::*;

/// The scenarios that differ in 1.4 by more than [`in_1_4`] says: in how many lines, and by what.
const DIFFERENT_IN_1_4: &[(&str, usize, &str)] = &[
    ("async.txt", 4, "reasons that 1.3 has not"),
    ("meters.txt", 1, "METER_DELETE"),
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
fn scenarios_of_1_3_play_in_1_4() {
    play_in(Version::V1_4, DIFFERENT_IN_1_4);
}

/// What an effect is for a connection that speaks 1.4: errors of properties have a type of their
/// own, and the features of a table have the configurations that it can have.
pub(super) fn in_1_4(effect: &str) -> String {
    let mut effect = effect.to_string();
    if let Some((table, rest)) = effect.split_once(" config=")
        && let Some((_, abilities)) = rest.split_once(" metadata=")
    {
        effect = format!("{table} config=12 metadata={abilities}");
    }
    effect
        .replace(
            "TABLE_FEATURES_FAILED/BAD_ARGUMENT",
            "BAD_PROPERTY/BAD_VALUE",
        )
        .replace("TABLE_FEATURES_FAILED/BAD_TYPE", "BAD_PROPERTY/BAD_TYPE")
        .replace("TABLE_FEATURES_FAILED/BAD_LEN", "BAD_PROPERTY/BAD_LEN")
}
