//! Compares two sets of flow entries: `diff-flows` prints the difference, and `replace-flows` sends
//! it.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use bofuss_channel::ActiveAddress;
use bofuss_oflib::message::multipart::{FlowStatsRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::{FlowMod, FlowModCommand, MultipartReply};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Match, Message, Version, field};

use super::flow::{fields, instructions};
use super::wording::{PortNames, Wording};
use super::{mods, multipart};
use crate::Failure;
use crate::find;
use crate::verb::{Command, FlowSource, Made, Requests, misused};

/// The ids of fields, each with its mask.
type Mask = Vec<(u8, u128)>;

/// The mask of a match. In OpenFlow 1.0 a VLAN id with a priority, and the absence of a tag, have
/// the same mask: the whole tag.
fn mask(version: Version, fields: &Match) -> Mask {
    let [vid, priority] = [field::VLAN_VID, field::VLAN_PCP].map(|field| fields.get(field));
    let is_whole = vid.is_some_and(|vid| {
        vid.is_exact() && (vid.number() == 0 || priority.is_some()) && version == Version::V1_0
    });
    let mut mask = Vec::new();
    for one in fields.fields() {
        let bits = match one.field.id {
            id if id == field::VLAN_VID.id && is_whole => u128::MAX,
            id if id == field::VLAN_PCP.id && is_whole => continue,
            _ => one.mask_number(),
        };
        mask.push((one.field.id, bits));
    }
    mask
}

/// Up to two entries with the same table, match and priority: one of each set.
struct Pair {
    table: TableId,
    priority: u16,
    mask: Mask,
    /// The entry in the first and in the second set.
    versions: [Option<FlowMod>; 2],
}

impl Pair {
    fn differs(&self, version: Version) -> bool {
        match &self.versions {
            [Some(a), Some(b)] => compared(version, a) != compared(version, b),
            _ => true,
        }
    }

    /// The line of `diff-flows` about the entry `of` one set, without its sign.
    fn line(&self, wording: Wording<'_>, of: &FlowMod) -> String {
        let mut line = String::new();
        if self.table != TableId(0) {
            line += &format!("table={} ", self.table);
        }
        line += &fields(wording, &of.fields, of.priority);
        if of.cookie != 0 {
            line += &format!(" cookie={:#x}", of.cookie);
        }
        for (name, seconds) in [
            ("idle_timeout", of.idle_timeout),
            ("hard_timeout", of.hard_timeout),
        ] {
            if seconds != 0 {
                line += &format!(" {name}={seconds}");
            }
        }
        if importance(wording.version, of) != 0 {
            line += &format!(" importance={}", of.importance);
        }
        line + &format!(" actions={}\n", instructions(wording, &of.instructions))
    }
}

/// The parts of an entry that are compared. As for ovs-ofctl, flags are not.
fn compared(version: Version, entry: &FlowMod) -> (u64, u16, u16, u16, String) {
    (
        entry.cookie,
        entry.idle_timeout,
        entry.hard_timeout,
        importance(version, entry),
        instructions(Wording::with_numbers(version), &entry.instructions),
    )
}

/// The importance of an entry; 0 before OpenFlow 1.4, where a switch does not report it.
fn importance(version: Version, entry: &FlowMod) -> u16 {
    if version.has_bundles() {
        entry.importance
    } else {
        0
    }
}

/// Pairs the entries of two sets, in ovs-ofctl's order: by table, then by groups with the same
/// fields and masks. The group with the highest priority comes first.
fn pairs(version: Version, sets: [Vec<FlowMod>; 2]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut places = HashMap::new();
    for (which, set) in sets.into_iter().enumerate() {
        for entry in set {
            let text = fields(
                Wording::with_numbers(version),
                &entry.fields,
                entry.priority,
            );
            let place = *places
                .entry((entry.table_id.0, text))
                .or_insert(pairs.len());
            if place == pairs.len() {
                pairs.push(Pair {
                    table: entry.table_id,
                    priority: entry.priority,
                    mask: mask(version, &entry.fields),
                    versions: [None, None],
                });
            }
            pairs[place].versions[which] = Some(entry);
        }
    }
    // For each table and mask: the highest priority, and the place of the first entry.
    let mut ranks = HashMap::new();
    for (place, pair) in pairs.iter().enumerate() {
        let key = (pair.table.0, pair.mask.clone());
        let rank: &mut (Reverse<u16>, usize) = ranks.entry(key).or_insert((Reverse(0), place));
        rank.0 = rank.0.min(Reverse(pair.priority));
    }
    pairs.sort_by_key(|pair| (pair.table.0, ranks[&(pair.table.0, pair.mask.clone())]));
    pairs
}

/// The lines of `diff-flows` in a version's wording: `-` for entries of the first set that the
/// second does not have or has otherwise, `+` for those of the second. A set without port names,
/// such as a file's, takes those of the other.
pub(crate) fn lines(
    version: Version,
    sets: [Vec<FlowMod>; 2],
    names: &[Option<PortNames>; 2],
) -> String {
    let numbers = Wording::with_numbers(version).ports;
    let [first, second] = names;
    let wordings = [[first, second], [second, first]].map(|[own, other]| Wording {
        version,
        ports: own.as_ref().or(other.as_ref()).unwrap_or(numbers),
    });
    let mut text = String::new();
    for pair in pairs(version, sets) {
        if !pair.differs(version) {
            continue;
        }
        for ((sign, wording), one) in ['-', '+'].iter().zip(wordings).zip(&pair.versions) {
            if let Some(one) = one {
                text += &format!("{sign}{}", pair.line(wording, one));
            }
        }
    }
    text
}

