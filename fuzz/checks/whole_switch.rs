//! Any list of messages, packets, link changes and time leaves a switch that answers and adds up.
//!
//! An operation is one byte that says what, and bytes that say which; short input reads as zeros.

use std::sync::{Arc, LazyLock};

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Time, WORK_PER_FRAME, WORK_PER_TURN};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Gso, GsoKind, Offload, OffloadCapabilities, Pool};
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags, Timestamp};
use bofuss_oflib::message::port::PortState;
use bofuss_oflib::message::{BundleAdd, BundleControl, Empty, PortDesc};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Codec, EncodeError, Message, PortNo, Version};
use bofuss_packet::offload::MAX_SEGMENTS;

/// Connections, ports, and operations of one list.
const CONNECTIONS: u64 = 6;
const PORTS: u32 = 4;
const MAX_OPERATIONS: usize = 256;
/// Entries of a table, so that tables get full.
const MAX_ENTRIES: u32 = 16;
/// Bytes of frames that the switch may hold.
const POOL_BYTES: usize = 1 << 20;
/// The bundle of each connection that has one.
const BUNDLE: u32 = 1;
/// Bytes of an OpenFlow header.
const HEADER_BYTES: usize = 8;

/// One for all lists: the rows of a catalogue live as long as the process.
static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(|| Arc::new(bofuss_ext::catalogue()));

/// The actions of a switch, in words.
#[derive(Default)]
struct Effects {
    said: Vec<String>,
    barriers: usize,
    codecs: Vec<Codec>,
}

impl SwitchIo for Effects {
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame) {
        self.said
            .push(format!("out {port} {queue} {:x?}", frame.bytes()));
    }
    fn flush(&mut self) {}
    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        let codec = &self.codecs[conn.0 as usize - 1];
        let mut bytes = Vec::new();
        match codec.encode(xid, &message, &mut bytes) {
            Ok(()) => {}
            Err(EncodeError::Unsupported(_)) => return,
            Err(EncodeError::TooLong) => panic!("every message of the switch fits"),
        }
        assert!(codec.decode(&bytes).is_ok(), "{message} can be read");
        self.barriers += usize::from(matches!(message, Message::BarrierReply(_)));
        self.said.push(format!("{} {xid} {message}", conn.0));
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn set_link(&mut self, port: PortNo, up: bool) {
        self.said.push(format!("link {port} {up}"));
    }
}

/// The bytes of the operations that are left.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, left) = self.0.split_at(count.min(self.0.len()));
        self.0 = left;
        taken
    }
}

/// The version of each connection: the first and the last ones speak another each.
fn version(conn: u64) -> Version {
    match conn {
        2 => Version::V1_4,
        3 => Version::V1_0,
        4 => Version::V1_1,
        5 => Version::V1_2,
        CONNECTIONS => Version::V1_5,
        _ => Version::V1_3,
    }
}

struct Driver {
    switch: Switch,
    effects: Effects,
    pool: Pool,
    now: Time,
}

impl Driver {
    fn new() -> Self {
        let catalogue = Arc::clone(&CATALOGUE);
        let pool = Pool::new(POOL_BYTES);
        let config = Config {
            n_tables: 3,
            max_entries: MAX_ENTRIES,
            ..bofuss_disciplines::config()
        };
        let mut datapath = Datapath::new(config, catalogue.clone(), pool.clone());
        for hook in bofuss_ext::hooks(&catalogue) {
            datapath.add_hook(hook);
        }
        let identity = Identity::default();
        let mut this = Self {
            switch: Switch::new(Time(0), datapath, identity, FailMode::Secure),
            effects: Effects::default(),
            pool,
            now: Time(0),
        };
        this.effects.codecs = (1..=CONNECTIONS)
            .map(|conn| Codec::new(version(conn), catalogue.clone()))
            .collect();
        (1..=PORTS).for_each(|port| this.port(port, true));
        (1..=CONNECTIONS).for_each(|conn| this.connect(conn));
        this
    }

    fn connect(&mut self, conn: u64) {
        self.switch
            .connected(self.now, ConnId(conn), version(conn), true);
    }

    fn port(&mut self, number: u32, up: bool) {
        let state = if up {
            PortState(0)
        } else {
            PortState::LINK_DOWN
        };
        let desc = PortDesc {
            port_no: PortNo(number),
            state,
            ..PortDesc::default()
        };
        let capabilities = OffloadCapabilities::default();
        self.switch.ports(self.now, &mut self.effects, |ports| {
            ports.changed(desc, capabilities)
        });
    }

