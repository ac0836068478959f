//! Tables with random entries give what a search through all entries gives.

use std::fs;

use bofuss_p4::{
    ControlError, Does, Entry, Handle, Int, Match, MatchKind, Named, Program, Sent, Switch,
};

const ROUNDS: usize = 40;
const ENTRIES: usize = 40;
const PACKETS: usize = 100;
/// Entries that are added to a large table, and packets that are looked up in it.
const MANY: usize = 2000;
const LOOKUPS: usize = 100;

/// A header with three fields, of which two are the key of a table, whose action sets the third.
const PROGRAM: &str = r#"{"__meta__": {"version": [2, 23]},
    "header_types": [
        {"name": "h_t", "id": 0,
            "fields": [["a", 32, false], ["b", WIDTH, false], ["r", 16, false]]},
        {"name": "std_t", "id": 1, "fields": [["egress_spec", 9, false]]}],
    "headers": [
        {"name": "h", "id": 0, "header_type": "h_t", "metadata": false},
        {"name": "standard_metadata", "id": 1, "header_type": "std_t", "metadata": true}],
    "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [{
        "name": "start", "id": 0, "transition_key": [],
        "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
        "transitions": [{"type": "default"}]}]}],
    "deparsers": [{"name": "deparser", "id": 0, "order": ["h"]}],
    "actions": [{"name": "set", "id": 0, "runtime_data": [{"name": "r", "bitwidth": 16}],
        "primitives": [{"op": "assign", "parameters": [
            {"type": "field", "value": ["h", "r"]}, {"type": "runtime_data", "value": 0}]}]}],
    "pipelines": [{"name": "ingress", "id": 0, "init_table": "t", "tables": [{
        "name": "t", "id": 0, "type": "simple", "match_type": "ternary", "max_size": 100000,
        "key": [
            {"match_type": "FIRST", "name": "a", "target": ["h", "a"], "mask": null},
            {"match_type": "SECOND", "name": "b", "target": ["h", "b"], "mask": null}],
        "action_ids": [0], "actions": ["set"], "base_default_next": null,
        "next_tables": {"set": null}}]}]}"#;

struct Random(u64);

impl Random {
    /// From 0 to `most` less one: SplitMix64.
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ value >> 31) % most
    }

    /// Few values, so that entries are hit.
    fn value(&mut self) -> Int {
        Int::from(self.below(16) * [1, 1, 7][self.below(3) as usize])
    }

    fn wanted(&mut self, kind: MatchKind, width: u32) -> Match {
        let value = self.value();
        match kind {
            MatchKind::Exact | MatchKind::Valid => Match::Exact(value),
            MatchKind::Lpm => Match::Lpm(value, self.below(u64::from(width) + 1) as u32),
            MatchKind::Ternary => Match::Ternary(value, self.value()),
            MatchKind::Optional if self.below(2) == 0 => Match::Any,
            MatchKind::Optional => Match::Exact(value),
            MatchKind::Range => {
                let other = self.value();
                Match::Range(value.clone().min(other.clone()), value.max(other))
            }
        }
    }
}

/// What the best entry answers, by a search through all.
fn best(switch: &Switch, table: usize, values: &[Int]) -> Option<Int> {
    let parts = &switch.program().tables[table].key;
    let hits = switch.entries(table).filter(|(_, entry)| {
        let mut pairs = parts.iter().zip(&entry.key).zip(values);
        pairs.all(|((part, wanted), value)| wanted.matches(value, part.width))
    });
    let rank = |entry: &Entry| {
        let length = entry.key.iter().find_map(|part| match part {
            Match::Lpm(_, length) => Some(*length),
            Match::Exact(_) | Match::Ternary(..) | Match::Range(..) | Match::Any => None,
        });
        (entry.priority, length)
    };
    let (_, entry) = hits.max_by_key(|(handle, entry)| (rank(entry), usize::MAX - handle))?;
    match &entry.does {
        Does::Action(_, data) => data.first().cloned(),
        Does::Member(_) | Does::Group(_) => None,
    }
}

#[test]
fn random_entries_are_found_as_by_a_search_through_all() {
    let root = env!("CARGO_MANIFEST_DIR");
    let json = fs::read(format!("{root}/../testdata/p4/matches/matches.json"));
    let json = json.expect("the file is there");
    let mut random = Random(5);
    let tables = [
        (0, "exact_t"),
        (1, "lpm_t"),
        (2, "lpm_exact_t"),
        (3, "ternary_t"),
        (4, "range_t"),
        (5, "optional_t"),
    ];
    let mut hits = 0;
    for (op, name) in tables.into_iter().cycle().take(ROUNDS) {
        let mut switch = Switch::new(Program::load(&json).expect("p4c wrote it"), 0);
        let table = switch
            .program()
            .index(Named::Table, &format!("MyIngress.{name}"));
        let table = table.expect("it is there");
        let set = switch
            .action_of(table, "MyIngress.set")
            .expect("it is there");
        let ranked = switch.has_priorities(table);
        let mut handles: Vec<Handle> = Vec::new();
        for round in 0..ENTRIES {
            let parts = switch.program().tables[table].key.iter();
            let kinds: Vec<_> = parts.map(|part| (part.kind, part.width)).collect();
            let mut key = Vec::new();
            for (kind, width) in kinds {
                key.push(random.wanted(kind, width));
            }
            let priority = if ranked { random.below(8) as i32 } else { 0 };
            let does = Does::Action(set, vec![Int::from(round as u32)]);
            let entry = Entry::new(key, priority, does);
            handles.extend(switch.insert(table, entry));
            if random.below(4) == 0 && !handles.is_empty() {
                let handle = handles.swap_remove(random.below(handles.len() as u64) as usize);
                switch.delete(table, handle).expect("it is there");
            }
        }
        for _ in 0..PACKETS {
            let (k, w) = (random.value().low() as u8, random.value().low() as u16);
            let [high, low] = w.to_be_bytes();
            let mut sent: Vec<Sent> = Vec::new();
            switch.receive(0, &[op, k, high, low, 0], 0, &mut sent);
            let parts = &switch.program().tables[table].key;
            let value = |target: &str| {
                Int::from(if target == "h.k" {
                    k.into()
                } else {
                    u32::from(w)
                })
            };
            let values: Vec<Int> = parts.iter().map(|part| value(&part.target)).collect();
            let wanted = best(&switch, table, &values);
            hits += usize::from(wanted.is_some());
            let wanted = wanted.map_or(0xff, |value| value.low() as u8);
            assert_eq!(sent[0].frame[4], wanted, "{name}: {values:?}");
        }
    }
    assert!(hits > ROUNDS * PACKETS / 4, "{hits} hits");
}

