//! The frames that fuzzing kept are checked again, by the fuzz target's own check.

use std::fs;

#[path = "../../fuzz/checks/packet_parse.rs"]
mod packet_parse;

#[test]
fn the_frames_that_fuzzing_kept_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/packet_parse");
    let inputs: Vec<Vec<u8>> = fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|entry| fs::read(entry.expect("a folder lists").path()).expect("an input is a file"))
        .collect();
    assert!(!inputs.is_empty());
    inputs.iter().for_each(|input| packet_parse::run(input));
}
