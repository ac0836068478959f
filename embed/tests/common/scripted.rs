//! An embedded switch as scenarios play it: each call is an input with a time of its own, and is
//! noted with its effects.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use bofuss_agent::Identity;
use bofuss_datapath::Settled;
use bofuss_datapath::reconfigure::Obstacle;
use bofuss_embed::{CloseReason, Effect, EmbedError, EmbeddedSwitch};
use bofuss_fastpath::FastPath;
use bofuss_oflib::framing::Framer;
use bofuss_oflib::message::Hello;

use super::*;

/// The type of HELLO.
const HELLO: u8 = 0;
/// The default datapath id of the other programs that play scripts.
const DATAPATH_ID: u64 = 1;

thread_local! {
    static SCRIPT: RefCell<String> = const { RefCell::new(String::new()) };
    static STEP_NANOS: Cell<u64> = const { Cell::new(0) };
}

/// Makes each further call `nanos` nanoseconds later, compared with the scenario, than the call
/// before it: through a network, no two arrive at the same time.
pub fn set_step(nanos: u64) {
    STEP_NANOS.set(nanos);
}

/// Takes the calls noted so far, one a line, each followed by its effects after `>`. `! WHAT` is
/// something that scripts cannot express.
///
/// ```text
/// switch KEY=VALUE...
/// TIME port NUMBER HW_ADDR SUPPORTED SPEED up|down
/// TIME gone NUMBER
/// TIME connect CONNECTION controller|tool
/// TIME disconnect CONNECTION
/// TIME feed CONNECTION HEX
/// TIME frame PORT HEX
/// TIME tick
/// > transmit PORT QUEUE HEX
/// > send CONNECTION HEX           unless it is the HELLO
/// > close CONNECTION
/// > link PORT up|down
/// ```
pub fn script() -> String {
    SCRIPT.take()
}

fn note(line: &str) {
    SCRIPT.with_borrow_mut(|script| {
        script.push_str(line);
        script.push('\n');
    });
}

/// An embedded switch with the inputs and outputs of the agent's.
pub struct Switch {
    /// `None` once another switch has taken over its configuration.
    embedded: Option<EmbeddedSwitch>,
    /// The embedded switch's number of a scenario's connection.
    conns: BTreeMap<ConnId, ConnId>,
    /// By the embedded switch's numbers.
    versions: BTreeMap<ConnId, Version>,
    /// True if bytes are passed one by one.
    split: bool,
    /// The number of calls.
    calls: u64,
    /// The time of the last call.
    last: Time,
    /// Its effects that were not delivered yet.
    effects: VecDeque<Effect>,
}

/// A switch without ports.
pub fn switch(
    config: Config,
    profile: &str,
    fail_mode: FailMode,
    catalogue: &Arc<Catalogue>,
    pool: &Pool,
) -> Switch {
    note(&format!(
        "switch tables={} max_entries={} max_total_entries={} max_groups={} max_buckets={} \
         max_meters={} max_bands={} select={:?} fail_mode={fail_mode}",
        config.n_tables,
        config.max_entries,
        config.max_total_entries,
        config.max_groups,
        config.max_buckets,
        config.max_meters,
        config.max_bands,
        config.select,
    ));
    if !profile.is_empty() {
        note("! profile");
    }
    let config = Config {
        datapath_id: DATAPATH_ID,
        ..config
    };
    let identity = Identity {
        datapath_id: DATAPATH_ID,
        ..Identity::default()
    };
    let datapath = datapath(config, profile, catalogue, pool);
    let switch = bofuss_agent::Switch::new(Time(0), datapath, identity, fail_mode);
    Switch {
        // Versions that are not offered yet are tested here, too.
        embedded: Some(EmbeddedSwitch::of(switch).offering(Version::ALL)),
        conns: BTreeMap::new(),
        versions: BTreeMap::new(),
        split: false,
        calls: 0,
        last: Time(0),
        effects: VecDeque::new(),
    }
}

/// The part of a [`Switch`] that changes its ports at a time.
pub struct Ports<'a>(&'a mut Switch, Time);

