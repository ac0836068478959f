//! Prints messages as the original does. Its mistakes (an extra quote, a missing brace) are kept,
//! because scripts parse this text.

use bofuss_oflib::error::ErrorCode;
use bofuss_oflib::ext::ExtValue;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::queue::PacketQueue;
use bofuss_oflib::message::{
    FlowMod, FlowModCommand, FlowRemoved, FlowRemovedReason, GroupMod, MeterMod, PacketInReason,
    PortMod, PortStatus, PortStatusReason,
};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::wire::{OneLine, Reader};
use bofuss_oflib::{Codec, Message, PortNo, Version, field};

use super::parts::{action, async_config, bands, bucket, group_type, port_desc, queue};
use super::values::{group, list, port, table};
use super::{parts, stats};
use crate::extension::CATALOGUE;
use crate::ofctl::wording::PortNames;

/// The original's names of messages, by their type.
const MESSAGES: &[&str] = &[
    "hello",
    "error",
    "echo_req",
    "echo_repl",
    "exp",
    "feat_req",
    "feat_repl",
    "conf_req",
    "conf_repl",
    "set_conf",
    "pkt_in",
    "flow_rem",
    "port_stat",
    "pkt_out",
    "flow_mod",
    "grp_mod",
    "port_mod",
    "tab_mod",
    "stat_req",
    "stat_repl",
    "barr_req",
    "barr_repl",
    "q_cnf_req",
    "q_cnf_repl",
    "role_request",
    "role_reply",
    "get_async_req",
    "get_async_rep",
    "set_async",
    "meter_mod",
];

/// A message's text.
pub(crate) fn text(message: &Message) -> String {
    match (message, MESSAGES.get(usize::from(message.type_number()))) {
        (Message::Experimenter(value), _) => experimenter(value),
        (message, Some(name)) => format!("{name}{}", body(message)),
        (message, None) => message.to_string(),
    }
}

fn body(message: &Message) -> String {
    match message {
        Message::Error(error) => {
            let (ty, code) = error_names(error.error);
            format!(
                "{{type=\"{ty}\", code=\"{code}\", dlen=\"{}\"}}",
                error.data.0.len()
            )
        }
        Message::EchoRequest(data) | Message::EchoReply(data) => {
            format!("{{dlen=\"{}\"}}", data.0.len())
        }
        // The lower 32 bits are those of 1.3; the model has capabilities of other versions above.
        Message::FeaturesReply(f) => format!(
            "{{dpid=\"0x{:016x}\", buffs=\"{}\", tabs=\"{}\", aux_id=\"{}\", caps=\"{:#x}\"]}}",
            f.datapath_id,
            f.n_buffers,
            f.n_tables,
            f.auxiliary_id,
            f.capabilities.0 & u64::from(u32::MAX)
        ),
        Message::GetConfigReply(c) | Message::SetConfig(c) => {
            let flags = c.flags.0;
            let length = c.miss_send_len.0;
            format!("{{conf={{flags=\"{flags:#x}\", mlen=\"{length}\"}}}}")
        }
        Message::PacketIn(p) => format!(
            "{{buffer=\"{}\", tlen=\"{}\", reas=\"{}\", table=\"{}\", dlen=\"{}\"}}",
            buffer(p.buffer_id),
            p.total_len,
            packet_in_reason(p.reason),
            table(p.table_id),
            p.data.0.len()
        ),
        Message::FlowRemoved(removed) => flow_removed(removed),
        Message::PortStatus(status) => port_status(status),
        Message::PacketOut(out) => format!(
            "{{buffer=\"{}\", port=\"{}\", actions=[{}]}}",
            buffer(out.buffer_id),
            port(out.in_port),
            list(out.actions.iter().map(action))
        ),
        Message::FlowMod(flow) => flow_mod(flow),
        Message::GroupMod(group) => group_mod(group),
        Message::MeterMod(meter) => meter_mod(meter),
        Message::PortMod(change) => port_mod(change),
        Message::TableMod(t) => {
            format!(
                "{{id=\"{}\", config=\"0x{:08x}\"}}",
                table(t.table_id),
                t.config
            )
        }
        Message::MultipartRequest(request) => stats::request(request),
        Message::MultipartReply(reply) => stats::reply(reply),
        Message::QueueGetConfigRequest(r) => format!("{{port=\"{}\"}}", port(r.port)),
        Message::QueueGetConfigReply(r) => {
            let queues = list(r.queues.iter().map(queue));
            format!("{{port=\"{}\" queues=[{queues}]}}", port(r.port))
        }
        Message::RoleRequest(r) | Message::RoleReply(r) => {
            format!("{{role= {}, generation_id= {}}}", r.role.0, r.generation_id)
        }
        Message::GetAsyncReply(config) | Message::SetAsync(config) => async_config(config),
        // The others have no body, or the original does not know them.
        _ => String::new(),
    }
}

