//! Programs and cases with random mistakes, and programs that want too much.

use std::fs;
use std::path::{Path, PathBuf};

use bofuss_p4::{DropReason, LoadError, Program, Sent, Sink, Switch};
use serde_json::{Value, json};

#[path = "../../fuzz/checks/p4_program.rs"]
mod p4_program;
#[path = "../../fuzz/checks/p4_stf.rs"]
mod p4_stf;

/// How often each file is spoilt.
const ROUNDS: u64 = 60;

/// A random number from 0 to `most` less one: SplitMix64.
fn random(state: &mut u64, most: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut value = *state;
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (value ^ value >> 31) as usize % most.max(1)
}

/// The files of the cases with an ending.
fn files(ending: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4");
    let all = fs::read_dir(folder).expect("the folder is there");
    let named = all.filter_map(|entry| {
        let folder = entry.ok()?.path();
        let name = folder.file_name()?.to_str()?.to_owned();
        fs::read(folder.join(name).with_extension(ending)).ok()
    });
    named.collect()
}

/// Makes some mistakes: bytes that differ, words in the place of others, parts that are missing.
fn spoil(bytes: &mut Vec<u8>, seed: &mut u64) {
    const WORDS: [&[u8]; 12] = [
        b"null",
        b"-1",
        b"65536",
        b"99999999999",
        b"\"*\"",
        b"[]",
        b"{}",
        b"true",
        b"0xffffffffff",
        b"\"h\"",
        b"expression",
        b"/33",
    ];
    for _ in 0..=random(seed, 3) {
        let at = random(seed, bytes.len());
        let end = bytes.len().min(at + random(seed, 12));
        match random(seed, 4) {
            0 => bytes[at] = random(seed, 256) as u8,
            1 => drop(bytes.splice(at..end, WORDS[random(seed, WORDS.len())].iter().copied())),
            2 => drop(bytes.drain(at..end)),
            _ => {
                // A number becomes another one, which keeps the document a document.
                let digits = bytes[at..].iter().position(u8::is_ascii_digit);
                if let Some(digit) = digits {
                    bytes[at + digit] = b'0' + random(seed, 10) as u8;
                }
            }
        }
    }
}

#[test]
fn spoilt_programs_are_refused_or_run() {
    let mut seed = 1;
    for file in files("json") {
        p4_program::run(&file);
        for _ in 0..ROUNDS {
            let mut spoilt = file.clone();
            spoil(&mut spoilt, &mut seed);
            p4_program::run(&spoilt);
        }
    }
}

#[test]
fn spoilt_cases_are_refused_or_played() {
    let mut seed = 2;
    for file in files("stf") {
        for _ in 0..ROUNDS {
            let mut spoilt = file.clone();
            spoil(&mut spoilt, &mut seed);
            p4_stf::run(&spoilt);
        }
    }
}

/// The program of a case, with a text in the place of another.
fn changed(name: &str, from: &str, to: &str) -> LoadError {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4");
    let file = folder.join(name).join(name).with_extension("json");
    let text = fs::read_to_string(file).expect("the file is there");
    assert!(text.contains(from), "{name} has no {from}");
    let bytes = text.replacen(from, to, 1).into_bytes();
    Program::load(&bytes).expect_err("the program is wrong")
}

