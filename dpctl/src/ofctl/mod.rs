//! The requests of ovs-ofctl's verbs.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a message or action without a wording of its own here has the common one"
)]

mod action_names;
pub(crate) mod difference;
mod field_names;
pub(crate) mod file;
mod filling;
mod flow;
mod mods;
pub(crate) mod order;
mod packet_out;
mod ports;
pub(crate) mod show;
mod tables;
pub(crate) mod tagging;
pub(crate) mod wording;

use bofuss_oflib::message::config::{ConfigFlags, SwitchConfig};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, GroupDescRequest, GroupRequest, MeterRequest, MultipartRequest,
    QueueStatsRequest, ReplyBody, RequestBody,
};
use bofuss_oflib::message::{Empty, FlowModCommand, MultipartReply};
use bofuss_oflib::text::{parse_flow_filter, parse_meter, parse_port_named};
use bofuss_oflib::types::{GroupId, MeterId, QueueId};
use bofuss_oflib::{Message, PortNo};

pub(crate) use filling::mod_table;
pub(crate) use packet_out::packet_out;
pub(crate) use ports::{dump_ports, dump_ports_desc, mod_port, on_port, port_request, ports_in};

use self::mods::{check_filter, flow, group};
use crate::Failure;
use crate::verb::{Command, Made, Requests, ask, misused};
use crate::words::Argument;

fn multipart(body: RequestBody) -> Message {
    Message::MultipartRequest(MultipartRequest::from(body))
}

macro_rules! requests {
    ($($name:ident $body:expr;)*) => { $(
        pub(crate) fn $name(_: &Command, arguments: &[&str]) -> Made {
            match arguments {
                [] => ask([multipart($body)]),
                _ => misused(),
            }
        }
    )* };
}
requests! {
    dump_desc RequestBody::Desc(Empty);
    dump_tables RequestBody::Table(Empty);
    dump_table_features RequestBody::TableFeatures(Vec::new());
    dump_group_features RequestBody::GroupFeatures(Empty);
    dump_table_desc RequestBody::TableDesc(Empty);
}

pub(crate) fn show(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => ask([
            Message::FeaturesRequest(Empty),
            port_request(),
            Message::GetConfigRequest(Empty),
        ]),
        _ => misused(),
    }
}

/// Requests everything, and prints what `pick` leaves of the reply.
fn picked(request: RequestBody, pick: impl FnOnce(&mut ReplyBody) + 'static) -> Made {
    let request = multipart(request);
    let again = request.clone();
    Ok(Requests::First(
        request,
        Box::new(move |mut reply| {
            if let Message::MultipartReply(MultipartReply { body, .. }) = &mut reply {
                pick(body);
            }
            Ok(Requests::Answered(again, reply))
        }),
    ))
}

pub(crate) fn dump_groups(command: &Command, arguments: &[&str]) -> Made {
    let id = group_id(command, arguments)?;
    if id == GroupId::ALL {
        return ask([multipart(RequestBody::GroupDesc(GroupDescRequest::ALL))]);
    }
    picked(RequestBody::GroupDesc(GroupDescRequest::ALL), move |body| {
        if let ReplyBody::GroupDesc(groups) = body {
            groups.retain(|one| one.group_id == id);
        }
    })
}

/// The group of the argument `group_id=N` or `N`; all groups without an argument.
fn group_id(command: &Command, arguments: &[&str]) -> Result<GroupId, Failure> {
    let text = match arguments {
        [] => return Ok(GroupId::ALL),
        [text] if text.contains('=') => text.to_string(),
        [number] => format!("group_id={number}"),
        _ => return Err(Failure::Misused),
    };
    Ok(group(command, &text, GroupModCommand::DELETE)?.group_id)
}

pub(crate) fn get_frags(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => Ok(Requests::First(
            Message::GetConfigRequest(Empty),
            Box::new(|reply| {
                Ok(Requests::Text(format!(
                    "{}\n",
                    fragments(config(reply)?.flags)
                )))
            }),
        )),
        _ => misused(),
    }
}

