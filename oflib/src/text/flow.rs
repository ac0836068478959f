//! The text of flow entries: reads a flow-mod, prints flow-mods and the entries of a dump.

use core::fmt;

use super::action::instructions;
use super::matching::{MatchParser, names};
use super::word::Word;
use crate::catalogue::Catalogue;
use crate::instruction::Instructions;
use crate::matching::Match;
use crate::message::multipart::flow::{FlowEntry, FlowStatsRequest};
use crate::message::{FlowMod, FlowModCommand, FlowModFlags};
use crate::parse_error::ParseError;
use crate::types::{BufferId, GroupId, PortNo, TableId};

/// The names of a flow's properties beside its match, its flags and its actions.
pub const PROPERTIES: &[&str] = &[
    "table",
    "cookie",
    "priority",
    "idle_timeout",
    "hard_timeout",
    "out_port",
    "out_group",
    "buffer_id",
    "importance",
    "flags",
    "actions",
];
/// Words that a dump prints and a flow-mod cannot say; skipped, so that a dump can be fed back.
const COUNTERS: &[&str] = &["duration", "n_packets", "n_bytes", "idle_age", "hard_age"];
/// The word with which the actions begin; they go on to the end of the text.
const ACTIONS: &[&str] = &["actions=", "action=", "instructions="];

/// Reads a flow-mod: `table=0,priority=10,ip,nw_dst=10.0.0.0/8,actions=output:2`, in any order but
/// the actions, which come last. Without a table, a delete is for all tables and the others for
/// table 0.
///
/// Errors: the word that is not understood; an add or modify without actions.
pub fn parse_flow(
    text: &str,
    command: FlowModCommand,
    catalogue: &Catalogue,
) -> Result<FlowMod, ParseError> {
    let text = Word::new(text);
    let mut items = text.items();
    let mut actions = None;
    for (i, item) in items.iter().enumerate() {
        let mut begins = ACTIONS.iter();
        if let Some(first) = begins.find_map(|begin| item.after(begin)) {
            actions = Some(first.up_to_end_of(text));
            items.truncate(i);
            break;
        }
    }
    let mut flow = FlowMod {
        command,
        table_id: if is_delete(command) {
            TableId::ALL
        } else {
            TableId(0)
        },
        ..FlowMod::add(Match::ANY)
    };
    let mut parser = MatchParser::new(catalogue);
    for item in items {
        if !property(&mut flow, item, catalogue)? {
            parser
                .add(item)
                .map_err(|e| with_properties(e, item, catalogue))?;
        }
    }
    flow.fields = parser.finish()?;
    flow.instructions = match actions {
        Some(actions) => instructions(actions, &flow.fields, catalogue)?,
        None if is_delete(command) => Instructions::default(),
        None => {
            return Err(text
                .end()
                .err("no actions: end with actions=..., perhaps actions=drop"));
        }
    };
    Ok(flow)
}

/// Reads which entries are meant, as a delete says it: `table=1,ip,out_port=2`; all, if the text is
/// empty.
///
/// Errors: as [`parse_flow`].
pub fn parse_flow_filter(
    text: &str,
    catalogue: &Catalogue,
) -> Result<FlowStatsRequest, ParseError> {
    let flow = parse_flow(text, FlowModCommand::DELETE, catalogue)?;
    Ok(FlowStatsRequest {
        table_id: flow.table_id,
        out_port: flow.out_port,
        out_group: flow.out_group,
        cookie: flow.cookie,
        cookie_mask: flow.cookie_mask,
        fields: flow.fields,
    })
}

fn is_delete(command: FlowModCommand) -> bool {
    [FlowModCommand::DELETE, FlowModCommand::DELETE_STRICT].contains(&command)
}

/// Proposes the properties, too, where a word is no field.
fn with_properties(error: ParseError, item: Word<'_>, catalogue: &Catalogue) -> ParseError {
    let (name, _) = item.split_at(&['=']).unwrap_or((item, item));
    if !error.message.starts_with("no such field") {
        return error;
    }
    let flags = FlowModFlags::NAMES.iter().map(|(_, name)| *name);
    let known = PROPERTIES.iter().copied().chain(flags);
    name.unknown("field, keyword or property", names(catalogue).chain(known))
}

