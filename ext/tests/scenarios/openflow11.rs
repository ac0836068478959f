//! The scenarios of 1.3 over OpenFlow 1.1, and what differs.

use super::openflow12::{in_1_2, play_in};
use super::*;

/// The scenarios that differ in 1.1 by more than [`in_1_1`] says: in how many lines, and what they
/// use that 1.1 does not have.
const DIFFERENT_IN_1_1: &[(&str, usize, &str)] = &[
    ("actions.txt", 2, "push_pbb"),
    ("arp_path.txt", 3, "meters"),
    ("async.txt", 16, "SET_ASYNC"),
    (
        "auxiliary.txt",
        12,
        "auxiliary connections, PORT_DESC, roles",
    ),
    ("copy_field.txt", 32, "copy_field"),
    (
        "d10_an_identical_add_keeps_the_counters.txt",
        1,
        "an add begins at zero",
    ),
    ("d11_no_packet_leaves_with_ttl_0.txt", 2, "SET_ASYNC"),
    ("d13_port_status_has_a_mask_of_its_own.txt", 1, "SET_ASYNC"),
    (
        "d14_a_slave_gets_the_packet_ins_that_it_asked_for.txt",
        2,
        "SET_ASYNC, roles",
    ),
    ("d15_no_packet_in_is_honoured.txt", 1, "table-miss entries"),
    ("d6_one_meter_is_asked_for_of_three.txt", 5, "meters"),
    ("flow_mod_text.txt", 11, "flags of entries"),
    (
        "flow_mods.txt",
        3,
        "an add begins at zero, a modify adds, meters",
    ),
    ("flow_state.txt", 5, "fields of extensions"),
    ("fragments.txt", 5, "fields of IPv6, meters"),
    ("generations.txt", 17, "roles"),
    ("groups.txt", 2, "an add begins at zero, GROUP_FEATURES"),
    ("hooks.txt", 2, "errors of extensions"),
    ("masked_set_field.txt", 22, "set_field with masks"),
    ("meters.txt", 95, "meters"),
    ("openstate.txt", 6, "fields of extensions"),
    ("packet_in.txt", 3, "table-miss entries, SET_ASYNC"),
    ("packet_registers.txt", 22, "packet registers"),
    ("profile.txt", 8, "TABLE_FEATURES"),
    ("profile_masks.txt", 1, "ipv6_dst"),
    (
        "queues.txt",
        9,
        "properties of queues, queues of all ports, roles",
    ),
    ("reconfigure.txt", 5, "TABLE_FEATURES"),
    (
        "requests.txt",
        6,
        "SET_ASYNC, TABLE_FEATURES, PORT_DESC, roles",
    ),
    ("roles.txt", 35, "roles"),
    ("table_features.txt", 58, "TABLE_FEATURES"),
];

#[test]
fn scenarios_of_1_3_play_in_1_1() {
    play_in(Version::V1_1, DIFFERENT_IN_1_1);
}

/// The errors that came with 1.2, and what stands for them.
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

/// What an effect is for a connection that speaks 1.1: as for one of 1.2, but for packets whose TTL
/// is invalid, which have no reason of their own, and for errors that it does not have.
pub(super) fn in_1_1(effect: &str) -> String {
    let mut effect = in_1_2(effect).replace("reason=INVALID_TTL", "reason=ACTION");
    for (newer, here) in ERRORS {
        effect = effect.replace(newer, here);
    }
    effect
}
