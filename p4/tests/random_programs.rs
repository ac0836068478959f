//! Random programs with random entries and packets do what a plain interpreter of their JSON does.
//!
//! `P4_PROGRAMS=N` tries so many programs instead, and `P4_SEED=N` begins elsewhere.

mod plain;

use bofuss_p4::{Does, Entry, Int, Match, Named, Program, Replica, Sent, Sink, Switch};
use num_bigint::BigInt;
use plain::interpreter::Interpreter;
use plain::programs::{Generated, NewEntry, Wanted, generate, packet};
use plain::random::Random;

const PROGRAMS: u64 = 200;
const PACKETS: usize = 12;
/// The copies of multicast group 1: their ports and instances.
const GROUP: [(u32, u32); 2] = [(1, 0), (2, 7)];

fn from_environment(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().expect("a number"))
}

fn int(value: &BigInt) -> Int {
    Int::from_digits(&format!("{value:x}"), 16).expect("a number")
}

fn one_match(wanted: &Wanted) -> Match {
    match wanted {
        Wanted::Exact(value) => Match::Exact(int(value)),
        Wanted::Prefix(value, length) => Match::Lpm(int(value), *length),
        Wanted::Mask(value, mask) => Match::Ternary(int(value), int(mask)),
        Wanted::Range(low, high) => Match::Range(int(low), int(high)),
        Wanted::Any => Match::Any,
    }
}

/// Adds an entry. Returns whether it was none that is there.
fn insert(switch: &mut Switch, entry: &NewEntry) -> bool {
    let table = switch.program().index(Named::Table, &entry.table);
    let table = table.expect("the program has it");
    let action = switch
        .action_of(table, &entry.action)
        .expect("the table has it");
    let does = Does::Action(action, entry.data.iter().map(int).collect());
    let key = entry.key.iter().map(one_match).collect();
    switch
        .insert(table, Entry::new(key, entry.priority, does))
        .is_ok()
}

/// The steps of a packet as lines.
#[derive(Default)]
struct Told(String);

impl Sink for Told {
    fn transmit(&mut self, sent: Sent) {
        self.step(
            0,
            format!("{:02x?} leave at port {}", sent.frame, sent.port),
        );
    }

    fn traces(&self) -> bool {
        true
    }

    fn step(&mut self, depth: usize, text: String) {
        self.0.push_str(&format!("{:1$}{text}\n", "", 2 * depth));
    }
}

/// What a switch says of a packet, after it has passed.
fn told(switch: &Switch, port: u32, frame: &[u8]) -> String {
    let mut told = Told::default();
    switch.explain(port, frame, 0, &mut told);
    told.0
}

/// What became of the packets of all programs.
#[derive(Debug, Default)]
struct Seen {
    hits: usize,
    misses: usize,
    sent: usize,
    dropped: usize,
    copied: usize,
}

/// Makes a program of a seed, and sends it packets.
fn play(seed: u64, seen: &mut Seen) {
    let mut random = Random(seed);
    let Generated { document, entries } = generate(&mut random);
    let program = Program::load(document.to_string().as_bytes());
    let program = program.unwrap_or_else(|error| panic!("P4_SEED={seed}: {error}\n{document}"));
    let mut switch = Switch::new(program, 0);
    let entries: Vec<NewEntry> = entries
        .into_iter()
        .filter(|entry| insert(&mut switch, entry))
        .collect();
    let replicas = GROUP.map(|(port, instance)| Replica {
        port,
        instance: instance as u16,
    });
    switch
        .replication_mut()
        .set_group(1, replicas.into())
        .expect("it fits");
    let mut oracle = Interpreter::new(&document, &entries);
    oracle.group = GROUP.into();
    for number in 0..PACKETS {
        let frame = packet(&mut random);
        let port = random.below(4) as u32;
        let mut sent: Vec<Sent> = Vec::new();
        switch.receive(port, &frame, 0, &mut sent);
        let sent: Vec<(u32, Vec<u8>)> = sent
            .into_iter()
            .map(|sent| (sent.port, sent.frame))
            .collect();
        let wanted = oracle.receive(port, &frame);
        assert_eq!(
            sent,
            wanted,
            "P4_SEED={seed} P4_PROGRAMS=1: packet {number} at port {port}: {frame:02x?}\n\
             {document}\n{entries:?}\n{}",
            told(&switch, port, &frame)
        );
        match sent.len() {
            0 => seen.dropped += 1,
            1 => seen.sent += 1,
            _ => seen.copied += 1,
        }
    }
    seen.hits += oracle.hits;
    seen.misses += oracle.misses;
}

#[test]
fn random_programs_do_what_a_plain_interpreter_does() {
    let first = from_environment("P4_SEED", 1);
    let count = from_environment("P4_PROGRAMS", PROGRAMS);
    let mut seen = Seen::default();
    for seed in first..first + count {
        play(seed, &mut seen);
    }
    if count >= PROGRAMS {
        let many = count as usize;
        assert!(seen.hits > many && seen.misses > many, "{seen:?}");
        assert!(seen.sent > many && seen.dropped > many / 2, "{seen:?}");
        assert!(seen.copied > many / 4, "{seen:?}");
    }
}
