//! The names that ovs-ofctl has for the types of actions.

use bofuss_oflib::action::ACTIONS;

/// The types of the actions that ovs-ofctl prints, in its order. Those from 1 to 14 are of
/// OpenFlow 1.1: see [`SETTERS`].
const ACTION_ORDER: &[u16] = &[
    0, 22, 25, 1, 2, 18, 17, 3, 4, 5, 6, 7, 8, 23, 9, 10, 24, 13, 14, 15, 16, 19, 20, 21,
];

/// The actions of OpenFlow 1.1 that set a field: the type there, ovs-ofctl's name, and the field.
/// An action for several protocols has the field of the first.
pub(super) const SETTERS: &[(u16, &str, &str)] = &[
    (1, "set_vlan_vid", "vlan_vid"),
    (2, "set_vlan_pcp", "vlan_pcp"),
    (3, "mod_dl_src", "eth_src"),
    (4, "mod_dl_dst", "eth_dst"),
    (5, "mod_nw_src", "ip_src"),
    (6, "mod_nw_dst", "ip_dst"),
    (7, "mod_nw_tos", "ip_dscp"),
    (8, "mod_nw_ecn", "nw_ecn"),
    (9, "mod_tp_src", "tcp_src"),
    (10, "mod_tp_dst", "tcp_dst"),
    (13, "set_mpls_label", "mpls_label"),
    (14, "set_mpls_tc", "mpls_tc"),
];

/// The names of the actions whose type is supported, separated by blanks.
pub(super) fn action_names(has: impl Fn(u16) -> bool) -> String {
    let names = ACTION_ORDER
        .iter()
        .filter(|number| has(**number))
        .map(|number| action_name(*number));
    match names.collect::<Vec<_>>().join(" ") {
        names if names.is_empty() => "none".into(),
        names => names,
    }
}

/// ovs-ofctl's name of an action of this type.
fn action_name(number: u16) -> &'static str {
    if number == 18 {
        return "strip_vlan";
    }
    if let Some(setter) = SETTERS.iter().find(|row| row.0 == number) {
        return setter.1;
    }
    let row = ACTIONS.iter().find(|row| row.number == number);
    row.map_or("?", |row| row.name)
}
