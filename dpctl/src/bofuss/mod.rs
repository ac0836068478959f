//! The verbs of BOFUSS's dpctl, which the code calls the original: the requests of those that only
//! query.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a message or action without a wording of its own here has the common one"
)]

mod change;
mod flow;
mod parts;
pub(crate) mod print;
mod stats;
mod values;

use bofuss_oflib::message::multipart::bundle_features::BundleFeatureFlags;
use bofuss_oflib::message::multipart::{
    BundleFeaturesRequest, FlowStatsRequest, GroupDescRequest, GroupRequest, MeterRequest,
    PortDescRequest, PortRequest, QueueStatsRequest, ReplyBody, RequestBody,
};
use bofuss_oflib::message::{Empty, MultipartReply, QueueConfigRequest};
use bofuss_oflib::types::{GroupId, MeterId, QueueId, TableId};
use bofuss_oflib::{Message, PortNo};

use crate::Failure;
use crate::verb::{Command, Made, Requests, ask, misused};
use crate::words::Argument;
pub(crate) use change::*;
use flow::group_id;

/// The keys that a flow-mod and a request for flow entries share.
const FILTER_KEYS: &[&str] = &["table", "out_port", "out_group", "cookie", "cookie_mask"];
/// The name that a table's number may have.
const TABLES: &[(&str, u8)] = &[("all", TableId::ALL.0)];

macro_rules! requests {
    ($($name:ident $body:expr;)*) => { $(
        pub(crate) fn $name(_: &Command, arguments: &[&str]) -> Made {
            match arguments {
                [] => ask([Message::MultipartRequest($body.into())]),
                _ => misused(),
            }
        }
    )* };
}
requests! {
    stats_desc RequestBody::Desc(Empty);
    stats_table RequestBody::Table(Empty);
    port_desc RequestBody::PortDesc(PortDescRequest::ALL);
    table_features RequestBody::TableFeatures(Vec::new());
    controller_status RequestBody::ControllerStatus(Empty);
    group_features RequestBody::GroupFeatures(Empty);
    meter_features RequestBody::MeterFeatures(Empty);
    bundle_features RequestBody::BundleFeatures(BundleFeaturesRequest {
        flags: BundleFeatureFlags::TIMESTAMP,
        ..BundleFeaturesRequest::default()
    });
}

pub(crate) fn features(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => ask([Message::FeaturesRequest(Empty)]),
        _ => misused(),
    }
}

pub(crate) fn get_config(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => ask([Message::GetConfigRequest(Empty)]),
        _ => misused(),
    }
}

pub(crate) fn get_async(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => ask([Message::GetAsyncRequest(Empty)]),
        _ => misused(),
    }
}

fn filter(command: &Command, arguments: &[&str]) -> Result<FlowStatsRequest, Failure> {
    let mut request = FlowStatsRequest::all();
    let (keys, fields) = match arguments {
        [] => ("", ""),
        // The only word may be a match.
        [one] if !FILTER_KEYS.contains(&one.split('=').next().unwrap_or("")) => ("", *one),
        [keys] => (*keys, ""),
        [keys, fields] => (*keys, *fields),
        _ => return Err(Failure::Misused),
    };
    let argument = Argument(keys);
    for (key, value) in argument.pairs(FILTER_KEYS)? {
        match key {
            "table" => request.table_id = TableId(argument.named(value, TABLES)?),
            "out_port" => request.out_port = argument.port(value, &command.catalogue)?,
            "out_group" => request.out_group = group_id(argument, value)?,
            "cookie" => request.cookie = argument.number(value)?,
            _ => request.cookie_mask = argument.number(value)?,
        }
    }
    request.fields = flow::parse_match(fields, &command.catalogue)?;
    Ok(request)
}

pub(crate) fn stats_flow(command: &Command, arguments: &[&str]) -> Made {
    let body = RequestBody::Flow(filter(command, arguments)?);
    ask([Message::MultipartRequest(body.into())])
}

pub(crate) fn stats_aggr(command: &Command, arguments: &[&str]) -> Made {
    let body = RequestBody::Aggregate(filter(command, arguments)?);
    ask([Message::MultipartRequest(body.into())])
}

fn meter_id(argument: Argument<'_>, word: &str) -> Result<MeterId, Failure> {
    let all = &[("all", MeterId::ALL.0)];
    argument.named(word, all).map(MeterId)
}

