//! Hooks with the flow cache: it serves their packets, with the results of the plain engine.
#![allow(clippy::unwrap_used)]

mod actions;
mod direct;
mod misses;
mod qos;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bofuss_datapath::{
    Config, Engine, HitEntry, Hook, HookContext, HookEffect, PacketInEvent, Sink, Time, Verdict,
};
use bofuss_fastpath::CacheStats;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::field::{IPV4_DST, IPV4_SRC, TCP_DST, UDP_DST};
use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Catalogue, ExtValue, Field, Mac, PortNo};
use bofuss_packet::craft;

const EXPERIMENTER: u32 = 0x0062_6f99;
static FIELDS: [Field; 1] = [Field::extension(EXPERIMENTER, 0, "mark", 32, true)];
static VALUES: [ExtRow; 2] = [
    ExtRow::new(ExtKind::Action, EXPERIMENTER, 1, "stamp"),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 2, "seen"),
];

/// The frames sent, the messages to controllers, and the lines of traces.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    left: Vec<(PortNo, Vec<u8>)>,
    told: usize,
    offered: usize,
}

impl Sink for Seen {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.left.push((port, frame.bytes().to_vec()));
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {
        self.offered += 1;
    }
    fn notify(&mut self, _: &ExtValue) {
        self.told += 1;
    }
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

fn catalogue() -> Arc<Catalogue> {
    let mut catalogue = Catalogue::default();
    catalogue.add("test", &FIELDS, &VALUES).unwrap();
    Arc::new(catalogue)
}

/// As [`catalogue`], with so many fields that the mark is beyond those of OpenFlow's own field set.
fn large_catalogue() -> Arc<Catalogue> {
    let others: Vec<_> = (0..64)
        .map(|n| Field::register(EXPERIMENTER, 64 + n, &*format!("other{n}").leak(), 8, 0))
        .collect();
    let mut catalogue = Catalogue::default();
    catalogue.add("others", &others, &[]).unwrap();
    catalogue.add("test", &FIELDS, &VALUES).unwrap();
    Arc::new(catalogue)
}

fn mark(catalogue: &Catalogue) -> &'static Field {
    catalogue.field(EXPERIMENTER, 0).unwrap()
}

fn switch(engine: Engine, catalogue: &Arc<Catalogue>, flows: &[&str]) -> Datapath {
    let config = Config {
        engine,
        ..bofuss_disciplines::config()
    };
    let mut datapath = Datapath::new(config, Arc::clone(catalogue), Pool::new(1 << 22));
    let sink = &mut Seen::default();
    for port_no in (1..=4).map(PortNo) {
        let desc = PortDesc {
            port_no,
            ..PortDesc::default()
        };
        datapath
            .port_control(Time(0), sink)
            .changed(desc, OffloadCapabilities::default());
    }
    for text in flows {
        let flow = parse_flow(text, FlowModCommand::ADD, catalogue).unwrap();
        datapath.control(Time(0), sink).flow_mod(&flow).unwrap();
    }
    datapath
}

/// A packet of one of 4 sources to one of 4 destinations and ports, TCP or UDP.
fn frame(pool: &Pool, number: u32) -> Frame {
    let port = 7 + (number >> 4 & 3) as u16;
    let layer = if number & 64 == 0 {
        craft::udp(9, port, b"x")
    } else {
        craft::tcp(9, port, 2, b"x")
    };
    let (from, to) = ((number & 3) as u8, (number >> 2 & 3) as u8);
    let ip = craft::ipv4([10, 0, 0, from].into(), [10, 0, 1, to].into(), 64, layer);
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    pool.frame(&bytes).unwrap()
}

/// Sends random packets through a switch of each engine, each with its own hooks, and checks that
/// the results are equal. Returns the counters of the cache.
fn compare(
    flows: &[&str],
    hook: impl Fn(&Catalogue) -> Box<dyn Hook>,
    batch: usize,
    packets: u32,
) -> CacheStats {
    compare_with(&catalogue(), flows, hook, batch, packets)
}

