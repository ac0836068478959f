//! The scenarios that are kept, and wrong ones made of them, are read by the fuzz target's check.

use std::fs;

use bofuss_sim::Random;

#[path = "../../fuzz/checks/scenario_parse.rs"]
mod scenario_parse;

/// Wrong texts that are made of each.
const CHANGED: usize = 200;

#[test]
fn kept_scenarios_and_changed_ones_are_built_or_refused_with_their_line() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/scenario_parse");
    let mut random = Random::new(3, 0);
    let mut played = 0;
    for entry in fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("a folder lists").path();
        let kept = fs::read(path).expect("an input is a file");
        scenario_parse::run(&kept);
        for _ in 0..CHANGED {
            let mut changed = kept.clone();
            let at = random.below(changed.len() as u64) as usize;
            match random.below(3) {
                0 => drop(changed.remove(at)),
                1 => changed[at] = b' ' + random.below(95) as u8,
                _ => changed.truncate(at),
            }
            scenario_parse::run(&changed);
        }
        played += 1;
    }
    assert!(played > 2, "there are scenarios");
}
