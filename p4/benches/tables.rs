//! Measures what a lookup costs in a table with few and with 100,000 entries of each kind of match,
//! and what adding them takes.
//!
//! `cargo bench -p bofuss-p4 --bench tables`. Each packet looks for another entry. Ternary entries
//! have 8 masks; ranges are next to each other.

use std::time::Instant;

use bofuss_p4::{Does, Entry, Int, Match, Program, Sent, Sink, Switch};

/// Packets of one measurement: few, so that some measurements are not interrupted.
const PACKETS: u32 = 2_000;
/// Measurements, of which the quickest counts.
const ROUNDS: u32 = 250;
/// The entries of a small table, and of a large one.
const SIZES: [u32; 2] = [8, 100_000];

/// One header of 32 bits, which is the key of a table.
const PROGRAM: &str = r#"{"__meta__": {"version": [2, 23]},
    "header_types": [
        {"name": "h_t", "id": 0, "fields": [["k", 32, false]]},
        {"name": "std_t", "id": 1, "fields": [["egress_spec", 9, false]]}],
    "headers": [
        {"name": "h", "id": 0, "header_type": "h_t", "metadata": false},
        {"name": "standard_metadata", "id": 1, "header_type": "std_t", "metadata": true}],
    "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [{
        "name": "start", "id": 0, "transition_key": [],
        "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
        "transitions": [{"type": "default"}]}]}],
    "deparsers": [{"name": "deparser", "id": 0, "order": ["h"]}],
    "actions": [{"name": "set", "id": 0, "runtime_data": [{"name": "port", "bitwidth": 9}],
        "primitives": [{"op": "assign", "parameters": [
            {"type": "field", "value": ["standard_metadata", "egress_spec"]},
            {"type": "runtime_data", "value": 0}]}]}],
    "pipelines": [{"name": "ingress", "id": 0, "init_table": "t", "tables": [{
        "name": "t", "id": 0, "type": "simple", "match_type": "KIND", "max_size": 100000,
        "key": [{"match_type": "KIND", "name": "h.k", "target": ["h", "k"], "mask": null}],
        "action_ids": [0], "actions": ["set"], "base_default_next": null,
        "next_tables": {"set": null}}]}]}"#;

/// Counts what leaves at the port of the entries.
#[derive(Default)]
struct Counted(u64);

impl Sink for Counted {
    fn transmit(&mut self, sent: Sent) {
        self.0 += u64::from(sent.port == 1);
    }
}

/// A number that looks random, another for each `index`.
fn spread(index: u32) -> u32 {
    index.wrapping_mul(0x9e37_79b1)
}

/// The key of an entry, and a value that it matches.
fn entry(kind: &str, index: u32) -> (Match, u32) {
    let value = spread(index);
    let whole = |value: u32| Int::from(value);
    match kind {
        "exact" | "optional" => (Match::Exact(whole(value)), value),
        "lpm" => {
            let length = 17 + index % 16;
            (Match::Lpm(whole(value), length), value)
        }
        "ternary" => {
            let mask = !(0x0101_0101 << (index % 8));
            (Match::Ternary(whole(value), whole(mask)), value)
        }
        _ => {
            let low = index * 1000;
            (Match::Range(whole(low), whole(low + 999)), low + 500)
        }
    }
}

fn measure(kind: &str, entries: u32) {
    let program = Program::load(PROGRAM.replace("KIND", kind).as_bytes()).expect("it is right");
    let mut switch = Switch::new(program, 1);
    let ranked = switch.has_priorities(0);
    let start = Instant::now();
    let mut added = 0;
    for index in 0..entries {
        let does = Does::Action(0, vec![Int::from(1_u32)]);
        let priority = if ranked { 1 + index as i32 } else { 0 };
        let entry = Entry::new(vec![entry(kind, index).0], priority, does);
        added += u32::from(switch.insert(0, entry).is_ok());
    }
    let adding = start.elapsed().as_secs_f64() / f64::from(entries);
    let mut best = f64::INFINITY;
    let mut sink = Counted::default();
    for round in 0..ROUNDS {
        let frames = (0..PACKETS).map(|at| spread(at + round * PACKETS) % entries);
        let frames: Vec<[u8; 4]> = frames.map(|at| entry(kind, at).1.to_be_bytes()).collect();
        let start = Instant::now();
        for (now, frame) in frames.iter().enumerate() {
            switch.receive(1, frame, now as u64, &mut sink);
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(PACKETS));
    }
    let hits = sink.0 / u64::from(ROUNDS);
    println!(
        "{kind}, {added} entries: {:.0} ns a packet ({hits} of {PACKETS} hit), {:.0} ns to add one",
        best * 1e9,
        adding * 1e9
    );
}

/// Measures one access to memory that no cache nearby has: to random lines of 64 bytes, of as many
/// as there are entries, each known only after the one before.
fn yardstick(entries: u32) {
    let count = entries as usize;
    // One circle through all lines in random order (Sattolo's): hardware foresees equal steps.
    let mut next: Vec<usize> = (0..count).collect();
    let mut random = 1_u64;
    for last in (1..count).rev() {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        next.swap(last, (random >> 33) as usize % last);
    }
    let lines: Vec<[u64; 8]> = next.iter().map(|next| [*next as u64; 8]).collect();
    let mut at = 0;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..PACKETS {
            at = lines[at][0] as usize;
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(PACKETS));
    }
    println!(
        "yardstick, {count} lines: {:.0} ns an access ({at})",
        best * 1e9
    );
}

fn main() {
    for entries in SIZES {
        yardstick(entries);
    }
    for kind in ["exact", "lpm", "ternary", "range", "optional"] {
        for entries in SIZES {
            measure(kind, entries);
        }
    }
}