/// The same with a catalogue.
fn compare_with(
    catalogue: &Arc<Catalogue>,
    flows: &[&str],
    hook: impl Fn(&Catalogue) -> Box<dyn Hook>,
    batch: usize,
    packets: u32,
) -> CacheStats {
    let mut all = Vec::new();
    for (name, engine) in Engine::ALL {
        let mut datapath = switch(engine, catalogue, flows);
        datapath.add_hook(hook(catalogue));
        let (mut seen, mut random, mut frames) = (Seen::default(), 12345u32, Vec::new());
        for number in 0..packets {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            frames.push(frame(datapath.pool(), random >> 16));
            if frames.len() == batch || number + 1 == packets {
                datapath.receive(Time(number.into()), PortNo(1), &mut frames, &mut seen);
            }
        }
        let counts = |table| datapath_counts(&mut datapath, table);
        let tables: Vec<_> = (0..4).map(TableId).map(counts).collect();
        let drops: Vec<_> = datapath.lane().drops().collect();
        let named: Vec<_> = datapath.hooks().drops().collect();
        assert!(
            !seen.left.is_empty(),
            "{name}: {drops:?} {:?}",
            datapath.lane().engine.stats()
        );
        all.push((
            name,
            (seen, tables, drops, named),
            datapath.lane().engine.stats(),
        ));
    }
    for (name, result, _) in &all[1..] {
        assert_eq!(*result, all[0].1, "{name}");
    }
    all.pop().unwrap().2
}

/// Returns what a table and its entries counted.
fn datapath_counts(datapath: &mut Datapath, table: TableId) -> (u64, u64, Vec<u64>) {
    let settled = datapath.settled();
    let counts = settled.table_counts(table);
    let mut entries = Vec::new();
    let mut cursor = bofuss_datapath::Cursor::new(table);
    while !settled.slice(&mut cursor, |_, entry| entries.push(entry.packets)) {}
    entries.sort_unstable();
    (counts.lookups, counts.matches, entries)
}

/// Marks packets by their destination before the lookup in table 1, and by that mark after the hit
/// in table 2.
struct Pure(&'static Field, Arc<AtomicU32>);

impl Hook for Pure {
    fn name(&self) -> &'static str {
        "test"
    }
    fn effect(&self, table: TableId) -> HookEffect {
        match table.0 {
            1 | 2 => HookEffect::Pure,
            _ => HookEffect::None,
        }
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        if cx.table == TableId(1) {
            self.1.fetch_add(1, Relaxed);
            let to = cx.get(IPV4_DST).unwrap_or(0);
            cx.set(self.0, to & 3);
        }
        Verdict::Continue
    }
    fn after_hit(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        if cx.table == TableId(2) {
            let mark = cx.get(self.0).unwrap_or(0);
            cx.set(self.0, mark + 4);
        }
        Verdict::Continue
    }
}

const THREE_TABLES: [&str; 9] = [
    "udp,actions=goto_table:1",
    "tcp,actions=write_actions(output:4),goto_table:1",
    "table=1,priority=2,mark=1,actions=drop",
    "table=1,priority=1,actions=goto_table:2",
    "table=2,actions=goto_table:3",
    "table=3,mark=4,actions=output:2",
    "table=3,mark=5,actions=output:3",
    "table=3,mark=6,ip,actions=set_field:10.9.9.9->ip_dst,output:3",
    "table=3,mark=7,actions=output:2,output:3",
];

#[test]
fn values_that_a_pure_hook_sets_are_cached() {
    for batch in [1, 32] {
        let calls = Arc::new(AtomicU32::new(0));
        let hook = |catalogue: &Catalogue| -> Box<dyn Hook> {
            calls.store(0, Relaxed);
            Box::new(Pure(mark(catalogue), Arc::clone(&calls)))
        };
        let stats = compare(&THREE_TABLES, hook, batch, 2000);
        // One flow for each destination, of TCP and of UDP, and those before the key was wider.
        let misses = stats.misses as u32;
        assert!(misses < 60, "{stats:?}");
        assert_eq!(stats.hits, 2000 - stats.misses, "one flow a packet");
        assert_eq!(calls.load(Relaxed), misses);
        assert_eq!(stats.widened, 3, "by entries, and once by the hook");
    }
}

