//! sFlow version 5 as bytes: datagrams of flow samples and counter samples.
//!
//! Spec: sFlow Version 5, sflow.org, July 2004. Numbers are XDR's: 32 or 64 bits, the highest byte
//! first; strings are padded to 4 bytes.

use std::net::IpAddr;

/// Bytes of a datagram after which no more samples are added, below the MTU of Ethernet.
const MAX_BYTES: usize = 1400;
/// The version of the protocol.
const VERSION: u32 = 5;
/// Types of samples and of the records in them; the enterprise is 0, sflow.org.
const FLOW_SAMPLE: u32 = 1;
const COUNTER_SAMPLE: u32 = 2;
const RAW_HEADER: u32 = 1;
const EXTENDED_SWITCH: u32 = 1001;
const GENERIC_INTERFACE: u32 = 1;
const ETHERNET_INTERFACE: u32 = 2;
/// What a counter is that nobody counts.
const UNKNOWN: u32 = u32::MAX;
/// `ifType` of Ethernet (RFC 2863), and the full-duplex `ifDirection` of sFlow.
const ETHERNET_CSMACD: u32 = 6;
const FULL_DUPLEX: u32 = 1;
/// Indexes of interfaces have 24 bits in a data source.
const MAX_INDEX: u32 = 0x00ff_ffff;

/// The protocol that a sampled header begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum HeaderProtocol {
    /// Ethernet, which includes VLAN tags.
    Ethernet = 1,
    /// IPv4.
    Ipv4 = 11,
    /// IPv6.
    Ipv6 = 12,
}

/// A sampled frame, with the numbers of its data source.
pub struct FlowSample<'a> {
    /// Samples of the source, this one included.
    pub sequence: u32,
    /// The index of the interface that received it, which is the source.
    pub index: u32,
    /// One in how many packets is sampled.
    pub rate: u32,
    /// Packets of the source from which it was chosen, so far.
    pub pool: u32,
    /// Samples of the source that were dropped.
    pub drops: u32,
    /// How the header begins.
    pub protocol: HeaderProtocol,
    /// The frame's bytes on the wire.
    pub length: u32,
    /// Bytes of these that the switch did not get: the FCS.
    pub stripped: u32,
    /// The beginning of the frame.
    pub header: &'a [u8],
}

/// The counters of a port.
#[derive(Clone, Debug)]
pub struct PortCounters {
    /// The kernel's index of its interface, or the number of a port without one.
    pub index: u32,
    /// The name of its interface, if it has one.
    pub interface: Option<String>,
    /// Bits a second; 0 if unknown.
    pub speed: u64,
    /// True if it is not set down.
    pub is_enabled: bool,
    /// True if it has a link.
    pub is_up: bool,
    /// Bytes, packets, discarded packets and errors on receipt.
    pub received: Counted,
    /// The same on transmission.
    pub sent: Counted,
}

/// The counters of one direction.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Bytes, without the FCS.
    pub bytes: u64,
    /// Packets of all kinds.
    pub packets: u64,
    /// Packets dropped.
    pub discarded: u64,
    /// Packets with errors.
    pub errors: u64,
}

/// Errors of an interface's hardware; `None` if nobody counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EthernetCounters {
    /// Frames that are no whole number of bytes.
    pub alignment: Option<u32>,
    /// Frames with a wrong FCS.
    pub fcs: Option<u32>,
    /// Collisions after the slot time.
    pub late_collisions: Option<u32>,
    /// Frames given up after too many collisions.
    pub excessive_collisions: Option<u32>,
    /// Losses of the carrier.
    pub carrier_sense: Option<u32>,
}

/// The datagrams of one agent.
pub struct Datagrams {
    agent: IpAddr,
    sub_agent: u32,
    sequence: u32,
    samples: u32,
    body: Vec<u8>,
}

impl Datagrams {
    /// Those of this agent, from number 1 on.
    pub fn new(agent: IpAddr, sub_agent: u32) -> Self {
        Self {
            agent,
            sub_agent,
            sequence: 0,
            samples: 0,
            body: Vec::with_capacity(MAX_BYTES),
        }
    }

    /// Changes the address of the agent.
    pub fn set_agent(&mut self, agent: IpAddr) {
        self.agent = agent;
    }

    /// Returns true if nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Adds a sample. Returns the datagram before it if that has no room for it. `uptime_ms` is the
    /// agent's.
    pub fn add(&mut self, sample: &[u8], uptime_ms: u32) -> Option<Vec<u8>> {
        let is_full = !self.is_empty() && self.body.len() + sample.len() > MAX_BYTES;
        let full = is_full.then(|| self.take(uptime_ms));
        self.body.extend(sample);
        self.samples += 1;
        full
    }

    /// The datagram with what was added.
    pub fn take(&mut self, uptime_ms: u32) -> Vec<u8> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = Vec::with_capacity(self.body.len() + 40);
        put(&mut bytes, VERSION);
        match self.agent {
            IpAddr::V4(address) => {
                put(&mut bytes, 1);
                bytes.extend(address.octets());
            }
            IpAddr::V6(address) => {
                put(&mut bytes, 2);
                bytes.extend(address.octets());
            }
        }
        put_all(
            &mut bytes,
            &[self.sub_agent, self.sequence, uptime_ms, self.samples],
        );
        bytes.append(&mut self.body);
        self.samples = 0;
        bytes
    }
}

