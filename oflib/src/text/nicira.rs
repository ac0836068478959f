//! Names and forms of Open vSwitch's that are extensions of Nicira's, so that errors say so.

use alloc::{format, string::String};

use super::word::Word;
use crate::field::METADATA;

/// The actions of ovs-ofctl that need Nicira's extensions in every version of OpenFlow.
pub const NICIRA_ACTIONS: &[&str] = &[
    "bundle",
    "bundle_load",
    "check_pkt_larger",
    "clone",
    "conjunction",
    "ct",
    "ct_clear",
    "decap",
    "dec_nsh_ttl",
    "delete_field",
    "encap",
    "exit",
    "fin_timeout",
    "learn",
    "multipath",
    "nat",
    "note",
    "pop",
    "pop_queue",
    "push",
    "resubmit",
    "sample",
];

/// The fields of ovs-ofctl that OpenFlow has in no version; those with `#` have a number there.
const NICIRA_FIELDS: &[&str] = &[
    "conj_id",
    "ct_ipv6_dst",
    "ct_ipv6_src",
    "ct_label",
    "ct_mark",
    "ct_nw_dst",
    "ct_nw_proto",
    "ct_nw_src",
    "ct_state",
    "ct_tp_dst",
    "ct_tp_src",
    "ct_zone",
    "dp_hash",
    "ip_frag",
    "mpls_ttl",
    "nd_options_type",
    "nd_reserved",
    "nsh_c#",
    "nsh_flags",
    "nsh_mdtype",
    "nsh_np",
    "nsh_si",
    "nsh_spi",
    "nsh_ttl",
    "nw_frag",
    "nw_ttl",
    "pkt_mark",
    "recirc_id",
    "reg#",
    "skb_priority",
    "tun_dst",
    "tun_erspan_dir",
    "tun_erspan_hwid",
    "tun_erspan_idx",
    "tun_erspan_ver",
    "tun_flags",
    "tun_gbp_flags",
    "tun_gbp_id",
    "tun_gtpu_flags",
    "tun_gtpu_msgtype",
    "tun_ipv6_dst",
    "tun_ipv6_src",
    "tun_metadata#",
    "tun_src",
    "xxreg#",
];

/// The words of an error about an action, a field or a form of these.
pub(crate) const NICIRA: &str = "one of Nicira's extensions, which OpenFlow does not have";

/// The prefixes of the names that Nicira's own fields have besides those of ovs-ofctl.
const NXM_PREFIXES: &[&str] = &["nxm_", "nxoxm_"];

/// Returns true if a name that no field has is one of Nicira's fields.
pub(crate) fn is_nicira_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let unnumbered = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_nxm = NXM_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_nxm
        || NICIRA_FIELDS
            .iter()
            .any(|known| match known.strip_suffix('#') {
                Some(stem) => unnumbered == stem && unnumbered != name,
                None => *known == name,
            })
}

/// Returns true if this is a form of a standard action that is Nicira's: one that cuts packets for
/// a port, sends them to the port in a field, or names the controllers that learn of a TTL.
pub(super) fn is_nicira_form(name: Word<'_>, argument: Word<'_>) -> bool {
    let is_cut_or_field = argument.text.contains("max_len=") || argument.text.ends_with(']');
    (name.is("output") && (is_cut_or_field || is_nicira_field(argument.text)))
        || (name.is("dec_ttl") && !argument.text.is_empty())
}

/// Returns what is wrong with a name that is no field, or none that can be written: `wrong`, unless
/// more is known.
pub(crate) fn no_field(name: &str, wrong: String) -> String {
    if is_nicira_field(name.trim()) {
        format!("'{name}' is {NICIRA}")
    } else if name.trim().eq_ignore_ascii_case(METADATA.name) {
        format!("{wrong}: only Nicira's extensions set it so; write_metadata does")
    } else {
        wrong
    }
}
