//! Prints parts of messages as the original does: matches, instructions, actions, buckets, bands.

use std::net::{Ipv4Addr, Ipv6Addr};

use bofuss_oflib::field::{self, Style, VID_PRESENT};
use bofuss_oflib::message::group_mod::GroupType;
use bofuss_oflib::message::meter_mod::BandKind;
use bofuss_oflib::message::multipart::table_desc::TableStatusReason;
use bofuss_oflib::message::queue::{PacketQueue, QueueProperty};
use bofuss_oflib::message::{AsyncConfig, Band, Bucket, PortDesc};
use bofuss_oflib::wire::Text;
use bofuss_oflib::{Action, FieldMatch, Instruction, Mac, Match};

use super::flow::EXT_HEADERS;
use super::values::{group, list, port, queue_id};

/// The original's names of actions, by their type.
pub(crate) const ACTIONS: &[(u16, &str)] = &[
    (0, "out"),
    (11, "ttl_out"),
    (12, "ttl_in"),
    (15, "mpls_ttl"),
    (16, "mpls_dec"),
    (17, "vlan_psh"),
    (18, "vlan_pop"),
    (19, "mpls_psh"),
    (20, "mpls_pop"),
    (21, "queue"),
    (22, "group"),
    (23, "nw_ttl"),
    (24, "nw_dec"),
    (25, "set_field"),
    (26, "pbb_psh"),
    (27, "pbb_pop"),
    (29, "meter"),
    (0xffff, "exp"),
];
/// The original's names of instructions, by their type.
pub(crate) const INSTRUCTIONS: &[(u16, &str)] = &[
    (1, "goto"),
    (2, "meta"),
    (3, "write"),
    (4, "apply"),
    (5, "clear"),
    (6, "meter"),
    (7, "stat_trigger"),
    (0xffff, "exp"),
];

/// A match: `oxm{in_port="1", eth_type="0x800"}`.
pub(crate) fn fields(fields: &Match) -> String {
    match fields.fields() {
        [] => "oxm{all match}".into(),
        some => format!("oxm{{{}}}", list(some.iter().map(field))),
    }
}

/// The name that the original prints for a field.
fn field_name(one: &FieldMatch) -> &'static str {
    match one.field.id {
        id if id == field::IPV6_SRC.id => "nw_src_ipv6",
        id if id == field::IPV6_DST.id => "nw_dst_ipv6",
        id if id == field::IPV6_FLABEL.id => "ipv6_flow_label",
        id if id == field::IPV6_EXTHDR.id => "ext_hdr",
        _ => one.field.name,
    }
}

fn field(one: &FieldMatch) -> String {
    let name = field_name(one);
    let id = one.field.id;
    if id == field::VLAN_VID.id {
        return match one.number() as u16 {
            0 => "vlan_vid= none".into(),
            VID_PRESENT if !one.is_exact() => "vlan_vid= any".into(),
            vid => format!("vlan_vid=\"{}\"", vid & !VID_PRESENT),
        };
    }
    let space = if id == field::ICMPV4_TYPE.id { " " } else { "" };
    let text = format!("{name}={space}\"{}\"", value(one, one.number(), &one.value));
    if one.is_exact() {
        return text;
    }
    // The original prints the mask of arp_spa as arp_sha_mask.
    let masked = if id == field::ARP_SPA.id {
        "arp_sha"
    } else {
        name
    };
    let mask = match id {
        id if id == field::IPV6_EXTHDR.id => format!("{:#x}", one.mask_number()),
        _ => value(one, one.mask_number(), &one.mask),
    };
    format!("{text}, {masked}_mask=\"{mask}\"")
}

/// A value in the original's style for the field.
fn value(one: &FieldMatch, number: u128, bytes: &[u8; 16]) -> String {
    match one.field.style {
        Style::Mac => Mac::of_value(bytes).to_string(),
        Style::Ip4 => Ipv4Addr::from_bits(number as u32).to_string(),
        Style::Ip6 => Ipv6Addr::from_bits(number).to_string(),
        Style::PacketType => format!("({},{:#x})", number >> 16, number & 0xffff),
        Style::Dec | Style::Hex | Style::Bits(_) | Style::Port => number_value(one, number, bytes),
    }
}

