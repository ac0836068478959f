//! Gives a new switch the state of an earlier one.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use bofuss_agent::{ConnId, Request, Switch, SwitchIo};
use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{EntryPast, Time};
use bofuss_ext::{SAVED, queues};
use bofuss_frame::Frame;
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::message::multipart::{MultipartRequest, ReplyBody, RequestBody, TableFeatures};
use bofuss_oflib::message::{FlowMod, FlowModFlags};
use bofuss_oflib::types::{GroupId, MeterId, QueueId};
use bofuss_oflib::{Assembler, Codec, Framer, Mac, Message, PortNo, Version};

use super::read::Numbers;
use super::save::features_sum;
use super::{SAVER, SavedState, kind};

/// Most things that a report names.
const MOST_NAMED: usize = 20;

/// What a switch was given again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Entries.
    pub flows: usize,
    /// Groups.
    pub groups: usize,
    /// Meters.
    pub meters: usize,
    /// Addresses that NORMAL learned.
    pub addresses: usize,
    /// Queues.
    pub queues: usize,
    /// Things that extensions knew, such as the states of flows.
    pub states: usize,
    /// How many things were left out,
    pub left_out: usize,
    /// and the first of these, with the reasons.
    pub why: Vec<String>,
}

/// Notes the error by which the switch refuses what it is given.
#[derive(Default)]
struct Refusals {
    error: Option<bofuss_oflib::ErrorCode>,
}

impl SwitchIo for Refusals {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn flush(&mut self) {}
    fn send(&mut self, _: ConnId, _: u32, message: Message) {
        if let Message::Error(error) = message {
            self.error = Some(error.error);
        }
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn may_change_links(&self) -> bool {
        false
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

impl SavedState<'_> {
    /// Gives a switch that has its ports, its configured queues and nothing else the state, at the
    /// time [`SavedState::resumed_at`]. What it cannot have by its configuration is left out.
    pub fn restore<E: FrameEngine>(&self, now: Time, switch: &mut Switch<E>) -> Restored {
        self.restore_by(Restoring::begin(now, switch))
    }

    /// The same without the states of extensions, which packets of another switch still change.
    pub fn restore_but_states<E: FrameEngine>(
        &self,
        now: Time,
        switch: &mut Switch<E>,
    ) -> Restored {
        let mut restoring = Restoring::begin(now, switch);
        restoring.with_states = false;
        self.restore_by(restoring)
    }

    /// Gives a switch without states of extensions those of this state, whose tables it has.
    pub fn restore_states<E: FrameEngine>(&self, now: Time, switch: &mut Switch<E>) -> Restored {
        let mut restoring = Restoring::begin(now, switch);
        restoring.extensions(self);
        restoring.end()
    }

    fn restore_by<E: FrameEngine>(&self, mut restoring: Restoring<'_, E>) -> Restored {
        restoring.tables(self);
        restoring.extensions(self);
        restoring.messages(self);
        restoring.flows(self);
        for (kind, payload) in self.records {
            match kind {
                kind::GROUP | kind::METER | kind::QUEUE => restoring.record(kind, payload),
                in_order if kind::ALL.contains(&in_order) => {}
                unknown => restoring.refuse(unknown),
            }
        }
        restoring.stations(self);
        if let Some(id) = self.generation_id {
            restoring.switch.set_generation_id(id);
        }
        restoring.end()
    }
}

/// A switch that is given a state.
pub(super) struct Restoring<'a, E: FrameEngine> {
    now: Time,
    switch: &'a mut Switch<E>,
    done: Restored,
    /// True if extensions are given what they know of flows and hosts, not only their tables.
    with_states: bool,
}

impl<'a, E: FrameEngine> Restoring<'a, E> {
    pub(super) fn begin(now: Time, switch: &'a mut Switch<E>) -> Self {
        switch.connected(now, SAVER, Version::V1_5, false);
        Self {
            now,
            switch,
            done: Restored::default(),
            with_states: true,
        }
    }

    pub(super) fn end(self) -> Restored {
        self.switch.disconnected(self.now, SAVER);
        self.done
    }

    /// Gives the switch what one record has, if that is nothing that others depend on.
    pub(super) fn record(&mut self, kind: u8, payload: &[u8]) {
        let numbers = Numbers(payload);
        let given = match kind {
            kind::GROUP | kind::METER => self.counters(kind, numbers),
            kind::QUEUE => self.queue(numbers),
            kind::STATION => station(numbers).map(|station| self.station(station)),
            kind::FLOW => return self.flow(numbers),
            kind::HITS => self.hits(numbers),
            _ => None,
        };
        if given.is_none() {
            self.refuse(kind);
        }
    }

    fn refuse(&mut self, kind: u8) {
        let kind = char::from(kind).escape_default();
        self.leave_out(format!("record of kind {kind}: it is wrong"));
    }

    fn leave_out(&mut self, why: String) {
        self.done.left_out += 1;
        if self.done.why.len() < MOST_NAMED {
            self.done.why.push(why);
        }
    }

