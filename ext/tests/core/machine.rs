//! A switch of the core that writes down what enters and leaves it.

use std::cell::RefCell;
use std::fmt::Write;

use bofuss_agent::{Identity, Request};
use bofuss_datapath::Algorithm;
use bofuss_datapath::engine::PlainEngine;
use bofuss_datapath::reconfigure::Obstacle;
use bofuss_oflib::message::ErrorMsg;
use bofuss_oflib::message::features::Capabilities;

use super::frames::hex;
use super::play::*;
use super::recorder::Recorder;
use crate::Datapath;

thread_local! {
    /// The transcript of the last switch.
    static TRANSCRIPT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Takes the transcript of the last switch.
pub fn take_transcript() -> String {
    TRANSCRIPT.take()
}

fn note(line: std::fmt::Arguments<'_>) {
    TRANSCRIPT.with_borrow_mut(|text| writeln!(text, "{line}").unwrap());
}

/// Writes what leaves down, and passes it on.
struct Noted<'a> {
    codec: &'a Codec,
    io: &'a mut Recorder,
}

impl SwitchIo for Noted<'_> {
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame) {
        note(format_args!("> out {} {}", port.0, hex(frame.bytes())));
        self.io.transmit(port, queue, frame);
    }
    fn flush(&mut self) {
        self.io.flush();
    }
    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        let mut bytes = Vec::new();
        let mut of_core = message.clone();
        if let Message::FeaturesReply(features) = &mut of_core {
            // The core alone does not put fragments together, and lists no queues.
            let capabilities = features.capabilities.without(Capabilities::IP_REASM);
            features.capabilities = capabilities.without(Capabilities::QUEUE_STATS);
        }
        let written = self.codec.encode(xid, &of_core, &mut bytes);
        let text = written.map_or_else(|error| format!("{error:?}"), |()| hex(&bytes));
        note(format_args!("> to {} {text}", conn.0));
        self.io.send(conn, xid, message);
    }
    fn has_room(&self, conn: ConnId) -> bool {
        self.io.has_room(conn)
    }
    fn may_change_links(&self) -> bool {
        self.io.may_change_links()
    }
    fn advertise(&mut self, port: PortNo, features: PortFeatures) {
        note(format_args!("> advertise {} {}", port.0, features.0));
        self.io.advertise(port, features);
    }
    fn set_link(&mut self, port: PortNo, up: bool) {
        note(format_args!("> link {} {up}", port.0));
        self.io.set_link(port, up);
    }
}

/// A switch of the core, without any extension.
pub struct Switch {
    plain: bofuss_agent::Switch<PlainEngine>,
    codec: Codec,
    fail_mode: FailMode,
    began: bool,
    /// True if it may not change links.
    is_locked: bool,
}

/// A switch without ports.
pub fn switch(
    config: Config,
    _profile: &str,
    fail_mode: FailMode,
    _catalogue: &Arc<Catalogue>,
    pool: &Pool,
) -> Switch {
    let catalogue = Arc::new(Catalogue::default());
    let datapath = Datapath::new(config, catalogue.clone(), pool.clone());
    Switch {
        plain: bofuss_agent::Switch::new(Time(0), datapath, Identity::default(), fail_mode),
        codec: Codec::new(Version::V1_3, catalogue),
        fail_mode,
        began: false,
        is_locked: false,
    }
}

/// The part of a [`Switch`] that changes its ports at a time.
pub struct Ports<'a> {
    switch: &'a mut Switch,
    now: Time,
    io: &'a mut Recorder,
}

impl Ports<'_> {
    pub fn changed(&mut self, desc: PortDesc, capabilities: OffloadCapabilities) {
        let (number, state, speed) = (desc.port_no.0, desc.state.0, desc.curr_speed);
        let supported = desc.supported.0;
        let line = format!("port {number} {state} {speed} {supported}");
        let now = self.now;
        self.switch.give(now, &line, self.io, |switch, io| {
            switch.ports(now, io, |ports| ports.changed(desc, capabilities))
        });
    }

    pub fn removed(&mut self, port: PortNo) {
        let (now, line) = (self.now, format!("unplug {}", port.0));
        self.switch.give(now, &line, self.io, |switch, io| {
            switch.ports(now, io, |ports| ports.removed(port))
        });
    }
}

