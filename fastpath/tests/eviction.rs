//! A full table evicts the entry that comes first by importance and lifetime, whatever packets did,
//! and alone or within a bundle.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_datapath::{Config, Engine, PacketInEvent, Sink, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::message::port::PortState;
use bofuss_oflib::message::table_mod::{EvictionFlags, TableConfig};
use bofuss_oflib::message::{
    FlowMod, FlowModCommand, FlowModFlags, FlowRemoved, FlowRemovedReason, PortDesc,
    PortStatusReason, TableMod,
};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::{Catalogue, ErrorCode, PortNo};

/// Entries of a full table: more than one slice of a search looks at.
const MAX_ENTRIES: u32 = 40;
/// The number of flow-mods in a random run.
const ROUNDS: u32 = 600;

/// Collects the entries that are gone.
#[derive(Default)]
struct Removed(Vec<FlowRemoved>);

impl Sink for Removed {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, removed: FlowRemoved) {
        self.0.push(removed);
    }
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// The record of an entry in a model of the table.
#[derive(Clone, Debug)]
struct Known {
    cookie: u64,
    importance: u16,
    idle: u64,
    hard: u64,
    created: u64,
    used: u64,
}

impl Known {
    /// Returns when it ends if no packet comes, in seconds.
    fn ends(&self) -> u64 {
        let idle = if self.idle == 0 {
            u64::MAX
        } else {
            self.used + self.idle
        };
        let hard = if self.hard == 0 {
            u64::MAX
        } else {
            self.created + self.hard
        };
        idle.min(hard)
    }
}

fn datapath(engine: Engine) -> Datapath {
    let config = Config {
        n_tables: 2,
        max_entries: MAX_ENTRIES,
        engine,
        ..Config::default()
    };
    let mut datapath = Datapath::new(config, Arc::new(Catalogue::default()), Pool::new(1 << 20));
    let desc = PortDesc {
        port_no: PortNo(1),
        state: PortState::LIVE,
        ..PortDesc::default()
    };
    datapath
        .port_control(Time(0), &mut Removed::default())
        .changed(desc, OffloadCapabilities::default());
    datapath
}

fn evicts(flags: EvictionFlags) -> TableMod {
    TableMod {
        table_id: TableId(0),
        config: TableConfig::EVICTION.0,
        eviction: Some(flags),
        ..TableMod::default()
    }
}

/// Goes on with what is under way, to its end. Returns how many slices that took.
fn finish(
    datapath: &mut Datapath,
    now: Time,
    sink: &mut Removed,
) -> (usize, Result<(), ErrorCode>) {
    let mut slices = 0;
    while datapath.changes().in_progress() {
        slices += 1;
        if let Some(result) = datapath.control(now, sink).work() {
            return (slices, result);
        }
    }
    (slices, Ok(()))
}

fn configure(datapath: &mut Datapath, now: Time, table_mod: &TableMod) {
    let mut sink = Removed::default();
    datapath
        .control(now, &mut sink)
        .configure_filling(table_mod)
        .unwrap();
    finish(datapath, now, &mut sink).1.unwrap();
}

/// A flow-mod that adds an entry for an Ethernet type, which is its cookie, too.
fn entry(number: u64, importance: u16, idle: u64, hard: u64) -> FlowMod {
    let text = format!(
        "cookie={number},importance={importance},idle_timeout={idle},hard_timeout={hard},\
         dl_type={},actions=drop",
        number + 0x1000
    );
    let mut add = parse_flow(&text, FlowModCommand::ADD, &Catalogue::default()).unwrap();
    add.flags = FlowModFlags::SEND_FLOW_REM;
    add
}

fn add(
    datapath: &mut Datapath,
    now: Time,
    add: &FlowMod,
) -> (Vec<FlowRemoved>, Result<(), ErrorCode>) {
    let mut sink = Removed::default();
    let began = datapath.control(now, &mut sink).flow_mod(add);
    let result = began.and_then(|()| finish(datapath, now, &mut sink).1);
    (sink.0, result)
}

/// Sends a packet that hits the entry of a cookie.
fn hit(datapath: &mut Datapath, now: Time, cookie: u64) {
    let mut bytes = vec![0; 60];
    bytes[12..14].copy_from_slice(&(cookie as u16 + 0x1000).to_be_bytes());
    let mut frames = vec![datapath.pool().frame(&bytes).unwrap()];
    datapath.receive(now, PortNo(1), &mut frames, &mut Removed::default());
}

