//! A switch on a virtual clock that is sent messages and frames as bytes; what it does is kept.

use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Engine, Hook, Time};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Offload, OffloadCapabilities, Pool};
use bofuss_oflib::message::{ErrorMsg, FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Codec, Mac, Message, PortNo, Version};
use bofuss_packet::{craft, offload};

/// The connection that exists from the start.
pub const CONN: ConnId = ConnId(1);
/// The experimenter, as on the wire.
pub const EXPERIMENTER: [u8; 4] = [0xbe, 0xba, 0xbe, 0xba];

/// Keeps what the switch does.
#[derive(Default)]
pub struct Kept {
    /// Port and bytes of each frame that left, super-frames cut into segments.
    pub out: Vec<(u32, Vec<u8>)>,
    pub messages: Vec<(ConnId, Message)>,
    /// The number of frames that left, each super-frame counted as one.
    pub n_frames: usize,
}

impl SwitchIo for Kept {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.n_frames += 1;
        if frame.offload == Offload::NONE {
            self.out.push((port.0, frame.bytes().to_vec()));
            return;
        }
        let keep = |mut part: Frame| {
            offload::finish_checksum(&mut part);
            self.out.push((port.0, part.bytes().to_vec()));
        };
        assert!(offload::segment(&frame, keep), "there are buffers");
    }
    fn flush(&mut self) {}
    fn send(&mut self, conn: ConnId, _: u32, message: Message) {
        self.messages.push((conn, message));
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch with every extension, four ports and one controller.
pub struct Bench {
    pub switch: Switch,
    pub io: Kept,
    pub now: Time,
    pub pool: Pool,
    pub codec: Codec,
    /// True if flows have SET_STATE in the layout of Open Packet Processor.
    pub is_opp: bool,
}

impl Bench {
    pub fn new(engine: Engine) -> Self {
        Self::with_ports(engine, OffloadCapabilities::default())
    }

    /// A switch with these options of openstate.
    pub fn with_options(options: &[(&str, &str)]) -> Self {
        Self::made(Engine::default(), OffloadCapabilities::default(), options)
    }

    /// A switch whose ports have these offload capabilities.
    pub fn with_ports(engine: Engine, capabilities: OffloadCapabilities) -> Self {
        Self::made(engine, capabilities, &[])
    }

    fn made(engine: Engine, capabilities: OffloadCapabilities, options: &[(&str, &str)]) -> Self {
        let catalogue = bofuss_ext::catalogue();
        let mut hooks = bofuss_ext::hooks(&catalogue);
        for hook in hooks.iter_mut().filter(|hook| hook.name() == "openstate") {
            for (name, value) in options {
                hook.set_option(name, value).expect("the option is there");
            }
        }
        Self::with_hooks(engine, capabilities, catalogue, hooks)
    }

    /// A switch with these extensions.
    pub fn with_hooks(
        engine: Engine,
        capabilities: OffloadCapabilities,
        catalogue: Catalogue,
        hooks: Vec<Box<dyn Hook>>,
    ) -> Self {
        let pool = Pool::new(1 << 24);
        let catalogue = Arc::new(catalogue);
        let config = Config {
            engine,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, catalogue.clone(), pool.clone());
        for hook in hooks {
            datapath.add_hook(hook);
        }
        let switch = Switch::new(Time(0), datapath, Identity::default(), FailMode::Secure);
        let mut this = Self {
            switch,
            io: Kept::default(),
            now: Time(1),
            pool,
            codec: Codec::new(Version::V1_3, catalogue),
            is_opp: false,
        };
        this.switch.connected(Time(0), CONN, Version::V1_3, true);
        for port_no in (1..=4).map(PortNo) {
            let desc = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            let io = &mut this.io;
            this.switch
                .ports(Time(0), io, |ports| ports.changed(desc, capabilities));
        }
        this.io.messages.clear();
        this
    }

    /// Sends a message on a connection: its type, and the bytes after the header.
    pub fn say_on(&mut self, conn: ConnId, ty: u8, body: &[u8]) {
        let length = (8 + body.len()) as u16;
        let [high, low] = length.to_be_bytes();
        let bytes = [&[4, ty, high, low, 0, 0, 0, 9], body].concat();
        let message = self.codec.decode(&bytes).map(|(_, message)| message);
        let request = Request {
            xid: 9,
            head: &bytes,
            message: message.map_err(|error| ErrorMsg::quoting(error.error, &bytes)),
        };
        self.switch.message(self.now, conn, request, &mut self.io);
        while self.switch.has_work(&self.io) {
            self.switch.work(self.now, &mut self.io);
        }
    }

    /// Sends a message on the connection that exists from the start.
    pub fn say(&mut self, ty: u8, body: &[u8]) {
        self.say_on(CONN, ty, body);
    }

    /// Sends an experimenter message of type `exp_type`.
    pub fn experimenter(&mut self, exp_type: u32, payload: &[u8]) {
        self.say(
            4,
            &[&EXPERIMENTER, &exp_type.to_be_bytes(), payload].concat(),
        );
    }

    /// Sends a STATE_MOD.
    pub fn state_mod(&mut self, command: u8, payload: &[u8]) {
        self.experimenter(0, &[&[command, 0], payload].concat());
    }

    /// Sends an experimenter's multipart request. Returns what follows `exp_type` in each part of
    /// the reply.
    pub fn multipart(&mut self, exp_type: u32, body: &[u8]) -> Vec<Vec<u8>> {
        let head = [0xff, 0xff, 0, 0, 0, 0, 0, 0];
        let exp_type = exp_type.to_be_bytes();
        self.say(18, &[&head[..], &EXPERIMENTER, &exp_type, body].concat());
        let replies = std::mem::take(&mut self.io.messages);
        let mut bodies = vec![];
        let mut more = vec![];
        for (_, reply) in replies {
            let mut bytes = Vec::new();
            self.codec
                .encode(9, &reply, &mut bytes)
                .expect("it is short enough");
            assert_eq!(bytes[1], 19, "{reply:?}");
            more.push(bytes[11] & 1 == 1);
            bodies.push(bytes[24..].to_vec());
        }
        let wanted: Vec<bool> = (1..=more.len()).map(|part| part < more.len()).collect();
        assert_eq!(more, wanted, "all but the last say that more follow");
        bodies
    }

    /// The code of the experimenter error that the switch has sent, if any.
    pub fn error(&mut self) -> Option<u16> {
        let messages = std::mem::take(&mut self.io.messages);
        let (_, message) = messages.first()?;
        let mut bytes = Vec::new();
        self.codec
            .encode(9, message, &mut bytes)
            .expect("it is short enough");
        assert_eq!(bytes[1], 1, "an error: {message:?}");
        assert_eq!(bytes[8..10], [0xff, 0xff], "an experimenter's: {message:?}");
        assert_eq!(bytes[12..16], EXPERIMENTER);
        Some(u16::from_be_bytes([bytes[10], bytes[11]]))
    }

    /// Adds a flow. Panics: the switch answers with an error.
    pub fn flow(&mut self, text: &str) {
        let text = &if self.is_opp {
            text.replace("set_state(", "set_state(opp,")
        } else {
            text.into()
        };
        let flow = parse_flow(text, FlowModCommand::ADD, &self.codec.catalogue);
        let mut bytes = Vec::new();
        let message = Message::FlowMod(flow.expect(text));
        self.codec
            .encode(9, &message, &mut bytes)
            .expect("it is short enough");
        self.say(14, &bytes[8..]);
        // Controllers of BEBA and Open Packet Processor are notified of it.
        let messages = &mut self.io.messages;
        messages.retain(|(_, message)| !matches!(message, Message::Experimenter(_)));
        assert_eq!(*messages, [], "{text}");
    }

    /// Receives a frame. Returns the ports by which it leaves.
    pub fn send(&mut self, port: u32, bytes: &[u8]) -> Vec<u32> {
        self.send_with(port, bytes, Offload::NONE)
    }

    /// As [`Bench::send`], for a frame with an offload record.
    pub fn send_with(&mut self, port: u32, bytes: &[u8], offload: Offload) -> Vec<u32> {
        let mut frame = self.pool.frame(bytes).expect("there are buffers");
        frame.offload = offload;
        self.io.out.clear();
        self.switch
            .receive(self.now, PortNo(port), &mut vec![frame], &mut self.io);
        self.io.out.iter().map(|(port, _)| *port).collect()
    }

    /// Receives frames as one burst.
    pub fn send_burst(&mut self, port: u32, all: &[Vec<u8>]) {
        let frames = all.iter().map(|bytes| self.pool.frame(bytes));
        let mut frames: Vec<Frame> = frames.collect::<Option<_>>().expect("there are buffers");
        self.switch
            .receive(self.now, PortNo(port), &mut frames, &mut self.io);
    }

    /// Advances the clock; what is due happens at its time.
    pub fn advance(&mut self, nanos: u64) {
        let end = self.now.after(nanos);
        while let Some(at) = self.switch.next_tick().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.switch.tick(self.now, &mut self.io);
        }
        self.now = end;
    }
}

/// A UDP datagram from host `from` to a port of host `to`.
pub fn udp(from: u8, to: u8, port: u16) -> Vec<u8> {
    let (a, b) = ([10, 0, 0, from].into(), [10, 0, 0, to].into());
    let ip = craft::ipv4(a, b, 64, craft::udp(1000, port, b"data"));
    craft::ethernet(Mac([2, 0, 0, 0, 0, to]), Mac([2, 0, 0, 0, 0, from]), ip)
}
