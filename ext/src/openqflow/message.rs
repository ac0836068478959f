//! Messages about flows between controllers or engines and the switch, on the wire and as text.

use alloc::{format, vec::Vec};
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::parse_port;
use bofuss_oflib::wire::{Bytes, Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, Message, ParseError, PortNo, Version};

use super::balance::MAX_LINKS;
use super::error::BAD_VALUE;
use super::flow::{DropCause, FlowPhase, FlowRecord, ReportReason};
use super::records::{QosRecord, take};
use super::standard;
use super::tuple::{FlowTuple, TupleMatch};
use crate::common::args::Args;
use crate::common::list::{Listed, ValueList};
use crate::common::words::{named, place_of};

/// Reasons of reports with their names; the number on the wire is the index.
const REASONS: [(ReportReason, &str); 4] = [
    (ReportReason::Periodic, "periodic"),
    (ReportReason::Threshold, "threshold"),
    (ReportReason::Idle, "idle"),
    (ReportReason::Evicted, "evicted"),
];
/// States with their names; the number on the wire is the index.
const STATES: [(FlowPhase, &str); 3] = [
    (FlowPhase::Unresolved, "unresolved"),
    (FlowPhase::Pending, "pending"),
    (FlowPhase::Resolved, "resolved"),
];

/// Causes of drops with their names; the number on the wire is the index.
const DROP_CAUSES: [(DropCause, &str); 8] = [
    (DropCause::None, "none"),
    (DropCause::Pending, "pending"),
    (DropCause::Rule, "rule"),
    (DropCause::NoRule, "no-rule"),
    (DropCause::TooEarly, "too-early"),
    (DropCause::QueueFull, "queue-full"),
    (DropCause::Port, "port"),
    (DropCause::Other, "other"),
];

impl Wire for FlowRecord {
    /// Errors: BAD_VALUE.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let tuple = r.get()?;
        let out_port = r.at("out_port").get()?;
        let reason = named(&REASONS, r.at("reason"), BAD_VALUE)?;
        let state = named(&STATES, r.at("state"), BAD_VALUE)?;
        let key = r.at("key").get()?;
        let drop_cause = named(&DROP_CAUSES, r.at("drop_cause"), BAD_VALUE)?;
        let age_ms = r.at("age_ms").get()?;
        let idle_ms = r.at("idle_ms").get()?;
        Ok(Self {
            tuple,
            out_port,
            reason,
            state,
            key,
            age_ms,
            idle_ms,
            rate_kbps: r.at("rate_kbps").get()?,
            packets: r.at("packets").get()?,
            bytes: r.at("bytes").get()?,
            dropped_packets: r.at("dropped_packets").get()?,
            dropped_bytes: r.at("dropped_bytes").get()?,
            drop_cause,
            share_kbps: r.at("share_kbps").get()?,
            guaranteed_kbps: r.at("guaranteed_kbps").get()?,
            eta_us: r.at("eta_us").get()?,
            waiting_bytes: r.at("waiting_bytes").get()?,
            qos: r.get()?,
            registers: get_registers(r)?,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (reason, _) = place_of(&REASONS, &self.reason);
        let (state, _) = place_of(&STATES, &self.state);
        w.put(&self.tuple).put(&self.out_port);
        let (drop_cause, _) = place_of(&DROP_CAUSES, &self.drop_cause);
        w.put(&reason).put(&state).put(&self.key).put(&drop_cause);
        w.put(&self.age_ms).put(&self.idle_ms).put(&self.rate_kbps);
        w.put(&self.packets).put(&self.bytes);
        w.put(&self.dropped_packets).put(&self.dropped_bytes);
        w.put(&self.share_kbps).put(&self.guaranteed_kbps);
        w.put(&self.eta_us).put(&self.waiting_bytes);
        w.put(&self.qos);
        self.registers
            .iter()
            .for_each(|register| _ = w.put(register));
    }
}

pub(super) fn get_registers(r: &mut Reader<'_>) -> Result<[u64; 4], DecodeError> {
    let mut registers = [0; 4];
    for register in &mut registers {
        *register = r.at("register").get()?;
    }
    Ok(registers)
}

pub(super) fn write_registers(f: &mut fmt::Formatter<'_>, registers: &[u64; 4]) -> fmt::Result {
    let [a, b, c, d] = registers;
    write!(f, ",registers={a:#x}+{b:#x}+{c:#x}+{d:#x}")
}

impl TextForm for FlowRecord {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, reason) = place_of(&REASONS, &self.reason);
        let (_, state) = place_of(&STATES, &self.state);
        self.tuple.text(f)?;
        write!(
            f,
            ",out_port={},reason={reason},state={state}",
            self.out_port
        )?;
        write!(f, ",age_ms={},idle_ms={}", self.age_ms, self.idle_ms)?;
        write!(f, ",packets={},bytes={}", self.packets, self.bytes)?;
        write!(f, ",dropped_packets={}", self.dropped_packets)?;
        write!(f, ",dropped_bytes={}", self.dropped_bytes)?;
        let (_, cause) = place_of(&DROP_CAUSES, &self.drop_cause);
        write!(f, ",drop_cause={cause},rate_kbps={}", self.rate_kbps)?;
        let known = [
            ("share_kbps", self.share_kbps),
            ("guaranteed_kbps", self.guaranteed_kbps),
            ("eta_us", self.eta_us),
            ("waiting", self.waiting_bytes),
        ];
        for (name, value) in known.into_iter().filter(|(_, value)| *value > 0) {
            write!(f, ",{name}={value}")?;
        }
        write!(f, ",aggregate={},", self.key)?;
        self.qos.text(f)?;
        if self.registers != [0; 4] {
            write_registers(f, &self.registers)?;
        }
        Ok(())
    }
}

