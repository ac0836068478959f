//! Asks a switch for its state, part by part, and writes it.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use bofuss_agent::{Request, STANDALONE_COOKIE, Switch, SwitchIo};
use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Egress, Time};
use bofuss_ext::{SAVED, queues};
use bofuss_oflib::message::flow_mod::FlowModCommand;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::flow::FlowEntry;
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::message::multipart::{
    ExtBody, FlowStatsRequest, GroupDesc, GroupDescRequest, GroupRequest, GroupStats, MeterConfig,
    MeterRequest, MeterStats, MultipartReply, MultipartRequest, ReplyBody, RequestBody, TableDesc,
    TableFeatures,
};
use bofuss_oflib::message::table_mod::TableMod;
use bofuss_oflib::message::{AsyncConfig, Empty, FlowMod, GroupMod, MeterMod};
use bofuss_oflib::types::{GroupId, MeterId, QueueId, TableId};
use bofuss_oflib::{Catalogue, Codec, Instruction, Match, Message, PortNo, Version};
use bofuss_packet::checksum::crc32c;

use super::{FIRST_LINE, MAX_STATE_BYTES, SAVER, SUM_BYTES, kind};

/// The version in which the switch is asked; its replies say everything.
const ASKED_IN: Version = Version::V1_5;
/// The versions in which messages are written: the first that can say one.
const WRITTEN_IN: [Version; 3] = [Version::V1_5, Version::V1_3, Version::V1_0];
/// The same for an entry with the instruction METER, which 1.5 says as an action.
const WITH_METER: [Version; 2] = [Version::V1_4, Version::V1_5];
/// What the switch itself is asked, one after the other; then its extensions are.
const QUESTIONS: usize = 6;

/// A state that is being written. No message of others may change the switch meanwhile, so that it
/// is the state of one moment but for what packets and time change.
pub struct Saving {
    codec: Codec,
    state: Vec<u8>,
    asked: usize,
    /// True if a question was not answered.
    is_refused: bool,
    /// Entries and others that no version of OpenFlow can say.
    unsaid: usize,
}

/// The checksum of the features of tables.
pub(super) fn features_sum(tables: &[TableFeatures], catalogue: &Arc<Catalogue>) -> [u8; 4] {
    let codec = Codec::new(ASKED_IN, catalogue.clone());
    let mut bytes = Vec::new();
    for table in tables {
        // What cannot be written is the same twice.
        let _ = codec.encode(0, &features_of(table.clone()), &mut bytes);
    }
    crc32c(&bytes)
}

/// A message with the features of one table: those of all may be too long for one.
fn features_of(table: TableFeatures) -> Message {
    let body = ReplyBody::TableFeatures(vec![table]);
    Message::MultipartReply(MultipartReply { body, more: false })
}

impl Saving {
    /// Begins with a switch that is not changing, at `unix_ns` nanoseconds since 1970.
    /// `configured` are the features of its tables as they were at its start. Queues for which
    /// `is_configured` returns true are left out.
    pub fn begin<E: FrameEngine, I: SwitchIo>(
        now: Time,
        unix_ns: u64,
        configured: &[TableFeatures],
        is_configured: impl Fn(PortNo, QueueId) -> bool,
        switch: &mut Switch<E>,
        io: &mut I,
    ) -> Self {
        let mut this = Self::new(now, unix_ns, configured, switch);
        let chosen = switch.datapath().shape().features();
        if chosen != configured {
            for table in chosen {
                this.message(kind::TABLES, Vec::new(), &features_of(table));
            }
        }
        for port in switch.datapath().ports().keys() {
            let queues = switch.datapath().queues().of(*port).map(Egress::queues);
            for queue in queues.unwrap_or_default() {
                if !is_configured(*port, queue.id) {
                    let mut payload = port.0.to_be_bytes().to_vec();
                    payload.extend(queue.id.0.to_be_bytes());
                    payload.extend(queues::text(&queue.spec).as_bytes());
                    this.record(kind::QUEUE, &payload);
                }
            }
        }
        for ((vlan, mac), port, seen) in switch.datapath().bridge().stations(now) {
            let mut payload = vlan.to_be_bytes().to_vec();
            payload.extend(mac.0);
            payload.extend(port.0.to_be_bytes());
            payload.extend(seen.0.to_be_bytes());
            this.record(kind::STATION, &payload);
        }
        begin_to_ask(now, switch, io);
        this
    }

    /// Begins with the states of extensions alone, for [`super::SavedState::restore_states`].
    pub fn begin_states<E: FrameEngine, I: SwitchIo>(
        now: Time,
        unix_ns: u64,
        switch: &mut Switch<E>,
        io: &mut I,
    ) -> Self {
        let mut this = Self::new(now, unix_ns, &[], switch);
        this.asked = QUESTIONS;
        begin_to_ask(now, switch, io);
        this
    }

