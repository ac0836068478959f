//! Plays the scenarios of `testdata/scenarios` through the bytes and frames of an embedded switch.
#![allow(clippy::unwrap_used)]

#[test]
fn every_scenario_plays_as_written_through_bytes() {
    let played = crate::common::played(0);
    assert!(!played.is_empty(), "there are scenarios");
}