fn port_mod(p: &PortMod) -> String {
    format!(
        "{{port=\"{}\", hwaddr=\"{}\", config=\"0x{:08x}\", mask=\"{:#x}\", adv=\"{:#x}\"}}",
        port(p.port_no),
        p.hw_addr,
        p.config.0,
        p.mask.0,
        p.advertise.0
    )
}

/// The names of an error's type and code, or numbers where there are none.
fn error_names(error: ErrorCode) -> (String, String) {
    match CATALOGUE.error(error) {
        Some(row) => (row.type_name.into(), row.code_name.into()),
        None => (format!("?({})", error.ty), format!("?({})", error.code)),
    }
}

/// The experimenter messages of the original: queues and the description.
fn experimenter(value: &ExtValue) -> String {
    let codec = Codec::new(Version::V1_3, std::sync::Arc::default());
    let mut reader = Reader::new(&codec, &value.data.0);
    match value.row.name {
        "queue_modify" | "queue_delete" => {
            let kind = if value.row.name == "queue_modify" {
                "mod"
            } else {
                "del"
            };
            let port = port(PortNo(value.args[0] as u32));
            let queue = reader
                .get::<PacketQueue>()
                .map_or(String::new(), |q| queue(&q));
            format!("{kind}queue{{port=\"{port}\", queue={queue}}}")
        }
        "set_discipline" => {
            let port = port(PortNo(value.args[0] as u32));
            let name = String::from_utf8_lossy(&value.data.0);
            let name = OneLine(&name);
            format!("setdiscipline{{port=\"{port}\", discipline=\"{name}\"}}")
        }
        "set_desc" => {
            let text = String::from_utf8_lossy(&value.data.0);
            let text = OneLine(text.trim_end_matches('\0'));
            format!("setdesc{{desc=\"{text}\"}}")
        }
        _ => format!("exp{{exp_id=\"{}\"}}", value.row.experimenter),
    }
}

fn buffer(buffer: BufferId) -> String {
    if buffer == BufferId::NO_BUFFER {
        "none".into()
    } else {
        buffer.0.to_string()
    }
}

/// A further line about a message, for what the original does not print: the packet of a PACKET_IN
/// as `IN_PORT HEX`, which `trace` reads, or an extension's message. Empty for other messages.
pub(crate) fn details(message: &Message, names: &PortNames) -> String {
    let packet_in = match message {
        Message::PacketIn(packet_in) => packet_in,
        Message::Experimenter(value) => return format!("{value}\n"),
        _ => return String::new(),
    };
    let in_port = packet_in
        .fields
        .get(field::IN_PORT)
        .map_or(PortNo::ANY, |one| PortNo(one.number() as u32));
    let digits = packet_in.data.0.iter().map(|byte| format!("{byte:02x}"));
    format!("{} {}\n", names.text(in_port), digits.collect::<String>())
}

