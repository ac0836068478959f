//! Prints flow entries as ovs-ofctl does.

use bofuss_oflib::action::{Output, SetField};
use bofuss_oflib::field::{self, Field, Style, VID_PRESENT};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::FlowModFlags;
use bofuss_oflib::message::flow_mod::DEFAULT_PRIORITY;
use bofuss_oflib::message::multipart::flow::FlowEntry;
use bofuss_oflib::text::KEYWORDS;
use bofuss_oflib::{Action, FieldMatch, Instruction, Match, PortNo, Version};

use super::wording::{PortNames, Wording};

/// ovs-ofctl's order of fields, each with its name there if this differs from ours.
pub(super) const ORDER: &[(&Field, &str)] = &[
    (field::TUNNEL_ID, ""),
    (field::METADATA, ""),
    (field::IN_PORT, ""),
    (field::IN_PHY_PORT, ""),
    (field::VLAN_VID, ""),
    (field::VLAN_PCP, ""),
    (field::ETH_SRC, ""),
    (field::ETH_DST, ""),
    (field::ETH_TYPE, ""),
    (field::IPV6_SRC, ""),
    (field::IPV6_DST, ""),
    (field::IPV6_FLABEL, ""),
    (field::ARP_SPA, ""),
    (field::ARP_TPA, ""),
    (field::IPV4_SRC, ""),
    (field::IPV4_DST, ""),
    (field::IP_PROTO, ""),
    (field::ARP_OP, ""),
    (field::ARP_SHA, ""),
    (field::ARP_THA, ""),
    (field::IP_DSCP, "nw_tos"),
    (field::IP_ECN, ""),
    (field::MPLS_LABEL, ""),
    (field::MPLS_TC, ""),
    (field::MPLS_BOS, ""),
    (field::ICMPV4_TYPE, "icmp_type"),
    (field::ICMPV4_CODE, "icmp_code"),
    (field::ICMPV6_TYPE, "icmp_type"),
    (field::ICMPV6_CODE, "icmp_code"),
    (field::IPV6_ND_TARGET, ""),
    (field::IPV6_ND_SLL, ""),
    (field::IPV6_ND_TLL, ""),
    (field::TCP_SRC, "tp_src"),
    (field::TCP_DST, "tp_dst"),
    (field::UDP_SRC, "tp_src"),
    (field::UDP_DST, "tp_dst"),
    (field::SCTP_SRC, "tp_src"),
    (field::SCTP_DST, "tp_dst"),
    (field::TCP_FLAGS, ""),
];
/// The fields that set_field calls by OpenFlow's name, and not by the name that ovs-ofctl prints in
/// a match.
const SET_NAMES: &[(&Field, &str)] = &[
    (field::ETH_SRC, "eth_src"),
    (field::ETH_DST, "eth_dst"),
    (field::ETH_TYPE, "eth_type"),
    (field::VLAN_PCP, "vlan_pcp"),
    (field::IPV4_SRC, "ip_src"),
    (field::IPV4_DST, "ip_dst"),
];

/// A duration in seconds, with as many decimals as it needs.
pub(crate) fn duration(seconds: u32, nanoseconds: u32) -> String {
    let digits = format!("{nanoseconds:09}");
    match digits.trim_end_matches('0') {
        "" => format!("{seconds}s"),
        digits => format!("{seconds}.{digits}s"),
    }
}