/// A value that is no address, in the original's style for the field.
fn number_value(one: &FieldMatch, number: u128, bytes: &[u8; 16]) -> String {
    let hexadecimal = [
        field::ETH_TYPE,
        field::ARP_OP,
        field::METADATA,
        field::TCP_FLAGS,
    ];
    let id = one.field.id;
    if id == field::IPV6_EXTHDR.id {
        let names: String = EXT_HEADERS
            .iter()
            .enumerate()
            .filter(|(bit, _)| number >> bit & 1 == 1)
            .map(|(_, name)| format!("{name}|"))
            .collect();
        let first = if names.is_empty() { "" } else { "|" };
        return format!("{first}{names}");
    }
    if id == field::PBB_ISID.id {
        return format!("{:x}{:x}{:x}", bytes[0], bytes[1], bytes[2]);
    }
    if hexadecimal.iter().any(|field| field.id == id) || one.field.experimenter != 0 {
        return format!("{number:#x}");
    }
    number.to_string()
}

/// An instruction: `apply{acts=[out{port="2"}]}`.
pub(crate) fn instruction(instruction: &Instruction) -> String {
    match instruction {
        Instruction::GotoTable(table) => format!("goto{{table=\"{}\"}}", table.0),
        Instruction::WriteMetadata { value, mask } => {
            format!("meta{{meta=\"{value:#x}\", mask=\"{mask:#x}\"}}")
        }
        Instruction::WriteActions(acts) => {
            format!("write{{acts=[{}]}}", list(acts.iter().map(action)))
        }
        Instruction::ApplyActions(acts) => {
            format!("apply{{acts=[{}]}}", list(acts.iter().map(action)))
        }
        Instruction::ClearActions => "clear".into(),
        // The original does not know it, so it is printed as it is typed.
        Instruction::StatTrigger(trigger) => format!("stat_trigger:{}", Text(trigger)),
        Instruction::Meter(meter) => format!("meter{{meter=\"{}\"}}", meter.0),
        Instruction::Experimenter(value) => {
            format!("exp{{id=\"{:#x}\"}}", value.row.experimenter)
        }
    }
}

/// An action: `out{port="ctrl", mlen="0"}`.
pub(crate) fn action(action: &Action) -> String {
    let number = action.row().map_or(0xffff, |row| row.number);
    let Some((_, name)) = ACTIONS.iter().find(|row| row.0 == number) else {
        // The original has no name for it: the text of ovs-ofctl.
        return action.to_string();
    };
    let argument = match action {
        Action::Output(output) if output.port == bofuss_oflib::PortNo::CONTROLLER => {
            format!("{{port=\"ctrl\", mlen=\"{}\"}}", output.max_len.0)
        }
        Action::Output(output) => format!("{{port=\"{}\"}}", port(output.port)),
        Action::PushVlan(ty) | Action::PushMpls(ty) | Action::PopMpls(ty) | Action::PushPbb(ty) => {
            format!("{{eth=\"{:#06x}\"}}", ty.0)
        }
        Action::SetMplsTtl(ttl) | Action::SetNwTtl(ttl) => format!("{{ttl=\"{ttl}\"}}"),
        Action::SetQueue(queue) => format!("{{q=\"{}\"}}", queue_id(*queue)),
        Action::Group(id) => format!("{{id=\"{}\"}}", group(*id)),
        Action::Meter(id) => format!("{{meter=\"{id}\"}}"),
        Action::SetField(set) => format!("{{field:{}}}", field(&set.0)),
        Action::Experimenter(value) => format!("{{id=\"{:#x}\"}}", value.row.experimenter),
        // The argument of ovs-ofctl's text, which is all after the colon.
        other => {
            let text = other.to_string();
            let argument = text.split_once(':');
            argument.map_or(String::new(), |(_, value)| format!("{{arg=\"{value}\"}}"))
        }
    };
    format!("{name}{argument}")
}

/// A group's type.
pub(crate) fn group_type(ty: GroupType) -> String {
    match ty {
        GroupType::ALL => "all".into(),
        GroupType::SELECT => "sel".into(),
        GroupType::INDIRECT => "ind".into(),
        GroupType::FF => "ff".into(),
        other => format!("?({})", other.0),
    }
}

/// A bucket.
pub(crate) fn bucket(bucket: &Bucket) -> String {
    format!(
        "{{w=\"{}\", wprt=\"{}\", wgrp=\"{}\", acts=[{}]}}",
        bucket.weight,
        port(bucket.watch_port),
        group(bucket.watch_group),
        list(bucket.actions.iter().map(action))
    )
}

/// The bands of a meter.
pub(crate) fn bands(bands: &[Band]) -> String {
    format!("bands=[{}]", list(bands.iter().map(band)))
}