fn packet_in_reason(reason: PacketInReason) -> String {
    match reason {
        PacketInReason::NO_MATCH => "no_match".into(),
        PacketInReason::ACTION => "action".into(),
        PacketInReason::INVALID_TTL => "invalid_ttl".into(),
        PacketInReason::ACTION_SET => "action_set".into(),
        PacketInReason::GROUP => "group".into(),
        PacketInReason::PACKET_OUT => "packet_out".into(),
        other => format!("?({})", other.0),
    }
}

fn flow_removed(r: &FlowRemoved) -> String {
    let reason = match r.reason {
        FlowRemovedReason::IDLE_TIMEOUT => "idle".into(),
        FlowRemovedReason::HARD_TIMEOUT => "hard".into(),
        FlowRemovedReason::DELETE => "del".into(),
        FlowRemovedReason::GROUP_DELETE => "group".into(),
        FlowRemovedReason::METER_DELETE => "meter".into(),
        FlowRemovedReason::EVICTION => "eviction".into(),
        other => format!("?({})", other.0),
    };
    format!(
        "{{reas=\"{reason}\", stats={{table=\"{}\", match=\"{}\", dur_s=\"{}\", dur_ns=\"{}\", \
         prio=\"{}\", idle_to=\"{}\", hard_to=\"{}\", cookie=\"{:#x}\", pkt_cnt=\"{}\", \
         byte_cnt=\"{}\", insts=[]}}}}",
        table(r.table_id),
        parts::fields(&r.fields),
        r.duration_sec,
        r.duration_nsec,
        r.priority,
        r.idle_timeout,
        r.hard_timeout,
        r.cookie,
        r.packet_count,
        r.byte_count
    )
}

fn flow_mod(flow: &FlowMod) -> String {
    let command = match flow.command {
        FlowModCommand::ADD => "add",
        FlowModCommand::MODIFY => "mod",
        FlowModCommand::MODIFY_STRICT => "mods",
        FlowModCommand::DELETE => "del",
        _ => "dels",
    };
    format!(
        "{{table=\"{}\", cmd=\"{command}\", cookie=\"{:#x}\", mask=\"{:#x}\", idle=\"{}\", \
         hard=\"{}\"{}, prio=\"{}\", buf=\"{}\", port=\"{}\", group=\"{}\", flags=\"{:#x}\", \
         match={}, insts=[{}]}}",
        table(flow.table_id),
        flow.cookie,
        flow.cookie_mask,
        flow.idle_timeout,
        flow.hard_timeout,
        parts::importance(flow.importance),
        flow.priority,
        buffer(flow.buffer_id),
        port(flow.out_port),
        group(flow.out_group),
        flow.flags.0,
        parts::fields(&flow.fields),
        list(flow.instructions.list().iter().map(parts::instruction))
    )
}

fn group_mod(mods: &GroupMod) -> String {
    let command = match mods.command {
        GroupModCommand::ADD => "add".into(),
        GroupModCommand::MODIFY => "mod".into(),
        GroupModCommand::DELETE => "del".into(),
        other => format!("?({})", other.0),
    };
    format!(
        "{{group=\"{}\", cmd=\"{command}\", type=\"{}\", buckets=[{}]}}",
        group(mods.group_id),
        group_type(mods.ty),
        list(mods.buckets.iter().map(bucket))
    )
}

fn port_status(status: &PortStatus) -> String {
    let reason = match status.reason {
        PortStatusReason::ADD => "add".into(),
        PortStatusReason::DELETE => "del".into(),
        PortStatusReason::MODIFY => "mod".into(),
        other => format!("?({})", other.0),
    };
    format!("{{reas={reason}, desc={}}}", port_desc(&status.desc))
}

fn meter_mod(meter: &MeterMod) -> String {
    let command = match meter.command {
        MeterModCommand::ADD => "add",
        MeterModCommand::MODIFY => "mod",
        _ => "del",
    };
    let flags = meter.flags.0;
    let id = meter.meter_id.0;
    let bands = bands(&meter.bands);
    format!("{{cmd=\"{command}\", flags=\"{flags:#x}\"\", meter_id=\"{id:x}\"\", {bands}}}")
}