/// The line of an entry.
pub(crate) fn entry(wording: Wording<'_>, e: &FlowEntry) -> String {
    let mut text = format!(
        " cookie={:#x}, duration={}, table={}, ",
        e.cookie,
        duration(e.duration_sec, e.duration_nsec),
        e.table_id
    );
    for (name, count) in [("n_packets", e.packet_count), ("n_bytes", e.byte_count)] {
        if count != u64::MAX {
            text += &format!("{name}={count}, ");
        }
    }
    for (name, seconds) in [
        ("idle_timeout", e.idle_timeout),
        ("hard_timeout", e.hard_timeout),
    ] {
        if seconds != 0 {
            text += &format!("{name}={seconds}, ");
        }
    }
    for (flag, name) in FlowModFlags::NAMES
        .iter()
        .filter(|(flag, _)| e.flags.has(*flag))
    {
        text += match *flag {
            FlowModFlags::NO_PKT_COUNTS => "no_packet_counts ",
            FlowModFlags::NO_BYT_COUNTS => "no_byte_counts ",
            _ => name,
        };
        if !text.ends_with(' ') {
            text.push(' ');
        }
    }
    if e.importance != 0 {
        text += &format!("importance={}, ", e.importance);
    }
    if let Some(idle) = e.idle_time {
        text += &format!("idle_age={}, ", idle.sec);
    }
    let fields = fields(wording, &e.fields, e.priority);
    let blank = if fields.is_empty() { "" } else { " " };
    text + &fields + blank + "actions=" + &instructions(wording, &e.instructions)
}

/// The actions of OpenFlow 1.0 and 1.1 that set a field, and by how many bits the value is shifted
/// to the left: these versions have DSCP as a ToS byte.
const SETTERS: &[(&Field, &str, u32)] = &[
    (field::VLAN_VID, "vlan_vid", 0),
    (field::VLAN_PCP, "vlan_pcp", 0),
    (field::ETH_SRC, "mod_dl_src", 0),
    (field::ETH_DST, "mod_dl_dst", 0),
    (field::IPV4_SRC, "mod_nw_src", 0),
    (field::IPV4_DST, "mod_nw_dst", 0),
    (field::IP_DSCP, "mod_nw_tos", 2),
    (field::IP_ECN, "mod_nw_ecn", 0),
    (field::TCP_SRC, "mod_tp_src", 0),
    (field::TCP_DST, "mod_tp_dst", 0),
    (field::UDP_SRC, "mod_tp_src", 0),
    (field::UDP_DST, "mod_tp_dst", 0),
    (field::SCTP_SRC, "mod_tp_src", 0),
    (field::SCTP_DST, "mod_tp_dst", 0),
];

/// The first word of an action that sets a VLAN id or priority. In OpenFlow 1.0 it is `mod`, which
/// adds a tag to a packet without one; in 1.1 it is `set`, which does not.
fn tag_verb(version: Version) -> &'static str {
    if version == Version::V1_0 {
        "mod"
    } else {
        "set"
    }
}

/// A set-field in the wording of OpenFlow 1.0 or 1.1.
fn setter(version: Version, set: &SetField) -> String {
    let id = set.0.field.id;
    let text = set.0.to_string();
    let value = text.split_once('=').map_or("", |(_, value)| value);
    let number = set.0.number();
    if id == field::MPLS_LABEL.id || id == field::MPLS_TC.id {
        return format!("set_{}({number})", set.0.field.name);
    }
    let row = SETTERS.iter().find(|row| row.0.id == id);
    match row {
        None => Action::SetField(set.clone()).to_string(),
        Some((field, name, _)) if field.id == field::VLAN_VID.id => {
            let verb = tag_verb(version);
            format!("{verb}_{name}:{}", number as u16 & !VID_PRESENT)
        }
        Some((field, name, _)) if field.id == field::VLAN_PCP.id => {
            format!("{}_{name}:{value}", tag_verb(version))
        }
        Some((_, name, 0)) => format!("{name}:{value}"),
        Some((_, name, shift)) => format!("{name}:{}", number << shift),
    }
}

/// Returns true if a word repeats the last one. The model has a set-field for the ports of each
/// protocol, where OpenFlow 1.0 and 1.1 have one action.
fn is_twin(words: &[String], word: &String) -> bool {
    word.starts_with("mod_tp") && words.last() == Some(word)
}

