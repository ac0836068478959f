//! Random changes, a reader that reads only now and then, and a copy of the tables made from its
//! updates.

use std::collections::BTreeMap;

use super::*;
use bofuss_oflib::message::multipart::flow_monitor::MonitoredFlow;
use bofuss_oflib::message::multipart::{FlowStatsRequest, MultipartRequest};

/// Table, priority and match.
type Place = (u8, u16, String);
/// Cookie, timeouts and instructions.
type Contents = (u64, u16, u16, String);
type Copied = BTreeMap<Place, Contents>;

/// Random numbers, the same in every run.
struct Random(u64);

impl Random {
    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }
}

fn copied(flow: &MonitoredFlow) -> (Place, Contents) {
    let key = (
        flow.table_id.0,
        flow.priority,
        Text(&flow.fields).to_string(),
    );
    let instructions = flow.instructions.to_string();
    (
        key,
        (
            flow.cookie,
            flow.idle_timeout,
            flow.hard_timeout,
            instructions,
        ),
    )
}

/// The reader's copy, and the events reported so far.
#[derive(Default)]
struct Mirror {
    entries: Copied,
    is_paused: bool,
    counts: BTreeMap<u16, usize>,
}

impl Mirror {
    /// Applies the updates sent to the reader. Panics: if they contradict the copy.
    fn read(&mut self, stage: &mut Stage) {
        for (conn, _, message) in std::mem::take(&mut stage.io.sent) {
            if conn != READER {
                continue;
            }
            for event in events(&message) {
                *self.counts.entry(event.0).or_default() += 1;
            }
            let Message::MultipartReply(reply) = message else {
                panic!("{message:?}");
            };
            let ReplyBody::FlowMonitor(updates) = reply.body else {
                panic!("{:?}", reply.body);
            };
            updates.iter().for_each(|update| self.apply(update));
        }
    }

    fn apply(&mut self, update: &FlowUpdate) {
        match update {
            FlowUpdate::Stream(event) => {
                let pauses = *event == FlowUpdateEvent::PAUSED;
                assert_ne!(self.is_paused, pauses, "they take turns");
                self.is_paused = pauses;
            }
            FlowUpdate::Full(FlowUpdateEvent::REMOVED, flow) => {
                self.entries.remove(&copied(flow).0);
            }
            FlowUpdate::Full(_, flow) => {
                let (key, value) = copied(flow);
                self.entries.insert(key, value);
            }
            FlowUpdate::Abbrev(xid) => panic!("nothing is abbreviated: {xid}"),
        }
    }
}

/// The entries that the switch has.
fn truth(stage: &mut Stage) -> Copied {
    let body = RequestBody::Flow(FlowStatsRequest::all());
    let request = MultipartRequest { more: false, body };
    stage.ask(WRITER, 1, Message::MultipartRequest(request));
    stage.work();
    let mut entries = Copied::new();
    for (_, _, message) in std::mem::take(&mut stage.io.sent) {
        if let Message::MultipartReply(reply) = message
            && let ReplyBody::Flow(flows) = reply.body
        {
            for flow in flows {
                let flow = flow.0;
                let (key, value) = copied(&MonitoredFlow {
                    table_id: flow.table_id,
                    reason: 0,
                    idle_timeout: flow.idle_timeout,
                    hard_timeout: flow.hard_timeout,
                    priority: flow.priority,
                    cookie: flow.cookie,
                    fields: flow.fields,
                    instructions: flow.instructions,
                });
                entries.insert(key, value);
            }
        }
    }
    entries
}

/// A random flow-mod as text. Tables, priorities and matches are few, so that entries collide.
fn random_flow(random: &mut Random, wide: bool) -> (FlowModCommand, String) {
    let commands = [
        FlowModCommand::ADD,
        FlowModCommand::ADD,
        FlowModCommand::ADD,
        FlowModCommand::MODIFY,
        FlowModCommand::MODIFY_STRICT,
        FlowModCommand::DELETE,
        FlowModCommand::DELETE_STRICT,
    ];
    let mut command = commands[random.below(commands.len() as u64) as usize];
    let spread = if wide { 2_000 } else { 12 };
    if wide && random.below(50) > 0 {
        command = FlowModCommand::ADD;
    }
    let table = random.below(2);
    let priority = random.below(3) + 1;
    let place = random.below(spread);
    let is_masked = command == FlowModCommand::DELETE || command == FlowModCommand::MODIFY;
    let mut text = format!("table={table},");
    if !is_masked {
        text += &format!("priority={priority},");
    }
    if command == FlowModCommand::ADD {
        text += &format!("cookie={},", random.below(4));
        if random.below(4) == 0 {
            text += &format!("hard_timeout={},", random.below(3) + 1);
        }
    }
    let mask = if is_masked { "/255.255.255.252" } else { "" };
    let (high, low) = (place / 250, place % 250);
    text += &format!("ip,nw_dst=10.0.{high}.{low}{mask}");
    let deletes = command == FlowModCommand::DELETE || command == FlowModCommand::DELETE_STRICT;
    if !deletes {
        text += &format!(",actions=output:{}", random.below(4) + 1);
    }
    (command, text)
}