/// Drops every third packet of a source before table 1, copies every fifth to port 4 after the hit
/// in table 2, and notifies controllers.
struct Live(HashMap<u128, u32>);

impl Hook for Live {
    fn name(&self) -> &'static str {
        "test"
    }
    fn effect(&self, table: TableId) -> HookEffect {
        match table.0 {
            1 | 2 => HookEffect::Live,
            _ => HookEffect::None,
        }
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        if cx.table != TableId(1) {
            return Verdict::Continue;
        }
        let source = cx.get(IPV4_SRC).unwrap_or(0);
        let packets = self.0.entry(source).or_default();
        *packets += 1;
        if *packets % 3 == 0 {
            return cx.drop("every third");
        }
        Verdict::Continue
    }
    fn after_hit(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        let source = cx.get(IPV4_SRC).unwrap_or(0);
        if cx.table == TableId(2) && self.0[&source] % 5 == 0 {
            cx.apply(vec![Action::output(PortNo(4))]);
            cx.notify(ExtValue::new(&VALUES[1], vec![], Bytes(vec![])));
        }
        Verdict::Continue
    }
}

#[test]
fn a_live_hook_sees_each_packet_on_a_known_path() {
    let hook = |_: &Catalogue| -> Box<dyn Hook> { Box::new(Live(HashMap::new())) };
    for batch in [1, 32] {
        let stats = compare(
            &[
                "actions=goto_table:1",
                "table=1,priority=1,actions=goto_table:2",
                "table=2,udp,actions=goto_table:3",
                "table=3,udp,udp_dst=7,actions=output:2",
                "table=3,priority=0,actions=output:3",
            ],
            hook,
            batch,
            2000,
        );
        assert!(stats.hits > 1900, "{stats:?}");
        assert_eq!(stats.continued, 0, "one path goes through all tables");
    }
}

/// Before table 1, marks packets by how many their source has sent. It declares the effect that the
/// test gives it.
struct Counter {
    field: &'static Field,
    counts: HashMap<u128, u32>,
    effect: HookEffect,
}

impl Hook for Counter {
    fn name(&self) -> &'static str {
        "test"
    }
    fn effect(&self, table: TableId) -> HookEffect {
        match table.0 {
            1 => self.effect,
            _ => HookEffect::None,
        }
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        let source = cx.get(IPV4_SRC).unwrap_or(0);
        let packets = self.counts.entry(source).or_default();
        *packets += 1;
        cx.set(self.field, u128::from(*packets / 4 % 5));
        if *packets % 50 == 49 {
            cx.goto(TableId(3));
        }
        Verdict::Continue
    }
}

#[test]
fn a_branch_is_cached_under_the_fields_that_the_hook_set() {
    // A hook that does more than it declares is only slower.
    for effect in [HookEffect::Branch, HookEffect::Live, HookEffect::Unknown] {
        let hook = |catalogue: &Catalogue| -> Box<dyn Hook> {
            Box::new(Counter {
                field: mark(catalogue),
                counts: HashMap::new(),
                effect,
            })
        };
        for batch in [1, 32] {
            let flows = [
                "udp,actions=goto_table:1",
                "table=1,priority=2,mark=1,actions=drop",
                "table=1,priority=1,actions=goto_table:2",
                "table=2,mark=2,actions=output:2",
                "table=2,mark=3,udp,actions=set_field:9->udp_dst,goto_table:3",
                "table=2,mark=4,actions=goto_table:3",
                "table=3,udp,udp_dst=9,actions=output:4",
                "table=3,priority=0,actions=output:3",
            ];
            let stats = compare(&flows, hook, batch, 2000);
            if effect == HookEffect::Branch {
                assert!(stats.hits > 20 * stats.misses, "{stats:?}");
            }
        }
    }
}

/// Asks for everything that a hook can ask for, depending on the packet's destination port.
struct Asker;