#[test]
fn errors_name_the_place_and_what_is_wrong_there() {
    let error = changed("state", "\"next_state\" : null", "\"next_state\" : \"x\"");
    assert_eq!(
        error.place,
        "/parsers/0/parse_states/0/transitions/0/next_state"
    );
    assert_eq!(error.what, "no state of the name x");
    let error = changed("state", "\"op\" : \"register_write\"", "\"op\" : \"fly\"");
    assert_eq!(error.what, "the primitive fly is unknown");
    assert!(error.place.ends_with("/op"), "{error}");
    let error = changed("state", "\"version\" : [2,", "\"version\" : [3,");
    assert_eq!(
        error.to_string(),
        "/__meta__/version/0: is not 2: another format"
    );
    let error = changed(
        "state",
        "\"name\" : \"parser\"",
        "\"name\" : \"ingress_parser\"",
    );
    assert_eq!(
        error.what,
        "is of the architecture PSA; only v1model is read"
    );
    let error = changed(
        "state",
        "\"name\" : \"parser\"",
        "\"name\" : \"main_parser\"",
    );
    assert_eq!(
        error.what,
        "is of the architecture PNA; only v1model is read"
    );
    let error = changed(
        "state",
        "\"extern_instances\" : []",
        "\"extern_instances\" : [{}]",
    );
    assert_eq!(error.place, "/extern_instances/0");
    let key = "\"ternary\",\n                  \"key\" : \"0x1000\",\n                  \"mask\"";
    let mut range = key.replace("ternary", "range");
    range = range.replace("key", "start").replace("mask", "end");
    let error = changed("matches", key, &range);
    assert!(error.place.ends_with("/match_key/0/match_type"), "{error}");
    assert_eq!(error.what, "hdr.h.w is matched as ternary");
}

#[test]
fn programs_that_want_too_much_are_refused() {
    let error = changed("state", "\"size\" : 8", "\"size\" : 4000000000");
    assert_eq!(
        error.what,
        "more than 16777216 counters, meters and registers"
    );
    let error = changed("state", "[\"op\", 8, false]", "[\"op\", 70000, false]");
    assert_eq!(error.what, "is not a number from 0 to 65536");
    let long = format!("\"name\" : \"{}\"", "x".repeat(513));
    let error = changed("state", "\"name\" : \"h\"", &long);
    assert_eq!(error.what, "is longer than 512 bytes");
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let error = Program::load(&deep).expect_err("too deep");
    assert_eq!(error.what, "more than 512 levels deep");
    let error = Program::load(&vec![b' '; (32 << 20) + 1]).expect_err("too large");
    assert_eq!(error.what, "larger than 33554432 bytes");
}

#[test]
fn a_control_that_runs_in_a_circle_is_refused() {
    let error = changed(
        "exits",
        "\"base_default_next\" : null",
        "\"base_default_next\" : \"node_3\"",
    );
    assert_eq!(error.to_string(), "/pipelines: a control runs in a circle");
}

/// Takes what leaves and what ends.
#[derive(Default)]
struct Ends(Vec<DropReason>);

impl Sink for Ends {
    fn transmit(&mut self, _sent: Sent) {
        unreachable!("nothing leaves");
    }

    fn dropped(&mut self, reason: DropReason) {
        self.0.push(reason);
    }
}

#[test]
fn an_action_that_jumps_for_ever_and_copies_without_end_are_drops_with_names() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4");
    let text = fs::read(folder.join("exits/exits.json")).expect("the file is there");
    let mut document: Value = serde_json::from_slice(&text).expect("p4c wrote it");
    let jump = json!([{"op": "_jump", "parameters": [{"type": "hexstr", "value": "0x0"}]}]);
    for action in document["actions"].as_array_mut().expect("it is a list") {
        action["primitives"] = jump.clone();
    }
    let program = Program::load(document.to_string().as_bytes()).expect("the program is right");
    let mut ends = Ends::default();
    Switch::new(program, 0).receive(0, &[0; 4], 0, &mut ends);
    assert_eq!(ends.0, [DropReason::TooManySteps]);
    // Each packet is resubmitted, and leaves the parser again.
    let text = fs::read(folder.join("again/again.json")).expect("the file is there");
    let mut switch = Switch::new(Program::load(&text).expect("p4c wrote it"), 0);
    let mut ends = Ends::default();
    switch.receive(0, &[3, 0, 0, 0], 0, &mut ends);
    assert_eq!(ends.0, [DropReason::TooManyPasses]);
}