    /// Gives the switch a message. Errors: why it is refused.
    fn give(&mut self, message: Message) -> Result<(), String> {
        let mut io = Refusals::default();
        let request = Request {
            xid: 0,
            head: &[],
            message: Ok(message),
        };
        self.switch.message(self.now, SAVER, request, &mut io);
        while self.switch.is_changing() {
            self.switch.work(self.now, &mut io);
        }
        let catalogue = self.switch.datapath().catalogue();
        io.error
            .map_or(Ok(()), |error| Err(catalogue.error_text(error)))
    }

    /// Reads a message in the version that it names, with all its parts.
    fn decode(&self, bytes: &[u8]) -> Result<Message, String> {
        let number = bytes.first().copied().unwrap_or_default();
        let version = Version::of_number(number).ok_or("an unknown version")?;
        let codec = Codec::new(version, self.switch.datapath().catalogue().clone());
        let mut assembler = Assembler::new(codec, bytes.len());
        let mut framer = Framer::new();
        framer.push(bytes);
        while let Some(frame) = framer.next_message().map_err(|error| error.to_string())? {
            let read = assembler.receive(frame);
            if let Some((_, message)) = read.map_err(|refused| refused.cause.to_string())? {
                return Ok(message);
            }
        }
        Err("it is cut off".into())
    }

    /// Gives the tables the features that controllers chose, if the configured ones are as before.
    fn tables(&mut self, state: &SavedState<'_>) {
        let catalogue = self.switch.datapath().catalogue().clone();
        let configured = self.switch.datapath().shape().features();
        if features_sum(&configured, &catalogue) != state.configured {
            return;
        }
        let mut chosen: Vec<TableFeatures> = Vec::new();
        for (_, payload) in state.records.filter(|record| record.0 == kind::TABLES) {
            match self.decode(payload) {
                Ok(Message::MultipartReply(reply)) => {
                    if let ReplyBody::TableFeatures(tables) = reply.body {
                        chosen.extend(tables);
                    }
                }
                _ => return self.leave_out("features of tables: they cannot be read".into()),
            }
        }
        if chosen == configured || chosen.is_empty() {
            return;
        }
        let body = RequestBody::TableFeatures(chosen);
        let request = MultipartRequest { body, more: false };
        if let Err(error) = self.give(Message::MultipartRequest(request)) {
            self.leave_out(format!("features of tables: {error}"));
        }
    }

