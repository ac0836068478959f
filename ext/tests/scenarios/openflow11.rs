//! The effects of scenarios as connections of OpenFlow 1.1 see them.

use super::openflow12::in_1_2;

/// The errors that came with 1.2, and what 1.1 has instead.
const ERRORS: &[(&str, &str)] = &[
    ("BAD_REQUEST/BAD_PACKET", "BAD_REQUEST/BAD_LEN"),
    ("BAD_REQUEST/BAD_PORT", "BAD_REQUEST/EPERM"),
    ("BAD_MATCH/BAD_MASK", "BAD_MATCH/BAD_WILDCARDS"),
    ("FLOW_MOD_FAILED/BAD_FLAGS", "FLOW_MOD_FAILED/UNKNOWN"),
    ("PORT_MOD_FAILED/EPERM", "BAD_REQUEST/EPERM"),
    ("MOD_FAILED/CHAINED_GROUP", "MOD_FAILED/INVALID_GROUP"),
    (
        "GROUP_MOD_FAILED/BAD_TYPE",
        "GROUP_MOD_FAILED/INVALID_GROUP",
    ),
    ("MOD_FAILED/BAD_COMMAND", "MOD_FAILED/INVALID_GROUP"),
    ("MOD_FAILED/BAD_BUCKET", "MOD_FAILED/INVALID_GROUP"),
    ("MOD_FAILED/BAD_WATCH", "MOD_FAILED/WATCH_UNSUPPORTED"),
];

/// An effect as a connection of 1.1 sees it: as one of 1.2 does, except that packet-ins for an
/// invalid TTL have no reason of their own, and that errors which came with 1.2 are replaced.
pub(super) fn in_1_1(effect: &str) -> String {
    let mut effect = in_1_2(effect).replace("reason=INVALID_TTL", "reason=ACTION");
    for (newer, here) in ERRORS {
        effect = effect.replace(newer, here);
    }
    effect
}