/// A number below `bound` that follows from the state: xorshift64*.
fn random(state: &mut u64, bound: u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
}

/// Plays random adds, packets and pauses, and compares each eviction with a model that sorts.
fn plays_as_the_model(engine: Engine, flags: EvictionFlags) {
    let mut datapath = datapath(engine);
    configure(&mut datapath, Time(0), &evicts(flags));
    let mut known: Vec<Known> = Vec::new();
    let mut seed = 7;
    let mut seconds = 0;
    let mut evicted = 0;
    for number in 0..u64::from(ROUNDS) {
        for _ in 0..random(&mut seed, 30) {
            let count = known.len() as u64;
            if count > 0 {
                let place = random(&mut seed, count) as usize;
                known[place].used = seconds;
                let cookie = known[place].cookie;
                hit(&mut datapath, Time(seconds * Time::SEC), cookie);
            }
        }
        seconds += random(&mut seed, 2);
        let now = Time(seconds * Time::SEC);
        datapath.tick(now, &mut Removed::default());
        known.retain(|one| one.ends() > seconds);
        let new = Known {
            cookie: number,
            importance: random(&mut seed, 4) as u16,
            idle: random(&mut seed, 2) * 300,
            hard: random(&mut seed, 2) * 200,
            created: seconds,
            used: seconds,
        };
        let request = entry(number, new.importance, new.idle, new.hard);
        let (removed, result) = add(&mut datapath, now, &request);
        if known.len() < MAX_ENTRIES as usize {
            assert_eq!((removed.len(), result), (0, Ok(())));
            known.push(new);
            continue;
        }
        let by_importance = flags.has(EvictionFlags::IMPORTANCE);
        let by_lifetime = flags.has(EvictionFlags::LIFETIME);
        let rank = |one: &Known| {
            let importance = if by_importance { one.importance } else { 0 };
            (
                importance,
                if by_lifetime { one.ends() } else { 0 },
                one.cookie,
            )
        };
        let first = known.iter().min_by_key(|one| rank(one)).unwrap().clone();
        if rank(&first).0 > new.importance {
            assert_eq!((removed.len(), result), (0, Err(FlowModFailed::TABLE_FULL)));
            continue;
        }
        let gone: Vec<_> = removed.iter().map(|one| (one.cookie, one.reason)).collect();
        assert_eq!(
            gone,
            [(first.cookie, FlowRemovedReason::EVICTION)],
            "round {number}"
        );
        assert_eq!(result, Ok(()));
        known.retain(|one| one.cookie != first.cookie);
        known.push(new);
        evicted += 1;
    }
    assert!(evicted > ROUNDS / 4, "{evicted} evictions");
}

#[test]
fn entries_go_in_the_order_of_the_model() {
    let both = EvictionFlags::IMPORTANCE | EvictionFlags::LIFETIME;
    for engine in [Engine::Reference, Engine::Tables, Engine::Cache] {
        for flags in [both, EvictionFlags::IMPORTANCE, EvictionFlags::LIFETIME] {
            plays_as_the_model(engine, flags);
        }
    }
}

#[test]
fn a_search_among_entries_that_packets_hit_goes_on_in_slices() {
    let mut datapath = datapath(Engine::Cache);
    configure(&mut datapath, Time(0), &evicts(EvictionFlags::LIFETIME));
    for number in 0..u64::from(MAX_ENTRIES) {
        add(&mut datapath, Time(0), &entry(number, 0, 10, 0))
            .1
            .unwrap();
    }
    let now = Time(5 * Time::SEC);
    for number in 0..u64::from(MAX_ENTRIES) - 1 {
        hit(&mut datapath, now, number);
    }
    let mut sink = Removed::default();
    let new = entry(99, 0, 0, 0);
    datapath.control(now, &mut sink).flow_mod(&new).unwrap();
    assert!(
        datapath.changes().in_progress(),
        "one slice does not look at all entries"
    );
    let (slices, result) = finish(&mut datapath, now, &mut sink);
    assert_eq!((slices, result), (2, Ok(())));
    let last = u64::from(MAX_ENTRIES) - 1;
    assert_eq!(
        sink.0.iter().map(|one| one.cookie).collect::<Vec<_>>(),
        [last]
    );
    assert_eq!(datapath.tables()[0].len(), MAX_ENTRIES as usize);
}

