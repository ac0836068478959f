//! The lists of operations that fuzzing kept are played again, by the fuzz target's own check.

use std::fs;

#[path = "../../fuzz/checks/whole_switch.rs"]
mod whole_switch;

#[test]
fn the_operations_that_fuzzing_kept_are_played() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/whole_switch");
    let inputs: Vec<Vec<u8>> = fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|entry| fs::read(entry.expect("a folder lists").path()).expect("an input is a file"))
        .collect();
    assert!(!inputs.is_empty());
    inputs.iter().for_each(|input| whole_switch::run(input));
}