    /// Gives a connection's bytes to the switch, as the channel would.
    fn message(&mut self, conn: u64, bytes: &[u8]) {
        let xid = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        let message = match self.effects.codecs[conn as usize - 1].decode(bytes) {
            Ok((_, message)) => Ok(message),
            Err(error) => Err(bofuss_oflib::message::ErrorMsg::quoting(error.error, bytes)),
        };
        let request = Request {
            xid,
            head: bytes,
            message,
        };
        while !self.switch.is_ready(ConnId(conn), &self.effects) {
            self.switch.work(self.now, &mut self.effects);
        }
        self.switch
            .message(self.now, ConnId(conn), request, &mut self.effects);
    }

    /// Adds a message to the bundle of a connection whose version has bundles.
    fn add_to_bundle(&mut self, conn: u64, xid: u32, message: Message) {
        self.said(
            conn,
            &Message::BundleAdd(BundleAdd {
                bundle_id: BUNDLE,
                flags: BundleFlags::ALL.without(BundleFlags::TIME),
                xid,
                message: Box::new(message),
                experimenters: Vec::new(),
            }),
        );
    }

    /// Opens, closes, commits or discards it: at once, or so many milliseconds from now on.
    fn control_bundle(&mut self, conn: u64, ty: BundleControlType, in_ms: Option<u64>) {
        let base = BundleFlags::ALL.without(BundleFlags::TIME);
        let clock_ns = self.now.0 + self.switch.clock().nanos_at_0().unwrap_or(0);
        self.said(
            conn,
            &Message::BundleControl(BundleControl {
                bundle_id: BUNDLE,
                ty,
                flags: in_ms.map_or(base, |_| BundleFlags::ALL),
                scheduled: in_ms.map(|ms| Timestamp::of_nanos(clock_ns + ms * 1_000_000)),
                ..BundleControl::default()
            }),
        );
    }

    /// Gives a connection's message to the switch if its version has words for it.
    fn said(&mut self, conn: u64, message: &Message) {
        let mut bytes = Vec::new();
        let codec = &self.effects.codecs[conn as usize - 1];
        let xid = match message {
            Message::BundleAdd(add) => add.xid,
            _ => 9,
        };
        if codec.encode(xid, message, &mut bytes).is_ok() {
            self.message(conn, &bytes);
        }
    }

    fn advance(&mut self, ms: u64) {
        let end = self.now.after(ms * 1_000_000);
        while let Some(at) = self.switch.next_tick().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.switch.tick(self.now, &mut self.effects);
        }
        self.now = end;
    }

    /// Does one operation.
    fn step(&mut self, input: &mut Input<'_>) {
        let what = input.byte();
        let which = u32::from(what >> 4);
        let port = which % PORTS + 1;
        let conn = u64::from(which) % CONNECTIONS + 1;
        match what & 0xe {
            0..=3 => {
                let bytes = message_of(conn, what, input);
                self.message(conn, &bytes);
            }
            4 if what & 1 == 0 => {
                let bytes = message_of(conn, what, input);
                let decoded = self.effects.codecs[conn as usize - 1].decode(&bytes);
                if let Ok((xid, message)) = decoded {
                    self.add_to_bundle(conn, xid, message);
                }
            }
            4 => {
                let byte = input.byte();
                let in_ms = (byte & 8 != 0).then(|| u64::from(byte >> 4) * 100);
                self.control_bundle(conn, BundleControlType((byte & 7).into()), in_ms);
            }
            6..=9 => {
                let length = usize::from(input.byte());
                let mut bytes = input.take(length).to_vec();
                let mut offload = Offload::NONE;
                if what & 1 == 1 {
                    offload = record(input);
                    bytes.resize(bytes.len() + usize::from(input.byte()) * 256, 7);
                }
                if let Some(mut frame) = self.pool.frame(&bytes) {
                    frame.offload = offload;
                    let mut frames = vec![frame];
                    self.in_a_turn(|this| {
                        let effects = &mut this.effects;
                        this.switch
                            .receive(this.now, PortNo(port), &mut frames, effects);
                    });
                }
            }
            10 if what & 1 == 0 => self.advance(u64::from(input.byte()) * 100),
            10 => self
                .switch
                .clock_mut()
                .set(u64::from(input.byte()) * 100_000_000),
            12 => {
                self.switch.disconnected(self.now, ConnId(conn));
                let beside = conn == 2 && what & 1 == 1;
                let id = 1 + (what >> 4);
                let by_datagrams = which & 4 == 4;
                let is_auxiliary = beside
                    && self
                        .switch
                        .connected_auxiliary(ConnId(1), ConnId(conn), id, by_datagrams);
                if !is_auxiliary {
                    self.connect(conn);
                }
            }
            _ if what & 1 == 1 => {
                self.switch.ports(self.now, &mut self.effects, |ports| {
                    ports.removed(PortNo(port))
                });
            }
            _ => self.port(port, which & 4 == 0),
        }
        while self.switch.has_work(&self.effects) {
            self.in_a_turn(|this| this.switch.work(this.now, &mut this.effects));
        }
    }

    /// Does what may take a turn at most, and has no more than one frame go beyond it.
    fn in_a_turn(&mut self, step: impl FnOnce(&mut Self)) {
        let before = self.switch.datapath().lane().work.done();
        step(self);
        let work = self.switch.datapath().lane().work.done() - before;
        // The last copy before a limit may be one of many segments.
        let most = WORK_PER_TURN + WORK_PER_FRAME + MAX_SEGMENTS as u64;
        assert!(work <= most, "{work} in a turn");
    }

    /// The sum of what ports sent, by the switch's own counters.
    fn transmitted(&self) -> u64 {
        let ports = self.switch.datapath().ports().values();
        ports.map(|port| port.stats.tx_packets).sum()
    }
}

