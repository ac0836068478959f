//! The switch does the same in a network as alone: frames, messages and counters.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Time};
use bofuss_embed::{EmbeddedConfig, EmbeddedSwitch};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_fastpath::Settled;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::{ErrorMsg, FlowModCommand};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::{Catalogue, Codec, Framer, Message, PortNo, Version};
use bofuss_sim::controller::{Controller, ControllerOutput};
use bofuss_sim::host::{Host, HostOutput};
use bofuss_sim::{Change, LinkConfig, Network, NetworkConfig, NodeId, NodePort};

#[path = "common/random_inputs.rs"]
mod random_inputs;
#[path = "common/random_record.rs"]
mod random_record;

use random_inputs::{INPUTS, Input, PORTS, STEP_NANOS, inputs, time};

/// The outputs of a switch: frames by port and messages, each with the step of its input.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outputs {
    frames: Vec<(u64, u32, Vec<u8>)>,
    messages: Vec<(u64, u32, Message)>,
}

fn tables() -> Config {
    Config {
        cache_flows: 1 << 12,
        n_tables: random_record::TABLES,
        ..Config::default()
    }
}

/// The sink of the switch that is alone.
#[derive(Default)]
struct Alone {
    step: u64,
    outputs: Outputs,
}

impl SwitchIo for Alone {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.outputs
            .frames
            .push((self.step, port.0, frame.bytes().into()));
    }
    fn flush(&mut self) {}
    fn send(&mut self, _: ConnId, xid: u32, message: Message) {
        self.outputs.messages.push((self.step, xid, message));
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// Gives the inputs to a switch without a network; returns its outputs and counters.
fn alone(catalogue: &Arc<Catalogue>) -> (Outputs, String) {
    let pool = Pool::new(1 << 26);
    let mut datapath = Datapath::new(tables(), catalogue.clone(), pool.clone());
    for hook in bofuss_ext::hooks(catalogue) {
        datapath.add_hook(hook);
    }
    let identity = Identity {
        datapath_id: 1,
        ..Identity::default()
    };
    let mut switch = Switch::new(Time(0), datapath, identity, FailMode::Secure);
    let mut io = Alone::default();
    for number in 1..=PORTS {
        let desc = desc(number);
        switch.ports(Time(0), &mut io, |ports| {
            ports.changed(desc, OffloadCapabilities::default())
        });
    }
    switch.connected(Time(0), ConnId(1), Version::V1_3, true);
    for (input, step) in inputs(catalogue).into_iter().zip(1..) {
        let now = time(step).after(1);
        while let Some(due) = switch.next_tick().filter(|due| *due < now) {
            io.step = due.0 / STEP_NANOS;
            switch.tick(due, &mut io);
        }
        io.step = step;
        match input {
            Input::Frame(port, bytes) => {
                let mut frames = vec![pool.frame(&bytes).unwrap()];
                switch.receive(now, PortNo(port), &mut frames, &mut io);
            }
            Input::Message(message) => {
                let request = Request {
                    xid: step as u32,
                    head: &[],
                    message: Ok(message),
                };
                switch.message(now, ConnId(1), request, &mut io);
            }
        }
        while switch.has_work(&io) {
            switch.work(now, &mut io);
        }
    }
    let counters = counters(&switch.settled());
    (io.outputs, counters)
}

/// A port as the network names it.
fn desc(number: u32) -> bofuss_oflib::message::PortDesc {
    bofuss_oflib::message::PortDesc {
        name: bofuss_oflib::wire::FixedStr(format!("s1-eth{number}")),
        ..bofuss_embed::port(number)
    }
}

/// Entries with their counters, and the ports' counters, as text.
fn counters(settled: &Settled<'_>) -> String {
    let datapath = settled.datapath();
    let mut text = String::new();
    for (number, port) in datapath.ports() {
        text += &format!("{number}: {:?}\n", port.stats);
    }
    for (reason, count) in datapath.lane().drops() {
        text += &format!("{}: {count}\n", reason.name());
    }
    let mut cursor = bofuss_datapath::Cursor::new(TableId::ALL);
    let mut done = false;
    while !done {
        done = settled.slice(&mut cursor, |table, entry| {
            let packets = entry.packets;
            text += &format!("{table:?} {packets} {:?}\n", entry.instructions);
        });
    }
    text
}

/// A host that sends frames at their times, and keeps what arrives.
struct ScriptHost {
    port: u32,
    frames: Vec<(u64, Vec<u8>)>,
    next: usize,
    seen: Rc<RefCell<Outputs>>,
}

impl Host for ScriptHost {
    fn receive(&mut self, now: Time, frame: Frame, _: &mut HostOutput<'_>) {
        let seen = (now.0 / STEP_NANOS, self.port, frame.bytes().into());
        self.seen.borrow_mut().frames.push(seen);
    }

    fn tick(&mut self, now: Time, out: &mut HostOutput<'_>) {
        while let Some((step, bytes)) = self.frames.get(self.next)
            && time(*step) <= now
        {
            assert!(out.send_bytes(bytes));
            self.next += 1;
        }
    }

    fn next_tick(&self) -> Option<Time> {
        Some(time(self.frames.get(self.next)?.0))
    }
}

/// A controller that sends messages at their times, and keeps what arrives.
struct ScriptController {
    switch: NodeId,
    messages: Vec<(u64, Message)>,
    next: usize,
    seen: Rc<RefCell<Outputs>>,
}

impl Controller for ScriptController {
    fn message(
        &mut self,
        now: Time,
        _: NodeId,
        xid: u32,
        message: Message,
        _: &mut ControllerOutput,
    ) {
        let seen = (now.0 / STEP_NANOS, xid, message);
        self.seen.borrow_mut().messages.push(seen);
    }

    fn tick(&mut self, now: Time, out: &mut ControllerOutput) {
        while let Some((step, message)) = self.messages.get(self.next)
            && time(*step) <= now
        {
            out.send(self.switch, *step as u32, message.clone());
            self.next += 1;
        }
    }

    fn next_tick(&self) -> Option<Time> {
        Some(time(self.messages.get(self.next)?.0))
    }
}

/// Gives the inputs to a switch in a network; returns its outputs and counters.
fn in_network(catalogue: &Arc<Catalogue>) -> (Outputs, String) {
    let mut network = Network::new(NetworkConfig::default());
    let config = EmbeddedConfig {
        pool: network.pool().clone(),
        tables: tables(),
        ..EmbeddedConfig::with_catalogue(catalogue.clone())
    };
    let switch = EmbeddedSwitch::new(Time(0), config).unwrap();
    let switch = network.add_switch("s1", switch);
    let seen = Rc::new(RefCell::new(Outputs::default()));
    let inputs: Vec<(u64, Input)> = (1..).zip(inputs(catalogue)).collect();
    let wire = LinkConfig {
        rate_bps: 0,
        delay_ns: 1,
        ..LinkConfig::default()
    };
    for port in 1..=PORTS {
        let mut frames = Vec::new();
        for (step, input) in &inputs {
            if let Input::Frame(to, bytes) = input
                && *to == port
            {
                frames.push((*step, bytes.clone()));
            }
        }
        let host = network.add_host(
            &format!("h{port}"),
            Box::new(ScriptHost {
                port,
                frames,
                next: 0,
                seen: seen.clone(),
            }),
        );
        let end = |node, port| NodePort {
            node,
            port: PortNo(port),
        };
        network
            .add_link(end(switch, port), end(host, 1), wire)
            .unwrap();
    }
    let mut messages = Vec::new();
    for (step, input) in &inputs {
        if let Input::Message(message) = input {
            messages.push((*step, message.clone()));
        }
    }
    let controller = network.add_controller(Box::new(ScriptController {
        switch,
        messages,
        next: 0,
        seen: seen.clone(),
    }));
    network
        .add_control_link(switch, controller, 1, Version::V1_3)
        .unwrap();
    network
        .plan(Time(0), Change::Connect(switch, controller))
        .unwrap();
    network.run_until(time(INPUTS + 10), &mut ()).unwrap();
    let counters = counters(&network.switch_mut(switch).unwrap().settled());
    let outputs = seen.borrow().clone();
    (outputs, counters)
}

#[test]
fn ten_thousand_inputs_have_the_same_effect_alone_and_in_a_network() {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let (own, own_counters) = alone(&catalogue);
    let (networked, networked_counters) = in_network(&catalogue);
    assert!(own.frames.len() > 3_000, "{}", own.frames.len());
    assert!(own.messages.len() > 500, "{}", own.messages.len());
    assert_eq!(own.messages, networked.messages);
    assert_eq!(own.frames, networked.frames);
    assert_eq!(own_counters, networked_counters);
    let expected = random_record::random_record(&catalogue);
    let mut frames = Vec::new();
    for (_, port, bytes) in networked.frames {
        frames.push((port, bytes));
    }
    assert_eq!(frames, expected.frames);
    let codec = Codec::new(Version::V1_3, catalogue);
    let mut framer = Framer::new();
    framer.push(&expected.messages);
    let mut messages = Vec::new();
    while let Some(bytes) = framer.next_message().unwrap() {
        let (xid, message) = codec.decode(bytes).unwrap();
        append(&codec, xid, message, &mut messages);
    }
    let mut sent = Vec::new();
    for (_, xid, message) in networked.messages {
        append(&codec, xid, message, &mut sent);
    }
    assert!(sent == messages, "other messages");
}

/// Appends an encoded message. The quotes of ERRORs are left out, because a controller within a
/// network sends no bytes that could be quoted.
fn append(codec: &Codec, xid: u32, message: Message, bytes: &mut Vec<u8>) {
    let message = match message {
        Message::Error(error) => Message::Error(ErrorMsg::quoting(error.error, &[])),
        other => other,
    };
    codec.encode(xid, &message, bytes).unwrap();
}

/// A switch with ports, and its controller's connection.
fn embedded(catalogue: &Arc<Catalogue>) -> (EmbeddedSwitch, ConnId) {
    let config = EmbeddedConfig {
        tables: tables(),
        ..EmbeddedConfig::with_catalogue(catalogue.clone())
    };
    let mut switch = EmbeddedSwitch::new(Time(0), config).unwrap();
    for number in 1..=PORTS {
        let added = switch.add_port(Time(0), desc(number), OffloadCapabilities::default());
        added.unwrap();
    }
    let conn = switch.connect_typed(Time(0), Version::V1_3);
    (switch, conn)
}

/// Flow-mods that make a table large and, from time to time, sparse.
fn churn(catalogue: &Catalogue) -> Vec<Message> {
    let mut random = bofuss_sim::Random::new(7, 0);
    let mut messages = Vec::new();
    let mut change = |command, text: String| {
        let flow = parse_flow(&text, command, catalogue).unwrap();
        messages.push(Message::FlowMod(flow));
    };
    for round in 0..4 {
        for _ in 0..900 {
            let address = std::net::Ipv4Addr::from(random.below(1 << 32) as u32);
            let prefix = 8 + random.below(25);
            let cookie = random.below(12);
            let timeout = random.below(5);
            let flow = format!(
                "priority={},cookie={cookie},hard_timeout={timeout},ip,nw_dst={address}/{prefix},\
                 actions=output:{}",
                random.below(9),
                1 + random.below(4)
            );
            change(FlowModCommand::ADD, flow);
        }
        for cookie in 0..11 {
            let cookie = (cookie + round) % 12;
            change(FlowModCommand::DELETE, format!("cookie={cookie}/-1"));
        }
    }
    messages
}

#[test]
fn equal_switches_ask_for_equal_ticks() {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let mut both = [embedded(&catalogue), embedded(&catalogue)];
    let mut inputs = inputs(&catalogue);
    for (place, message) in churn(&catalogue).into_iter().enumerate() {
        inputs.insert(2 * place, Input::Message(message));
    }
    let mut compactions = 0;
    for (input, step) in inputs.into_iter().zip(1..) {
        let now = time(step).after(1);
        let mut asked = Vec::new();
        for (switch, conn) in &mut both {
            let mut ticks = Vec::new();
            while let Some(due) = switch.next_tick().filter(|due| *due < now) {
                ticks.push(due);
                switch.tick(due);
            }
            match input.clone() {
                Input::Frame(port, bytes) => {
                    let frame = switch.frame(&bytes).unwrap();
                    switch.receive(now, PortNo(port), &mut vec![frame]).unwrap();
                }
                Input::Message(message) => {
                    assert!(switch.message(now, *conn, 1, message).unwrap());
                }
            }
            switch.drain().for_each(drop);
            asked.push((ticks, switch.next_tick()));
        }
        compactions += asked[0].0.iter().filter(|due| **due == Time(0)).count();
        assert_eq!(asked[0], asked[1], "input {step}");
    }
    assert!(compactions > 10, "{compactions}");
}
