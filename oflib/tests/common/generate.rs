//! Random messages of every type, from the vectors and from the catalogue; seeded, so exact.

use bofuss_oflib::action::{ACTIONS, SetField};
use bofuss_oflib::ext::{ExtKind, ExtValue};
use bofuss_oflib::instruction::{Instruction, Instructions};
use bofuss_oflib::message::multipart::flow_monitor::{
    FlowMonitorCommand, FlowMonitorRequest, FlowUpdate, FlowUpdateEvent, MonitoredFlow,
};
use bofuss_oflib::message::multipart::{FlowStats, GroupDesc, ReplyBody, RequestBody};
use bofuss_oflib::message::stats::{StatTime, Stats};
use bofuss_oflib::message::{Bucket, FlowModCommand};
use bofuss_oflib::stat_trigger::{StatTrigger, StatTriggerFlags};
use bofuss_oflib::types::{BucketId, GroupId, MeterId, PortNo, TableId};
use bofuss_oflib::wire::{Bytes, Reader, Wire, Writer};
use bofuss_oflib::{Action, Codec, ErrorCode, Field, FieldMatch, Match, Message, Version};

use crate::common::vectors_of;

/// A small generator of random numbers (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.number() >> 33) as usize % end
    }

    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1))
            .map(|_| self.number() as u8)
            .collect()
    }

    fn wide(&mut self) -> u128 {
        u128::from(self.number()) << 64 | u128::from(self.number())
    }

    fn some<T>(&mut self, most: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| one(self)).collect()
    }
}

/// A random value of `field`, with a mask where it takes one.
pub(crate) fn field_match(random: &mut Random, field: &'static Field) -> FieldMatch {
    let value = random.wide();
    let mask = match random.below(3) {
        0 if field.maskable => random.wide(),
        1 if field.maskable => u128::MAX << random.below(field.bits.into()),
        _ => u128::MAX,
    };
    FieldMatch::masked(field, value, mask)
}

/// Adds a field with all that it needs; gives up where the match says otherwise already.
fn add(random: &mut Random, codec: &Codec, fields: &mut Vec<FieldMatch>, one: FieldMatch) {
    if fields.iter().any(|other| other.field == one.field) {
        return;
    }
    if let Some(need) = one.field.need {
        let needed = codec.catalogue.fields()[usize::from(need.id)];
        let value = u128::from(*random.pick(need.any_of));
        let mask = if needed.maskable {
            u128::from(need.mask)
        } else {
            u128::MAX
        };
        add(
            random,
            codec,
            fields,
            FieldMatch::masked(needed, value, mask),
        );
    }
    fields.push(one);
    if Match::new(fields).is_err() {
        fields.pop();
    }
}

/// The fields that a version has; those of 1.3 for the versions before, where some cannot be said.
fn fields_of(codec: &Codec) -> Vec<&'static Field> {
    let version = codec.version.max(Version::V1_3);
    let fields = codec.catalogue.fields().iter().copied();
    fields.filter(|field| field.versions.has(version)).collect()
}

/// A random match whose prerequisites hold.
pub(crate) fn a_match(random: &mut Random, codec: &Codec) -> Match {
    let (mut fields, known) = (Vec::new(), fields_of(codec));
    for _ in 0..random.below(8) {
        let field = *random.pick(&known);
        let one = field_match(random, field);
        add(random, codec, &mut fields, one);
    }
    Match::new(&fields).expect("each field was added with what it needs")
}

/// A random action.
pub(crate) fn action(random: &mut Random, codec: &Codec) -> Action {
    let mut settable = fields_of(codec);
    settable.retain(|field| field.settable);
    if random.one_in(9)
        && let Some(value) = extension(random, codec, ExtKind::Action)
    {
        return Action::Experimenter(value);
    }
    if random.one_in(3) {
        let field = *random.pick(&settable);
        let vid = if field.name == "vlan_vid" { 0x1000 } else { 0 };
        return Action::SetField(SetField(FieldMatch::exact(field, random.wide() | vid)));
    }
    let row = random.pick(ACTIONS);
    let mut bytes = super::hex(row.example.1);
    let at = 4 + random.below(4);
    bytes[at] = random.number() as u8;
    let mut r = Reader::new(codec, &bytes);
    let decoded = Action::decode(&mut r);
    decoded.unwrap_or_else(|_| Action::output(PortNo(random.number() as u32)))
}

