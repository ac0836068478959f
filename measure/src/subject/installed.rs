//! What a switch has been given: its meters, groups and entries; read, as text, and as the messages
//! that give it the same again.

use std::collections::HashSet;

use bofuss_oflib::action::Action;
use bofuss_oflib::message::group_mod::{Bucket, GroupModCommand};
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::group::GroupDescRequest;
use bofuss_oflib::message::multipart::{MeterRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::{FlowMod, FlowModFlags, GroupMod, MeterMod};
use bofuss_oflib::types::{GroupId, MeterId};
use bofuss_oflib::{Catalogue, Codec, Message, Version};
use bofuss_sim::scenario::parse_rule;

use crate::error::{ControlError, Result};
use crate::subject::controller::{ControlSession, Controlled};

/// The meters, groups and entries of a switch, as messages that add them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installed {
    meters: Vec<MeterMod>,
    /// A group comes after those that it refers to.
    groups: Vec<GroupMod>,
    /// The entries.
    pub entries: Vec<FlowMod>,
}

impl Installed {
    /// Reads them. A kind that the version does not have, or that the switch does not list, is
    /// taken for absent.
    ///
    /// Errors: the connection's; an entry that cannot be read.
    pub fn read(session: &mut ControlSession) -> Controlled<Self> {
        let mut this = Self::default();
        if session.version() >= Version::V1_3 {
            let all = RequestBody::MeterConfig(MeterRequest {
                meter_id: MeterId::ALL,
            });
            if let Some(ReplyBody::MeterConfig(meters)) = listed(session, all)? {
                this.meters = meters
                    .into_iter()
                    .map(|meter| MeterMod {
                        command: MeterModCommand::ADD,
                        flags: meter.flags,
                        meter_id: meter.meter_id,
                        bands: meter.bands,
                    })
                    .collect();
            }
        }
        if session.version() >= Version::V1_1 {
            let all = RequestBody::GroupDesc(GroupDescRequest::ALL);
            if let Some(ReplyBody::GroupDesc(groups)) = listed(session, all)? {
                let groups = groups.into_iter().map(|group| GroupMod {
                    ty: group.ty,
                    group_id: group.group_id,
                    buckets: group.buckets,
                    experimenters: group.experimenters,
                    ..GroupMod::default()
                });
                this.groups = in_order(groups.collect());
            }
        }
        this.entries = checked_first(session.entries()?);
        Ok(this)
    }

    /// Reads what [`lines`](Self::lines) wrote.
    ///
    /// Errors: the line that says something else.
    pub fn of_text(text: &str, catalogue: &Catalogue) -> Result<Self> {
        let mut this = Self::default();
        for line in text.lines() {
            match parse_rule(line, catalogue) {
                Ok(Some((_, Message::MeterMod(meter)))) => this.meters.push(meter),
                Ok(Some((_, Message::GroupMod(group)))) => this.groups.push(group),
                Ok(Some((_, Message::FlowMod(entry)))) => this.entries.push(entry),
                Ok(None) => {}
                Ok(Some(_)) => return Err(format!("'{line}' is no rule").into()),
                Err(error) => return Err(format!("'{line}': {error}").into()),
            }
        }
        Ok(this)
    }

    /// One line for each, as dpctl writes it.
    pub fn lines(&self) -> Vec<String> {
        let meters = self.meters.iter().map(MeterMod::to_string);
        let groups = self.groups.iter().map(GroupMod::to_string);
        let entries = self.entries.iter().map(FlowMod::to_string);
        meters.chain(groups).chain(entries).collect()
    }

    /// How many there are, in words.
    pub fn counted(&self) -> String {
        let mut words = Vec::new();
        for (count, one) in [(self.meters.len(), "meter"), (self.groups.len(), "group")] {
            match count {
                0 => {}
                1 => words.push(format!("1 {one}")),
                _ => words.push(format!("{count} {one}s")),
            }
        }
        words.push(format!("{} rules", self.entries.len()));
        words.join(", ")
    }

    /// Returns true if there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that a connection of this version can give the switch all of it, and that its text
    /// says all of it.
    ///
    /// Errors: the first that cannot be written, or is read as another.
    pub fn check(&self, version: Version, codec: &Codec) -> Result<()> {
        for (message, line) in self.messages().iter().zip(self.lines()) {
            let mut bytes = Vec::new();
            let written = codec.encode(1, message, &mut bytes);
            written.map_err(|error| format!("{line}: {error}"))?;
            let again = codec.decode(&bytes);
            if again.as_ref().map(|(_, read)| read) != Ok(message) {
                return Err(format!("{line}: OpenFlow {version} has no form for it").into());
            }
        }
        let read = Self::of_text(&self.lines().join("\n"), &codec.catalogue)?;
        let messages = self.messages().into_iter().zip(read.messages());
        match messages
            .zip(self.lines())
            .find(|((one, other), _)| one != other)
        {
            Some((_, line)) => Err(format!("{line}: this text does not say all of it").into()),
            None => Ok(()),
        }
    }

    /// The messages that add all to a switch that has nothing.
    pub fn messages(&self) -> Vec<Message> {
        let meters = self.meters.iter().cloned().map(Message::MeterMod);
        let groups = self.groups.iter().cloned().map(Message::GroupMod);
        let entries = self.entries.iter().cloned().map(Message::FlowMod);
        meters.chain(groups).chain(entries).collect()
    }

