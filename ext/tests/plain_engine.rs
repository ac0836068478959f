//! Plays the scenarios on a switch that is made of the core alone: its types name no engine but the
//! plain one, so no packet can enter the fast path.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "scenarios/effects.rs"]
mod effects;
#[path = "scenarios/frames.rs"]
mod frames;
#[path = "scenarios/machine.rs"]
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

use bofuss_datapath::engine::PlainEngine;

use frames::*;
use machine::*;
use play::*;
use recorder::*;

/// A switch of the core.
type Switch = bofuss_agent::Switch<PlainEngine>;
/// Its datapath.
type Datapath = bofuss_datapath::Datapath<PlainEngine>;

#[test]
fn every_scenario_plays_as_written_without_the_fast_path() {
    play_all(&[("plain", Engine::Reference)]);
}