impl Switch {
    /// Notes an input and its time; before the first, what describes the switch.
    fn input(&mut self, now: Time, line: &str) {
        if !self.began {
            self.began = true;
            let config = self.plain.datapath().config();
            let fails = u8::from(self.fail_mode != FailMode::Secure);
            let select = match config.select {
                Algorithm::Hash => "hash",
                Algorithm::RoundRobin => "round-robin",
                Algorithm::Random => "random",
            };
            note(format_args!(
                "switch {} {} {} {} {} {} {} {fails} {select}",
                config.n_tables,
                config.max_entries,
                config.max_total_entries,
                config.max_groups,
                config.max_buckets,
                config.max_meters,
                config.max_bands
            ));
        }
        note(format_args!("at {}\n{line}", now.0));
    }

    /// Notes an input, and gives it to the switch.
    fn give(
        &mut self,
        now: Time,
        line: &str,
        io: &mut Recorder,
        act: impl FnOnce(&mut bofuss_agent::Switch<PlainEngine>, &mut Noted<'_>),
    ) {
        if io.links_locked && !self.is_locked {
            self.is_locked = true;
            note(format_args!("lock"));
        }
        self.input(now, line);
        let codec = &self.codec;
        act(&mut self.plain, &mut Noted { codec, io });
    }

    pub fn datapath(&self) -> &Datapath {
        self.plain.datapath()
    }

    pub fn next_tick(&self) -> Option<Time> {
        self.plain.next_tick()
    }

    pub fn ports(&mut self, now: Time, io: &mut Recorder, change: impl FnOnce(&mut Ports<'_>)) {
        let switch = self;
        change(&mut Ports { switch, now, io });
    }

    pub fn receive(&mut self, now: Time, port: PortNo, frames: &mut Vec<Frame>, io: &mut Recorder) {
        let line = format!("frame {} {}", port.0, hex(frames[0].bytes()));
        self.give(now, &line, io, |switch, io| {
            switch.receive(now, port, frames, io)
        });
    }

    pub fn tick(&mut self, now: Time, io: &mut Recorder) {
        self.give(now, "tick", io, |switch, io| switch.tick(now, io));
    }

    pub fn connected(&mut self, now: Time, conn: ConnId, version: Version, is_controller: bool) {
        assert_eq!(version, Version::V1_3);
        let is = u8::from(is_controller);
        self.input(now, &format!("connect {} {is}", conn.0));
        self.plain.connected(now, conn, version, is_controller);
    }

    pub fn connected_auxiliary(
        &mut self,
        main: ConnId,
        conn: ConnId,
        id: u8,
        datagrams: bool,
    ) -> bool {
        let loses = u8::from(datagrams);
        note(format_args!("beside {} {} {id} {loses}", main.0, conn.0));
        let is_there = self.plain.connected_auxiliary(main, conn, id, datagrams);
        note(format_args!("> beside {is_there}"));
        is_there
    }

    pub fn disconnected(&mut self, now: Time, conn: ConnId) {
        self.input(now, &format!("disconnect {}", conn.0));
        self.plain.disconnected(now, conn);
    }

    /// Takes the bytes of a message.
    pub fn arrives(&mut self, now: Time, conn: ConnId, _: &Codec, bytes: &[u8], io: &mut Recorder) {
        let line = format!("message {} {}", conn.0, hex(bytes));
        let read = self.codec.decode(bytes).map(|(_, message)| message);
        let request = Request {
            xid: 7,
            head: &[],
            message: read.map_err(|error| ErrorMsg::quoting(error.error, &[])),
        };
        self.give(now, &line, io, |switch, io| {
            switch.message(now, conn, request, io)
        });
        self.settle(now, io);
    }

    /// Completes the work in progress.
    pub fn settle(&mut self, now: Time, io: &mut Recorder) {
        self.give(now, "work", io, |switch, io| {
            while switch.has_work(io) {
                switch.work(now, io);
            }
        });
    }

    /// Traces are text, which the core has none of.
    pub fn told(&mut self, _: Time, _: PortNo, _: &[u8]) -> Option<Trace> {
        None
    }

    pub fn check_reconfigure(
        &mut self,
        _: Time,
        _: &mut Self,
        _: &mut Recorder,
    ) -> Result<(), Obstacle> {
        unreachable!("scenarios that reconfigure are left out")
    }

    pub fn reconfigure(&mut self, _: Time, _: Self, _: &mut Recorder) {
        unreachable!("scenarios that reconfigure are left out")
    }
}
