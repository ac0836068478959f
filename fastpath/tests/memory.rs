//! Entries take no more memory than `docs/security.md` promises, checked with samples of what takes
//! most.
#![allow(clippy::unwrap_used)]

use std::alloc::System;
use std::sync::Arc;

use bofuss_datapath::{Config, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::ext::{ExtKind, ExtRow, ExtValue};
use bofuss_oflib::field::{
    ETH_DST, ETH_SRC, ETH_TYPE, IN_PHY_PORT, IN_PORT, IPV4_DST, IPV6_DST, IPV6_SRC, METADATA,
    TUNNEL_ID, VLAN_VID,
};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::table_mod::TableConfig;
use bofuss_oflib::message::{FlowMod, FlowModCommand, GroupMod, TableMod};
use bofuss_oflib::text::parse_group;
use bofuss_oflib::types::{GroupId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{
    Action, Catalogue, Codec, ErrorCode, FieldMatch, Instruction, Match, Message, Version,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The overhead of a block of glibc's besides what was asked for: 8 bytes, rounded up to 16.
const BLOCK_BYTES: f64 = 16.0;
/// The largest size of a place of `max_total_entries`: 4 GB for the 4,000,000 of the default.
const PLACE_BYTES: f64 = 1000.0;
/// The same in tables that evict entries: 4.5 GB.
const EVICTING_PLACE_BYTES: f64 = 1120.0;
/// Places of a sample: with one entry each, just beyond where hash tables double. The masks that
/// are free are a part of it, but none that counts among millions.
const PLACES: u32 = 1800;
/// Buckets for each group, of the limits by default.
const BUCKETS_PER_GROUP: u32 = 4;
/// The largest size of a bucket, its part of the group included: 315 MB for the 262,144 of the
/// default.
const BUCKET_BYTES: f64 = 1200.0;
/// The offset of the transport's source port in a flow-mod of OpenFlow 1.0, and of 1.1.
const OF10_TP_SRC: usize = 8 + 36;
const OF11_TP_SRC: usize = 8 + 40 + 60;
/// More than a flow-mod of these tests has: a list that grows would count as memory that stays.
const FLOW_MOD_BYTES: usize = 512;

/// A datapath with few places, whose tables keep their entries in an order of eviction or not.
fn small(evicts: bool) -> Datapath {
    let config = Config {
        n_tables: 2,
        max_total_entries: PLACES,
        max_groups: PLACES / BUCKETS_PER_GROUP,
        max_buckets: PLACES,
        ..Config::default()
    };
    let catalogue = Arc::new(Catalogue::default());
    let mut datapath = Datapath::new(config, catalogue, Pool::new(1 << 20));
    if !evicts {
        return datapath;
    }
    let table_mod = TableMod {
        table_id: TableId::ALL,
        config: TableConfig::EVICTION.0,
        ..TableMod::default()
    };
    let sink = &mut Vec::<Frame>::new();
    datapath
        .control(Time(0), sink)
        .configure_filling(&table_mod)
        .unwrap();
    while datapath.changes().in_progress() {
        datapath.control(Time(0), sink).work();
    }
    datapath
}

/// Bytes that a place takes when there is no room for another of what is added by number.
fn bytes_a_place(mut add: impl FnMut(u32) -> Result<(), ErrorCode>) -> f64 {
    let region = Region::new(GLOBAL);
    let mut count = 0;
    while add(count).is_ok() {
        count += 1;
    }
    assert!((PLACES / 100..=PLACES).contains(&count), "{count} of them");
    bytes_since(&region) / f64::from(PLACES)
}

/// Bytes that are in use more than when the region began.
fn bytes_since(region: &Region<'_, System>) -> f64 {
    let change = region.change();
    let grown = change.bytes_allocated as f64 - change.bytes_deallocated as f64;
    let blocks = change.allocations as f64 - change.deallocations as f64;
    grown + change.bytes_reallocated as f64 + blocks * BLOCK_BYTES
}

fn flow(fields: &[FieldMatch], list: Vec<Instruction>) -> FlowMod {
    let mut flow = FlowMod::add(Match::new(fields).unwrap());
    flow.instructions = Instructions::new(list).unwrap();
    flow
}

fn port(n: u32) -> FieldMatch {
    FieldMatch::exact(IN_PORT, n.into())
}

fn address(n: u32) -> [FieldMatch; 2] {
    [
        FieldMatch::exact(ETH_TYPE, 0x0800),
        FieldMatch::exact(IPV4_DST, n.into()),
    ]
}

/// A match with a mask that no other has.
fn own_mask(n: u32) -> [FieldMatch; 3] {
    let mask = !u128::from(n);
    [
        FieldMatch::exact(ETH_TYPE, 0x86dd),
        FieldMatch::masked(IPV6_DST, 0xfc << 120, mask),
        FieldMatch::masked(IPV6_SRC, 0xfc << 120, mask),
    ]
}

/// A match of this many further words.
fn long(fields: &[FieldMatch], words: usize) -> Vec<FieldMatch> {
    let further = [
        METADATA,
        TUNNEL_ID,
        ETH_SRC,
        ETH_DST,
        IN_PORT,
        IN_PHY_PORT,
        VLAN_VID,
    ];
    let further = further.into_iter().take(words);
    let further = further.map(|field| FieldMatch::exact(field, 0x1001));
    fields.iter().copied().chain(further).collect()
}

/// A list of this many actions that no other has.
fn outputs(list: u32, count: u32) -> Vec<Action> {
    let catalogue = Catalogue::default();
    let output = |n: u32| Action::parse("output", &(1 + n).to_string(), &catalogue);
    let ports = (0..count).map(|n| list * count + n);
    ports.map(|n| output(n).unwrap().unwrap()).collect()
}

fn apply(list: u32, count: u32) -> Vec<Instruction> {
    vec![Instruction::ApplyActions(outputs(list, count))]
}

fn both(list: u32, count: u32) -> Vec<Instruction> {
    vec![
        Instruction::ApplyActions(outputs(2 * list, count)),
        Instruction::WriteActions(outputs(2 * list + 1, count)),
    ]
}

/// An entry with all that costs memory by itself.
fn complete(mut flow: FlowMod, n: u32) -> FlowMod {
    (flow.cookie, flow.idle_timeout, flow.hard_timeout) = (u64::from(n) + 1, 7, 9);
    flow
}

/// An entry of a version whose match has a value where it is ignored, and is kept as sent.
fn kept_as_sent(version: Version, tp_src: usize, n: u32, list: Vec<Instruction>) -> FlowMod {
    let codec = Codec::new(version, Arc::default());
    let plain = Message::FlowMod(flow(&address(n), apply(1, 1)));
    let mut bytes = Vec::with_capacity(FLOW_MOD_BYTES);
    codec.encode(1, &plain, &mut bytes).unwrap();
    bytes[tp_src] = 7;
    let Ok((_, Message::FlowMod(mut flow))) = codec.decode(&bytes) else {
        panic!("it is a flow-mod: {bytes:?}");
    };
    assert!(flow.fields.sent().is_some());
    flow.instructions = Instructions::new(list).unwrap();
    flow
}

fn kept_in_1_0(n: u32, list: Vec<Instruction>) -> FlowMod {
    kept_as_sent(Version::V1_0, OF10_TP_SRC, n, list)
}

fn kept_in_1_1(n: u32, list: Vec<Instruction>) -> FlowMod {
    kept_as_sent(Version::V1_1, OF11_TP_SRC, n, list)
}

/// An instruction of an extension with so many bytes that no other has.
fn instruction_of(n: u32, size: usize) -> Vec<Instruction> {
    static ROW: ExtRow = ExtRow::new(ExtKind::Instruction, 0x00ab_cdef, 1, "keep").with_data();
    let mut data = vec![0; size];
    data[..4].copy_from_slice(&n.to_be_bytes());
    vec![Instruction::Experimenter(ExtValue::new(
        &ROW,
        Vec::new(),
        Bytes(data),
    ))]
}

/// An entry of a number.
type Make = Box<dyn Fn(u32) -> FlowMod>;

/// One test: another at the same time would be counted, too.
#[test]
fn full_tables_and_groups_take_no_more_memory_than_promised() {
    check_entries(false, PLACE_BYTES);
    check_bundle();
    check_entries(true, EVICTING_PLACE_BYTES);
    check_groups();
}

fn check_entries(evicts: bool, limit: f64) {
    let samples: [(&str, Make); 19] = [
        ("one action", Box::new(|n| flow(&address(n), apply(1, 1)))),
        (
            "own list of 1",
            Box::new(|n| flow(&address(n), apply(n, 1))),
        ),
        (
            "own list of 3",
            Box::new(|n| complete(flow(&address(n), apply(n, 3)), n)),
        ),
        (
            "own list of 4",
            Box::new(|n| complete(flow(&address(n), apply(n, 4)), n)),
        ),
        (
            "own list of 7",
            Box::new(|n| complete(flow(&address(n), apply(n, 7)), n)),
        ),
        (
            "own list of 15",
            Box::new(|n| complete(flow(&address(n), apply(n, 15)), n)),
        ),
        ("own mask", Box::new(|n| flow(&own_mask(n), apply(1, 1)))),
        (
            "own mask, list of 3",
            Box::new(|n| complete(flow(&own_mask(n), apply(n, 3)), n)),
        ),
        (
            "own mask, lists of 1",
            Box::new(|n| complete(flow(&own_mask(n), both(n, 1)), n)),
        ),
        (
            "own mask, lists of 7",
            Box::new(|n| complete(flow(&own_mask(n), both(n, 7)), n)),
        ),
        (
            "long match",
            Box::new(|n| complete(flow(&long(&address(n), 4), apply(n, 3)), n)),
        ),
        (
            "long mask",
            Box::new(|n| complete(flow(&long(&own_mask(n), 7), apply(n, 3)), n)),
        ),
        (
            "match kept as sent",
            Box::new(|n| complete(kept_in_1_0(n, apply(n, 3)), n)),
        ),
        (
            "match of 1.1 kept as sent",
            Box::new(|n| complete(kept_in_1_1(n, apply(n, 3)), n)),
        ),
        (
            "match of 1.1 kept as sent, list of 7",
            Box::new(|n| complete(kept_in_1_1(n, apply(n, 7)), n)),
        ),
        (
            "match kept as sent, list of 7",
            Box::new(|n| complete(kept_in_1_0(n, apply(n, 7)), n)),
        ),
        (
            "instruction of 100 bytes of an extension",
            Box::new(|n| complete(flow(&address(n), instruction_of(n, 100)), n)),
        ),
        (
            "instruction of 4000 bytes of an extension",
            Box::new(|n| complete(flow(&address(n), instruction_of(n, 4000)), n)),
        ),
        (
            "list of 700 in common",
            Box::new(|n| complete(flow(&[port(n)], apply(1, 700)), n)),
        ),
    ];
    for (name, entry) in samples {
        let mut datapath = small(evicts);
        let bytes = bytes_a_place(|n| {
            let flow = entry(n);
            datapath
                .control(Time(1), &mut Vec::<Frame>::new())
                .flow_mod(&flow)
        });
        println!("{name}: {bytes:.0} bytes a place");
        assert!(bytes <= limit, "{name}: {bytes:.0} bytes a place");
    }
}

fn check_groups() {
    let samples = [
        ("1 action", 1, 1),
        ("4 buckets of 1 action", 4, 1),
        ("4 of 7", 4, 7),
        ("60 of 1", 60, 1),
        ("1 of 99", 1, 99),
    ];
    for (name, buckets, actions) in samples {
        let list = "set_field:1->tunnel_id,".repeat(actions - 1);
        let bucket = format!(",bucket={list}output:1").repeat(buckets);
        let text = format!("group_id=0,type=all{bucket}");
        let group = parse_group(&text, GroupModCommand::ADD, &Catalogue::default()).unwrap();
        let mut datapath = small(false);
        let bytes = bytes_a_place(|n| {
            let group_id = GroupId(n);
            let group = GroupMod {
                group_id,
                ..group.clone()
            };
            datapath
                .control(Time(1), &mut Vec::<Frame>::new())
                .group_mod(&group)
        });
        println!("{name}: {bytes:.0} bytes a bucket");
        assert!(bytes <= BUCKET_BYTES, "{name}: {bytes:.0} bytes a bucket");
    }
}

/// A bundle that replaces all entries of full tables, again and again, has the limits of the
/// tables, and takes as much memory as they do, and a few bytes for each message, which count
/// with it.
fn check_bundle() {
    /// The number of times that all entries are replaced.
    const ROUNDS: u32 = 3;
    const BYTES_PER_MESSAGE: u32 = 8;
    let sink = &mut Vec::<Frame>::new();
    let mut datapath = small(false);
    let region = Region::new(GLOBAL);
    let entry = |n, round| flow(&address(n), apply(round, 1));
    for n in 0..PLACES {
        datapath
            .control(Time(0), sink)
            .flow_mod(&entry(n, 0))
            .unwrap();
    }
    let before = bytes_since(&region);
    let mut delete = flow(&[], Vec::new());
    delete.command = FlowModCommand::DELETE;
    delete.table_id = TableId::ALL;
    datapath.bundle().begin(false);
    for round in 1..=ROUNDS {
        datapath.control(Time(0), sink).flow_mod(&delete).unwrap();
        while datapath.changes().in_progress() {
            datapath.control(Time(0), sink).work();
        }
        for n in 0..PLACES {
            datapath
                .control(Time(0), sink)
                .flow_mod(&entry(n, round))
                .unwrap();
        }
        let more = datapath
            .control(Time(0), sink)
            .flow_mod(&entry(PLACES, round));
        assert_eq!(more, Err(FlowModFailed::TABLE_FULL));
    }
    let during = bytes_since(&region);
    let messages = ROUNDS * (PLACES + 1);
    let limit = 2.0 * before + f64::from(messages * BYTES_PER_MESSAGE);
    assert!(during <= limit, "{during} of {before}");
    datapath.bundle().commit(Time(0));
    while datapath.changes().in_progress() {
        datapath.control(Time(0), sink).work();
    }
    assert_eq!(datapath.tables()[0].len(), PLACES as usize);
}
