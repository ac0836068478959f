//! Flow entries in OpenFlow 1.0: FLOW_MOD, FLOW_REMOVED, and the statistics of entries.
//! Spec: OpenFlow 1.0.2 sections 5.3.3, 5.3.5, 5.4.3.

use alloc::vec::Vec;

use super::V1_0;
use super::action::{read_list, write_list};
use super::matching::{self, EXACT_PRIORITY};
use crate::action::Action;
use crate::error::{BadAction, BadRequest, DecodeError, FlowModFailed};
use crate::forms::Form;
use crate::instruction::{Instruction, Instructions};
use crate::matching::Match;
use crate::message::multipart::flow::FlowEntry;
use crate::message::multipart::{FlowStats, FlowStatsRequest};
use crate::message::{FlowMod, FlowModCommand, FlowModFlags, FlowRemoved, FlowRemovedReason};
use crate::types::{GroupId, TableId};
use crate::wire::{Reader, Writer};

/// The flag of entries for the time without a controller, which this switch does not have.
const EMERGENCY: u16 = 4;
/// The flags that mean the same in every version.
const SAME_FLAGS: u32 = FlowModFlags::SEND_FLOW_REM.0 | FlowModFlags::CHECK_OVERLAP.0;
/// Bytes of an entry's statistics in front of its actions.
const FLOW_STATS_BYTES: usize = 88;

/// The flags that every flow-mod of 1.0 means besides its own: an add begins at zero, a modify of
/// nothing adds, actions may be about headers that are not matched, one VLAN tag is skipped, an
/// exact entry is above others.
fn implied(command: FlowModCommand, exact: bool) -> FlowModFlags {
    let of_command = match command {
        FlowModCommand::ADD => FlowModFlags::RESET_COUNTS,
        FlowModCommand::MODIFY | FlowModCommand::MODIFY_STRICT => FlowModFlags::OR_ADD,
        _ => return FlowModFlags::default(),
    };
    let flags = of_command | FlowModFlags::ANY_HEADER | FlowModFlags::ONE_TAG;
    if exact {
        flags | FlowModFlags::FIRST
    } else {
        flags
    }
}

/// The tables that a flow-mod of 1.0 is about: it adds to the first, and deletes from all.
fn table(command: FlowModCommand) -> TableId {
    match command {
        FlowModCommand::DELETE | FlowModCommand::DELETE_STRICT => TableId::ALL,
        _ => TableId(0),
    }
}

impl Form<V1_0> for FlowModCommand {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.clone();
        let command = u8::try_from(r.get::<u16>()?).map(Self);
        let known = command.ok().filter(|command| command.name().is_some());
        known.ok_or_else(|| start.err(FlowModFailed::BAD_COMMAND))
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&u16::from(self.0));
    }
}

impl Form<V1_0> for FlowMod {
    /// Errors: FLOW_MOD_FAILED with BAD_COMMAND, BAD_FLAGS or, for an emergency entry with a
    /// timeout, BAD_TIMEOUT; or an action's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let sent = matching::read(r)?;
        let exact = sent.is_exact();
        let cookie = r.at("cookie").get()?;
        let command = r.at("command").get()?;
        let idle_timeout = r.at("idle_timeout").get()?;
        let hard_timeout = r.at("hard_timeout").get()?;
        let asked: u16 = r.at("priority").get()?;
        let priority = if exact { EXACT_PRIORITY } else { asked };
        let fields = sent.to_match(is_reported_exact(priority));
        let buffer_id = r.at("buffer_id").get()?;
        let out_port = r.at("out_port").get()?;
        let at_flags = r.at("flags").clone();
        let flags: u16 = r.get()?;
        if flags & EMERGENCY != 0 {
            let timed = idle_timeout != 0 || hard_timeout != 0;
            let error = if timed {
                FlowModFailed::BAD_TIMEOUT
            } else {
                FlowModFailed::BAD_FLAGS
            };
            return Err(at_flags.err(error));
        }
        if u32::from(flags) & !SAME_FLAGS != 0 {
            return Err(at_flags.err(FlowModFailed::BAD_FLAGS));
        }
        let actions = read_actions(r, &fields)?;
        Ok(Self {
            cookie,
            cookie_mask: 0,
            table_id: table(command),
            command,
            idle_timeout,
            hard_timeout,
            priority,
            buffer_id,
            out_port,
            out_group: GroupId::ANY,
            flags: FlowModFlags(flags.into()) | implied(command, exact),
            fields,
            instructions: Instructions::apply(actions),
            importance: 0,
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        let unsupported = [
            (self.cookie_mask != 0, "a cookie mask"),
            (self.out_group != GroupId::ANY, "out_group"),
            (self.importance != 0, "importance"),
            (self.table_id != table(self.command), "this table"),
        ];
        if let Some((_, what)) = unsupported.iter().find(|(asked, _)| *asked) {
            return w.unsupported(what);
        }
        let is_meant_exact = if self.deletes() {
            is_reported_exact(self.priority)
        } else {
            self.flags.has(FlowModFlags::FIRST)
        };
        let exact = write_match(&self.fields, self.priority, is_meant_exact, w);
        let own = self.flags.0 & !implied(self.command, exact).0;
        if own & !SAME_FLAGS != 0 {
            return w.unsupported("these flags");
        }
        w.put(&self.cookie).put(&self.command);
        w.put(&self.idle_timeout).put(&self.hard_timeout);
        w.put(&self.priority).put(&self.buffer_id);
        w.put(&self.out_port).put(&(own as u16));
        write_instructions(&self.instructions, &self.fields, w);
    }
}

/// Reads the actions of an entry, up to the end of the window.
fn read_actions(r: &mut Reader<'_>, fields: &Match) -> Result<Vec<Action>, DecodeError> {
    let bytes = r.remaining();
    let mut list = r.at("actions").sub(bytes, BadAction::BAD_LEN)?;
    read_list(&mut list, Some(fields))
}

/// The same as instructions.
pub(super) fn read_instructions(
    r: &mut Reader<'_>,
    fields: &Match,
) -> Result<Instructions, DecodeError> {
    read_actions(r, fields).map(Instructions::apply)
}

/// Appends an entry's match; gives whether it is exact. An exact one below the highest priority
/// cannot be said: in 1.0 it would be above all others.
fn write_match(fields: &Match, priority: u16, exact: bool, w: &mut Writer<'_>) -> bool {
    let exact = matching::write(fields, exact, w);
    if exact && priority != EXACT_PRIORITY {
        w.unsupported("an exact entry of low priority");
    }
    exact
}

/// Returns true if an entry of this priority is reported as exact if it has all fields that its
/// packets have.
fn is_reported_exact(priority: u16) -> bool {
    priority == EXACT_PRIORITY
}

/// Appends the list of actions that the instructions are in 1.0.
pub(super) fn write_instructions(instructions: &Instructions, fields: &Match, w: &mut Writer<'_>) {
    let reported = instructions
        .reported_in(w.version())
        .filter(|_| w.leaves_out);
    match reported.as_ref().unwrap_or(instructions).list() {
        [] => {}
        [Instruction::ApplyActions(actions)] => write_list(actions, Some(fields), w),
        _ => w.unsupported("instructions other than apply_actions"),
    }
}

impl Form<V1_0> for FlowRemovedReason {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.get().map(|n| without_groups(Self(n)))
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&without_groups(*self).0);
    }
}