impl TypedBody for FlowRecord {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("it is only reported".into())
    }
}

impl Listed for FlowRecord {
    fn list_in_messages(list: &[Self], version: Version) -> Option<Vec<Message>> {
        version.has_stat_lists().then(|| standard::messages(list))
    }
}

/// The flows that are requested: 2 zero bytes, then 100 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowFilter {
    /// A match on their tuples.
    pub tuples: TupleMatch,
    /// The number of their aggregate key; 255 for any.
    pub key: u8,
}

impl Default for FlowFilter {
    fn default() -> Self {
        Self {
            tuples: TupleMatch::default(),
            key: QosRecord::PORT_KEY,
        }
    }
}

/// A request for flows, or a part of the reply. An empty body asks for all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FlowQuery {
    /// The request of a controller.
    Request(FlowFilter),
    /// The reply of the switch: records, each preceded by its length.
    Reply(ValueList<FlowRecord>),
}

impl Wire for FlowQuery {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [0, 0, ..] = r.clone().rest() else {
            return r.get().map(Self::Reply);
        };
        r.take(2)?;
        let key = r.at("key").get()?;
        r.take(1)?;
        let tuples = r.get()?;
        Ok(Self::Request(FlowFilter { tuples, key }))
    }

    fn encode(&self, w: &mut Writer<'_>) {
        match self {
            Self::Request(filter) => w.pad(2).put(&filter.key).pad(1).put(&filter.tuples),
            Self::Reply(list) => w.put(list),
        };
    }
}

impl TextForm for FlowQuery {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(filter) => {
                filter.tuples.text(f)?;
                write!(f, ",key={}", filter.key)
            }
            Self::Reply(list) => list.text(f),
        }
    }
}

impl TypedBody for FlowQuery {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let mut filter = FlowFilter::default();
        take(&mut args, "key", &mut filter.key)?;
        filter.tuples = TupleMatch::take(&mut args)?;
        args.finish()?;
        Ok(Self::Request(filter))
    }

    fn join(&mut self, part: Self) -> bool {
        match (self, part) {
            (Self::Reply(list), Self::Reply(part)) => list.join(part),
            (..) => false,
        }
    }
}