fn play(engine: Engine, seed: u64, wide: bool, steps: u64) -> Mirror {
    let random = &mut Random(seed);
    let mut stage = Stage::new(engine);
    let mut mirror = Mirror::default();
    for _ in 0..random.below(400) {
        let (command, text) = random_flow(random, wide);
        stage.flow(WRITER, 2, command, &text);
    }
    stage.work();
    stage.io.sent.clear();
    stage.monitor(&[monitor(1, F(ALL.0 | F::NO_ABBREV.0), C::ADD)]);
    for _ in 0..steps {
        match random.below(12) {
            0 => stage.io.is_full.set(random.below(3) > 0),
            1 => {
                stage.now = stage.now.after(random.below(Time::SEC));
                stage.switch.tick(stage.now, &mut stage.io);
            }
            2 => stage.switch.work(stage.now, &mut stage.io),
            3 => bundle(&mut stage, random, wide),
            _ => {
                let (command, text) = random_flow(random, wide);
                let conn = if random.below(4) == 0 && stage.switch.is_ready(READER, &stage.io) {
                    READER
                } else {
                    WRITER
                };
                stage.flow(conn, 2, command, &text);
            }
        }
        if !stage.io.is_full.get() {
            mirror.read(&mut stage);
        }
    }
    stage.io.is_full.set(false);
    stage.work();
    mirror.read(&mut stage);
    assert!(!mirror.is_paused);
    assert_eq!(mirror.entries, truth(&mut stage), "{engine:?}, seed {seed}");
    mirror
}

/// Commits a bundle of a few changes, one of which is sometimes wrong.
fn bundle(stage: &mut Stage, random: &mut Random, wide: bool) {
    let mut flows = Vec::new();
    for xid in 0..random.below(6) as u32 {
        let (command, text) = random_flow(random, wide);
        let mut flow = parse_flow(&text, command, &stage.catalogue).unwrap();
        if random.below(10) == 0 {
            flow.table_id = TableId(77);
        }
        flows.push((xid, flow));
    }
    stage.commit(flows);
}

#[test]
fn a_copy_made_of_updates_equals_the_tables() {
    let mut counts = BTreeMap::new();
    for engine in ENGINES {
        for seed in 0..12 {
            let mirror = play(engine, seed, false, 600);
            for (event, count) in mirror.counts {
                *counts.entry(event).or_default() += count;
            }
        }
    }
    // all events but ABBREV happened
    for event in [0, 1, 2, 3, 5, 6] {
        let count: usize = counts.get(&event).copied().unwrap_or(0);
        assert!(count > 20, "event {event} happened {count} times");
    }
}

#[test]
fn a_copy_equals_the_tables_though_more_changed_than_is_remembered() {
    for engine in [Engine::Tables, Engine::Reference] {
        let random = &mut Random(7);
        let mut stage = Stage::new(engine);
        let mut mirror = Mirror::default();
        stage.monitor(&[monitor(1, ALL, C::ADD)]);
        for round in 0..3 {
            stage.io.is_full.set(true);
            for _ in 0..6_000 {
                let (command, text) = random_flow(random, true);
                stage.flow(WRITER, 2, command, &text);
            }
            stage.io.is_full.set(false);
            // Changes continue while all entries are reported again.
            while stage.switch.has_work(&stage.io) {
                stage.switch.work(stage.now, &mut stage.io);
                let (command, text) = random_flow(random, true);
                if random.below(3) == 0 {
                    stage.flow(WRITER, 2, command, &text);
                }
            }
            mirror.read(&mut stage);
            assert_eq!(
                mirror.entries,
                truth(&mut stage),
                "{engine:?}, round {round}"
            );
        }
    }
}
