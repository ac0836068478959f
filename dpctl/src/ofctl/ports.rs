//! ovs-ofctl's verbs about ports, which take a port by number or by name.

use bofuss_oflib::message::multipart::{PortDescRequest, PortRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::message::{PortDesc, PortMod};
use bofuss_oflib::text::parse_port;
use bofuss_oflib::{Message, PortNo};

use super::multipart;
use crate::Failure;
use crate::verb::{Command, Made, Requests, ask, misused};
use crate::words::Argument;

pub(crate) fn dump_ports(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => ask([statistics(PortNo::ANY)]),
        [port] => match parse_port(port) {
            Ok(number) => ask([statistics(number)]),
            Err(_) => on_port(port, |port| Requests::Ask(vec![statistics(port.port_no)])),
        },
        _ => misused(),
    }
}

/// The request for the statistics of a port.
fn statistics(port_no: PortNo) -> Message {
    multipart(RequestBody::PortStats(PortRequest { port_no }))
}

/// The request for the descriptions of all ports.
pub(crate) fn port_request() -> Message {
    multipart(RequestBody::PortDesc(PortDescRequest::ALL))
}

/// The ports in the reply; none in another one.
pub(crate) fn ports_in(reply: Message) -> Vec<PortDesc> {
    if let Message::MultipartReply(reply) = reply
        && let ReplyBody::PortDesc(ports) = reply.body
    {
        ports
    } else {
        Vec::new()
    }
}

/// The error for a port that the switch does not have; it lists those that it has.
fn missing(word: &str, ports: &[PortDesc]) -> Failure {
    let names: Vec<String> = ports
        .iter()
        .map(|port| format!("{} ({})", port.port_no, port.name))
        .collect();
    Failure::Failed(format!(
        "the switch has no port {word}; its ports are {}",
        names.join(", ")
    ))
}

/// Finds the port with this number, name, or name in quotes, and makes the requests of `next`.
pub(crate) fn on_port(word: &str, next: impl FnOnce(&PortDesc) -> Requests + 'static) -> Made {
    let quoted = word
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let number = match quoted {
        Some(_) => None,
        None => parse_port(word).ok(),
    };
    let word = quoted.unwrap_or(word).to_string();
    Ok(Requests::First(
        port_request(),
        Box::new(move |reply| {
            let ports = ports_in(reply);
            let found = ports
                .iter()
                .find(|port| port.name.0 == word || Some(port.port_no) == number);
            Ok(next(found.ok_or_else(|| missing(&word, &ports))?))
        }),
    ))
}

pub(crate) fn dump_ports_desc(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => ask([port_request()]),
        [port] => on_port(port, |port| {
            let ports = ReplyBody::PortDesc(vec![port.clone()]);
            Requests::Answered(port_request(), Message::MultipartReply(ports.into()))
        }),
        _ => misused(),
    }
}

/// The words of mod-port, each with a flag and its new value.
const PORT_WORDS: &[(&str, PortConfig, bool)] = &[
    ("up", PortConfig::PORT_DOWN, false),
    ("down", PortConfig::PORT_DOWN, true),
    ("receive", PortConfig::NO_RECV, false),
    ("no-receive", PortConfig::NO_RECV, true),
    ("forward", PortConfig::NO_FWD, false),
    ("no-forward", PortConfig::NO_FWD, true),
    ("packet-in", PortConfig::NO_PACKET_IN, false),
    ("no-packet-in", PortConfig::NO_PACKET_IN, true),
    ("flood", PortConfig::NO_FLOOD, false),
    ("no-flood", PortConfig::NO_FLOOD, true),
];

pub(crate) fn mod_port(_: &Command, arguments: &[&str]) -> Made {
    let [port, word] = arguments else {
        return misused();
    };
    let names: Vec<&str> = PORT_WORDS.iter().map(|row| row.0).collect();
    let row = PORT_WORDS.iter().find(|row| row.0 == *word);
    let (_, mask, set) = row.ok_or_else(|| Argument(word).unknown(word, "change", &names))?;
    let mask = *mask;
    let config = if *set { mask } else { PortConfig(0) };
    on_port(port, move |port| {
        Requests::Change(vec![Message::PortMod(PortMod {
            port_no: port.port_no,
            hw_addr: port.hw_addr,
            config,
            mask,
            ..PortMod::default()
        })])
    })
}
