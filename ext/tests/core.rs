//! Plays the scenarios of 1.3 that need no extension on a switch of the core, and writes what
//! enters and leaves it as transcripts. `cargo xtask step "core alone"` plays these on a switch
//! that is compiled without features: `tests/core`.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "scenarios/effects.rs"]
mod effects;
#[path = "scenarios/frames.rs"]
mod frames;
#[path = "core/machine.rs"]
mod machine;
#[path = "scenarios/openflow11.rs"]
mod openflow11;
#[path = "scenarios/openflow12.rs"]
mod openflow12;
#[path = "scenarios/openflow14.rs"]
mod openflow14;
#[path = "scenarios/openflow15.rs"]
mod openflow15;
#[path = "scenarios/play.rs"]
mod play;
#[path = "scenarios/recorder.rs"]
mod recorder;
#[path = "scenarios/reshape.rs"]
mod reshape;
#[path = "scenarios/stage.rs"]
mod stage;

use std::fs;
use std::path::Path;

use bofuss_datapath::engine::PlainEngine;

use frames::*;
use machine::*;
use play::*;
use recorder::*;

type Datapath = bofuss_datapath::Datapath<PlainEngine>;

/// Words of scenarios that need an extension, a configuration in text, ports with offloads, forms
/// of Open vSwitch's, or a feature of the datapath.
const BEYOND: [&str; 19] = [
    "effect(",
    "effect_",
    "flow_state",
    "openstate",
    "arp_path",
    "insp",
    "rev_",
    "state_request",
    "queue-mod",
    "set field",
    "set profile",
    "reconfigure",
    "gso ",
    "00002320",
    "set_field:0xff0000000000/",
    "reshape ",
    "frags 2 ",
    "actions=normal",
    "fail-mode standalone",
];
/// The fewest scenarios that have transcripts.
const LEAST: usize = 34;

#[test]
fn scenarios_without_extensions_play_as_written_and_are_transcribed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("core");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/scenarios");
    let mut written = 0;
    let mut failures = Vec::new();
    for entry in fs::read_dir(scenarios).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let other = |line: &str| line.starts_with("connect ") && line.contains(" 1.");
        let is_beyond = BEYOND.iter().any(|word| text.contains(word)) || text.lines().any(other);
        if path.extension().is_none_or(|e| e != "txt") || is_beyond {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy();
        take_transcript();
        play(
            Engine::Reference,
            Version::V1_3,
            &name,
            &text,
            &mut failures,
        );
        fs::write(folder.join(&*name), take_transcript()).unwrap();
        written += 1;
    }
    let all: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "{}", all.join("\n\n"));
    assert!(written >= LEAST, "{written}");
}