/// A match of a part of the key of a large table, of so many bits: about `value`.
fn about(random: &mut Random, kind: &str, width: u32, value: u32) -> Match {
    let whole = |value: u32| Int::from(value);
    match kind {
        "lpm" => Match::Lpm(whole(value), 12 + random.below(21) as u32),
        // All sorts of masks, many of which overlap.
        "ternary" => {
            let holes = (1 << random.below(32)) | (0xff << random.below(25));
            Match::Ternary(whole(value), whole(!holes & u32::MAX >> (32 - width)))
        }
        "range" => {
            let most = 1 << random.below(20);
            let less = random.below(most) as u32;
            Match::Range(whole(value.saturating_sub(less)), whole(value))
        }
        "optional" if random.below(100) == 0 => Match::Any,
        _ => Match::Exact(whole(value)),
    }
}

/// Fills a table of these kinds, a part of whose entries is changed and deleted, and looks up keys
/// near those of entries. Returns how many hit.
fn fill(random: &mut Random, kinds: [&str; 2], width: u32) -> usize {
    let program = PROGRAM
        .replace("FIRST", kinds[0])
        .replace("SECOND", kinds[1])
        .replace("WIDTH", &width.to_string());
    let program = Program::load(program.as_bytes()).expect("it is right");
    let mut switch = Switch::new(program, 0);
    let ranked = switch.has_priorities(0);
    let mut handles: Vec<Handle> = Vec::new();
    let mut values = Vec::new();
    for number in 0..MANY as u32 {
        let value = random.below(1 << 32) as u32;
        let second = random.below(3);
        let key = vec![
            about(random, kinds[0], 32, value),
            about(random, kinds[1], width.min(32), second as u32),
        ];
        // Few priorities, so that there are ties.
        let priority = if ranked {
            1 + random.below(9) as i32
        } else {
            0
        };
        let does = Does::Action(0, vec![Int::from(number & 0xffff)]);
        let handle = match switch.insert(0, Entry::new(key, priority, does)) {
            Ok(handle) => handle,
            Err(ControlError::Exists) => continue,
            Err(error) => panic!("{kinds:?}: {error}"),
        };
        handles.push(handle);
        values.push((value, second));
        let other = random.below(handles.len() as u64) as usize;
        match random.below(6) {
            0 => drop(switch.delete(0, handles.swap_remove(other))),
            1 => {
                let does = Does::Action(0, vec![Int::from(random.below(1 << 16))]);
                switch.modify(0, handles[other], does).expect("it is there");
            }
            _ => {}
        }
    }
    let mut hits = 0;
    for _ in 0..LOOKUPS {
        let (value, second) = values[random.below(values.len() as u64) as usize];
        let value = value ^ [0, 0, 1 << random.below(32)][random.below(3) as usize];
        let mut frame = value.to_be_bytes().to_vec();
        frame.resize(4 + width as usize / 8 - 1, 0);
        frame.extend([second as u8, 0xff, 0xff]);
        let mut sent: Vec<Sent> = Vec::new();
        switch.receive(0, &frame, 0, &mut sent);
        let wanted = best(&switch, 0, &[Int::from(value), Int::from(second)]);
        hits += usize::from(wanted.is_some());
        let wanted = wanted.map_or(0xffff, |value| value.low() as u16);
        let result = sent[0].frame.last_chunk().expect("the header has it");
        assert_eq!(
            u16::from_be_bytes(*result),
            wanted,
            "{kinds:?} {value:#x} {second}"
        );
    }
    hits
}

#[test]
fn large_tables_with_ties_overlaps_and_deletes_are_searched_as_a_list_is() {
    let mut random = Random(100);
    for first in ["exact", "lpm", "ternary", "range", "optional"] {
        // The wider keys are no machine word.
        for (second, width) in [
            ("exact", 16),
            ("ternary", 16),
            ("range", 16),
            ("exact", 200),
        ] {
            let hits = fill(&mut random, [first, second], width);
            assert!(hits > LOOKUPS / 10, "{first} {second}: {hits} hits");
        }
    }
}