/// One aggregate: 76 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AggregateRecord {
    /// The output port of its flows.
    pub out_port: PortNo,
    /// The number of the key.
    pub key: u8,
    /// Their tuples under the key's mask.
    pub tuple: FlowTuple,
    /// The number of its flows.
    pub flows: u32,
    /// Forwarded packets, up to the last expiry round.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Dropped packets, including those dropped at the port.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
}

impl Wire for AggregateRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let out_port = r.at("out_port").get()?;
        let key = r.at("key").get()?;
        r.take(3)?;
        let flows = r.at("flows").get()?;
        let packets_and_bytes = [r.at("packets").get()?, r.at("bytes").get()?];
        let dropped = [r.at("dropped_packets").get()?, r.at("dropped_bytes").get()?];
        Ok(Self {
            out_port,
            key,
            tuple: r.get()?,
            flows,
            packets: packets_and_bytes[0],
            bytes: packets_and_bytes[1],
            dropped_packets: dropped[0],
            dropped_bytes: dropped[1],
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.out_port).put(&self.key).pad(3).put(&self.flows);
        w.put(&self.packets).put(&self.bytes);
        w.put(&self.dropped_packets).put(&self.dropped_bytes);
        w.put(&self.tuple);
    }
}

impl TextForm for AggregateRecord {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "out_port={},key={},flows={}",
            self.out_port, self.key, self.flows
        )?;
        write!(f, ",packets={},bytes={}", self.packets, self.bytes)?;
        write!(f, ",dropped_packets={}", self.dropped_packets)?;
        write!(f, ",dropped_bytes={},", self.dropped_bytes)?;
        self.tuple.text(f)
    }
}

impl TypedBody for AggregateRecord {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("it is only reported".into())
    }
}

impl Listed for AggregateRecord {}

/// A copy of a flow's packet for an engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowCopy {
    /// The flow.
    pub tuple: FlowTuple,
    /// The packet, from its Ethernet header on.
    pub frame: Bytes,
}

impl Wire for FlowCopy {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let tuple = r.get()?;
        let frame = r.at("frame").get()?;
        Ok(Self { tuple, frame })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.tuple).put(&self.frame);
    }
}

impl TextForm for FlowCopy {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tuple.text(f)?;
        f.write_str(",frame=")?;
        self.frame.text(f)
    }
}

impl TypedBody for FlowCopy {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("it is only reported".into())
    }
}

/// Links with the same destination, between which large flows are moved: 8 bytes, then 4 for each
/// port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinkSet {
    /// The flowlet gap: microseconds without a packet after which a flow may change links.
    pub gap_us: u32,
    /// The ports; an empty list turns balancing off.
    pub ports: Vec<PortNo>,
}

impl Wire for LinkSet {
    /// Errors: BAD_VALUE.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let gap_us = r.at("gap_us").get()?;
        r.take(4)?;
        let at_ports = r.at("port").clone();
        let ports: Vec<PortNo> = r.get()?;
        if ports.len() > MAX_LINKS {
            return Err(at_ports.err(BAD_VALUE));
        }
        Ok(Self { gap_us, ports })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.gap_us).pad(4);
        self.ports.iter().for_each(|port| _ = w.put(port));
    }
}

impl TextForm for LinkSet {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gap_us={},ports=", self.gap_us)?;
        for (at, port) in self.ports.iter().enumerate() {
            write!(f, "{}{port}", if at == 0 { "" } else { "+" })?;
        }
        Ok(())
    }
}

impl TypedBody for LinkSet {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let mut this = Self::default();
        take(&mut args, "gap_us", &mut this.gap_us)?;
        let ports = args.take("ports").unwrap_or("");
        for port in ports.split('+').filter(|port| !port.is_empty()) {
            this.ports.push(parse_port(port)?);
        }
        args.finish()?;
        if this.ports.len() > MAX_LINKS {
            return Err(format!("a set has at most {MAX_LINKS} links").into());
        }
        Ok(this)
    }
}

impl Listed for LinkSet {}
