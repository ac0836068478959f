//! The verb `trace`: its request, and the reply as text, as JSON or as an HTML page.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bofuss_ext::openstate::drawing;
use bofuss_ext::trace::{ROWS, Trace, parse_packet, request};
use bofuss_oflib::{ExtValue, Message};
use serde_json::{Value, json};

use crate::Failure;
use crate::ofctl::wording::PortNames;
use crate::ofctl::{port_request, ports_in};
use crate::states::with_states;
use crate::verb::{Command, Made, Requests, ask, misused};

/// Reads `PACKET` as hexadecimal digits or fields, or `IN_PORT HEX`.
pub(crate) fn make(command: &Command, arguments: &[&str]) -> Made {
    if !(1..=2).contains(&arguments.len()) {
        return misused();
    }
    let packet = arguments.join(" ");
    let (in_port, frame) = parse_packet(&packet, &command.catalogue)?;
    let request = Message::Experimenter(request(in_port, &frame));
    let Some(path) = command.html.clone() else {
        return ask([request]);
    };
    // The page shows ports by name, so the names are requested first.
    Ok(Requests::First(
        port_request(),
        Box::new(move |ports| {
            let names = PortNames::of(ports_in(ports).iter());
            Ok(Requests::First(
                request,
                Box::new(move |reply| page(&path, &packet, &reply, &names)),
            ))
        }),
    ))
}

/// Writes the page of a trace. If the packet passed state machines, requests these before.
fn page(path: &Path, packet: &str, reply: &Message, names: &PortNames) -> Made {
    let trace = if let Message::Experimenter(value) = reply {
        trace_in(value)
    } else {
        None
    };
    let Some(trace) = trace else {
        let error = "trace: the switch did not answer the request";
        return Err(Failure::Failed(error.into()));
    };
    let trace = trace.with_names(names);
    if drawing::marked_states(&trace).is_empty() {
        return write_page(path, packet, &trace, &BTreeMap::new());
    }
    let path = path.to_path_buf();
    let packet = packet.to_string();
    with_states(move |asked| {
        let drawings = drawing::of_trace(&trace, asked);
        write_page(&path, &packet, &trace, &drawings)
    })
}

fn write_page(path: &Path, packet: &str, trace: &Trace, drawings: &BTreeMap<u8, String>) -> Made {
    let page = trace.html(&format!("The path of a packet: {packet}"), drawings);
    let written = fs::write(path, page);
    written.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    Ok(Requests::Text(format!("page={}\n", path.display())))
}

/// The trace in a reply; `None` for another reply.
fn trace_in(value: &ExtValue) -> Option<Trace> {
    let is_trace = value.row.place_in(&ROWS) == Some(1);
    let lines = is_trace.then(|| String::from_utf8_lossy(&value.data.0));
    Trace::read(&lines?).ok()
}

/// An experimenter's reply as text; a trace shows ports by name.
pub(crate) fn text(value: &ExtValue, names: &PortNames) -> String {
    match trace_in(value) {
        Some(trace) => trace.with_names(names).to_string(),
        None if is_text(value) => plain(value),
        None => format!("{value}\n"),
    }
}

/// The bytes of a value as text.
fn plain(value: &ExtValue) -> String {
    String::from_utf8_lossy(&value.data.0).into_owned()
}

/// Returns true if a value has bytes and no arguments, so that these bytes are a text.
fn is_text(value: &ExtValue) -> bool {
    value.row.data && value.row.args.is_empty()
}

/// An experimenter's reply as JSON.
pub(crate) fn json(value: &ExtValue) -> Value {
    match trace_in(value) {
        Some(trace) => json!({"name": value.row.name, "trace": trace}),
        None if is_text(value) => json!({"name": value.row.name, "text": plain(value)}),
        None => crate::extension::json(value),
    }
}
