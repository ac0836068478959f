//! A line of a file of flows: an entry, a group, a meter, a queue, or an extension's message.

use bofuss_ext::queues;
use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::text::{find_unquoted, parse_flow, parse_group, parse_meter};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, ExtValue, Message, PortNo};

/// The word with which the line of a queue begins.
const QUEUE: &str = "queue-mod ";

/// Reads a line: an entry, a group (`group_id=`) or a meter (`meter=`) in the syntax of
/// `ovs-ofctl`; a queue, or an extension's message, as dpctl takes it: `queue-mod 2 0 max=10M`,
/// `state_mod table_config,table=0,stateful=1`. Gives the message, and the rank of its kind: meters
/// come first, then groups, entries, and the rest. `None`: a comment, or the head of a printed
/// reply.
///
/// Errors: what is wrong.
pub fn parse_rule(line: &str, catalogue: &Catalogue) -> Result<Option<(usize, Message)>, String> {
    let end = find_unquoted(line, &['#']).unwrap_or(line.len());
    let line = line[..end].trim();
    if line.is_empty() || line.contains(" reply ") {
        return Ok(None);
    }
    if line.starts_with("meter=") {
        let meter = parse_meter(line, MeterModCommand::ADD).map_err(|error| error.to_string())?;
        Ok(Some((0, Message::MeterMod(meter))))
    } else if line.starts_with("group_id=") {
        let group = parse_group(line, GroupModCommand::ADD, catalogue)
            .map_err(|error| error.to_string())?;
        Ok(Some((1, Message::GroupMod(group))))
    } else if let Some(text) = line.strip_prefix(QUEUE) {
        Ok(Some((3, Message::Experimenter(queue(text)?))))
    } else if let Some((row, text)) = extension_message(line, catalogue) {
        let value = ExtValue::parse(row, text, catalogue)?;
        Ok(Some((3, Message::Experimenter(value))))
    } else {
        let flow =
            parse_flow(line, FlowModCommand::ADD, catalogue).map_err(|error| error.to_string())?;
        Ok(Some((2, Message::FlowMod(flow))))
    }
}

/// The request for a queue that a line asks for. Errors: what is wrong.
fn queue(text: &str) -> Result<ExtValue, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [port, id, spec] = words[..] else {
        return Err(format!(
            "it is {QUEUE}PORT QUEUE SPEC, as {QUEUE}2 0 max=10M"
        ));
    };
    let [port, id] = [port, id].map(|word| word.parse().map_err(|_| word));
    let number = |word| format!("'{word}' is no number");
    let port = PortNo(port.map_err(number)?);
    let id = QueueId(id.map_err(number)?);
    Ok(queues::modify(port, id, &queues::parse(spec)?))
}

/// The row of an extension's message whose name begins a line, and the rest of the line.
fn extension_message<'l>(
    line: &'l str,
    catalogue: &Catalogue,
) -> Option<(&'static ExtRow, &'l str)> {
    let (name, text) = line.split_once(' ')?;
    let mut messages = catalogue.values(ExtKind::Message);
    let row = messages.find(|row| row.name == name && row.usage.is_some())?;
    Some((row, text.trim()))
}