pub(crate) fn actions(random: &mut Random, codec: &Codec) -> Vec<Action> {
    random.some(4, |random| action(random, codec))
}

/// A trigger with some thresholds.
fn stat_trigger(random: &mut Random) -> StatTrigger {
    let mut thresholds = Stats {
        flow_count: random.one_in(3).then_some(random.number() as u32),
        packet_count: random.one_in(2).then_some(random.number()),
        byte_count: random.one_in(2).then_some(random.number()),
        ..Stats::default()
    };
    if random.one_in(2) {
        thresholds.duration = Some(StatTime {
            sec: random.number() as u32,
            nsec: random.below(1_000_000_000) as u32,
        });
    }
    StatTrigger {
        flags: StatTriggerFlags(random.below(8) as u32),
        thresholds: thresholds.into(),
    }
}

/// Random instructions, at most one of each type.
pub(crate) fn instructions(random: &mut Random, codec: &Codec) -> Instructions {
    let mut list = [
        Instruction::Meter(MeterId(random.number() as u32)),
        Instruction::ApplyActions(actions(random, codec)),
        Instruction::ClearActions,
        Instruction::WriteActions(actions(random, codec)),
        Instruction::WriteMetadata {
            value: random.number(),
            mask: random.number(),
        },
        Instruction::StatTrigger(stat_trigger(random)),
        Instruction::GotoTable(TableId(random.number() as u8)),
    ]
    .to_vec();
    let own = extension(random, codec, ExtKind::Instruction);
    list.extend(own.map(Instruction::Experimenter));
    list.retain(|one| one.row().versions.has(codec.version) && random.one_in(2));
    Instructions::new(list).expect("one of each type")
}

/// Random buckets, which have numbers of their own in the versions that have numbers.
fn buckets(random: &mut Random, codec: &Codec) -> Vec<Bucket> {
    let mut buckets = Vec::new();
    for place in 0..random.below(4) {
        let mut bucket = Bucket {
            weight: random.below(3) as u16,
            watch_port: *random.pick(&[PortNo(3), PortNo::ANY]),
            watch_group: *random.pick(&[GroupId(3), GroupId::ANY]),
            ..Bucket::at(place, actions(random, codec))
        };
        if codec.version.has_stat_lists() && random.one_in(2) {
            bucket.bucket_id = BucketId(random.number() as u32);
        }
        buckets.push(bucket);
    }
    buckets
}

/// A random value of one of the catalogue's extensions: of a row of numbers, with data if it takes
/// some. `None` if there is no such row of this kind.
fn extension(random: &mut Random, codec: &Codec, kind: ExtKind) -> Option<ExtValue> {
    let rows = codec.catalogue.values(kind);
    let rows: Vec<_> = rows.filter(|row| row.body.is_none()).collect();
    if rows.is_empty() {
        return None;
    }
    let row = *random.pick(&rows);
    let args = row.args.iter();
    let args = args.map(|arg| random.number() >> (64 - 8 * u32::from(arg.bytes)));
    let args = args.collect();
    let most = if row.data { 99 } else { 0 };
    Some(ExtValue::new(row, args, Bytes(random.bytes(most))))
}