impl Ports<'_> {
    pub fn changed(&mut self, desc: PortDesc, capabilities: OffloadCapabilities) {
        if capabilities != OffloadCapabilities::default() {
            note("! offloads of a port");
        }
        let is_up = desc.state.0 & PortState::LINK_DOWN.0 == 0;
        let call = format!(
            "port {} {} {} {} {}",
            desc.port_no.0,
            hex(&desc.hw_addr.0),
            desc.supported.0,
            desc.curr_speed,
            word(is_up)
        );
        let Self(switch, now) = self;
        let added = switch.inner().add_port(*now, desc, capabilities);
        added.unwrap();
        switch.called(&call);
    }

    pub fn removed(&mut self, port: PortNo) {
        let Self(switch, now) = self;
        let _ = switch.inner().remove_port(*now, port);
        switch.called(&format!("gone {}", port.0));
    }
}

impl Switch {
    fn inner(&mut self) -> &mut EmbeddedSwitch {
        self.embedded.as_mut().unwrap()
    }

    pub fn datapath(&self) -> &Datapath {
        self.embedded.as_ref().unwrap().switch().datapath()
    }

    /// Returns when something is due, by the scenario's clock.
    pub fn next_tick(&self) -> Option<Time> {
        let due = self.embedded.as_ref().unwrap().next_tick()?;
        Some(Time(due.0.saturating_sub(self.calls * STEP_NANOS.get())))
    }

    /// The time of the next call, which comes at `now` by the scenario's clock.
    fn at(&mut self, now: Time) -> Time {
        self.calls += 1;
        self.last = now.after(self.calls * STEP_NANOS.get()).max(self.last);
        self.last
    }

    /// Notes a call and its effects.
    fn called(&mut self, what: &str) {
        note(&format!("{} {what}", self.last.0));
        let effects: Vec<Effect> = self.inner().drain().collect();
        for effect in effects {
            match &effect {
                Effect::Transmit { port, queue, frame } => {
                    note(&format!(
                        "> transmit {} {} {}",
                        port.0,
                        queue.0,
                        hex(frame.bytes())
                    ));
                }
                // Versions that a HELLO offers are up to whoever makes the switch.
                Effect::Send { bytes, .. } if bytes[1] == HELLO => {}
                Effect::Send { conn, bytes } => note(&format!("> send {} {}", conn.0, hex(bytes))),
                Effect::Close { conn, .. } => note(&format!("> close {}", conn.0)),
                Effect::SetLink { port, up } => note(&format!("> link {} {}", port.0, word(*up))),
                _ => {}
            }
            self.effects.push_back(effect);
        }
    }

    fn greet(&mut self, now: Time, conn: ConnId, inner: ConnId, version: Version) {
        if !Version::SPOKEN.contains(&version) {
            note(&format!("! version {version}"));
        }
        let hello = Message::Hello(Hello::offering(&[version]));
        let mut bytes = Vec::new();
        let codec = Codec::new(version, Arc::default());
        codec.encode(0, &hello, &mut bytes).unwrap();
        let now = self.at(now);
        let taken = self.inner().feed(now, inner, &bytes).unwrap();
        self.called(&format!("feed {} {}", inner.0, hex(&bytes)));
        assert_eq!(taken, bytes.len());
        self.conns.insert(conn, inner);
        self.versions.insert(inner, version);
    }

    pub fn connected(&mut self, now: Time, conn: ConnId, version: Version, is_controller: bool) {
        self.at(now);
        let inner = self.inner().connect(is_controller);
        let kind = if is_controller { "controller" } else { "tool" };
        self.called(&format!("connect {} {kind}", inner.0));
        self.greet(now, conn, inner, version);
    }

    pub fn connected_auxiliary(
        &mut self,
        main: ConnId,
        conn: ConnId,
        id: u8,
        datagrams: bool,
    ) -> bool {
        let main = self.conns.get(&main).copied().unwrap_or(ConnId(0));
        let version = self.versions.get(&main).copied();
        let Ok(inner) = self.inner().connect_auxiliary(main, id, datagrams) else {
            return false;
        };
        let version = version.expect("the main connection spoke");
        note("! auxiliary connection");
        self.called("connect");
        self.greet(Time(0), conn, inner, version);
        true
    }

