//! Plays the scenarios of `testdata/scenarios` on a virtual clock; their README has the format.
#![allow(clippy::unwrap_used)]

use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;

#[path = "scenarios/differences.rs"]
mod differences;
#[path = "scenarios/effects.rs"]
mod effects;
#[path = "scenarios/engines.rs"]
mod engines;
#[path = "scenarios/frames.rs"]
mod frames;
#[path = "scenarios/machine.rs"]
mod machine;
#[path = "scenarios/openflow10.rs"]
mod openflow10;
#[path = "scenarios/openflow11.rs"]
mod openflow11;
#[path = "scenarios/openflow11_packets.rs"]
mod openflow11_packets;
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
#[path = "scenarios/super_frames.rs"]
mod super_frames;

use frames::*;
use machine::*;
use play::*;
use recorder::*;
use stage::Stage;

#[test]
fn flows_of_a_port_have_states_up_to_its_share_and_one_more_has_none() {
    // A port that is alone has half of all.
    const STATES: u32 = 65_536 / 2;
    let catalogue = bofuss_ext::catalogue();
    let mut stage = Stage::new(
        (4, PortFeatures(0)),
        Config::default(),
        "",
        FailMode::Standalone,
        catalogue,
    );
    stage.speaks(ConnId(1), Version::V1_3);
    stage
        .switch
        .connected(Time(0), ConnId(1), Version::V1_3, true);
    stage.play("flow add priority=1,actions=set_flow_state(state=7,idle_timeout=9),output:2");
    stage.play("flow add priority=5,flow_state=7,actions=output:3");
    let mut send = |n: u32| {
        stage.io.effects.clear();
        stage.play(&format!("send 1 hex 0200000000020200{n:08x}88b5{:092x}", 0));
        stage.io.effects.concat()
    };
    (0..=STATES).for_each(|n| drop(send(n)));
    for (n, port) in [(STATES - 1, 3), (STATES, 2), (0, 3)] {
        assert!(send(n).starts_with(&format!("out {port} ")), "flow {n}");
    }
}

#[test]
fn every_scenario_plays_as_written() {
    play_all(&Engine::ALL);
}
