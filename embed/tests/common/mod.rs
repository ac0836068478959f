//! The scenarios of `testdata/scenarios`, played on an embedded switch.

#[path = "../../../ext/tests/scenarios/effects.rs"]
mod effects;
#[path = "../../../ext/tests/scenarios/frames.rs"]
mod frames;
#[path = "../../../ext/tests/scenarios/openflow11.rs"]
mod openflow11;
#[path = "../../../ext/tests/scenarios/openflow12.rs"]
mod openflow12;
#[path = "../../../ext/tests/scenarios/openflow14.rs"]
mod openflow14;
#[path = "../../../ext/tests/scenarios/openflow15.rs"]
mod openflow15;
#[path = "../../../ext/tests/scenarios/play.rs"]
mod play;
#[path = "../../../ext/tests/scenarios/recorder.rs"]
mod recorder;
#[path = "../../../ext/tests/scenarios/reshape.rs"]
mod reshape;
mod scripted;
#[path = "../../../ext/tests/scenarios/stage.rs"]
mod stage;

use bofuss_fastpath::Datapath;

use frames::*;
use play::*;
use recorder::*;
use scripted::*;

/// The folder of the scenarios.
const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/scenarios");

/// Plays all scenarios, with `step_nanos` nanoseconds between calls. Returns their names and
/// scripts.
///
/// Panics: if a scenario has other effects than it says. With time between calls a few have others,
/// so this is not checked then.
pub fn played(step_nanos: u64) -> Vec<(String, String)> {
    set_step(step_nanos);
    let mut all = Vec::new();
    let mut failures = Vec::new();
    for entry in std::fs::read_dir(SCENARIOS).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "txt") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            play(Engine::Cache, Version::V1_3, &name, &text, &mut failures);
            let fixed = u8::from(text.contains("\nset links fixed\n"));
            let head = format!(" links_fixed={fixed}\n");
            let mut script = script().replacen('\n', &head, 1);
            for row in text.lines().filter(|line| line.starts_with("set field ")) {
                script += &format!("! {row}\n");
            }
            all.push((name, script));
        }
    }
    let texts: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(step_nanos > 0 || texts.is_empty(), "{}", texts.join("\n\n"));
    all.sort();
    all
}