fn meter_request(arguments: &[&str]) -> Result<MeterRequest, Failure> {
    let meter_id = match arguments {
        [] => MeterId::ALL,
        [word] => meter_id(Argument(word), word)?,
        _ => return Err(Failure::Misused),
    };
    Ok(MeterRequest { meter_id })
}

pub(crate) fn stats_meter(_: &Command, arguments: &[&str]) -> Made {
    let body = RequestBody::Meter(meter_request(arguments)?);
    ask([Message::MultipartRequest(body.into())])
}

pub(crate) fn meter_config(_: &Command, arguments: &[&str]) -> Made {
    let body = RequestBody::MeterConfig(meter_request(arguments)?);
    ask([Message::MultipartRequest(body.into())])
}

pub(crate) fn stats_port(command: &Command, arguments: &[&str]) -> Made {
    let port_no = match arguments {
        [] => PortNo::ANY,
        [word] => Argument(word).port(word, &command.catalogue)?,
        _ => return misused(),
    };
    let body = RequestBody::PortStats(PortRequest { port_no });
    ask([Message::MultipartRequest(body.into())])
}

fn queue_id(word: &str) -> Result<QueueId, Failure> {
    let all = &[("all", QueueId::ALL.0)];
    Argument(word).named(word, all).map(QueueId)
}

pub(crate) fn stats_queue(command: &Command, arguments: &[&str]) -> Made {
    let (port_no, queue_id) = match arguments {
        [] => (PortNo::ANY, QueueId::ALL),
        [port] => (Argument(port).port(port, &command.catalogue)?, QueueId::ALL),
        [port, queue] => (
            Argument(port).port(port, &command.catalogue)?,
            queue_id(queue)?,
        ),
        _ => return misused(),
    };
    let body = RequestBody::Queue(QueueStatsRequest { port_no, queue_id });
    ask([Message::MultipartRequest(body.into())])
}

pub(crate) fn stats_group(_: &Command, arguments: &[&str]) -> Made {
    let group_id = match arguments {
        [] => GroupId::ALL,
        [word] => group_id(Argument(word), word)?,
        _ => return misused(),
    };
    let body = RequestBody::Group(GroupRequest { group_id });
    ask([Message::MultipartRequest(body.into())])
}

/// OpenFlow 1.3 has a request for all groups only, so one group is picked from the reply.
pub(crate) fn stats_group_desc(_: &Command, arguments: &[&str]) -> Made {
    let only = match arguments {
        [] => None,
        [word] => Some(group_id(Argument(word), word)?).filter(|id| *id != GroupId::ALL),
        _ => return misused(),
    };
    let request = Message::MultipartRequest(RequestBody::GroupDesc(GroupDescRequest::ALL).into());
    let Some(only) = only else {
        return ask([request]);
    };
    Ok(Requests::First(
        request.clone(),
        Box::new(move |mut reply: Message| {
            if let Message::MultipartReply(MultipartReply { body, .. }) = &mut reply
                && let ReplyBody::GroupDesc(groups) = body
            {
                groups.retain(|group| group.group_id == only);
            }
            Ok(Requests::Answered(request, reply))
        }),
    ))
}

/// The number that a word is, or `otherwise` if the word is empty.
fn number_or(word: &str, otherwise: u16) -> Result<u16, Failure> {
    match word {
        "" => Ok(otherwise),
        word => Argument(word).number(word),
    }
}

pub(crate) fn queue_get_config(command: &Command, arguments: &[&str]) -> Made {
    let port = match arguments {
        [] => PortNo::ANY,
        [word] => Argument(word).port(word, &command.catalogue)?,
        _ => return misused(),
    };
    ask([Message::QueueGetConfigRequest(QueueConfigRequest { port })])
}

pub(crate) fn ping(_: &Command, arguments: &[&str]) -> Made {
    let (count, bytes) = match arguments {
        [] => ("", ""),
        [count] => (*count, ""),
        [count, bytes] => (*count, *bytes),
        _ => return misused(),
    };
    // As in the original, 0 pings mean the default.
    let count = match number_or(count, 0)? {
        0 => 4,
        count => count,
    };
    let bytes = number_or(bytes, 1024)?;
    if bytes <= u16::MAX - 8 {
        Ok(Requests::Ping { count, bytes })
    } else {
        Err(Failure::Usage("an echo holds at most 65527 bytes".into()))
    }
}
