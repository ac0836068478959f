//! Random programs with random entries and packets do what a plain interpreter of their JSON does.
//!
//! `P4_PROGRAMS=N` tries so many programs instead, and `P4_SEED=N` begins elsewhere.

use bofuss_p4::{
    Digest, Does, Entry, Int, Match, MeterConfig, Named, Program, Replica, Sent, Session, Sink,
    Switch,
};
use num_bigint::BigInt;

use crate::plain::copies;
use crate::plain::externs::{METERS, Meter};
use crate::plain::interpreter::Interpreter;
use crate::plain::parsers::key_of;
use crate::plain::profiles::NewProfile;
use crate::plain::programs::{Generated, NewDoes, NewEntry, NewValue, Wanted, generate, packet};
use crate::plain::random::Random;

const PROGRAMS: u64 = 120;
const PACKETS: usize = 12;
/// The port and the instance of a copy.
type PortCopy = (u32, u32);
/// The copies of multicast group 1.
const GROUP: [PortCopy; 2] = [(1, 0), (2, 7)];

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
    let does = match &entry.does {
        NewDoes::Action(name, data) => {
            let action = switch.action_of(table, name).expect("the table has it");
            Does::Action(action, data.iter().map(int).collect())
        }
        NewDoes::Member(number) => Does::Member(*number),
        NewDoes::Group(number) => Does::Group(*number),
    };
    let key = entry.key.iter().map(one_match).collect();
    switch
        .insert(table, Entry::new(key, entry.priority, does))
        .is_ok()
}

/// Adds the members and groups of an action profile.
fn fill(switch: &mut Switch, profile: &NewProfile) {
    let index = switch.program().index(Named::Profile, &profile.name);
    let index = index.expect("the program has it");
    for (number, (action, data)) in (1..).zip(&profile.members) {
        let mut actions = switch.program().actions.iter();
        let action = actions.position(|row| row.name == *action);
        let bound = (action.expect("it is there"), data.iter().map(int).collect());
        let set = switch.set_member(index, number, bound);
        set.expect("it fits");
    }
    for (number, members) in (1..).zip(&profile.groups) {
        let set = switch.set_group(index, number, members);
        set.expect("it fits");
    }
}

/// Adds a member of a value set.
fn add_value(switch: &mut Switch, value: &NewValue) {
    let set = switch.program().index(Named::ValueSet, &value.set);
    let set = set.expect("the program has it");
    let parts: Vec<Int> = value.parts.iter().map(|(part, _)| int(part)).collect();
    let added = switch.externs_mut().set_parser_value(set, &parts, true);
    added.expect("it fits");
}

/// What leaves the program.
#[derive(Default)]
struct Out {
    sent: Vec<(u32, Vec<u8>)>,
    /// Their values, with signs.
    digests: Vec<Vec<String>>,
}

impl Sink for Out {
    fn transmit(&mut self, sent: Sent) {
        self.sent.push((sent.port, sent.frame));
    }

