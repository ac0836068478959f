//! Plays the scenarios of `testdata/scenarios` through the bytes and frames of an embedded switch.
#![allow(clippy::unwrap_used)]

use bofuss_agent::Identity;
use bofuss_datapath::Settled;
use bofuss_datapath::reconfigure::Obstacle;
use bofuss_embed::{CloseReason, Effect, EmbedError, EmbeddedSwitch};
use bofuss_oflib::framing::Framer;
use bofuss_oflib::message::Hello;

#[path = "../../ext/tests/scenarios/effects.rs"]
mod effects;
#[path = "../../ext/tests/scenarios/frames.rs"]
mod frames;
#[path = "../../ext/tests/scenarios/openflow12.rs"]
mod openflow12;
#[path = "../../ext/tests/scenarios/openflow14.rs"]
mod openflow14;
#[path = "../../ext/tests/scenarios/play.rs"]
mod play;
#[path = "../../ext/tests/scenarios/recorder.rs"]
mod recorder;
#[path = "../../ext/tests/scenarios/reshape.rs"]
mod reshape;
#[path = "../../ext/tests/scenarios/stage.rs"]
mod stage;

use frames::*;
use play::*;
use recorder::*;

/// An embedded switch with the inputs and outputs of the agent's.
struct Switch {
    /// `None` once another has taken it over.
    embedded: Option<EmbeddedSwitch>,
    /// The embedded switch's number of a scenario's connection.
    conns: BTreeMap<ConnId, ConnId>,
    /// By the embedded switch's numbers.
    versions: BTreeMap<ConnId, Version>,
    /// Whether bytes come one by one.
    split: bool,
}

/// A switch without ports.
fn switch(
    config: Config,
    profile: &str,
    fail_mode: FailMode,
    catalogue: &Arc<Catalogue>,
    pool: &Pool,
) -> Switch {
    let datapath = datapath(config, profile, catalogue, pool);
    let switch = bofuss_agent::Switch::new(Time(0), datapath, Identity::default(), fail_mode);
    Switch {
        // Versions that are not offered yet are tested here, too.
        embedded: Some(EmbeddedSwitch::of(switch).offering(Version::ALL)),
        conns: BTreeMap::new(),
        versions: BTreeMap::new(),
        split: false,
    }
}

impl Switch {
    fn inner(&mut self) -> &mut EmbeddedSwitch {
        self.embedded.as_mut().unwrap()
    }

    fn datapath(&self) -> &Datapath {
        self.embedded.as_ref().unwrap().switch().datapath()
    }

    fn next_tick(&self) -> Option<Time> {
        self.embedded.as_ref().unwrap().next_tick()
    }

    fn greet(&mut self, now: Time, conn: ConnId, inner: ConnId, version: Version) {
        let hello = Message::Hello(Hello::offering(&[version]));
        let mut bytes = Vec::new();
        let codec = Codec::new(version, Arc::default());
        codec.encode(0, &hello, &mut bytes).unwrap();
        let taken = self.inner().feed(now, inner, &bytes).unwrap();
        assert_eq!(taken, bytes.len());
        self.conns.insert(conn, inner);
        self.versions.insert(inner, version);
    }

    fn connected(&mut self, now: Time, conn: ConnId, version: Version, is_controller: bool) {
        let inner = self.inner().connect(is_controller);
        self.greet(now, conn, inner, version);
    }

    fn connected_auxiliary(&mut self, main: ConnId, conn: ConnId, id: u8, datagrams: bool) -> bool {
        let main = self.conns.get(&main).copied().unwrap_or(ConnId(0));
        let version = self.versions.get(&main).copied();
        let Ok(inner) = self.inner().connect_auxiliary(main, id, datagrams) else {
            return false;
        };
        let version = version.expect("the main connection spoke");
        self.greet(Time(0), conn, inner, version);
        true
    }

    fn disconnected(&mut self, now: Time, conn: ConnId) {
        let inner = self.conns.remove(&conn).unwrap();
        // One beside a main connection is gone with that.
        let _ = self.inner().disconnect(now, inner);
    }