/// The flow-mods that turn the first set into the second: deletes, then adds of the entries that
/// are new or differ; with `adds_all`, adds of all.
pub(crate) fn changes(version: Version, sets: [Vec<FlowMod>; 2], adds_all: bool) -> Vec<Message> {
    let mut deletes = Vec::new();
    let mut adds = Vec::new();
    for pair in pairs(version, sets) {
        let differs = pair.differs(version);
        match pair.versions {
            [Some(old), None] => deletes.push(FlowMod {
                command: FlowModCommand::DELETE_STRICT,
                // OpenFlow 1.0 names no table.
                table_id: if version == Version::V1_0 {
                    TableId::ALL
                } else {
                    old.table_id
                },
                priority: old.priority,
                ..FlowMod::add(old.fields)
            }),
            [_, Some(new)] if differs || adds_all => adds.push(new),
            [_, _] => {}
        }
    }
    deletes
        .into_iter()
        .chain(adds)
        .map(Message::FlowMod)
        .collect()
}

/// The request for all flow entries.
pub(crate) fn request() -> Message {
    multipart(RequestBody::Flow(FlowStatsRequest::all()))
}

/// The entries in the reply, as flow-mods that would add them.
pub(crate) fn entries_in(reply: Message) -> Vec<FlowMod> {
    let Message::MultipartReply(MultipartReply {
        body: ReplyBody::Flow(entries),
        ..
    }) = reply
    else {
        return Vec::new();
    };
    entries
        .into_iter()
        .map(|one| FlowMod::adding(one.0))
        .collect()
}

pub(crate) fn replace_flows(command: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [name] => Ok(Requests::Replace(mods::entries(command, name)?)),
        _ => misused(),
    }
}

/// Returns true if a source is a switch and not a file, by the rule of ovs-ofctl.
fn is_switch(word: &str) -> bool {
    let is_file = word.starts_with(['/', '.']);
    !is_file && (word.contains(':') || !Path::new(word).exists())
}

/// The first switch among the sources. A file that is compared with it may use its port names.
pub(crate) fn switch_among(sources: &[&str]) -> Option<ActiveAddress> {
    let mut switches = sources.iter().filter(|word| is_switch(word));
    switches.find_map(|word| find::address(word)?.ok())
}

pub(crate) fn diff_flows(command: &Command, arguments: &[&str]) -> Made {
    let [first, second] = arguments else {
        return misused();
    };
    Ok(Requests::Compare([
        source(command, first)?,
        source(command, second)?,
    ]))
}

fn source(command: &Command, word: &str) -> Result<FlowSource, Failure> {
    if is_switch(word) {
        Ok(FlowSource::Switch(word.into()))
    } else {
        mods::entries(command, word).map(FlowSource::File)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bofuss_oflib::text::parse_flow;

    use super::*;

    fn set(text: &str) -> Vec<FlowMod> {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let read = |line| parse_flow(line, FlowModCommand::ADD, &catalogue).expect("it is right");
        text.lines().map(read).collect()
    }

    const FIRST: &str = "priority=5,ip,actions=output:1\n\
        priority=5,ip,cookie=5,idle_timeout=9,nw_dst=1.2.3.4,actions=output:2\n\
        table=3,arp,actions=drop\n\
        priority=9,tcp,tp_dst=80,actions=normal";
    const SECOND: &str = "priority=5,ip,actions=output:2\n\
        table=3,arp,send_flow_rem,actions=drop\n\
        priority=8,tcp,tp_dst=81,hard_timeout=7,actions=meter:1,goto_table:2\n\
        priority=99,ip,in_port=1,actions=set_field:1.2.3.4->ip_src,output:LOCAL\n\
        actions=drop\n\
        table=2,actions=normal\n\
        cookie=7,dl_vlan=3,actions=normal";

    #[test]
    fn differences_are_those_that_ovs_ofctl_prints() {
        // ovs-ofctl 3.1 printed this of these two.
        let wanted = "+ actions=drop\n\
            +dl_vlan=3 cookie=0x7 actions=NORMAL\n\
            +priority=99,ip,in_port=1 actions=set_field:1.2.3.4->ip_src,LOCAL\n\
            -priority=9,tcp,tp_dst=80 actions=NORMAL\n\
            +priority=8,tcp,tp_dst=81 hard_timeout=7 actions=meter:1,goto_table:2\n\
            -priority=5,ip actions=output:1\n\
            +priority=5,ip actions=output:2\n\
            -priority=5,ip,nw_dst=1.2.3.4 cookie=0x5 idle_timeout=9 actions=output:2\n\
            +table=2  actions=NORMAL\n";
        let lines = |second| lines(Version::V1_3, [set(FIRST), set(second)], &[None, None]);
        assert_eq!(lines(SECOND), wanted);
        assert_eq!(lines(FIRST), "");
    }

    #[test]
    fn a_replacement_deletes_what_is_too_much_and_adds_what_is_new_or_differs() {
        let is_delete = |message: &Message| {
            matches!(message, Message::FlowMod(one)
                if one.command == FlowModCommand::DELETE_STRICT)
        };
        let changes = |adds_all| changes(Version::V1_3, [set(FIRST), set(SECOND)], adds_all);
        let kinds: Vec<bool> = changes(false).iter().map(is_delete).collect();
        assert_eq!(
            kinds,
            [true, true, false, false, false, false, false, false]
        );
        assert_eq!(changes(true).len(), 9, "the entry in table 3, too");
    }
}