/// Makes the parts of a message that have a structure of their own random.
fn vary(random: &mut Random, codec: &Codec, message: &mut Message) {
    match message {
        Message::EchoRequest(data) | Message::EchoReply(data) => *data = Bytes(random.bytes(20)),
        Message::Experimenter(one) => {
            if let Some(other) = extension(random, codec, ExtKind::Message) {
                *one = other;
            }
        }
        // Since 1.4 some of the errors of table features are said otherwise.
        Message::Error(error) if error.error.ty < 13 => {
            error.error = ErrorCode::new(random.below(13) as u16, random.below(16) as u16);
        }
        Message::PacketIn(one) => {
            (one.fields, one.data) = (a_match(random, codec), Bytes(random.bytes(99)));
        }
        Message::PacketOut(one) => {
            (one.actions, one.data) = (actions(random, codec), Bytes(random.bytes(99)));
        }
        Message::FlowRemoved(one) => one.fields = a_match(random, codec),
        Message::BundleAdd(one) => vary(random, codec, &mut one.message),
        Message::FlowMod(one) => {
            one.command = FlowModCommand(random.below(5) as u8);
            (one.fields, one.instructions) = (a_match(random, codec), instructions(random, codec));
        }
        Message::GroupMod(one) => one.buckets = buckets(random, codec),
        Message::MultipartRequest(request) => {
            if let RequestBody::Flow(one) | RequestBody::Aggregate(one) = &mut request.body {
                one.fields = a_match(random, codec);
            } else if let RequestBody::FlowMonitor(list) = &mut request.body {
                let mut one = list.first().cloned().unwrap_or_default();
                if codec.version == Version::V1_3 {
                    // Another message ends monitors.
                    one.command = FlowMonitorCommand::ADD;
                }
                *list = random.some(3, |random| FlowMonitorRequest {
                    fields: a_match(random, codec),
                    ..one.clone()
                });
            } else if let RequestBody::Experimenter(one) = &mut request.body
                && let Some(other) = extension(random, codec, ExtKind::Multipart)
            {
                one.0 = other;
            }
        }
        Message::MultipartReply(reply) => match &mut reply.body {
            ReplyBody::Flow(list) => {
                let first = list.first().cloned().unwrap_or_default();
                *list = random.some(4, |random| {
                    let mut one = first.0.clone();
                    one.fields = a_match(random, codec);
                    one.instructions = instructions(random, codec);
                    FlowStats(one)
                });
            }
            // In 1.3 these are messages of their own.
            ReplyBody::FlowMonitor(list)
                if codec.version == Version::V1_3
                    && matches!(list[..], [FlowUpdate::Stream(_)]) => {}
            ReplyBody::FlowMonitor(list) => {
                let first = usize::from(codec.version == Version::V1_3);
                list.extend(random.some(3, |random| {
                    let flow = MonitoredFlow {
                        fields: a_match(random, codec),
                        instructions: instructions(random, codec),
                        ..MonitoredFlow::default()
                    };
                    let event = first + random.below(4 - first);
                    FlowUpdate::Full(FlowUpdateEvent(event as u16), flow)
                }));
            }
            ReplyBody::GroupDesc(list) => {
                *list = random.some(3, |random| GroupDesc {
                    group_id: GroupId(random.number() as u32),
                    buckets: buckets(random, codec),
                    ..GroupDesc::default()
                });
            }
            ReplyBody::Experimenter(one) => {
                if let Some(other) = extension(random, codec, ExtKind::Multipart) {
                    one.0 = other;
                }
            }
            _ => {}
        },
        _ => {}
    }
}

/// How many random values a law is tried with. The long tier, which alone runs the tests that are
/// ignored elsewhere, has more.
pub(crate) fn values() -> usize {
    if std::env::args().any(|word| word == "--include-ignored") {
        20_000
    } else {
        6_000
    }
}

/// Random messages: each begins as a vector, has some bytes changed such that it still is a
/// message, and its lists made anew. Every type comes as often as it has vectors.
pub(crate) fn messages(seed: u64, codec: &Codec) -> impl Iterator<Item = (u32, Message)> + '_ {
    let mut random = Random::new(seed);
    let good: Vec<Vec<u8>> = vectors_of(codec.version)
        .into_iter()
        .filter(|v| !v.text.starts_with("error "))
        .map(|v| v.bytes)
        .collect();
    (0..).map(move |i: usize| {
        let mut bytes = good[i % good.len()].clone();
        for _ in 0..40 {
            let at = 4 + random.below(bytes.len() - 4);
            let was = std::mem::replace(&mut bytes[at], random.number() as u8);
            if codec.decode(&bytes).is_err() {
                bytes[at] = was;
            }
        }
        let (xid, mut message) = codec
            .decode(&bytes)
            .expect("changes that break it are undone");
        vary(&mut random, codec, &mut message);
        (xid, message)
    })
}

/// The wire form of one value.
pub(crate) fn encoded(codec: &Codec, value: &impl Wire) -> Vec<u8> {
    let mut w = Writer::new(codec);
    w.put(value);
    w.bytes
}
