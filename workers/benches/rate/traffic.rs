//! The cases: what senders send, and the switch that forwards it.

use std::sync::Arc;

use bofuss_agent::{FailMode, Identity};
use bofuss_datapath::{Config, Time};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::Pool;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Catalogue, ExtValue, Mac, Message, PortNo};
use bofuss_packet::craft;

/// The port by which packets leave that pass. Others leave by another port, and are not dropped, so
/// that the generator gets their frames back.
pub const PASSED: PortNo = PortNo(2);
/// The ports of the switch.
pub const PORTS: [PortNo; 3] = [PortNo(1), PASSED, PortNo(3)];
/// The knocks, in their order, and the port that they open.
pub const KNOCKS: [u16; 3] = [5001, 5002, 5003];
pub const OPEN: u16 = 22;
/// The place of the addresses and ports of a flow in a frame, and of the destination port in these.
pub const TUPLE_AT: usize = 26;
pub const DESTINATION_AT: usize = 10;

/// Addresses and ports of a flow, as they are in a frame.
pub type Tuple = [u8; 12];

/// What the packets of a case are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Packets of flows in random order. Each flow has an entry.
    Flows,
    /// Port knocking of OpenState: each sender knocks at three ports in order, with a stray packet
    /// now and then, after which it begins anew; and then sends to the port that this has opened.
    Knocks,
}

/// A case of the bench.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub traffic: Traffic,
    /// How many flows, or senders that knock, are divided among workers.
    pub flows: u32,
}

impl Case {
    /// What an entry can be about.
    pub fn catalogue(self) -> Catalogue {
        match self.traffic {
            Traffic::Flows => Catalogue::default(),
            Traffic::Knocks => bofuss_ext::catalogue(),
        }
    }

    /// A switch without entries.
    pub fn switch(self, catalogue: &Arc<Catalogue>) -> Switch {
        let config = Config {
            secret: 0x1234_5678,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, catalogue.clone(), Pool::new(1 << 24));
        if self.traffic == Traffic::Knocks {
            for hook in bofuss_ext::hooks(catalogue) {
                datapath.add_hook(hook);
            }
        }
        Switch::new(Time(0), datapath, Identity::default(), FailMode::Secure)
    }

    /// What a controller sends to the switch.
    pub fn messages(self, catalogue: &Catalogue) -> Box<dyn Iterator<Item = Message> + '_> {
        match self.traffic {
            Traffic::Flows => {
                Box::new((0..self.flows).map(move |n| entry(&text_of_flow(n), catalogue)))
            }
            Traffic::Knocks => Box::new(knocking(catalogue).into_iter()),
        }
    }

    /// How frames are divided among workers then.
    pub fn dispatch(self) -> &'static str {
        match self.traffic {
            Traffic::Flows => "each flow in one of all workers",
            Traffic::Knocks => "each ipv4_src in one of all workers",
        }
    }

    /// A frame of 60 bytes, which is 64 with its check sequence. Tuples are written into it.
    pub fn frame(self) -> Vec<u8> {
        let layer = match self.traffic {
            Traffic::Flows => craft::tcp(1, 80, 2, b"abcdef"),
            Traffic::Knocks => craft::udp(1, OPEN, b"0123456789abcdefgh"),
        };
        let ip = craft::ipv4([10, 0, 0, 1].into(), [11, 0, 0, 1].into(), 64, layer);
        craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip)
    }

    /// The tuple of flow or sender number `n`.
    pub fn tuple(self, n: u32) -> Tuple {
        match self.traffic {
            Traffic::Flows => scattered(n),
            Traffic::Knocks => joined(0x0a00_0000 | n, 0x0b00_0001, 1000, OPEN),
        }
    }
}

fn joined(source: u32, destination: u32, from: u16, to: u16) -> Tuple {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&source.to_be_bytes());
    bytes[4..8].copy_from_slice(&destination.to_be_bytes());
    bytes[8..10].copy_from_slice(&from.to_be_bytes());
    bytes[DESTINATION_AT..].copy_from_slice(&to.to_be_bytes());
    bytes
}

/// The tuple of flow number `n`, which differs from others in all places.
fn scattered(n: u32) -> Tuple {
    let n = n.wrapping_mul(0x9e37_79b1);
    let (source, destination) = (0x0a00_0000 | n >> 12, 0x0b00_0000 | n & 0xffff);
    joined(source, destination, (n >> 8) as u16 | 1, 80)
}

/// The entry of a flow.
fn text_of_flow(n: u32) -> String {
    let [a, b, c, d, e, f, g, h, from @ .., _, _] = scattered(n);
    format!(
        "priority=10,tcp,nw_src={a}.{b}.{c}.{d},nw_dst={e}.{f}.{g}.{h},tp_src={},tp_dst=80,\
         actions=output:2",
        u16::from_be_bytes(from)
    )
}

fn entry(text: &str, catalogue: &Catalogue) -> Message {
    Message::FlowMod(parse_flow(text, FlowModCommand::ADD, catalogue).unwrap())
}

/// The state machine of port knocking: a sender's state is how many knocks were right.
fn knocking(catalogue: &Catalogue) -> Vec<Message> {
    let mut rows = catalogue.values(ExtKind::Message);
    let row = rows.find(|row| row.name == "state_mod").unwrap();
    let mut messages = Vec::new();
    for text in [
        "table_config,table=0,stateful=1",
        "set_lookup_extractor,table=0,fields=ipv4_src",
        "set_update_extractor,table=0,fields=ipv4_src",
    ] {
        let value = ExtValue::parse(row, text, catalogue).unwrap();
        messages.push(Message::Experimenter(value));
    }
    for (state, port) in KNOCKS.iter().enumerate() {
        let text = format!(
            "priority=10,udp,udp_dst={port},state={state},\
             actions=set_state(table=0,state={}),output:3",
            state + 1
        );
        messages.push(entry(&text, catalogue));
    }
    let open = format!(
        "priority=10,udp,udp_dst={OPEN},state={},actions=output:2",
        KNOCKS.len()
    );
    messages.push(entry(&open, catalogue));
    let others = "priority=1,actions=set_state(table=0,state=0),output:3";
    messages.push(entry(others, catalogue));
    messages
}