    /// A state that has its first record.
    fn new<E: FrameEngine>(
        now: Time,
        unix_ns: u64,
        configured: &[TableFeatures],
        switch: &Switch<E>,
    ) -> Self {
        let catalogue = switch.datapath().catalogue().clone();
        let generation = switch.generation_id();
        let mut head = unix_ns.to_be_bytes().to_vec();
        head.extend(now.0.to_be_bytes());
        head.push(generation.is_some().into());
        head.extend(generation.unwrap_or_default().to_be_bytes());
        head.extend(features_sum(configured, &catalogue));
        let mut this = Self {
            codec: Codec::new(ASKED_IN, catalogue),
            state: FIRST_LINE.to_vec(),
            asked: 0,
            is_refused: false,
            unsaid: 0,
        };
        this.record(kind::HEAD, &head);
        this
    }

    /// Asks the next question, if the reply to the last is complete. Replies go through `io` to
    /// [`SAVER`]; they are to be passed on with the same `now`. Returns false when there is none.
    pub fn go_on<E: FrameEngine, I: SwitchIo>(
        &mut self,
        now: Time,
        switch: &mut Switch<E>,
        io: &mut I,
    ) -> bool {
        if !switch.is_ready(SAVER, io) {
            return true;
        }
        if self.asked == QUESTIONS + SAVED.len() {
            switch.disconnected(now, SAVER);
            return false;
        }
        let group_id = GroupId::ALL;
        let meter_id = MeterId::ALL;
        let body = match self.asked {
            0 => RequestBody::TableDesc(Empty),
            1 => RequestBody::MeterConfig(MeterRequest { meter_id }),
            2 => RequestBody::Meter(MeterRequest { meter_id }),
            3 => RequestBody::GroupDesc(GroupDescRequest { group_id }),
            4 => RequestBody::Group(GroupRequest { group_id }),
            5 => RequestBody::Flow(FlowStatsRequest::all()),
            of_extension => {
                let request = SAVED[of_extension - QUESTIONS].request;
                RequestBody::Experimenter(ExtBody(request()))
            }
        };
        self.asked += 1;
        let request = MultipartRequest { body, more: false };
        ask(now, Message::MultipartRequest(request), switch, io);
        true
    }

    /// Writes what the switch replied at `now`.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else was asked")]
    pub fn reply(&mut self, now: Time, message: Message) {
        let Message::MultipartReply(reply) = message else {
            // A read that ends early is answered with an error.
            self.is_refused |= matches!(message, Message::Error(_));
            return;
        };
        match reply.body {
            ReplyBody::TableDesc(tables) => tables.iter().for_each(|table| self.table(table)),
            ReplyBody::MeterConfig(meters) => {
                meters.into_iter().for_each(|meter| self.meter_mod(meter));
            }
            ReplyBody::GroupDesc(groups) => {
                groups.into_iter().for_each(|group| self.group_mod(group));
            }
            ReplyBody::Meter(meters) => {
                meters
                    .iter()
                    .for_each(|meter| self.meter_counters(now, meter));
            }
            ReplyBody::Group(groups) => {
                groups
                    .iter()
                    .for_each(|group| self.group_counters(now, group));
            }
            ReplyBody::Flow(flows) => flows.into_iter().for_each(|flow| self.flow(now, flow.0)),
            ReplyBody::Experimenter(reply) => {
                let messages = SAVED.iter().flat_map(|saved| (saved.messages)(&reply.0));
                for message in messages {
                    let message = Message::Experimenter(message);
                    self.message(kind::EXTENSION, Vec::new(), &message);
                }
            }
            other => debug_assert!(false, "nobody asked for {other:?}"),
        }
    }

    /// The state, without its checksum. Errors: it is too large, or not complete.
    pub fn finish(self) -> Result<Vec<u8>, String> {
        if self.is_refused {
            return Err("the switch did not say all of it".into());
        }
        if self.unsaid > 0 {
            return Err(format!(
                "{} entries or groups cannot be written",
                self.unsaid
            ));
        }
        if self.state.len() > MAX_STATE_BYTES - SUM_BYTES {
            let most = MAX_STATE_BYTES >> 20;
            return Err(format!("it takes more than {most} MiB"));
        }
        Ok(self.state)
    }

    /// Appends a record. What is too large in the end is not kept, so that memory stays bounded.
    fn record(&mut self, kind: u8, payload: &[u8]) {
        if self.state.len() <= MAX_STATE_BYTES {
            self.state.push(kind);
            self.state.extend((payload.len() as u32).to_be_bytes());
            self.state.extend_from_slice(payload);
        }
    }

    /// Appends a record that ends with a message.
    fn message(&mut self, kind: u8, mut payload: Vec<u8>, message: &Message) {
        let has_meter = matches!(message, Message::FlowMod(flow_mod) if has_meter(flow_mod));
        let versions = if has_meter {
            &WITH_METER[..]
        } else {
            &WRITTEN_IN
        };
        let catalogue = &self.codec.catalogue;
        let said = versions.iter().any(|version| {
            let codec = Codec::new(*version, catalogue.clone());
            codec.encode(0, message, &mut payload).is_ok()
        });
        if said {
            self.record(kind, &payload);
        } else {
            self.unsaid += 1;
        }
    }