fn config(reply: Message) -> Result<SwitchConfig, Failure> {
    if let Message::GetConfigReply(config) = reply {
        return Ok(config);
    }
    let name = reply.name();
    Err(Failure::Failed(format!("the switch answered {name}")))
}

/// ovs-ofctl's name for how fragments are handled.
pub(crate) fn fragments(flags: ConfigFlags) -> &'static str {
    FRAGMENTS
        .get((flags.0 & FRAGMENT_BITS) as usize)
        .unwrap_or(&"unknown")
}

/// The flags of the configuration that say how fragments are handled, as a number.
const FRAGMENT_BITS: u32 = 3;
/// ovs-ofctl's names for how fragments are handled, by this number.
const FRAGMENTS: &[&str] = &["normal", "drop", "reassemble"];

pub(crate) fn set_frags(_: &Command, arguments: &[&str]) -> Made {
    let [word] = arguments else { return misused() };
    let mode = FRAGMENTS
        .iter()
        .position(|name| name == word)
        .ok_or_else(|| Argument(word).unknown(word, "mode", FRAGMENTS))?;
    Ok(Requests::First(
        Message::GetConfigRequest(Empty),
        Box::new(move |reply| {
            let mut changed = config(reply)?;
            changed.flags = ConfigFlags(changed.flags.0 & !FRAGMENT_BITS | mode as u32);
            Ok(Requests::Change(vec![Message::SetConfig(changed)]))
        }),
    ))
}

/// The request for the entries that a flow without actions covers.
fn filter(command: &Command, arguments: &[&str]) -> Result<FlowStatsRequest, Failure> {
    let text = match arguments {
        [] => "",
        [text] => text,
        _ => return Err(Failure::Misused),
    };
    check_filter(text, FlowModCommand::DELETE)?;
    let parsed = parse_flow_filter(text, &command.catalogue);
    parsed.map_err(Failure::in_text(text))
}

pub(crate) fn dump_flows(command: &Command, arguments: &[&str]) -> Made {
    ask([multipart(RequestBody::Flow(filter(command, arguments)?))])
}

pub(crate) fn dump_aggregate(command: &Command, arguments: &[&str]) -> Made {
    ask([multipart(RequestBody::Aggregate(filter(
        command, arguments,
    )?))])
}

/// The flow-mod of the argument, or those of the standard input if that is `-`.
fn flow_change(command: &Command, arguments: &[&str], kind: FlowModCommand) -> Made {
    match arguments {
        ["-"] => mods::flow_changes(command, "-", kind),
        [text] => {
            let change = Message::FlowMod(flow(command, text, kind)?);
            Ok(Requests::Change(vec![change]))
        }
        _ => misused(),
    }
}

pub(crate) fn add_flow(command: &Command, arguments: &[&str]) -> Made {
    flow_change(command, arguments, FlowModCommand::ADD)
}

pub(crate) fn add_flows(command: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [name] => mods::flow_changes(command, name, FlowModCommand::ADD),
        _ => misused(),
    }
}

pub(crate) fn mod_flows(command: &Command, arguments: &[&str]) -> Made {
    let kind = if command.strict {
        FlowModCommand::MODIFY_STRICT
    } else {
        FlowModCommand::MODIFY
    };
    flow_change(command, arguments, kind)
}

pub(crate) fn del_flows(command: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => flow_change(command, &[""], FlowModCommand::DELETE),
        some if command.strict => flow_change(command, some, FlowModCommand::DELETE_STRICT),
        some => flow_change(command, some, FlowModCommand::DELETE),
    }
}

fn group_change(command: &Command, arguments: &[&str], kind: GroupModCommand) -> Made {
    let text = match arguments {
        [] if kind == GroupModCommand::DELETE => "group_id=all",
        ["-"] => return mods::group_changes(command, "-", kind),
        [text] => text,
        _ => return misused(),
    };
    Ok(Requests::Change(vec![Message::GroupMod(group(
        command, text, kind,
    )?)]))
}

