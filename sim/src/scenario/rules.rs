//! Reads the lines of a file of flows: entries, groups, meters, queues, and messages of extensions.

use bofuss_ext::queues;
use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::text::{find_unquoted, parse_flow, parse_group, parse_meter};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, ExtValue, Message, ParseError, PortNo};

use super::ScenarioError;

/// The word with which the line of a queue begins, and a blank.
const QUEUE: &str = "queue-mod ";

/// Reads a line. Entries, groups (`group_id=`) and meters (`meter=`) have the syntax of
/// `ovs-ofctl`; queues and messages of extensions have that of dpctl: `queue-mod 2 0 max=10M`,
/// `state_mod table_config,table=0,stateful=1`.
///
/// Returns the message and the rank of its kind, by which messages are sorted: 0 for meters, 1 for
/// groups, 2 for entries, 3 for the rest. Returns `None` for a comment, and for the first line of a
/// printed reply.
///
/// Errors: what is wrong with the line.
pub fn parse_rule(
    line: &str,
    catalogue: &Catalogue,
) -> Result<Option<(usize, Message)>, ScenarioError> {
    let end = find_unquoted(line, &['#']).unwrap_or(line.len());
    let line = line[..end].trim();
    if line.is_empty() || line.contains(" reply ") {
        return Ok(None);
    }
    if line.starts_with("meter=") {
        let meter = parse_meter(line, MeterModCommand::ADD)?;
        Ok(Some((0, Message::MeterMod(meter))))
    } else if line.starts_with("group_id=") {
        let group = parse_group(line, GroupModCommand::ADD, catalogue)?;
        Ok(Some((1, Message::GroupMod(group))))
    } else if let Some(text) = line.strip_prefix(QUEUE) {
        Ok(Some((3, Message::Experimenter(queue(text)?))))
    } else if let Some((row, text)) = extension_message(line, catalogue) {
        let value = ExtValue::parse(row, text, catalogue)?;
        Ok(Some((3, Message::Experimenter(value))))
    } else {
        let flow = parse_flow(line, FlowModCommand::ADD, catalogue)?;
        Ok(Some((2, Message::FlowMod(flow))))
    }
}

/// Reads `PORT QUEUE SPEC` as a request to make or change a queue. Errors: what is wrong.
fn queue(text: &str) -> Result<ExtValue, ParseError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [port, id, spec] = words[..] else {
        return Err(format!("it is {QUEUE}PORT QUEUE SPEC, as {QUEUE}2 0 max=10M").into());
    };
    let port = number(port)?;
    let id = number(id)?;
    let spec = queues::parse(spec)?;
    Ok(queues::modify(PortNo(port), QueueId(id), &spec))
}

fn number(word: &str) -> Result<u32, ParseError> {
    word.parse()
        .map_err(|_| format!("'{word}' is no number").into())
}

/// If a line begins with the name of an extension's message: its row, and the rest of the line.
fn extension_message<'l>(
    line: &'l str,
    catalogue: &Catalogue,
) -> Option<(&'static ExtRow, &'l str)> {
    let (name, text) = line.split_once(' ')?;
    let mut messages = catalogue.values(ExtKind::Message);
    let row = messages.find(|row| row.name == name && row.usage.is_some())?;
    Some((row, text.trim()))
}
