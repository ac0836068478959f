//! Entries take no more memory than `docs/security.md` promises, by samples of what takes most.
#![allow(clippy::unwrap_used)]

use std::alloc::System;
use std::sync::Arc;

use bofuss_datapath::{Config, Datapath, Time};
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::field::{
    ETH_DST, ETH_SRC, ETH_TYPE, IN_PHY_PORT, IN_PORT, IPV4_DST, IPV6_DST, IPV6_SRC, METADATA,
    TUNNEL_ID, VLAN_VID,
};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::{Action, Catalogue, FieldMatch, Instruction, Match};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// What a block of glibc's takes beside what was asked for: 8 bytes, rounded up to 16.
const BLOCK_BYTES: f64 = 16.0;
/// What a place of `max_total_entries` takes at most: 4 GB for the 4,000,000 of the default.
const PLACE_BYTES: f64 = 1000.0;
/// Places of a sample: with one entry each, just beyond where hash tables double. The masks that
/// are free are a part of it, but none that counts among millions.
const PLACES: u32 = 1800;

/// Bytes that a place takes when a datapath has no room for another entry.
fn bytes_a_place(entry: impl Fn(u32) -> FlowMod) -> f64 {
    let config = Config {
        n_tables: 2,
        max_total_entries: PLACES,
        ..Config::default()
    };
    let catalogue = Arc::new(Catalogue::default());
    let mut datapath = Datapath::new(config, catalogue, Pool::new(1 << 20));
    let region = Region::new(GLOBAL);
    let mut count = 0;
    let mut add = |flow| datapath.flow_mod(Time(1), &flow, &mut Vec::<Frame>::new());
    while add(entry(count)).is_ok() {
        count += 1;
    }
    assert!((PLACES / 100..=PLACES).contains(&count), "{count} entries");
    let change = region.change();
    let grown = change.bytes_allocated as f64 - change.bytes_deallocated as f64;
    let blocks = change.allocations as f64 - change.deallocations as f64;
    let bytes = grown + change.bytes_reallocated as f64 + blocks * BLOCK_BYTES;
    bytes / f64::from(PLACES)
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

/// An entry of a number.
type Make = Box<dyn Fn(u32) -> FlowMod>;

#[test]
fn tables_that_are_full_take_what_is_promised_whatever_the_entries_are() {
    let samples: [(&str, Make); 13] = [
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
            "list of 700 in common",
            Box::new(|n| complete(flow(&[port(n)], apply(1, 700)), n)),
        ),
    ];
    for (name, entry) in samples {
        let bytes = bytes_a_place(entry);
        println!("{name}: {bytes:.0} bytes a place");
        assert!(bytes <= PLACE_BYTES, "{name}: {bytes:.0} bytes a place");
    }
}