pub(crate) fn add_group(command: &Command, arguments: &[&str]) -> Made {
    group_change(command, arguments, GroupModCommand::ADD)
}

pub(crate) fn add_groups(command: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [name] => mods::group_changes(command, name, GroupModCommand::ADD),
        _ => misused(),
    }
}

pub(crate) fn mod_group(command: &Command, arguments: &[&str]) -> Made {
    group_change(command, arguments, GroupModCommand::MODIFY)
}

pub(crate) fn insert_buckets(command: &Command, arguments: &[&str]) -> Made {
    group_change(command, arguments, GroupModCommand::INSERT_BUCKET)
}

pub(crate) fn remove_buckets(command: &Command, arguments: &[&str]) -> Made {
    group_change(command, arguments, GroupModCommand::REMOVE_BUCKET)
}

pub(crate) fn del_groups(command: &Command, arguments: &[&str]) -> Made {
    group_change(command, arguments, GroupModCommand::DELETE)
}

pub(crate) fn dump_group_stats(command: &Command, arguments: &[&str]) -> Made {
    let group_id = group_id(command, arguments)?;
    ask([multipart(RequestBody::Group(GroupRequest { group_id }))])
}

/// The text of a meter for the argument `meter=N` or `N`; all meters without an argument.
fn meter_text(arguments: &[&str]) -> String {
    match arguments.first() {
        None => "meter=ALL".into(),
        Some(text) if text.contains('=') => text.to_string(),
        Some(number) => format!("meter={number}"),
    }
}

fn meter_id(arguments: &[&str]) -> Result<MeterId, Failure> {
    let text = meter_text(arguments);
    let meter = parse_meter(&text, MeterModCommand::DELETE).map_err(Failure::in_text(&text))?;
    if arguments.len() > 1 {
        Err(Failure::Misused)
    } else {
        Ok(meter.meter_id)
    }
}

fn meter_change(text: &str, kind: MeterModCommand) -> Made {
    let meter = parse_meter(text, kind).map_err(Failure::in_text(text))?;
    Ok(Requests::Change(vec![Message::MeterMod(meter)]))
}

pub(crate) fn add_meter(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [text] => meter_change(text, MeterModCommand::ADD),
        _ => misused(),
    }
}

pub(crate) fn mod_meter(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [text] => meter_change(text, MeterModCommand::MODIFY),
        _ => misused(),
    }
}

pub(crate) fn del_meters(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] | [_] => meter_change(&meter_text(arguments), MeterModCommand::DELETE),
        _ => misused(),
    }
}

pub(crate) fn dump_meters(_: &Command, arguments: &[&str]) -> Made {
    let meter_id = meter_id(arguments)?;
    ask([multipart(RequestBody::MeterConfig(MeterRequest {
        meter_id,
    }))])
}

pub(crate) fn meter_stats(_: &Command, arguments: &[&str]) -> Made {
    let meter_id = meter_id(arguments)?;
    ask([multipart(RequestBody::Meter(MeterRequest { meter_id }))])
}

pub(crate) fn queue_stats(command: &Command, arguments: &[&str]) -> Made {
    let (port_no, queue_id) = match arguments {
        [] => (PortNo::ANY, QueueId::ALL),
        [port] => (parse_port_named(port, &command.catalogue)?, QueueId::ALL),
        [port, "all"] => (parse_port_named(port, &command.catalogue)?, QueueId::ALL),
        [port, queue] => (
            parse_port_named(port, &command.catalogue)?,
            QueueId(Argument(queue).number(queue)?),
        ),
        _ => return misused(),
    };
    ask([multipart(RequestBody::Queue(QueueStatsRequest {
        port_no,
        queue_id,
    }))])
}

pub(crate) fn snoop(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => Ok(Requests::Snoop),
        _ => misused(),
    }
}

#[cfg(test)]
mod tests;
