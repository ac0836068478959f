//! OpenQFlow in a switch, by OpenFlow messages alone: rules, reports, engines, shares, failover.

mod adversities;
mod backlogs;
mod engines;
#[path = "../../../fuzz/checks/flow_hook.rs"]
mod flow_hook;
mod keys;
mod page;
mod ports;
mod refusals;
mod reports;
mod rules;
mod shares;
mod standard;

use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Engine, Metric, Time};
use bofuss_ext::openqflow::{AggregateRecord, FlowQuery, FlowRecord};
use bofuss_ext::{Switch, ValueList};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::multipart::{ExtBody, ReplyBody, RequestBody};
use bofuss_oflib::message::{ErrorMsg, FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Codec, ExtValue, Mac, Message, PortNo, Version};
use bofuss_packet::craft::{self, Layer};

const MS: u64 = Time::SEC / 1000;
/// The controller.
const CONN: ConnId = ConnId(1);

/// The outputs of the switch: frames with their ports, and messages to the controller.
#[derive(Default)]
struct Kept {
    frames: Vec<(u32, Vec<u8>)>,
    messages: Vec<Message>,
    packet_ins: usize,
    /// Messages to connections other than [`CONN`].
    others: Vec<Message>,
}

impl SwitchIo for Kept {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.frames.push((port.0, frame.bytes().into()));
    }
    fn flush(&mut self) {}
    fn send(&mut self, to: ConnId, _: u32, message: Message) {
        if to != CONN {
            return self.others.push(message);
        }
        match message {
            Message::PacketIn(_) => self.packet_ins += 1,
            Message::PortStatus(_) | Message::FlowRemoved(_) => {}
            other => self.messages.push(other),
        }
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch with four ports; table 0 has flows, 1 and 2 forwarding rules, 3 and 4 QoS rules.
struct Bench {
    switch: Switch,
    pool: Pool,
    io: Kept,
    now: Time,
    codec: Codec,
}

impl Bench {
    fn new(engine: Engine) -> Self {
        Self::with_options(engine, &[])
    }

    fn with_options(engine: Engine, options: &[(&str, &str)]) -> Self {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let config = Config {
            engine,
            ..bofuss_disciplines::config()
        };
        let pool = Pool::new(64 << 20);
        let mut datapath = Datapath::new(config, Arc::clone(&catalogue), pool.clone());
        let tables = [("table", "0"), ("forwarding", "1,2"), ("qos", "3,4")];
        for mut hook in bofuss_ext::hooks(&catalogue) {
            if hook.name() == "openqflow" {
                for (option, value) in [&tables, options].concat() {
                    hook.set_option(option, value).expect("it is an option");
                }
            }
            datapath.add_hook(hook);
        }
        let switch = Switch::new(Time(0), datapath, Identity::default(), FailMode::Secure);
        let mut this = Self {
            switch,
            pool,
            io: Kept::default(),
            now: Time(1),
            codec: Codec::new(Version::V1_3, catalogue),
        };
        this.switch.connected(Time(0), CONN, Version::V1_3, true);
        (1..=4).for_each(|port| this.port(port, true));
        this
    }

    /// Adds or removes a port.
    fn port(&mut self, number: u32, up: bool) {
        let port_no = PortNo(number);
        if !up {
            return self
                .switch
                .ports(self.now, &mut self.io, |ports| ports.removed(port_no));
        }
        let desc = PortDesc {
            port_no,
            ..PortDesc::default()
        };
        let capabilities = OffloadCapabilities::default();
        self.switch.ports(self.now, &mut self.io, |ports| {
            ports.changed(desc, capabilities)
        });
    }

    /// Sends a message as bytes. Returns the answers.
    ///
    /// Errors: the text of the error, if one is answered.
    fn say(&mut self, message: &Message) -> Result<Vec<Message>, String> {
        let mut bytes = Vec::new();
        self.codec
            .encode(9, message, &mut bytes)
            .expect("it is short enough");
        let decoded = self.codec.decode(&bytes).map(|(_, message)| message);
        assert_eq!(decoded.as_ref(), Ok(message));
        let request = Request {
            xid: 9,
            head: &bytes,
            message: decoded.map_err(|error| ErrorMsg::quoting(error.error, &bytes)),
        };
        let notified = std::mem::take(&mut self.io.messages);
        self.switch.message(self.now, CONN, request, &mut self.io);
        while self.switch.has_work(&self.io) {
            self.switch.work(self.now, &mut self.io);
        }
        let answers = std::mem::replace(&mut self.io.messages, notified);
        match answers.iter().find(|one| matches!(one, Message::Error(_))) {
            Some(error) => Err(error.to_string()),
            None => Ok(answers),
        }
    }

    fn flow(&mut self, text: &str) {
        self.flow_mod(text, FlowModCommand::ADD).expect(text);
    }

    fn flow_mod(&mut self, text: &str, command: FlowModCommand) -> Result<(), String> {
        let flow = parse_flow(text, command, &self.codec.catalogue).expect(text);
        self.say(&Message::FlowMod(flow)).map(|_| ())
    }

    /// Receives a frame. Returns the ports by which frames leave.
    fn send(&mut self, port: u32, bytes: &[u8]) -> Vec<u32> {
        let mut frames = vec![self.pool.frame(bytes).expect("there is room")];
        self.switch
            .receive(self.now, PortNo(port), &mut frames, &mut self.io);
        self.left()
    }

    /// Takes the ports by which frames have left.
    fn left(&mut self) -> Vec<u32> {
        self.io.frames.drain(..).map(|(port, _)| port).collect()
    }

    fn value(&self, kind: ExtKind, name: &str, text: &str) -> ExtValue {
        let catalogue = &self.codec.catalogue;
        let mut rows = catalogue.values(kind);
        let row = rows.find(|row| row.name == name).expect("it is a row");
        ExtValue::parse(row, text, catalogue).expect(text)
    }

    fn ask(&mut self, name: &str, text: &str) -> Result<(), String> {
        let value = self.value(ExtKind::Message, name, text);
        self.say(&Message::Experimenter(value)).map(|_| ())
    }

    /// All parts of a list.
    fn parts(&mut self, name: &str, text: &str) -> Vec<ExtValue> {
        let value = self.value(ExtKind::Multipart, name, text);
        let request = RequestBody::Experimenter(ExtBody(value));
        let answers = self.say(&Message::MultipartRequest(request.into()));
        let body = |message| match message {
            Message::MultipartReply(reply) => match reply.body {
                ReplyBody::Experimenter(ExtBody(value)) => value,
                other => panic!("{other:?} was not asked for"),
            },
            other => panic!("{other} is no reply"),
        };
        answers
            .expect("it is a list")
            .into_iter()
            .map(body)
            .collect()
    }

    fn flows(&mut self, text: &str) -> Vec<FlowRecord> {
        let mut all = Vec::new();
        for part in self.parts("qflow_flows", text) {
            let Some(FlowQuery::Reply(list)) = part.body::<FlowQuery>() else {
                panic!("{part} is no reply");
            };
            all.extend(list.0.iter().cloned());
        }
        all
    }

    fn aggregates(&mut self) -> Vec<AggregateRecord> {
        let parts = self.parts("qflow_aggregates", "");
        let lists = parts
            .iter()
            .map(|part| part.body::<ValueList<AggregateRecord>>());
        lists
            .flat_map(|list| list.expect("it is a list").0.clone())
            .collect()
    }

    /// Takes the notifications of the switch.
    fn notified(&mut self) -> Vec<ExtValue> {
        let messages = std::mem::take(&mut self.io.messages);
        let value = |message| match message {
            Message::Experimenter(value) => value,
            other => panic!("{other} was not asked for"),
        };
        messages.into_iter().map(value).collect()
    }

    /// Takes the reports of flows.
    fn reports(&mut self) -> Vec<FlowRecord> {
        let values = self.notified();
        let lists = values
            .iter()
            .filter_map(|value| value.body::<ValueList<FlowRecord>>());
        lists.flat_map(|list| list.0.clone()).collect()
    }

    /// Advances the clock; what is due happens at its time.
    fn pass(&mut self, ns: u64) {
        let end = self.now.after(ns);
        while let Some(at) = self.switch.next_tick().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.switch.tick(self.now, &mut self.io);
        }
        self.now = end;
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut list = Vec::new();
        for hook in 0.. {
            let datapath = self.switch.datapath();
            let metrics = datapath.hooks().metrics(self.now, hook, 0, &mut list);
            let (extension, _) = metrics.expect("it is one of them");
            if extension == "openqflow" {
                break;
            }
            list.clear();
        }
        list
    }

    fn metric(&self, name: &str) -> u64 {
        let list = self.metrics();
        let metric = list.iter().find(|metric| metric.name == name);
        metric.expect("it is counted").value
    }
}

fn ethernet(payload: Layer) -> Vec<u8> {
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), payload)
}

fn ipv4(to: u8, payload: Layer) -> Vec<u8> {
    ethernet(craft::ipv4(
        [10, 0, 0, 1].into(),
        [10, 0, 1, to].into(),
        64,
        payload,
    ))
}

fn udp(to: u8, port: u16) -> Vec<u8> {
    ipv4(to, craft::udp(port, 7, b"0123456789"))
}