/// Takes a property or flag. `false` if it is none.
fn property(flow: &mut FlowMod, item: Word<'_>, catalogue: &Catalogue) -> Result<bool, ParseError> {
    let Some((name, value)) = item.split_at(&['=']) else {
        let flag = FlowModFlags::named(item.text);
        flow.flags = flow.flags | flag.unwrap_or_default();
        return Ok(flag.is_some());
    };
    match name.text {
        "table" | "table_id" => flow.table_id = value.parse("table")?,
        "priority" => flow.priority = value.number()?,
        "idle_timeout" => flow.idle_timeout = value.number()?,
        "hard_timeout" => flow.hard_timeout = value.number()?,
        "out_port" => flow.out_port = value.port(catalogue)?,
        "out_group" => flow.out_group = value.parse("group")?,
        "buffer_id" => flow.buffer_id = value.parse("buffer")?,
        "importance" => flow.importance = value.number()?,
        "flags" => flow.flags.0 |= u32::from(value.number::<u16>()?),
        "cookie" => match value.split_at(&['/']) {
            Some((cookie, mask)) => {
                flow.cookie = cookie.number()?;
                flow.cookie_mask = if mask.is("-1") {
                    u64::MAX
                } else {
                    mask.number()?
                };
            }
            None if is_delete(flow.command) => {
                return Err(value.err("a delete compares cookies under a mask: write VALUE/-1"));
            }
            None => flow.cookie = value.number()?,
        },
        other => return Ok(COUNTERS.contains(&other)),
    }
    Ok(true)
}

impl fmt::Display for FlowMod {
    /// The text that [`parse_flow`] reads; the command is not in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={}", self.table_id)?;
        if self.cookie_mask != 0 || (self.cookie != 0 && is_delete(self.command)) {
            write!(f, ",cookie={:#x}/{:#x}", self.cookie, self.cookie_mask)?;
        } else if self.cookie != 0 {
            write!(f, ",cookie={:#x}", self.cookie)?;
        }
        write!(f, ",priority={}", self.priority)?;
        if self.out_port != PortNo::ANY {
            write!(f, ",out_port={}", self.out_port)?;
        }
        if self.out_group != GroupId::ANY {
            write!(f, ",out_group={}", self.out_group)?;
        }
        if self.buffer_id != BufferId::NO_BUFFER {
            write!(f, ",buffer_id={}", self.buffer_id)?;
        }
        let times = (self.idle_timeout, self.hard_timeout);
        write_limits(f, ",", times, self.importance, self.flags)?;
        if !self.fields.fields().is_empty() {
            write!(f, ",{}", self.fields)?;
        }
        if is_delete(self.command) && self.instructions == Instructions::default() {
            return Ok(());
        }
        write!(f, ",actions={}", self.instructions)
    }
}

/// Writes timeouts, importance and flags, those that are not 0, each behind `comma`.
fn write_limits(
    f: &mut fmt::Formatter<'_>,
    comma: &str,
    (idle, hard): (u16, u16),
    importance: u16,
    flags: FlowModFlags,
) -> fmt::Result {
    for (name, number) in [
        ("idle_timeout", idle),
        ("hard_timeout", hard),
        ("importance", importance),
    ] {
        if number != 0 {
            write!(f, "{comma}{name}={number}")?;
        }
    }
    for (flag, name) in FlowModFlags::NAMES {
        if flags.has(*flag) {
            write!(f, "{comma}{name}")?;
        }
    }
    match flags.0 & !FlowModFlags::ALL.0 {
        0 => Ok(()),
        unknown => write!(f, "{comma}flags={unknown:#x}"),
    }
}

/// The text of a flow-mod with its command.
pub(crate) fn write_flow_mod(flow: &FlowMod, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} {flow}", flow.command)
}

/// The line of a dump; counters that are not kept are left out.
pub(crate) fn write_flow_entry(flow: &FlowEntry, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let millis = flow.duration_nsec / 1_000_000;
    write!(f, "cookie={:#x}, ", flow.cookie)?;
    write!(f, "duration={}.{millis:03}s, ", flow.duration_sec)?;
    write!(f, "table={}", flow.table_id)?;
    for (name, count) in [
        ("n_packets", flow.packet_count),
        ("n_bytes", flow.byte_count),
    ] {
        if count != u64::MAX {
            write!(f, ", {name}={count}")?;
        }
    }
    let times = (flow.idle_timeout, flow.hard_timeout);
    write_limits(f, ", ", times, flow.importance, flow.flags)?;
    write!(f, " priority={}", flow.priority)?;
    if !flow.fields.fields().is_empty() {
        write!(f, ",{}", flow.fields)?;
    }
    write!(f, " actions={}", flow.instructions)
}
