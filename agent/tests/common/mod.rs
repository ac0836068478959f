//! A switch on a virtual clock that records what it does, for tests.
// Each test uses a part of it.
#![allow(dead_code)]

use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Engine, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Offload, OffloadCapabilities, Pool};
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Message, PortNo, Version};

/// The switch with the fast path.
type Switch = bofuss_agent::Switch<bofuss_fastpath::FastPath>;

/// The connection that exists from the start.
pub const CONN: ConnId = ConnId(1);
/// Nanoseconds of a millisecond.
pub const MS: u64 = 1_000_000;

/// A [`SwitchIo`] that records what the switch does.
#[derive(Default)]
pub struct Kept {
    pub out: Vec<u32>,
    /// The frames that left, if they are kept.
    pub frames: Option<Vec<Vec<u8>>>,
    pub messages: Vec<Message>,
    /// Whether all connections refuse messages.
    pub stuck: bool,
}

impl SwitchIo for Kept {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.out.push(port.0);
        if let Some(frames) = &mut self.frames {
            frames.push(frame.bytes().into());
        }
    }
    fn flush(&mut self) {}
    fn send(&mut self, _: ConnId, _: u32, message: Message) {
        self.messages.push(message);
    }
    fn has_room(&self, _: ConnId) -> bool {
        !self.stuck
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch with four ports and one controller.
pub struct Lab {
    pub switch: Switch,
    pub io: Kept,
    pub now: Time,
    pub pool: Pool,
    pub catalogue: Arc<Catalogue>,
}

impl Lab {
    pub fn new(max_entries: u32, fail_mode: FailMode) -> Self {
        Self::with_engine(max_entries, fail_mode, Engine::default())
    }

    pub fn with_engine(max_entries: u32, fail_mode: FailMode, engine: Engine) -> Self {
        let (catalogue, pool) = (Arc::new(Catalogue::default()), Pool::new(1 << 24));
        let config = Config {
            n_tables: 2,
            max_entries,
            engine,
            ..Config::default()
        };
        let datapath = Datapath::new(config, catalogue.clone(), pool.clone());
        let mut this = Self {
            switch: Switch::new(Time(0), datapath, Identity::default(), fail_mode),
            io: Kept::default(),
            now: Time(0),
            pool,
            catalogue,
        };
        this.switch.connected(Time(0), CONN, Version::V1_3, true);
        (1..=4).for_each(|port| this.port(port));
        this.io.messages.clear();
        this
    }

    /// Gives the switch another configuration, with as many tables.
    pub fn reconfigure(&mut self, config: Config) {
        let n_tables = self.switch.datapath().config().n_tables;
        let config = Config { n_tables, ..config };
        let datapath = Datapath::new(config, self.catalogue.clone(), self.pool.clone());
        let identity = Identity::default();
        let mut other = Switch::new(self.now, datapath, identity, FailMode::Secure);
        let checked = self
            .switch
            .check_reconfigure(self.now, &mut other, &mut self.io);
        checked.expect("it has more room");
        self.switch.reconfigure(self.now, other, &mut self.io);
    }

    pub fn port(&mut self, number: u32) {
        let port_no = PortNo(number);
        let desc = PortDesc {
            port_no,
            ..PortDesc::default()
        };
        self.switch.ports(self.now, &mut self.io, |ports| {
            ports.changed(desc, OffloadCapabilities::default())
        });
    }

    pub fn message(&mut self, message: Message) {
        let request = Request {
            xid: 7,
            head: &[],
            message: Ok(message),
        };
        self.switch.message(self.now, CONN, request, &mut self.io);
    }

    /// Sends a message on a connection. Returns what was sent since the last call.
    pub fn ask(&mut self, conn: ConnId, xid: u32, message: Message) -> Vec<Message> {
        let request = Request {
            xid,
            head: &[],
            message: Ok(message),
        };
        self.switch.message(self.now, conn, request, &mut self.io);
        std::mem::take(&mut self.io.messages)
    }

    pub fn flow(&mut self, command: FlowModCommand, text: &str) {
        let flow = parse_flow(text, command, &self.catalogue).expect(text);
        self.message(Message::FlowMod(flow));
    }

    pub fn send(&mut self, port: u32, bytes: &[u8]) {
        self.send_with(port, bytes, Offload::NONE);
    }

    /// Sends a frame with offloads that its sender left undone.
    pub fn send_with(&mut self, port: u32, bytes: &[u8], offload: Offload) {
        let mut frame = self.pool.frame(bytes).unwrap();
        frame.offload = offload;
        self.switch
            .receive(self.now, PortNo(port), &mut vec![frame], &mut self.io);
    }

    /// Advances time; each timer fires at its time.
    pub fn advance(&mut self, ms: u64) {
        let end = self.now.after(ms * MS);
        while let Some(at) = self.switch.next_tick().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.switch.tick(self.now, &mut self.io);
        }
        self.now = end;
    }

    /// Works on long replies until none is left.
    pub fn work(&mut self) {
        while self.switch.has_work(&self.io) {
            self.switch.work(self.now, &mut self.io);
        }
    }
}

/// Random numbers, the same in every run.
pub struct Random(pub u64);

impl Random {
    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }
    /// Chooses one of these.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}
