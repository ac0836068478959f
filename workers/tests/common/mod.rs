//! A switch on several threads whose frames come from queues, and the same switch on this thread.
// Each test uses a part of it.
#![allow(dead_code)]

pub mod endless;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Time};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Gso, GsoKind, Offload, OffloadCapabilities, Pool};
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Mac, Message, PortNo, Version};
use bofuss_packet::craft;
use bofuss_workers::{Dispatch, Fault, Share, Source, Workers};

pub const CONN: ConnId = ConnId(1);
pub const MS: u64 = 1_000_000;
pub const PORTS: u32 = 4;

/// The bytes of a frame of a flow, with a number.
pub fn frame(flow: u16, number: u32) -> Vec<u8> {
    let payload = [&flow.to_be_bytes()[..], &number.to_be_bytes()].concat();
    let [high, low] = flow.to_be_bytes();
    let udp = craft::udp(1000 + flow % 7, 53 + flow % 3, &payload);
    let ip = craft::ipv4(
        [10, 0, high, low].into(),
        [10, 9, 0, low % 4].into(),
        64,
        udp,
    );
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

/// A super-frame of a flow, which is cut into four frames unless a port can send it whole.
pub fn super_frame(flow: u16) -> (Vec<u8>, Offload) {
    let [high, low] = flow.to_be_bytes();
    let tcp = craft::tcp(1000 + flow % 7, 53 + flow % 3, 0x10, &[7; 4 * 48]);
    let ip = craft::ipv4(
        [10, 0, high, low].into(),
        [10, 9, 0, low % 4].into(),
        64,
        tcp,
    );
    let gso = Gso {
        kind: GsoKind::Tcp4,
        segment_bytes: 48,
        ecn: false,
    };
    let offload = Offload {
        checksum: Some((34, 16)),
        gso: Some(gso),
        ..Offload::NONE
    };
    (craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip), offload)
}

/// The flow of a frame, and its protocol, which is a part of the flow.
pub fn flow(bytes: &[u8]) -> (u16, u8) {
    let number = u16::from_be_bytes(bytes[28..30].try_into().unwrap());
    (number, bytes[23])
}

/// The flow and the number of a frame.
pub fn flow_and_number(bytes: &[u8]) -> (u16, u32) {
    let payload = &bytes[bytes.len() - 6..];
    let flow = u16::from_be_bytes(payload[..2].try_into().unwrap());
    (flow, u32::from_be_bytes(payload[2..].try_into().unwrap()))
}

/// A switch with two tables, without ports.
pub fn switch(config: &Config, catalogue: &Arc<Catalogue>, fail_mode: FailMode) -> Switch {
    let config = Config {
        n_tables: 2,
        ..config.clone()
    };
    let pool = Pool::new(1 << 24);
    let mut datapath = Datapath::new(config, catalogue.clone(), pool);
    for hook in bofuss_ext::hooks(catalogue) {
        datapath.add_hook(hook);
    }
    Switch::new(Time(0), datapath, Identity::default(), fail_mode)
}

pub fn port(number: u32) -> PortDesc {
    PortDesc {
        port_no: PortNo(number),
        ..PortDesc::default()
    }
}

/// A burst of frames that arrived on one port at one time.
type Burst = (Time, PortNo, Vec<(Vec<u8>, Offload)>);
/// The bursts that wait for a worker.
type Waiting = Arc<Mutex<VecDeque<Burst>>>;
/// The frames that left by ports.
type Left = Arc<Mutex<Vec<(u32, Vec<u8>)>>>;

/// The ports of a worker.
#[derive(Clone)]
pub struct Queue {
    waiting: Waiting,
    left: Left,
}

impl Source for Queue {
    fn receive(
        &mut self,
        share: &Share,
        pool: &Pool,
        frames: &mut Vec<Frame>,
    ) -> Option<(Time, PortNo)> {
        let (now, port, burst) = self.waiting.lock().unwrap().pop_front()?;
        for (bytes, offload) in burst {
            assert!(share.has(port, &bytes), "each worker has its flows only");
            let mut frame = pool.frame(&bytes).unwrap();
            frame.offload = offload;
            frames.push(frame);
        }
        Some((now, port))
    }
    fn waiting(&self) -> usize {
        self.waiting.lock().unwrap().len()
    }
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        let left = (port.0, frame.bytes().to_vec());
        self.left.lock().unwrap().push(left);
    }
}

/// What the same inputs are given to.
pub trait Subject {
    fn receive(&mut self, now: Time, port: u32, bytes: &[u8], offload: Offload) {
        self.burst(now, port, &[(bytes.to_vec(), offload)]);
    }
    /// Receives frames that arrive on one port at one time.
    fn burst(&mut self, now: Time, port: u32, frames: &[(Vec<u8>, Offload)]);
    fn message(&mut self, now: Time, message: Message);
    fn port(&mut self, now: Time, number: u32, is_there: bool);
    fn tick(&mut self, now: Time);
    /// Takes the frames that left, those of each flow in order, and the messages.
    fn effects(&mut self) -> (Vec<(u32, Vec<u8>)>, Vec<Message>);
}

/// A switch on several threads.
pub struct Several {
    pub workers: Workers,
    pub queues: Vec<Queue>,
}

impl Several {
    pub fn new(count: usize, config: &Config, fail_mode: FailMode) -> Self {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let config = config.clone();
        Self::made(count, move || switch(&config, &catalogue, fail_mode))
    }

