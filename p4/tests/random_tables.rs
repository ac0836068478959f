//! Tables with random entries give what a search through all entries gives.

use std::fs;

use bofuss_p4::{Does, Entry, Handle, Int, Match, MatchKind, Named, Program, Sent, Switch};

const ROUNDS: usize = 40;
const ENTRIES: usize = 40;
const PACKETS: usize = 100;

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
