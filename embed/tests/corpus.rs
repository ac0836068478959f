//! The records that are kept, and wrong records made of them, are played by the fuzz target's
//! check.

use std::fs;

#[path = "../../fuzz/checks/record_play.rs"]
mod record_play;

#[test]
fn kept_records_and_changed_ones_are_played_or_refused() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/record_play");
    let mut played = 0;
    for entry in fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("a folder lists").path();
        let kept = fs::read(path).expect("an input is a file");
        record_play::run(&kept);
        for at in (0..kept.len()).step_by(29) {
            let mut changed = kept.clone();
            changed[at] ^= 1;
            record_play::run(&changed);
            record_play::run(&kept[..at]);
        }
        played += 1;
    }
    assert!(played > 0, "there are records");
}