    /// Several workers with a switch of this kind each.
    pub fn made(count: usize, switch: impl Fn() -> Switch + Send + Sync + 'static) -> Self {
        // A flow may move to another worker, so there is one list of what left.
        let left = Left::default();
        let queue = || Queue {
            waiting: Waiting::default(),
            left: left.clone(),
        };
        let queues: Vec<Queue> = (0..count).map(|_| queue()).collect();
        let given = queues.clone();
        let make = move |number: usize| (switch(), given[number].clone());
        let workers = Workers::start(count, make).unwrap();
        Self { workers, queues }
    }

    pub fn dispatch(&self) -> Dispatch {
        self.workers.dispatch()
    }

    pub fn messages(&mut self, now: Time, messages: Vec<Message>) {
        let messages = messages.into_iter().map(|message| (7, message));
        self.workers.messages(now, CONN, messages).unwrap();
    }

    pub fn try_message(&mut self, now: Time, message: Message) -> Result<(), Fault> {
        self.workers.message(now, CONN, 7, message)
    }
}

impl Subject for Several {
    fn burst(&mut self, now: Time, port: u32, frames: &[(Vec<u8>, Offload)]) {
        let port = PortNo(port);
        for (worker, queue) in self.queues.iter().enumerate() {
            let own = |(bytes, _): &&(Vec<u8>, _)| self.workers.worker_of(port, bytes) == worker;
            let own: Vec<_> = frames.iter().filter(own).cloned().collect();
            if !own.is_empty() {
                queue.waiting.lock().unwrap().push_back((now, port, own));
                self.workers.wake(worker);
            }
        }
    }
    fn message(&mut self, now: Time, message: Message) {
        self.try_message(now, message).unwrap();
    }
    fn port(&mut self, now: Time, number: u32, is_there: bool) {
        if is_there {
            let capabilities = OffloadCapabilities::default();
            self.workers.port_changed(now, port(number), capabilities)
        } else {
            self.workers.port_removed(now, PortNo(number))
        }
        .unwrap();
    }
    fn tick(&mut self, now: Time) {
        self.workers.tick(now).unwrap();
    }
    fn effects(&mut self) -> (Vec<(u32, Vec<u8>)>, Vec<Message>) {
        let left = std::mem::take(&mut *self.queues[0].left.lock().unwrap());
        let sent = self.workers.sent().into_iter().map(|sent| sent.message);
        (left, sent.collect())
    }
}

/// The outputs of a switch on this thread.
#[derive(Default)]
pub struct Kept {
    left: Vec<(u32, Vec<u8>)>,
    messages: Vec<Message>,
}

impl SwitchIo for Kept {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.left.push((port.0, frame.bytes().to_vec()));
    }
    fn flush(&mut self) {}
    fn send(&mut self, _: ConnId, _: u32, message: Message) {
        self.messages.push(message);
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn holds_packets(&self) -> bool {
        false
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// The same switch on this thread.
pub struct Single {
    pub switch: Switch,
    io: Kept,
}

impl Single {
    pub fn new(config: &Config, fail_mode: FailMode) -> Self {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        Self {
            switch: switch(config, &catalogue, fail_mode),
            io: Kept::default(),
        }
    }

    fn work(&mut self, now: Time) {
        while self.switch.has_work(&self.io) {
            self.switch.work(now, &mut self.io);
        }
    }
}

impl Subject for Single {
    fn burst(&mut self, now: Time, port: u32, frames: &[(Vec<u8>, Offload)]) {
        let pool = self.switch.datapath().pool().clone();
        let frame = |(bytes, offload): &(Vec<u8>, Offload)| {
            let mut frame = pool.frame(bytes).unwrap();
            frame.offload = *offload;
            frame
        };
        let mut frames: Vec<Frame> = frames.iter().map(frame).collect();
        self.switch
            .receive(now, PortNo(port), &mut frames, &mut self.io);
        self.work(now);
    }
    fn message(&mut self, now: Time, message: Message) {
        let request = Request {
            xid: 7,
            head: &[],
            message: Ok(message),
        };
        self.switch.message(now, CONN, request, &mut self.io);
        self.work(now);
    }
    fn port(&mut self, now: Time, number: u32, is_there: bool) {
        if is_there {
            let capabilities = OffloadCapabilities::default();
            self.switch.ports(now, &mut self.io, |ports| {
                ports.changed(port(number), capabilities)
            });
        } else {
            self.switch
                .ports(now, &mut self.io, |ports| ports.removed(PortNo(number)));
        }
        self.work(now);
    }
    fn tick(&mut self, now: Time) {
        self.switch.tick(now, &mut self.io);
        self.work(now);
    }
    fn effects(&mut self) -> (Vec<(u32, Vec<u8>)>, Vec<Message>) {
        let Kept { left, messages } = std::mem::take(&mut self.io);
        (left, messages)
    }
}

/// Connects a controller and adds all ports.
pub fn set_up(several: &mut Several, single: &mut Single, version: Version) {
    several.workers.connected(Time(0), CONN, version).unwrap();
    single.switch.connected(Time(0), CONN, version, true);
    for number in 1..=PORTS {
        several.port(Time(0), number, true);
        single.port(Time(0), number, true);
    }
    drop((several.effects(), single.effects()));
}

pub fn flow_mod(command: FlowModCommand, text: &str) -> Message {
    Message::FlowMod(parse_flow(text, command, &bofuss_ext::catalogue()).expect(text))
}