impl Hook for Asker {
    fn name(&self) -> &'static str {
        "test"
    }
    fn effect(&self, table: TableId) -> HookEffect {
        match table.0 {
            0 => HookEffect::Live,
            _ => HookEffect::None,
        }
    }
    fn after_hit(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        let port = cx.get(UDP_DST).or(cx.get(TCP_DST));
        match port {
            Some(7) => {
                let copy = cx.copy().unwrap();
                cx.emit(copy, vec![Action::output(PortNo(4))]);
            }
            Some(8) if cx.in_port() == PortNo(1) => {
                let bytes = cx.frame().bytes().to_vec();
                let mut new = cx.packet(&bytes, PortNo(2)).unwrap();
                new.set_nw_ttl(9).unwrap();
                cx.emit(new, vec![Action::output(PortNo::TABLE)]);
            }
            Some(9) => cx.goto(TableId(2)),
            Some(10) => cx.notify(ExtValue::new(&VALUES[1], vec![], Bytes(vec![]))),
            _ => {}
        }
        Verdict::Continue
    }
    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, _: &ExtValue) -> Verdict {
        let HitEntry { cookie, priority } = cx.entry;
        assert_eq!((cookie, priority), (5, 7));
        cx.apply(vec![Action::SetNwTtl(3)]);
        Verdict::Continue
    }
    fn acts_on_egress(&self) -> bool {
        true
    }
    fn on_egress(&mut self, cx: &mut HookContext<'_>, port: PortNo) -> Verdict {
        if port == PortNo(2) {
            return cx.drop("not there");
        }
        Verdict::Continue
    }
}

#[test]
fn a_hook_can_apply_actions_emit_packets_and_choose_tables() {
    let flows = [
        "in_port=1,actions=goto_table:1",
        "in_port=2,actions=output:3",
        "table=1,priority=7,cookie=5,actions=stamp,output:3,output:2",
        "table=2,actions=output:4",
    ];
    let stats = compare(&flows, |_| Box::new(Asker), 32, 500);
    assert!(stats.hits > 450, "{stats:?}");
    let catalogue = catalogue();
    let mut datapath = switch(Engine::Cache, &catalogue, &flows);
    datapath.add_hook(Box::new(Asker));
    for (number, wanted) in [
        (0, vec![4, 3]),
        (16, vec![3, 3]),
        (32, vec![4]),
        (48, vec![3]),
    ] {
        let mut seen = Seen::default();
        let mut frames = vec![frame(datapath.pool(), number)];
        datapath.receive(Time(0), PortNo(1), &mut frames, &mut seen);
        let ports: Vec<_> = seen.left.iter().map(|(port, _)| port.0).collect();
        assert_eq!(ports, wanted, "{number}");
        assert_eq!(seen.told, usize::from(number == 48));
    }
    let drops: Vec<_> = datapath.hooks().drops().collect();
    assert_eq!(drops, [("test", "not there", 3)]);
}

/// Sends what it gets through the tables again, and that too.
struct Echo;

impl Hook for Echo {
    fn name(&self) -> &'static str {
        "test"
    }
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::Live
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        for _ in 0..3 {
            let copy = cx.copy().unwrap();
            cx.emit(copy, vec![Action::output(PortNo::TABLE)]);
        }
        Verdict::Continue
    }
}

#[test]
fn actions_of_hooks_that_cause_each_other_are_limited() {
    for (name, engine) in Engine::ALL {
        let catalogue = catalogue();
        let mut datapath = switch(engine, &catalogue, &["actions=output:2"]);
        datapath.add_hook(Box::new(Echo));
        let mut seen = Seen::default();
        let mut frames = vec![frame(datapath.pool(), 0)];
        datapath.receive(Time(0), PortNo(1), &mut frames, &mut seen);
        assert!(
            (100..5000).contains(&seen.left.len()),
            "{name}: {}",
            seen.left.len()
        );
        assert!(
            datapath
                .lane()
                .drops()
                .any(|(reason, _)| reason.name() == "work")
        );
    }
}