    pub fn disconnected(&mut self, now: Time, conn: ConnId) {
        let inner = self.conns.remove(&conn).unwrap();
        let now = self.at(now);
        // An auxiliary connection ended with its main one.
        let _ = self.inner().disconnect(now, inner);
        self.called(&format!("disconnect {}", inner.0));
    }

    pub fn ports(&mut self, now: Time, io: &mut Recorder, change: impl FnOnce(&mut Ports<'_>)) {
        let now = self.at(now);
        change(&mut Ports(self, now));
        self.deliver(io);
    }

    pub fn receive(&mut self, now: Time, port: PortNo, frames: &mut Vec<Frame>, io: &mut Recorder) {
        let now = self.at(now);
        let mut told = String::new();
        for frame in frames.iter() {
            if frame.offload != Offload::NONE {
                note("! super-frame");
            }
            told += &format!("frame {} {}", port.0, hex(frame.bytes()));
        }
        self.inner().receive(now, port, frames).unwrap();
        self.called(&told);
        self.deliver(io);
    }

    pub fn tick(&mut self, now: Time, io: &mut Recorder) {
        self.calls += 1;
        let due = self.inner().next_tick();
        self.last = due.unwrap_or(now).max(self.last);
        let now = self.last;
        self.inner().tick(now);
        self.called("tick");
        self.deliver(io);
    }

    /// Takes over the configuration of `other` at once, if it can.
    pub fn check_reconfigure(
        &mut self,
        now: Time,
        other: &mut Self,
        io: &mut Recorder,
    ) -> Result<(), Obstacle> {
        let other = other.embedded.take().unwrap();
        let now = self.at(now);
        note("! reconfigure");
        let done = self.inner().reconfigure(now, other);
        self.called("reconfigure");
        self.deliver(io);
        done
    }

    pub fn reconfigure(&mut self, _: Time, _: Self, _: &mut Recorder) {}

    #[allow(dead_code, reason = "scenarios of other roots ask for it")]
    pub fn settled(&mut self) -> Settled<'_, FastPath> {
        self.inner().settled()
    }

    /// Gives the effects to a recorder, with the scenario's numbers of connections.
    fn deliver(&mut self, io: &mut Recorder) {
        let outer: BTreeMap<ConnId, ConnId> = self
            .conns
            .iter()
            .map(|(outer, inner)| (*inner, *outer))
            .collect();
        for effect in std::mem::take(&mut self.effects) {
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
                    let EncodeError::Unsupported(what) = cause else {
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
    /// Gives the effects to a recorder; nothing else is left to do, because calls complete their
    /// work.
    pub fn settle(&mut self, _: Time, io: &mut Recorder) {
        self.deliver(io);
    }

    /// Feeds a message; every second one byte by byte.
    pub fn arrives(&mut self, now: Time, conn: ConnId, _: &Codec, bytes: &[u8], io: &mut Recorder) {
        let inner = self.conns[&conn];
        let step = if self.split { 1 } else { bytes.len() };
        let fixed = io.links_locked;
        self.inner().set_links_fixed(fixed);
        let now = self.at(now);
        for part in bytes.chunks(step) {
            match self.inner().feed(now, inner, part) {
                Ok(taken) => assert_eq!(taken, part.len()),
                // Scenarios also send on what is gone with its main connection.
                Err(error) => assert_eq!(error, EmbedError::NoConnection(inner)),
            }
            self.called(&format!("feed {} {}", inner.0, hex(part)));
        }
        self.deliver(io);
        self.split = !self.split;
    }

    pub fn told(&mut self, now: Time, port: PortNo, frame: &[u8]) -> Option<Trace> {
        let now = now.after(self.calls * STEP_NANOS.get()).max(self.last);
        self.inner().explain(now, port, 0, frame).ok()
    }
}

fn word(up: bool) -> &'static str {
    if up { "up" } else { "down" }
}