    fn port_changed(
        &mut self,
        now: Time,
        desc: PortDesc,
        capabilities: OffloadCapabilities,
        io: &mut Recorder,
    ) {
        self.inner().add_port(now, desc, capabilities).unwrap();
        self.deliver(io);
    }

    fn port_removed(&mut self, now: Time, port: PortNo, io: &mut Recorder) {
        let _ = self.inner().remove_port(now, port);
        self.deliver(io);
    }

    fn receive(&mut self, now: Time, port: PortNo, frames: &mut Vec<Frame>, io: &mut Recorder) {
        self.inner().receive(now, port, frames).unwrap();
        self.deliver(io);
    }

    fn tick(&mut self, now: Time, io: &mut Recorder) {
        self.inner().tick(now);
        self.deliver(io);
    }

    /// Takes over `other` at once, if it can.
    fn check_reconfigure(
        &mut self,
        now: Time,
        other: &mut Self,
        io: &mut Recorder,
    ) -> Result<(), Obstacle> {
        let other = other.embedded.take().unwrap();
        let done = self.inner().reconfigure(now, other);
        self.deliver(io);
        done
    }

    fn reconfigure(&mut self, _: Time, _: Self, _: &mut Recorder) {}

    #[allow(dead_code, reason = "scenarios of other roots ask for it")]
    fn settled(&mut self) -> Settled<'_> {
        self.inner().settled()
    }

    /// Gives the effects to a recorder, with the scenario's numbers of connections.
    fn deliver(&mut self, io: &mut Recorder) {
        let outer: BTreeMap<ConnId, ConnId> = self
            .conns
            .iter()
            .map(|(outer, inner)| (*inner, *outer))
            .collect();
        let effects: Vec<Effect> = self.inner().drain().collect();
        for effect in effects {
            match effect {
                Effect::Transmit { port, queue, frame } => io.transmit(port, queue, frame),
                Effect::Send { conn, bytes } => {
                    let Some(conn) = outer.get(&conn) else {
                        continue;
                    };
                    let mut framer = Framer::new();
                    framer.push(&bytes);
                    while let Some(message) = framer.next_message().unwrap() {
                        let (xid, message) = io.codecs[conn].decode(message).unwrap();
                        if !matches!(message, Message::Hello(_)) {
                            io.send(*conn, xid, message);
                        }
                    }
                    assert!(framer.buffered().is_empty(), "only whole messages are sent");
                }
                Effect::SetLink { port, up } => io.set_link(port, up),
                Effect::Advertise { port, features } => io.advertise(port, features),
                Effect::Unsent {
                    conn, name, cause, ..
                } => {
                    let EncodeError::Unsaid(what) = cause else {
                        panic!("{cause}");
                    };
                    let conn = outer[&conn].0;
                    io.effects.push(format!("{conn} unsaid {name}: {what}"));
                }
                Effect::Refused { .. }
                | Effect::Close {
                    why: CloseReason::MainGone,
                    ..
                } => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

impl Switch {
    /// Every second message comes byte by byte.
    fn arrives(&mut self, now: Time, conn: ConnId, _: &Codec, bytes: &[u8], io: &mut Recorder) {
        let inner = self.conns[&conn];
        let step = if self.split { 1 } else { bytes.len() };
        let fixed = io.links_locked;
        self.inner().set_links_fixed(fixed);
        for part in bytes.chunks(step) {
            match self.inner().feed(now, inner, part) {
                Ok(taken) => assert_eq!(taken, part.len()),
                // Scenarios also send on what is gone with its main connection.
                Err(error) => assert_eq!(error, EmbedError::NoConnection(inner)),
            }
        }
        self.deliver(io);
        self.split = !self.split;
    }

    fn told(&mut self, now: Time, port: PortNo, frame: &[u8]) -> Option<Trace> {
        self.inner().explain(now, port, frame).ok()
    }
}

#[test]
fn every_scenario_plays_as_written_through_bytes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/scenarios");
    let mut played = 0;
    let mut failures = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "txt") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.display().to_string();
            play(Engine::Cache, Version::V1_3, &name, &text, &mut failures);
            played += 1;
        }
    }
    assert!(played > 0, "there are scenarios");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