    /// A table's configuration, if it is not the usual one.
    fn table(&mut self, table: &TableDesc) {
        if table.config.0 == 0 && table.eviction.is_none() && table.vacancy.is_none() {
            return;
        }
        let mut table_mod = TableMod {
            table_id: table.table_id,
            config: table.config.0,
            ..TableMod::default()
        };
        table_mod.eviction = table.eviction;
        table_mod.vacancy = table.vacancy;
        self.message(kind::MESSAGE, Vec::new(), &Message::TableMod(table_mod));
    }

    fn meter_mod(&mut self, meter: MeterConfig) {
        let meter_mod = MeterMod {
            command: MeterModCommand::ADD,
            flags: meter.flags,
            meter_id: meter.meter_id,
            bands: meter.bands,
        };
        self.message(kind::MESSAGE, Vec::new(), &Message::MeterMod(meter_mod));
    }

    fn group_mod(&mut self, group: GroupDesc) {
        let group_mod = GroupMod {
            command: GroupModCommand::ADD,
            ty: group.ty,
            group_id: group.group_id,
            buckets: group.buckets,
            ..GroupMod::default()
        };
        self.message(kind::MESSAGE, Vec::new(), &Message::GroupMod(group_mod));
    }

    fn meter_counters(&mut self, now: Time, meter: &MeterStats) {
        let created = before(now, meter.duration_sec, meter.duration_nsec);
        let payload = counters(meter.meter_id.0, created, meter.input, &meter.bands);
        self.record(kind::METER, &payload);
    }

    fn group_counters(&mut self, now: Time, group: &GroupStats) {
        let group = &group.0;
        let created = before(now, group.duration_sec, group.duration_nsec);
        let counter = BucketCounter {
            packet_count: group.packet_count,
            byte_count: group.byte_count,
        };
        let payload = counters(group.group_id.0, created, counter, &group.bucket_stats);
        self.record(kind::GROUP, &payload);
    }

    fn flow(&mut self, now: Time, entry: FlowEntry) {
        // The fail mode adds its entry itself.
        let is_own = entry.cookie == STANDALONE_COOKIE && entry.priority == 0;
        if is_own && entry.fields == Match::ANY && entry.table_id == TableId(0) {
            return;
        }
        let created = before(now, entry.duration_sec, entry.duration_nsec);
        let idle = entry.idle_time.unwrap_or_default();
        let used = before(now, idle.sec, idle.nsec);
        // All ones are no counter.
        let counted = |count| if count == u64::MAX { 0 } else { count };
        let numbers = [
            created.0,
            used.0,
            counted(entry.packet_count),
            counted(entry.byte_count),
        ];
        let mut payload: Vec<u8> = numbers.into_iter().flat_map(u64::to_be_bytes).collect();
        payload.extend(entry.flags.0.to_be_bytes());
        let mut flow_mod = FlowMod::add(entry.fields);
        flow_mod.command = FlowModCommand::ADD;
        flow_mod.cookie = entry.cookie;
        flow_mod.table_id = entry.table_id;
        flow_mod.idle_timeout = entry.idle_timeout;
        flow_mod.hard_timeout = entry.hard_timeout;
        flow_mod.priority = entry.priority;
        flow_mod.instructions = entry.instructions;
        flow_mod.importance = entry.importance;
        self.message(kind::FLOW, payload, &Message::FlowMod(flow_mod));
    }
}

/// Connects to a switch, which sends nothing unasked.
fn begin_to_ask<E: FrameEngine, I: SwitchIo>(now: Time, switch: &mut Switch<E>, io: &mut I) {
    switch.connected(now, SAVER, ASKED_IN, false);
    let nothing = Message::SetAsync(AsyncConfig::default());
    ask(now, nothing, switch, io);
}

fn ask<E: FrameEngine, I: SwitchIo>(
    now: Time,
    message: Message,
    switch: &mut Switch<E>,
    io: &mut I,
) {
    let request = Request {
        xid: 0,
        head: &[],
        message: Ok(message),
    };
    switch.message(now, SAVER, request, io);
}

fn has_meter(flow_mod: &FlowMod) -> bool {
    let mut instructions = flow_mod.instructions.list().iter();
    instructions.any(|instruction| matches!(instruction, Instruction::Meter(_)))
}

/// The time so many seconds and nanoseconds before `now`.
fn before(now: Time, sec: u32, nsec: u32) -> Time {
    let nanos = u64::from(sec) * Time::SEC + u64::from(nsec);
    Time(now.0.saturating_sub(nanos))
}

/// The payload of a group's or meter's counters.
fn counters(number: u32, created: Time, all: BucketCounter, parts: &[BucketCounter]) -> Vec<u8> {
    let mut payload = number.to_be_bytes().to_vec();
    payload.extend(created.0.to_be_bytes());
    for counter in [&all].into_iter().chain(parts) {
        payload.extend(counter.packet_count.to_be_bytes());
        payload.extend(counter.byte_count.to_be_bytes());
    }
    payload
}
