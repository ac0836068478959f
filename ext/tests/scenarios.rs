//! Plays the scenarios of `testdata/scenarios` on a virtual clock; their README has the format.
#![allow(clippy::unwrap_used)]

use bofuss_agent::{Identity, Request, Switch};
use bofuss_oflib::message::ErrorMsg;

#[path = "scenarios/differences.rs"]
mod differences;
#[path = "scenarios/effects.rs"]
mod effects;
#[path = "scenarios/engines.rs"]
mod engines;
#[path = "scenarios/frames.rs"]
mod frames;
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
use play::*;
use recorder::*;
use stage::Stage;

/// A switch without ports.
fn switch(
    config: Config,
    profile: &str,
    fail_mode: FailMode,
    catalogue: &Arc<Catalogue>,
    pool: &Pool,
) -> Switch {
    let datapath = datapath(config, profile, catalogue, pool);
    Switch::new(Time(0), datapath, Identity::default(), fail_mode)
}

/// What a scenario needs of a switch. Tests of the library implement it for theirs.
trait Machine {
    /// Takes the bytes of a message, as they come from a connection that speaks as `codec` says.
    fn arrives(&mut self, now: Time, conn: ConnId, codec: &Codec, bytes: &[u8], io: &mut Recorder);
    /// Completes the work in progress.
    fn settle(&mut self, now: Time, io: &mut Recorder);
    /// Traces a frame.
    fn told(&mut self, now: Time, port: PortNo, frame: &[u8]) -> Option<Trace>;
}

impl Machine for Switch {
    fn arrives(&mut self, now: Time, conn: ConnId, codec: &Codec, bytes: &[u8], io: &mut Recorder) {
        let read = codec.decode(bytes).map(|(_, message)| message);
        let request = Request {
            xid: 7,
            head: &[],
            message: read.map_err(|error| ErrorMsg::quoting(error.error, &[])),
        };
        self.message(now, conn, request, io);
        self.settle(now, io);
    }

    fn settle(&mut self, now: Time, io: &mut Recorder) {
        while self.has_work(io) {
            self.work(now, io);
        }
    }

    fn told(&mut self, now: Time, port: PortNo, frame: &[u8]) -> Option<Trace> {
        Trace::of(self, now, port, frame).ok()
    }
}

#[test]
fn flows_have_states_up_to_the_limit_and_one_more_has_none() {
    const STATES: u32 = 65_536;
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
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/scenarios");
    let (mut played, mut failures) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "txt") {
            let text = std::fs::read_to_string(&path).unwrap();
            for (engine, kind) in Engine::ALL {
                let name = format!("{engine}: {}", path.display());
                play(kind, Version::V1_3, &name, &text, &mut failures);
            }
            played += 1;
        }
    }
    assert!(played > 0, "there are scenarios");
    let all: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}
