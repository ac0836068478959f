//! The flow-mods and group-mods that arguments and files ask for.

use bofuss_oflib::Message;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::{FlowMod, FlowModCommand, FlowModFlags, GroupMod};
use bofuss_oflib::text::{parse_flow, parse_group};

use super::file::each_line;
use crate::Failure;
use crate::verb::{Command, Made, Requests};
use crate::words::Argument;

/// Keys of a flow that do not select entries.
const NO_FILTERS: &[&str] = &[
    "idle_timeout",
    "hard_timeout",
    "buffer_id",
    "actions",
    "action",
];

/// The key that names an existing bucket, before or after which others are inserted.
const BUCKET_KEY: &str = "command_bucket_id";

/// The commands with which a line of a file of flows may begin.
const FLOW_COMMANDS: &[(&str, FlowModCommand)] = &[
    ("add", FlowModCommand::ADD),
    ("modify", FlowModCommand::MODIFY),
    ("modify_strict", FlowModCommand::MODIFY_STRICT),
    ("delete", FlowModCommand::DELETE),
    ("delete_strict", FlowModCommand::DELETE_STRICT),
];

/// The commands with which a line of a file of groups may begin.
const GROUP_COMMANDS: &[(&str, GroupModCommand)] = &[
    ("add", GroupModCommand::ADD),
    ("modify", GroupModCommand::MODIFY),
    ("delete", GroupModCommand::DELETE),
    ("insert_bucket", GroupModCommand::INSERT_BUCKET),
    ("remove_bucket", GroupModCommand::REMOVE_BUCKET),
];

/// Refuses words that a user may take for a filter, but that select no entries for a command. The
/// priority does so for DELETE_STRICT alone.
pub(super) fn check_filter(text: &str, kind: FlowModCommand) -> Result<(), Failure> {
    for word in text.split([',', ' ', '\t']) {
        let name = word.split('=').next().unwrap_or_default();
        let is_flag = FlowModFlags::NAMES.iter().any(|row| row.1 == name);
        if name == "priority" && kind != FlowModCommand::DELETE_STRICT {
            let why = "does not select entries; del-flows --strict compares priorities";
            return Err(Argument(text).wrong(word, why));
        }
        if is_flag || NO_FILTERS.contains(&name) {
            return Err(Argument(text).wrong(word, "does not select entries: leave it out"));
        }
    }
    Ok(())
}

pub(super) fn flow(
    command: &Command,
    text: &str,
    kind: FlowModCommand,
) -> Result<FlowMod, Failure> {
    if [FlowModCommand::DELETE, FlowModCommand::DELETE_STRICT].contains(&kind) {
        check_filter(text, kind)?;
    }
    let parsed = parse_flow(text, kind, &command.catalogue);
    parsed.map_err(Failure::in_text(text))
}

/// Parses a group. Errors: what is wrong in it; also if buckets are inserted or removed and the
/// text does not say which, because OpenFlow takes that as all.
pub(super) fn group(
    command: &Command,
    text: &str,
    kind: GroupModCommand,
) -> Result<GroupMod, Failure> {
    let of_buckets = [
        GroupModCommand::INSERT_BUCKET,
        GroupModCommand::REMOVE_BUCKET,
    ];
    if of_buckets.contains(&kind) && !text.contains(BUCKET_KEY) {
        let how = format!("{BUCKET_KEY} is missing: write a bucket's number, first, last or all");
        return Err(Argument(text).wrong("", &how));
    }
    let parsed = parse_group(text, kind, &command.catalogue);
    parsed.map_err(Failure::in_text(text))
}

/// The flow-mods of a file of flows.
pub(super) fn flow_changes(command: &Command, name: &str, usual: FlowModCommand) -> Made {
    let changes = each_line(name, FLOW_COMMANDS, usual, |line, kind| {
        Ok(Message::FlowMod(flow(command, line, kind)?))
    })?;
    Ok(Requests::Change(changes))
}

/// The entries of a file of flows. Errors: also a line with another command than `add`.
pub(super) fn entries(command: &Command, name: &str) -> Result<Vec<FlowMod>, Failure> {
    let usual = FlowModCommand::ADD;
    each_line(name, &FLOW_COMMANDS[..1], usual, |line, kind| {
        flow(command, line, kind)
    })
}

/// The group-mods of a file of groups.
pub(super) fn group_changes(command: &Command, name: &str, usual: GroupModCommand) -> Made {
    let changes = each_line(name, GROUP_COMMANDS, usual, |line, kind| {
        Ok(Message::GroupMod(group(command, line, kind)?))
    })?;
    Ok(Requests::Change(changes))
}
