//! Plays the scenarios of `testdata/scenarios` through the bytes and frames of an embedded switch.
#![allow(clippy::unwrap_used)]

mod common;

#[test]
fn every_scenario_plays_as_written_through_bytes() {
    let played = common::played(0);
    assert!(!played.is_empty(), "there are scenarios");
}