/// A flow sample. A frame with an 802.1Q tag has its VLAN and priority as extended switch data.
///
/// Choice: frames are sampled when they arrive, so the interface, VLAN and priority by which they
/// leave are not known, which is 0.
pub fn flow_sample(sample: &FlowSample<'_>) -> Vec<u8> {
    let index = sample.index & MAX_INDEX;
    let mut body = Vec::with_capacity(sample.header.len() + 120);
    let tag = (sample.protocol == HeaderProtocol::Ethernet)
        .then(|| tag_of(sample.header))
        .flatten();
    let records = 1 + u32::from(tag.is_some());
    put_all(
        &mut body,
        &[
            sample.sequence,
            index,
            sample.rate,
            sample.pool,
            sample.drops,
            index,
            0,
            records,
        ],
    );
    let mut raw = Vec::with_capacity(sample.header.len() + 20);
    put_all(
        &mut raw,
        &[sample.protocol as u32, sample.length, sample.stripped],
    );
    put_bytes(&mut raw, sample.header);
    put_block(&mut body, RAW_HEADER, &raw);
    if let Some(tag) = tag {
        let mut switch = Vec::with_capacity(16);
        let vlan = u32::from(tag & 0xfff);
        let priority = u32::from(tag >> 13);
        put_all(&mut switch, &[vlan, priority, 0, 0]);
        put_block(&mut body, EXTENDED_SWITCH, &switch);
    }
    block(FLOW_SAMPLE, &body)
}

/// A counter sample; `sequence` counts those of the port.
pub fn counter_sample(
    sequence: u32,
    port: &PortCounters,
    ethernet: Option<&EthernetCounters>,
) -> Vec<u8> {
    let mut body = Vec::with_capacity(256);
    let records = 1 + u32::from(ethernet.is_some());
    put_all(&mut body, &[sequence, port.index & MAX_INDEX, records]);
    put_block(&mut body, GENERIC_INTERFACE, &generic(port));
    if let Some(ethernet) = ethernet {
        let one = |counter: Option<u32>| counter.unwrap_or(UNKNOWN);
        let mut counters = Vec::with_capacity(52);
        put_all(
            &mut counters,
            &[
                one(ethernet.alignment),
                one(ethernet.fcs),
                UNKNOWN, // single collisions
                UNKNOWN, // multiple collisions
                UNKNOWN, // SQE test errors
                UNKNOWN, // deferred transmissions
                one(ethernet.late_collisions),
                one(ethernet.excessive_collisions),
                UNKNOWN, // internal transmit errors
                one(ethernet.carrier_sense),
                UNKNOWN, // too long frames
                UNKNOWN, // internal receive errors
                UNKNOWN, // symbol errors
            ],
        );
        put_block(&mut body, ETHERNET_INTERFACE, &counters);
    }
    block(COUNTER_SAMPLE, &body)
}

/// The generic counters of an interface: those of RFC 2863.
///
/// Choice: packets of all kinds are counted as unicast; the kinds are not counted apart.
fn generic(port: &PortCounters) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(88);
    put_all(&mut bytes, &[port.index & MAX_INDEX, ETHERNET_CSMACD]);
    bytes.extend(port.speed.to_be_bytes());
    let status = u32::from(port.is_enabled) | u32::from(port.is_up) << 1;
    put_all(&mut bytes, &[FULL_DUPLEX, status]);
    bytes.extend(port.received.bytes.to_be_bytes());
    put_all(
        &mut bytes,
        &[
            port.received.packets as u32,
            UNKNOWN, // multicasts
            UNKNOWN, // broadcasts
            port.received.discarded as u32,
            port.received.errors as u32,
            UNKNOWN, // unknown protocols
        ],
    );
    bytes.extend(port.sent.bytes.to_be_bytes());
    put_all(
        &mut bytes,
        &[
            port.sent.packets as u32,
            UNKNOWN, // multicasts
            UNKNOWN, // broadcasts
            port.sent.discarded as u32,
            port.sent.errors as u32,
            1, // promiscuous: a port takes all frames
        ],
    );
    bytes
}

/// The tag of a frame that has one of 802.1Q or 802.1ad.
fn tag_of(frame: &[u8]) -> Option<u16> {
    match frame.get(12..16)? {
        [0x81, 0x00, high, low] | [0x88, 0xa8, high, low] => {
            Some(u16::from_be_bytes([*high, *low]))
        }
        _ => None,
    }
}

fn put(to: &mut Vec<u8>, number: u32) {
    to.extend(number.to_be_bytes());
}

fn put_all(to: &mut Vec<u8>, numbers: &[u32]) {
    numbers.iter().for_each(|number| put(to, *number));
}

/// A string of XDR: its length, its bytes, and zeros up to a multiple of 4.
fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put(to, bytes.len() as u32);
    to.extend(bytes);
    to.resize(to.len() + bytes.len().next_multiple_of(4) - bytes.len(), 0);
}

/// A type, a length and so many bytes.
fn put_block(to: &mut Vec<u8>, kind: u32, body: &[u8]) {
    put(to, kind);
    put(to, body.len() as u32);
    to.extend(body);
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(body.len() + 8);
    put_block(&mut bytes, kind, body);
    bytes
}