fn band(band: &Band) -> String {
    let rate = band.rate;
    let burst = band.burst_size;
    let (kind, more) = match band.kind {
        BandKind::Drop => ("drop", String::new()),
        BandKind::DscpRemark(level) => ("dscp_remark", format!(", prec_level=\"{level}\"")),
        BandKind::Experimenter(id) => ("exp", format!(", exp_id=\"{id}\"")),
    };
    format!("{{type = {kind}, rate=\"{rate}\", burst_size=\"{burst}\"{more}}}")
}

/// A queue with its properties; those that the original does not know are printed by type.
pub(crate) fn queue(queue: &PacketQueue) -> String {
    let properties = list(queue.properties.iter().map(queue_property));
    format!(
        "{{q=\"{}\", props=[{properties}]}}",
        queue_id(queue.queue_id)
    )
}

fn queue_property(property: &QueueProperty) -> String {
    match property {
        QueueProperty::MinRate(rate) => format!("minrate{{rate=\"{rate}\"}}"),
        QueueProperty::MaxRate(rate) => format!("maxrate{{rate=\"{rate}\"}}"),
        QueueProperty::Experimenter(id, exp_type, data) => {
            let data = Text(data);
            format!("exp{{id=\"{id:#x}\", type=\"{exp_type}\", data=\"{data}\"}}")
        }
    }
}

/// A port's description.
pub(crate) fn port_desc(desc: &PortDesc) -> String {
    format!(
        "{{no=\"{}\", hw_addr=\"{}\", name=\"{}\", config=\"{:#x}\", state=\"{:#x}\", \
         curr=\"{:#x}\", adv=\"{:#x}\", supp=\"{:#x}\", peer=\"{:#x}\", curr_spd=\"{}kbps\", \
         max_spd=\"{}kbps\"}}",
        port(desc.port_no),
        desc.hw_addr,
        desc.name,
        desc.config.0,
        desc.state.0,
        desc.curr.0,
        desc.advertised.0,
        desc.supported.0,
        desc.peer.0,
        desc.curr_speed,
        desc.max_speed
    )
}

/// The asynchronous messages that a controller has asked for.
pub(crate) fn async_config(config: &AsyncConfig) -> String {
    let c = config;
    let mut equal = wanted(c.packet_in, c.port_status, c.flow_removed);
    let mut slave = wanted(c.packet_in_slave, c.port_status_slave, c.flow_removed_slave);
    equal += &wanted_later(c.role_status, c.table_status, c.request_forward);
    slave += &wanted_later(
        c.role_status_slave,
        c.table_status_slave,
        c.request_forward_slave,
    );
    format!("{{{{equal=[{equal}], slave=[{slave}]}}}}")
}

/// An importance, or nothing if it is 0. The original does not know it.
pub(crate) fn importance(importance: u16) -> String {
    if importance == 0 {
        return String::new();
    }
    format!(", imp=\"{importance}\"")
}

/// The messages of OpenFlow 1.3 that one role gets, by the bits of three masks.
fn wanted(packet_in: u32, port_status: u32, flow_removed: u32) -> String {
    let causes = [
        "no_match",
        "action",
        "invalid_ttl",
        "action_set",
        "group",
        "packet_out",
    ];
    let packet_in = reasons(packet_in, &causes);
    let port_status = reasons(port_status, &["add", "delete", "modify"]);
    let removals = [
        "idle_timeout",
        "hard_timeout",
        "delete",
        "group delete",
        "meter delete",
        "eviction",
    ];
    let flow_removed = reasons(flow_removed, &removals);
    format!("packet_in({packet_in})port_status({port_status})flow_removed({flow_removed})")
}

/// The messages that OpenFlow 1.4 added and one role gets; nothing of a mask that is 0.
fn wanted_later(role_status: u32, table_status: u32, request_forward: u32) -> String {
    let vacancies = table_status >> TableStatusReason::VACANCY_DOWN.0;
    let roles = ["master_request", "config", "experimenter"];
    let masks: [(&str, u32, &[&str]); 3] = [
        ("role_status", role_status, &roles),
        ("table_status", vacancies, &["vacancy_down", "vacancy_up"]),
        (
            "requestforward",
            request_forward,
            &["group_mod", "meter_mod"],
        ),
    ];
    let mut text = String::new();
    for (name, mask, names) in masks {
        if mask != 0 {
            text += &format!("{name}({})", reasons(mask, names));
        }
    }
    text
}

/// The names of a mask's bits.
fn reasons(mask: u32, names: &[&str]) -> String {
    let set = names
        .iter()
        .enumerate()
        .filter(|(bit, _)| mask >> bit & 1 == 1);
    let names: Vec<&str> = set.map(|(_, name)| *name).collect();
    if names.is_empty() {
        "none".to_string()
    } else {
        names.join(", ")
    }
}
