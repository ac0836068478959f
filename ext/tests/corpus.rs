//! Plays the corpus of the fuzz target `whole_switch` by the target's own check.

use std::fs;

#[path = "../../fuzz/checks/whole_switch.rs"]
mod whole_switch;

#[test]
fn the_corpus_of_the_fuzz_target_is_played() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/whole_switch");
    let inputs: Vec<Vec<u8>> = fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|entry| fs::read(entry.expect("a folder lists").path()).expect("an input is a file"))
        .collect();
    assert!(!inputs.is_empty());
    inputs.iter().for_each(|input| whole_switch::run(input));
}
