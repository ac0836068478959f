//! The needs of scenarios of a switch, and all scenarios in their order.

use bofuss_agent::{Identity, Request};
use bofuss_oflib::message::ErrorMsg;

use super::play::*;
use super::recorder::Recorder;
use crate::Switch;

/// A switch without ports.
pub fn switch(
    config: Config,
    profile: &str,
    fail_mode: FailMode,
    catalogue: &Arc<Catalogue>,
    pool: &Pool,
) -> Switch {
    let datapath = datapath(config, profile, catalogue, pool);
    Switch::new(Time(0), datapath, Identity::default(), fail_mode)
}

/// The needs of a scenario of a switch. Tests of the library implement it for theirs.
pub trait Machine {
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
        Trace::of(self, now, port, 0, frame).ok()
    }
}

/// Plays all scenarios of `testdata/scenarios` in 1.3, with each of these engines.
pub fn play_all(engines: &[(&str, Engine)]) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/scenarios");
    let (mut played, mut failures) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "txt") {
            let text = std::fs::read_to_string(&path).unwrap();
            for (engine, kind) in engines {
                let name = format!("{engine}: {}", path.display());
                play(*kind, Version::V1_3, &name, &text, &mut failures);
            }
            played += 1;
        }
    }
    assert!(played > 0, "there are scenarios");
    let all: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}
