//! Files of flows and groups, one a line, as ovs-ofctl reads them.

use std::io;
use std::sync::OnceLock;

use bofuss_oflib::Message;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::{FlowMod, FlowModCommand};
use bofuss_oflib::text::find_unquoted;

use super::{flow, group};
use crate::Failure;
use crate::verbs::{Command, Made, Requests};

/// The commands with which a line of a file of flows may begin; the default is the verb's.
const FLOW_COMMANDS: &[(&str, FlowModCommand)] = &[
    ("add", FlowModCommand::ADD),
    ("modify", FlowModCommand::MODIFY),
    ("modify_strict", FlowModCommand::MODIFY_STRICT),
    ("delete", FlowModCommand::DELETE),
    ("delete_strict", FlowModCommand::DELETE_STRICT),
];
/// The same for a file of groups.
const GROUP_COMMANDS: &[(&str, GroupModCommand)] = &[
    ("add", GroupModCommand::ADD),
    ("modify", GroupModCommand::MODIFY),
    ("delete", GroupModCommand::DELETE),
    ("insert_bucket", GroupModCommand::INSERT_BUCKET),
    ("remove_bucket", GroupModCommand::REMOVE_BUCKET),
];

/// Reads the lines of a file, or of the standard input if its name is `-`, each with its command or
/// `usual`. Skips comments and empty lines. Errors: the file and the line.
pub(crate) fn each_line<K: Copy, T>(
    name: &str,
    commands: &[(&str, K)],
    usual: K,
    read: impl Fn(&str, K) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let got = match name {
        "-" => standard_input(),
        name => std::fs::read_to_string(name),
    };
    let text = got.map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    let mut list = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let end = find_unquoted(line, &['#']).unwrap_or(line.len());
        let line = line[..end].trim();
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (kind, line) = match commands.iter().find(|row| row.0 == first) {
            Some((_, kind)) => (*kind, rest),
            None if line.is_empty() => continue,
            None => (usual, line),
        };
        list.push(read(line, kind).map_err(|error| match error {
            Failure::Usage(e) => Failure::Usage(format!("{name}, line {}: {e}", number + 1)),
            other @ (Failure::Misused | Failure::Failed(_) | Failure::Differs) => other,
        })?);
    }
    Ok(list)
}

/// The standard input, read once, even if it is parsed several times.
fn standard_input() -> io::Result<String> {
    static TEXT: OnceLock<String> = OnceLock::new();
    if let Some(text) = TEXT.get() {
        return Ok(text.clone());
    }
    let text = io::read_to_string(io::stdin())?;
    Ok(TEXT.get_or_init(|| text).clone())
}

/// The changes of a file of flows.
pub(super) fn flow_changes(command: &Command, name: &str, usual: FlowModCommand) -> Made {
    let changes = each_line(name, FLOW_COMMANDS, usual, |line, kind| {
        Ok(Message::FlowMod(flow(command, line, kind)?))
    })?;
    Ok(Requests::Change(changes))
}

/// The entries of a file of flows; each must be one to add.
pub(super) fn entries(command: &Command, name: &str) -> Result<Vec<FlowMod>, Failure> {
    let usual = FlowModCommand::ADD;
    each_line(name, &FLOW_COMMANDS[..1], usual, |line, kind| {
        flow(command, line, kind)
    })
}

/// The changes of a file of groups.
pub(super) fn group_changes(command: &Command, name: &str, usual: GroupModCommand) -> Made {
    let changes = each_line(name, GROUP_COMMANDS, usual, |line, kind| {
        Ok(Message::GroupMod(group(command, line, kind)?))
    })?;
    Ok(Requests::Change(changes))
}
