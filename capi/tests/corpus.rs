//! Plays lists of calls by the check of the fuzz target `c_entries`: those of its corpus, and
//! random ones.

use std::fs;

#[path = "../../fuzz/checks/c_entries.rs"]
mod c_entries;

/// The number of random lists that are played.
const LISTS: usize = 300;
/// Bytes of each random list.
const BYTES: usize = 600;

#[test]
fn the_calls_that_are_kept_are_played() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/c_entries");
    let inputs: Vec<Vec<u8>> = fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|entry| fs::read(entry.expect("a folder lists").path()).expect("an input is a file"))
        .collect();
    assert!(!inputs.is_empty());
    inputs.iter().for_each(|input| c_entries::run(input));
}

#[test]
fn random_calls_give_statuses_and_leave_a_switch_that_answers() {
    let mut state = 7_u64;
    for _ in 0..LISTS {
        let mut list = Vec::with_capacity(BYTES);
        for _ in 0..BYTES {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            list.push((state >> 33) as u8);
        }
        c_entries::run(&list);
    }
}