    /// Removes all from the switch, and with it every other entry.
    ///
    /// Errors: the connection's, or the switch's.
    pub fn remove(&self, session: &mut ControlSession) -> Controlled<()> {
        session.remove_all()?;
        let groups = self.groups.iter().rev().map(|group| {
            Message::GroupMod(GroupMod {
                command: GroupModCommand::DELETE,
                buckets: Vec::new(),
                ..group.clone()
            })
        });
        let meters = self.meters.iter().map(|meter| {
            Message::MeterMod(MeterMod {
                command: MeterModCommand::DELETE,
                bands: Vec::new(),
                ..meter.clone()
            })
        });
        let removals: Vec<Message> = groups.chain(meters).collect();
        session.change(&removals).map(drop)
    }

    /// The lines of this that `other` does not have. Entries with a time-out may have gone.
    pub fn missing_in(&self, other: &Self) -> Vec<String> {
        let stays = |entry: &&FlowMod| entry.idle_timeout == 0 && entry.hard_timeout == 0;
        let lasting = Self {
            entries: self.entries.iter().filter(stays).cloned().collect(),
            ..self.clone()
        };
        let there: HashSet<String> = other.lines().into_iter().collect();
        let mut lines = lasting.lines();
        lines.retain(|line| !there.contains(line));
        lines
    }
}

/// Asks for a list. Returns `None` if the switch has none of that kind.
fn listed(session: &mut ControlSession, body: RequestBody) -> Controlled<Option<ReplyBody>> {
    match session.multipart(body) {
        Ok(body) => Ok(Some(body)),
        Err(ControlError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The groups that a bucket refers to.
fn needed(bucket: &Bucket) -> impl Iterator<Item = GroupId> {
    let of_actions = bucket.actions.iter().filter_map(|action| {
        let Action::Group(group) = action else {
            return None;
        };
        Some(*group)
    });
    of_actions.chain([bucket.watch_group])
}

/// Groups after those that they refer to.
fn in_order(mut waiting: Vec<GroupMod>) -> Vec<GroupMod> {
    let mut sorted = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let ids: Vec<GroupId> = waiting.iter().map(|group| group.group_id).collect();
        let is_ready = |group: &GroupMod| {
            let mut needs = group.buckets.iter().flat_map(needed);
            !needs.any(|id| id != group.group_id && ids.contains(&id))
        };
        let (mut ready, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_ready);
        // A circle has no order; the switch says so.
        let is_circle = ready.is_empty();
        sorted.append(&mut ready);
        waiting = rest;
        if is_circle {
            sorted.append(&mut waiting);
        }
    }
    sorted
}

/// Entries with CHECK_OVERLAP before the others: no two of them overlap, but one that came later
/// without the flag may overlap one of them, and they are refused after it.
fn checked_first(mut entries: Vec<FlowMod>) -> Vec<FlowMod> {
    entries.sort_by_key(|entry| !entry.flags.has(FlowModFlags::CHECK_OVERLAP));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed(text: &str) -> Installed {
        Installed::of_text(text, &bofuss_ext::catalogue()).unwrap()
    }

    #[test]
    fn groups_come_after_those_that_they_refer_to() {
        let group = |id: u32, to: u32| {
            let line = format!("group_id={id},type=indirect,bucket=actions=group:{to}");
            installed(&line).groups.remove(0)
        };
        let order = |groups: Vec<GroupMod>| {
            let sorted = in_order(groups).into_iter();
            sorted.map(|group| group.group_id.0).collect::<Vec<_>>()
        };
        assert_eq!(
            order(vec![group(1, 2), group(2, 3), group(3, 9)]),
            [3, 2, 1]
        );
        assert_eq!(
            order(vec![group(1, 2), group(2, 1), group(3, 9)]),
            [3, 1, 2]
        );
    }

    #[test]
    fn entries_that_were_checked_for_overlap_come_first_and_the_others_stay_in_order() {
        let entries = installed(
            "udp,actions=drop\ncheck_overlap,tcp,actions=drop\nip,actions=drop\n\
             check_overlap,arp,actions=drop",
        );
        let sorted = checked_first(entries.entries.clone());
        let order = [1, 3, 0, 2].map(|place: usize| entries.entries[place].clone());
        assert_eq!(sorted, order);
    }

    #[test]
    fn what_a_version_cannot_write_is_named() {
        let rules = installed(
            "meter=1,kbps,bands=type=drop,rate=1000\n\
             group_id=7,type=all,bucket=actions=output:1\n\
             table=2,priority=3,metadata=5,actions=output:2\n\
             priority=4,tcp,tcp_flags=+syn,actions=group:7",
        );
        let check = |version| {
            let codec = Codec::new(version, std::sync::Arc::new(bofuss_ext::catalogue()));
            rules.check(version, &codec)
        };
        check(Version::V1_5).unwrap();
        for version in [Version::V1_0, Version::V1_2] {
            assert!(check(version).is_err(), "{version}");
        }
    }

    #[test]
    fn entries_with_a_time_out_may_have_gone() {
        let before = installed("idle_timeout=9,udp,actions=drop\npriority=2,tcp,actions=drop");
        let wider = installed("priority=2,ip,actions=drop");
        assert_eq!(before.missing_in(&before), Vec::<String>::new());
        let missing = before.missing_in(&wider);
        assert!(
            missing.len() == 1 && missing[0].contains("tcp"),
            "{missing:?}"
        );
    }
}