/// Actions in the wording of OpenFlow 1.0. One of its actions may be several of the model's: a push
/// before the set-field of a tag, a set-queue before an output, a set-field of a port for each
/// protocol.
fn old_actions(list: &[Action], ports: &PortNames) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut queue = 0;
    for action in list {
        let word = match action {
            Action::PushVlan(_) => continue,
            action if action.is_tag_vlan() => continue,
            Action::SetQueue(id) => {
                queue = id.0;
                continue;
            }
            Action::Output(output) if queue != 0 => {
                format!("enqueue:{}:{queue}", ports.text(output.port))
            }
            Action::PopVlan => "strip_vlan".into(),
            Action::SetField(set) => setter(Version::V1_0, set),
            Action::Output(output) => output_text(*output, ports),
            action => action.to_string(),
        };
        if !is_twin(&words, &word) {
            words.push(word);
        }
    }
    match words.as_slice() {
        [] => "drop".into(),
        words => words.join(","),
    }
}

/// A match with its priority, if that is not the default, in a version's wording.
pub(super) fn fields(wording: Wording<'_>, fields: &Match, priority: u16) -> String {
    let text = all_fields(fields, priority, wording.ports);
    if wording.version <= Version::V1_1 {
        text.replace("vlan_tci=0x0000/0x1fff", "vlan_tci=0x0000")
    } else {
        text
    }
}

/// The keyword for an Ethernet type and a protocol, or for the type alone.
fn keyword(
    eth_type: Option<u128>,
    proto: Option<u128>,
) -> Option<&'static bofuss_oflib::text::Keyword> {
    KEYWORDS
        .iter()
        .find(|k| Some(u128::from(k.eth_type)) == eth_type && k.ip_proto.map(u128::from) == proto)
}

fn all_fields(fields: &Match, priority: u16, ports: &PortNames) -> String {
    let mut words = Vec::new();
    if priority != DEFAULT_PRIORITY {
        words.push(format!("priority={priority}"));
    }
    let eth_type = fields.get(field::ETH_TYPE).map(FieldMatch::number);
    let proto = fields.get(field::IP_PROTO).map(FieldMatch::number);
    let full = proto.and_then(|_| keyword(eth_type, proto));
    let word = full.or_else(|| keyword(eth_type, None));
    words.extend(word.map(|k| k.name.to_string()));
    // Fields that the keyword implies, and those that `vlan` prints together.
    let mut hidden = vec![field::VLAN_PCP.id, field::VLAN_VID.id];
    hidden.extend(word.map(|_| field::ETH_TYPE.id));
    hidden.extend(full.map(|_| field::IP_PROTO.id));
    for (field, name) in ORDER {
        if field.id == field::VLAN_VID.id {
            words.extend(vlan(fields));
        }
        if let Some(one) = fields
            .get(field)
            .filter(|one| !hidden.contains(&one.field.id))
        {
            words.push(field_text(one, name, ports));
        }
    }
    let is_known = |one: &FieldMatch| ORDER.iter().any(|(field, _)| field.id == one.field.id);
    let others = fields.fields().iter().filter(|one| !is_known(one));
    words.extend(others.map(|one| one.to_string()));
    words.join(",")
}

fn field_text(one: &FieldMatch, name: &str, ports: &PortNames) -> String {
    let text = one.to_string();
    let (own, value) = text.split_once('=').unwrap_or((&text, ""));
    match one.field.id {
        id if id == field::IP_DSCP.id => format!("{name}={}", one.number() << 2),
        id if id == field::IPV6_FLABEL.id && one.is_exact() => {
            format!("{own}={:#07x}", one.number())
        }
        _ if one.field.style == Style::Port => {
            format!("{own}={}", ports.text(PortNo(one.number() as u32)))
        }
        _ if name.is_empty() => text,
        _ => format!("{name}={value}"),
    }
}