/// The reason that stands for one in 1.0, where there are no groups.
fn without_groups(reason: FlowRemovedReason) -> FlowRemovedReason {
    match reason {
        FlowRemovedReason::GROUP_DELETE => FlowRemovedReason::DELETE,
        _ => reason,
    }
}

impl Form<V1_0> for FlowRemoved {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut this = Self {
            fields: r.get()?,
            cookie: r.at("cookie").get()?,
            priority: r.at("priority").get()?,
            reason: r.at("reason").get()?,
            ..Self::default()
        };
        r.take(1)?;
        this.duration_sec = r.at("duration").get()?;
        this.duration_nsec = r.get()?;
        this.idle_timeout = r.at("idle_timeout").get()?;
        r.take(2)?;
        this.packet_count = r.at("packet_count").get()?;
        this.byte_count = r.at("byte_count").get()?;
        Ok(this)
    }
    fn write(&self, w: &mut Writer<'_>) {
        matching::write(&self.fields, is_reported_exact(self.priority), w);
        w.put(&self.cookie).put(&self.priority);
        w.put(&self.reason).pad(1);
        w.put(&self.duration_sec).put(&self.duration_nsec);
        w.put(&self.idle_timeout).pad(2);
        w.put(&self.packet_count).put(&self.byte_count);
    }
}

impl Form<V1_0> for FlowStatsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let fields = r.get()?;
        let table_id = r.at("table_id").get()?;
        r.take(1)?;
        Ok(Self {
            table_id,
            out_port: r.at("out_port").get()?,
            fields,
            ..Self::all()
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        if self.out_group != GroupId::ANY || self.cookie_mask != 0 {
            return w.unsupported("a filter of groups or cookies");
        }
        w.put(&self.fields).put(&self.table_id).pad(1);
        w.put(&self.out_port);
    }
}

impl Form<V1_0> for FlowStats {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r
            .at("flow stats")
            .sized(0, FLOW_STATS_BYTES, 8, BadRequest::BAD_LEN)?;
        body.take(2)?;
        let mut entry = FlowEntry {
            table_id: body.at("table_id").get()?,
            ..FlowEntry::default()
        };
        body.take(1)?;
        entry.fields = body.get()?;
        entry.duration_sec = body.at("duration").get()?;
        entry.duration_nsec = body.get()?;
        entry.priority = body.at("priority").get()?;
        entry.idle_timeout = body.at("idle_timeout").get()?;
        entry.hard_timeout = body.at("hard_timeout").get()?;
        body.take(6)?;
        entry.cookie = body.at("cookie").get()?;
        entry.packet_count = body.at("packet_count").get()?;
        entry.byte_count = body.at("byte_count").get()?;
        entry.instructions = read_instructions(&mut body, &entry.fields)?;
        Ok(Self(entry))
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        let entry = &self.0;
        w.put(&0u16).put(&entry.table_id).pad(1);
        let exact = is_reported_exact(entry.priority);
        write_match(&entry.fields, entry.priority, exact, w);
        w.put(&entry.duration_sec).put(&entry.duration_nsec);
        w.put(&entry.priority);
        w.put(&entry.idle_timeout).put(&entry.hard_timeout).pad(6);
        w.put(&entry.cookie);
        w.put(&entry.packet_count).put(&entry.byte_count);
        write_instructions(&entry.instructions, &entry.fields, w);
        w.patch_length(start, start);
    }
}