#[test]
fn a_bundle_that_fails_gives_evicted_entries_back() {
    let mut datapath = datapath(Engine::Cache);
    configure(&mut datapath, Time(0), &evicts(EvictionFlags::IMPORTANCE));
    for number in 0..u64::from(MAX_ENTRIES) {
        let importance = number as u16;
        add(&mut datapath, Time(0), &entry(number, importance, 0, 0))
            .1
            .unwrap();
    }
    for commits in [false, true] {
        let mut sink = Removed::default();
        datapath.bundle().begin(false);
        for number in 100..103 {
            let new = entry(number, 50, 0, 0);
            datapath.control(Time(1), &mut sink).flow_mod(&new).unwrap();
        }
        assert!(sink.0.is_empty(), "nothing is gone yet");
        if commits {
            datapath.bundle().commit(Time(1));
        } else {
            datapath.bundle().undo();
        }
        finish(&mut datapath, Time(1), &mut sink).1.unwrap();
        assert_eq!(datapath.tables()[0].len(), MAX_ENTRIES as usize);
        let mut gone: Vec<_> = sink.0.iter().map(|one| (one.cookie, one.reason)).collect();
        gone.sort_by_key(|one| one.0);
        let first = (0..3).map(|cookie| (cookie, FlowRemovedReason::EVICTION));
        let wanted: Vec<_> = first.filter(|_| commits).collect();
        assert_eq!(gone, wanted);
    }
    let (removed, _) = add(&mut datapath, Time(2), &entry(200, 50, 0, 0));
    assert_eq!(
        removed[0].cookie, 3,
        "those that stayed have kept their order"
    );
}

#[test]
fn a_table_that_no_longer_evicts_is_full() {
    let mut datapath = datapath(Engine::Cache);
    let on = evicts(EvictionFlags::IMPORTANCE);
    for number in 0..u64::from(MAX_ENTRIES) {
        add(&mut datapath, Time(0), &entry(number, 0, 0, 0))
            .1
            .unwrap();
    }
    let full = Err(FlowModFailed::TABLE_FULL);
    assert_eq!(add(&mut datapath, Time(0), &entry(100, 0, 0, 0)).1, full);
    configure(&mut datapath, Time(0), &on);
    let (removed, result) = add(&mut datapath, Time(0), &entry(100, 0, 0, 0));
    assert_eq!(
        (removed[0].cookie, result),
        (0, Ok(())),
        "the oldest of equal ones"
    );
    let off = TableMod { config: 0, ..on };
    configure(&mut datapath, Time(0), &off);
    assert_eq!(add(&mut datapath, Time(0), &entry(101, 9, 0, 0)).1, full);
}

#[test]
fn the_limit_of_all_tables_together_evicts_nothing() {
    let config = Config {
        n_tables: 2,
        max_entries: MAX_ENTRIES,
        max_total_entries: MAX_ENTRIES,
        ..Config::default()
    };
    let catalogue = Arc::new(Catalogue::default());
    let mut datapath = Datapath::new(config, catalogue, Pool::new(1 << 20));
    configure(&mut datapath, Time(0), &evicts(EvictionFlags::IMPORTANCE));
    let mut number = 0;
    let refused = loop {
        let mut new = entry(number, 0, 0, 0);
        new.table_id = TableId((number % 2) as u8);
        let (removed, result) = add(&mut datapath, Time(0), &new);
        assert!(removed.is_empty());
        if let Err(error) = result {
            break error;
        }
        number += 1;
    };
    assert_eq!(refused, FlowModFailed::TABLE_FULL);
    assert!(datapath.tables()[0].len() < MAX_ENTRIES as usize);
}

#[test]
fn a_table_with_default_thresholds_reports_a_vacancy_of_a_tenth() {
    let mut datapath = datapath(Engine::Cache);
    let events = TableMod {
        config: TableConfig::VACANCY_EVENTS.0,
        ..TableMod::default()
    };
    configure(&mut datapath, Time(0), &events);
    let mut told = None;
    for number in 0..u64::from(MAX_ENTRIES) {
        add(&mut datapath, Time(0), &entry(number, 0, 0, 0))
            .1
            .unwrap();
        let sink = &mut Vec::<Frame>::new();
        told = told.or(datapath.control(Time(0), sink).next_table_status());
    }
    let table = told.unwrap().table;
    let vacancy = table.vacancy.unwrap();
    let shares = (vacancy.vacancy_down, vacancy.vacancy_up, vacancy.vacancy);
    assert_eq!(shares, (10, 20, 7), "37 of 40 places are taken");
}