/// VLAN id and priority as ovs-ofctl prints their combination: `dl_vlan` and `dl_vlan_pcp` if each
/// is matched as a whole, otherwise `vlan_tci`.
fn vlan(fields: &Match) -> Vec<String> {
    let (vid, vid_mask) = shifted(fields.get(field::VLAN_VID), 0);
    let (pcp, pcp_mask) = shifted(fields.get(field::VLAN_PCP), 13);
    let id_mask = vid_mask & !VID_PRESENT;
    let is_plain = vid & vid_mask & VID_PRESENT != 0
        && [0, !VID_PRESENT & 0x1fff].contains(&id_mask)
        && (id_mask != 0 || pcp_mask != 0);
    let mut words = Vec::new();
    if is_plain && id_mask != 0 {
        words.push(format!("dl_vlan={}", vid & !VID_PRESENT));
    }
    if is_plain && pcp_mask != 0 {
        words.push(format!("dl_vlan_pcp={}", pcp >> 13));
    }
    if !is_plain {
        let tci = vid | pcp;
        match vid_mask | pcp_mask {
            0 => {}
            u16::MAX => words.push(format!("vlan_tci={tci:#06x}")),
            mask => words.push(format!("vlan_tci={tci:#06x}/{mask:#06x}")),
        }
    }
    words
}

/// A field's value and mask, shifted to the left by `bits`; zeros if it is not matched.
fn shifted(field: Option<&FieldMatch>, bits: u32) -> (u16, u16) {
    field.map_or((0, 0), |one| {
        let value = (one.number() as u16) << bits;
        let mask = (one.mask_number() as u16) << bits;
        (value, mask)
    })
}

/// The text after `actions=`, in a version's wording.
pub(super) fn instructions(wording: Wording<'_>, instructions: &Instructions) -> String {
    let version = wording.version;
    if let (Version::V1_0, [Instruction::ApplyActions(list)]) = (version, instructions.list()) {
        return old_actions(list, wording.ports);
    }
    let words: Vec<String> = instructions
        .list()
        .iter()
        .map(|one| match one {
            Instruction::ApplyActions(list) => actions(wording, list),
            Instruction::WriteActions(list) => format!("write_actions({})", actions(wording, list)),
            other => other.to_string(),
        })
        .collect();
    if words.is_empty() {
        "drop".into()
    } else {
        words.join(",")
    }
}

/// Actions, separated by commas; `drop` if there are none.
pub(crate) fn actions(wording: Wording<'_>, list: &[Action]) -> String {
    let mut words: Vec<String> = Vec::new();
    for action in list {
        let word = one_action(wording, action);
        if !is_twin(&words, &word) {
            words.push(word);
        }
    }
    if words.is_empty() {
        "drop".into()
    } else {
        words.join(",")
    }
}

/// An output, with the name of its port if that is known.
fn output_text(output: Output, ports: &PortNames) -> String {
    match ports.get(output.port) {
        Some(name) => format!("output:{name}"),
        None => Action::Output(output).to_string(),
    }
}

/// One action in the wording of OpenFlow 1.1 and later.
fn one_action(wording: Wording<'_>, action: &Action) -> String {
    match action {
        Action::Output(output) => output_text(*output, wording.ports),
        Action::SetField(set) if wording.version == Version::V1_1 => setter(Version::V1_1, set),
        Action::SetField(set) if set.0.field.id == field::VLAN_VID.id && set.0.is_exact() => {
            format!("set_field:{}->vlan_vid", set.0.number())
        }
        Action::SetField(set) => {
            let text = action.to_string();
            let named = SET_NAMES.iter().find(|row| row.0.id == set.0.field.id);
            match (named, text.split_once("->")) {
                (Some((_, name)), Some((value, _))) => format!("{value}->{name}"),
                _ => text,
            }
        }
        Action::SetMplsTtl(ttl) => format!("set_mpls_ttl({ttl})"),
        Action::CopyField(_) => action.to_string().replacen("copy_field:", "move:", 1),
        other => other.to_string(),
    }
}