/// The bytes of a message, and what it is, from the input.
fn message_of(conn: u64, what: u8, input: &mut Input<'_>) -> Vec<u8> {
    let ty = input.byte();
    let length = (usize::from(what & 1) << 8) + usize::from(input.byte()) + HEADER_BYTES;
    let [high, low] = (length as u16).to_be_bytes();
    let mut bytes = vec![version(conn).number(), ty, high, low, 0, 0, 0, what];
    bytes.extend_from_slice(input.take(length - HEADER_BYTES));
    bytes.resize(length, 0);
    bytes
}

/// Chooses what a frame's sender left undone: likely and unlikely.
fn record(input: &mut Input<'_>) -> Offload {
    let what = input.byte();
    let start = input.byte();
    let offset = input.byte();
    let segment_bytes = u16::from(input.byte()) << (what >> 5) | 1;
    let kind = match what & 7 {
        0 => None,
        1 => Some(GsoKind::UdpFragment),
        2 => Some(GsoKind::Sctp),
        3 => Some(GsoKind::Tcp6),
        4 | 5 => Some(GsoKind::Udp),
        _ => Some(GsoKind::Tcp4),
    };
    Offload {
        checksum: (start > 0).then_some((start.into(), offset.into())),
        gso: kind.map(|kind| Gso {
            kind,
            segment_bytes,
            ecn: false,
        }),
        ..Offload::NONE
    }
}

/// Panics: if the switch breaks its word.
pub fn run(bytes: &[u8]) {
    let mut driver = Driver::new();
    let mut input = Input(bytes);
    for _ in 0..MAX_OPERATIONS {
        if input.0.is_empty() {
            break;
        }
        let before = driver.transmitted();
        driver.effects.said.clear();
        let removes = input.0[0] & 0xf == 0xf;
        driver.step(&mut input);
        let outputs = driver.effects.said.iter();
        let sent = outputs.filter(|said| said.starts_with("out")).count() as u64;
        assert!(
            removes || driver.transmitted() - before == sent,
            "ports count what they send"
        );
    }
    // The tables hold what they may, and every connection still has its barrier answered.
    for table in driver.switch.datapath().tables() {
        assert!(table.len() <= MAX_ENTRIES as usize);
    }
    let answered = driver.effects.barriers;
    for conn in 1..=CONNECTIONS {
        // One beside another ended with it, and one by datagrams has no barriers.
        if conn == 2 {
            driver.switch.disconnected(driver.now, ConnId(conn));
            driver.connect(conn);
        }
        let mut barrier = Vec::new();
        let message = Message::BarrierRequest(Empty);
        driver.effects.codecs[conn as usize - 1]
            .encode(1, &message, &mut barrier)
            .expect("it is short");
        driver.message(conn, &barrier);
    }
    assert_eq!(driver.effects.barriers - answered, CONNECTIONS as usize);
}