    /// Gives tables their configuration, then meters and groups. A group may forward to others:
    /// those that are refused are tried again, until none is accepted.
    fn messages(&mut self, state: &SavedState<'_>) {
        let records = state.records.filter(|record| record.0 == kind::MESSAGE);
        let mut waiting: Vec<&[u8]> = records.map(|record| record.1).collect();
        loop {
            let before = waiting.len();
            let mut errors = Vec::new();
            waiting.retain(|payload| match self.message(payload) {
                Ok(()) => false,
                Err(error) => {
                    errors.push(error);
                    true
                }
            });
            if waiting.is_empty() || waiting.len() == before {
                errors.into_iter().for_each(|error| self.leave_out(error));
                return;
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other is written")]
    fn message(&mut self, payload: &[u8]) -> Result<(), String> {
        let message = self.decode(payload)?;
        let (name, counter) = match &message {
            Message::GroupMod(group) => (format!("group {}", group.group_id), Some(true)),
            Message::MeterMod(meter) => (format!("meter {}", meter.meter_id), Some(false)),
            Message::TableMod(table) => (format!("table {}", table.table_id), None),
            other => return Err(format!("{}: it is no state", other.name())),
        };
        self.give(message)
            .map_err(|error| format!("{name}: {error}"))?;
        match counter {
            Some(true) => self.done.groups += 1,
            Some(false) => self.done.meters += 1,
            None => {}
        }
        Ok(())
    }

    /// Gives extensions what they knew, before groups and entries use it.
    fn extensions(&mut self, state: &SavedState<'_>) {
        for (_, payload) in state.records.filter(|record| record.0 == kind::EXTENSION) {
            self.extension(payload);
        }
    }

    fn extension(&mut self, payload: &[u8]) {
        match self.tell_extension(payload) {
            Ok(is_thing) => self.done.states += usize::from(is_thing),
            Err(why) => self.leave_out(why),
        }
    }

    /// Gives an extension a message. Returns whether it was a thing that the extension knew.
    fn tell_extension(&mut self, payload: &[u8]) -> Result<bool, String> {
        let message = self.decode(payload);
        let message = message.map_err(|error| format!("extension: {error}"))?;
        let Message::Experimenter(value) = message else {
            return Err("extension: it is no message of one".into());
        };
        let name = value.row.name;
        let mut all = SAVED.iter();
        let Some(saved) = all.find(|saved| saved.rows.contains(&value.row)) else {
            return Err(format!("extension: {name} is no state"));
        };
        let is_thing = saved.thing == Some(value.row);
        if is_thing && !self.with_states {
            return Ok(false);
        }
        let given = self.give(Message::Experimenter(value));
        given.map_err(|error| format!("extension: {name}: {error}"))?;
        Ok(is_thing)
    }

    /// Adds the entries in the order in which they were added.
    fn flows(&mut self, state: &SavedState<'_>) {
        let records = state.records.filter(|record| record.0 == kind::FLOW);
        let mut flows: Vec<(Option<u64>, &[u8])> = records
            .map(|record| (Numbers(record.1).u64(), record.1))
            .collect();
        flows.sort_by_key(|flow| flow.0);
        for (_, payload) in flows {
            self.flow(Numbers(payload));
        }
    }

    fn flow(&mut self, payload: Numbers<'_>) {
        match self.add_flow(payload) {
            Ok(()) => self.done.flows += 1,
            Err(why) => self.leave_out(why),
        }
    }

    /// Reads the record of an entry: its past, and the flow-mod that adds it.
    fn entry(&self, mut payload: Numbers<'_>) -> Result<(EntryPast, FlowMod), String> {
        let past = past(&mut payload).ok_or("entry: it is cut off")?;
        let message = self.decode(payload.0);
        let message = message.map_err(|error| format!("entry: {error}"))?;
        let Message::FlowMod(flow_mod) = message else {
            return Err("entry: it is none".into());
        };
        Ok((past, flow_mod))
    }

    fn add_flow(&mut self, payload: Numbers<'_>) -> Result<(), String> {
        let (past, mut flow_mod) = self.entry(payload)?;
        // It was checked when it was added first.
        flow_mod.flags = FlowModFlags(past.flags.0 & !FlowModFlags::CHECK_OVERLAP.0);
        let added = flow_mod.clone();
        let given = self.give(Message::FlowMod(flow_mod));
        let given = given.map_err(|error| {
            let (table, priority) = (added.table_id, added.priority);
            format!("entry of table {table}, priority {priority}: {error}")
        });
        given?;
        self.switch.restore().entry(&added, past);
        Ok(())
    }

    /// Adds to an entry what packets did there. It may have expired meanwhile.
    fn hits(&mut self, payload: Numbers<'_>) -> Option<()> {
        let (hits, flow_mod) = self.entry(payload).ok()?;
        self.switch.restore().entry_hits(&flow_mod, hits);
        Some(())
    }

    fn counters(&mut self, kind: u8, mut payload: Numbers<'_>) -> Option<()> {
        let number = payload.u32()?;
        let created = Time(payload.u64()?.min(self.now.0));
        let all = counter(&mut payload)?;
        let mut parts = Vec::new();
        while !payload.0.is_empty() {
            parts.push(counter(&mut payload)?);
        }
        // What was left out has no counters.
        let mut restore = self.switch.restore();
        match kind {
            kind::GROUP => restore.group(GroupId(number), created, all, parts),
            _ => restore.meter(MeterId(number), created, all, parts),
        };
        Some(())
    }

    fn queue(&mut self, mut payload: Numbers<'_>) -> Option<()> {
        let port = PortNo(payload.u32()?);
        let id = QueueId(payload.u32()?);
        let text = core::str::from_utf8(payload.0).ok()?;
        let spec = queues::parse(text).ok()?;
        match self.switch.modify_queue(self.now, port, id, spec) {
            Ok(()) => self.done.queues += 1,
            Err(error) => self.leave_out(format!("queue {port}:{id}: {}", error.1)),
        }
        Some(())
    }

    /// Lets NORMAL know the addresses, those that were seen last at last.
    fn stations(&mut self, state: &SavedState<'_>) {
        let mut stations = Vec::new();
        for (_, payload) in state.records.filter(|record| record.0 == kind::STATION) {
            stations.extend(station(Numbers(payload)));
        }
        stations.sort_unstable();
        for known in stations {
            self.station(known);
        }
    }

    fn station(&mut self, (seen, port, vlan, mac): KnownStation) {
        let seen = seen.min(self.now);
        if self.switch.restore().station((vlan, Mac(mac)), port, seen) {
            self.done.addresses += 1;
        } else {
            self.leave_out(format!("address {}: there is no port {port}", Mac(mac)));
        }
    }
}

/// When NORMAL has seen an address, where, its VLAN_VID, and the address.
type KnownStation = (Time, PortNo, u16, [u8; 6]);

fn past(payload: &mut Numbers<'_>) -> Option<EntryPast> {
    Some(EntryPast {
        created: Time(payload.u64()?),
        used: Time(payload.u64()?),
        packets: payload.u64()?,
        bytes: payload.u64()?,
        flags: FlowModFlags(payload.u32()?),
    })
}

fn counter(payload: &mut Numbers<'_>) -> Option<BucketCounter> {
    Some(BucketCounter {
        packet_count: payload.u64()?,
        byte_count: payload.u64()?,
    })
}

fn station(mut payload: Numbers<'_>) -> Option<KnownStation> {
    let vlan = payload.u16()?;
    let mac = payload.take()?;
    let port = PortNo(payload.u32()?);
    Some((Time(payload.u64()?), port, vlan, mac))
}