    fn digest(&mut self, digest: Digest) {
        let values = digest.values.iter();
        self.digests.push(values.map(ToString::to_string).collect());
    }
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

/// The copies of clone sessions 1 and 2, and the bytes that these keep. Session 3 is not there.
const SESSIONS: [(&[PortCopy], Option<u32>); 2] =
    [(&[(1, 0)], None), (&[(3, 5), (2, 9)], Some(24))];
/// The rates and bursts of the first meters.
const METER_RATES: [[u64; 4]; 2] = [[1, 1, 2, 3], [0, 2, 1, 2]];

fn replicas(copies: &[PortCopy]) -> Vec<Replica> {
    let replica = |(port, instance): &PortCopy| Replica {
        port: *port,
        instance: *instance as u16,
    };
    copies.iter().map(replica).collect()
}

/// Gives both the same groups, sessions and meters.
fn configure(switch: &mut Switch, oracle: &mut Interpreter<'_>) {
    let group = Some(replicas(&GROUP));
    let set = switch.replication_mut().set_group(1, group);
    set.expect("it fits");
    oracle.group = GROUP.into();
    oracle.sessions = vec![copies::Session::default()];
    for (id, (copies, truncate)) in (1..).zip(SESSIONS) {
        let replicas = replicas(copies);
        let set = switch
            .replication_mut()
            .set_session(id, Some(Session { replicas, truncate }));
        set.expect("it fits");
        oracle.sessions.push(copies::Session {
            copies: copies.to_vec(),
            truncate: truncate.map(|bytes| bytes as usize),
        });
    }
    oracle.meters = vec![None; METERS];
    for (index, rates) in METER_RATES.into_iter().enumerate() {
        let [committed_rate, committed_burst, peak_rate, peak_burst] = rates;
        let config = MeterConfig {
            committed_rate,
            committed_burst,
            peak_rate,
            peak_burst,
        };
        let set = switch.externs_mut().set_meter(0, index, Some(config), 0);
        set.expect("it is there");
        oracle.meters[index] = Some(Meter {
            committed: (committed_rate, committed_burst, committed_burst * 1_000_000),
            peak: (peak_rate, peak_burst, peak_burst * 1_000_000),
            filled: 0,
        });
    }
}

/// What became of the packets of all programs.
#[derive(Debug, Default)]
struct Seen {
    hits: usize,
    misses: usize,
    sent: usize,
    dropped: usize,
    copied: usize,
    clones: usize,
    again: usize,
    colored: usize,
    wrong: usize,
    right: usize,
    chosen: usize,
    in_sets: usize,
    variable: usize,
    in_unions: usize,
    digests: usize,
    counted: usize,
    random: usize,
}

/// Makes a program of a seed, and sends it packets.
fn play(seed: u64, seen: &mut Seen) {
    let mut random = Random(seed);
    let Generated {
        document,
        entries,
        profiles,
        values,
    } = generate(&mut random);
    let program = Program::load(document.to_string().as_bytes());
    let program = program.unwrap_or_else(|error| panic!("P4_SEED={seed}: {error}\n{document}"));
    let mut switch = Switch::new(program, 0);
    profiles
        .iter()
        .for_each(|profile| fill(&mut switch, profile));
    values
        .iter()
        .for_each(|value| add_value(&mut switch, value));
    let entries: Vec<NewEntry> = entries
        .into_iter()
        .filter(|entry| insert(&mut switch, entry))
        .collect();
    let mut oracle = Interpreter::new(&document, &entries, &profiles);
    for value in &values {
        let members = oracle.value_sets.entry(value.set.clone()).or_default();
        members.push(key_of(&value.parts));
    }
    configure(&mut switch, &mut oracle);
    let mut now = 0;
    for number in 0..PACKETS {
        let frame = packet(&mut random);
        let port = random.below(4) as u32;
        now += random.pick(&[0, 300_000, 1_000_000]);
        let mut out = Out::default();
        switch.receive(port, &frame, now, &mut out);
        let wanted = oracle.receive(port, &frame, now);
        let digests = oracle.digests.drain(..);
        let digests: Vec<Vec<String>> = digests
            .map(|values| values.iter().map(|value| format!("{value:#x}")).collect())
            .collect();
        seen.digests += digests.len();
        assert_eq!(
            (&out.sent, out.digests),
            (&wanted, digests),
            "P4_SEED={seed} P4_PROGRAMS=1: packet {number} at port {port}: {frame:02x?}\n\
             {document}\n{entries:?}\n{profiles:?}\n{values:?}\n{}",
            told(&switch, port, &frame)
        );
        match out.sent.len() {
            0 => seen.dropped += 1,
            1 => seen.sent += 1,
            _ => seen.copied += 1,
        }
    }
    for (index, (packets, bytes)) in oracle.counter.iter().enumerate() {
        let count = switch.externs().counter(0, index).expect("it is there");
        let what = format!("P4_SEED={seed} P4_PROGRAMS=1: counter {index}\n{document}");
        assert_eq!((count.packets, count.bytes), (*packets, *bytes), "{what}");
        seen.counted += count.packets as usize;
    }
    for (index, value) in oracle.register.iter().enumerate() {
        let cell = switch.externs().register(0, index).expect("it is there");
        let what = format!("P4_SEED={seed} P4_PROGRAMS=1: register {index}\n{document}");
        assert_eq!(cell, int(value), "{what}");
    }
    seen.hits += oracle.hits;
    seen.random += oracle.drawn;
    seen.misses += oracle.misses;
    seen.clones += oracle.clones;
    seen.again += oracle.again;
    seen.colored += oracle.colored;
    seen.wrong += oracle.wrong;
    seen.right += oracle.right;
    seen.chosen += oracle.chosen;
    seen.in_sets += oracle.in_sets.get();
    seen.variable += oracle.variable.get();
    seen.in_unions += oracle.in_unions.get();
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
        assert!(seen.clones > many && seen.again > many, "{seen:?}");
        assert!(seen.wrong > many / 2 && seen.right > many, "{seen:?}");
        assert!(seen.colored > many / 4, "{seen:?}");
        assert!(
            seen.chosen > many / 4 && seen.in_sets > many / 2,
            "{seen:?}"
        );
        assert!(seen.random > many / 4, "{seen:?}");
        assert!(
            seen.digests > many / 4 && seen.counted > many / 4,
            "{seen:?}"
        );
        assert!(seen.variable > many && seen.in_unions > many, "{seen:?}");
    }
}
