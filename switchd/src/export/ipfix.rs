//! IPFIX as bytes: messages of templates and of data records.
//!
//! Spec: RFC 7011; the elements are those of IANA's registry (RFC 7012).

use super::flow::{FlowKey, FlowRecord};
use super::sampler::Rate;

/// Most bytes of a message, below the MTU of Ethernet.
const MAX_BYTES: usize = 1400;
const VERSION: u16 = 10;
const HEADER_BYTES: usize = 16;
const SET_HEADER_BYTES: usize = 4;
/// The number of a set of templates.
const TEMPLATE_SET: u16 = 2;

/// An element of a record: its number, its bytes, and its value of a flow.
struct Element {
    number: u16,
    bytes: u16,
    value: fn(&Flow<'_>) -> u128,
}

/// A flow to be written, with what its record says beside it.
struct Flow<'a> {
    record: &'a FlowRecord,
    key: &'a FlowKey,
    /// The system's time in milliseconds when that of the export was 0.
    origin_ms: u64,
    rate: Rate,
}

const fn element(number: u16, bytes: u16, value: fn(&Flow<'_>) -> u128) -> Element {
    Element {
        number,
        bytes,
        value,
    }
}

/// The elements of all records.
#[rustfmt::skip]
const COMMON: &[Element] = &[
    element(152, 8, |flow| (flow.origin_ms + flow.record.first_ms).into()), // flowStartMilliseconds
    element(153, 8, |flow| (flow.origin_ms + flow.record.last_ms).into()), // flowEndMilliseconds
    element(2, 8, |flow| flow.record.packets.into()),             // packetDeltaCount
    element(352, 8, |flow| flow.record.bytes.into()),             // layer2OctetDeltaCount
    element(10, 4, |flow| flow.record.index.into()),              // ingressInterface
    element(56, 6, |flow| big_endian(&flow.key.eth_src)),         // sourceMacAddress
    element(80, 6, |flow| big_endian(&flow.key.eth_dst)),         // destinationMacAddress
    element(58, 2, |flow| flow.key.vlan.into()),                  // vlanId
    element(256, 2, |flow| flow.key.eth_type.into()),             // ethernetType
    element(305, 4, |_| 1),                                       // samplingPacketInterval
    element(306, 4, |flow| (flow.rate.packets() - 1).into()),     // samplingPacketSpace
    element(136, 1, |flow| flow.record.end as u128),              // flowEndReason
    element(61, 1, |_| 0),                                        // flowDirection: ingress
];

/// The elements of all records of IP.
#[rustfmt::skip]
const OF_IP: &[Element] = &[
    element(1, 8, |flow| flow.record.ip_bytes.into()),            // octetDeltaCount
    element(4, 1, |flow| flow.key.protocol.into()),               // protocolIdentifier
    element(5, 1, |flow| flow.key.tos.into()),                    // ipClassOfService
    element(7, 2, |flow| flow.key.ports[0].into()),               // sourceTransportPort
    element(11, 2, |flow| flow.key.ports[1].into()),              // destinationTransportPort
    element(6, 2, |flow| flow.record.tcp_flags.into()),           // tcpControlBits
];

#[rustfmt::skip]
const OF_IPV4: &[Element] = &[
    element(8, 4, |flow| big_endian(&flow.key.ip_src[..4])),      // sourceIPv4Address
    element(12, 4, |flow| big_endian(&flow.key.ip_dst[..4])),     // destinationIPv4Address
    element(32, 2, |flow| big_endian(&flow.key.icmp)),            // icmpTypeCodeIPv4
];

#[rustfmt::skip]
const OF_IPV6: &[Element] = &[
    element(27, 16, |flow| big_endian(&flow.key.ip_src)),         // sourceIPv6Address
    element(28, 16, |flow| big_endian(&flow.key.ip_dst)),         // destinationIPv6Address
    element(139, 2, |flow| big_endian(&flow.key.icmp)),           // icmpTypeCodeIPv6
];

/// A template: its number, the version of IP of its flows, and its elements.
struct Template {
    number: u16,
    ip_version: u8,
    elements: [&'static [Element]; 3],
}

const TEMPLATES: [Template; 3] = [
    Template {
        number: 256,
        ip_version: 4,
        elements: [COMMON, OF_IP, OF_IPV4],
    },
    Template {
        number: 257,
        ip_version: 6,
        elements: [COMMON, OF_IP, OF_IPV6],
    },
    Template {
        number: 258,
        ip_version: 0,
        elements: [COMMON, &[], &[]],
    },
];

impl Template {
    fn elements(&self) -> impl Iterator<Item = &Element> {
        self.elements.iter().copied().flatten()
    }

    fn record_bytes(&self) -> usize {
        self.elements().map(|element| element.bytes as usize).sum()
    }
}

/// The messages of one observation domain to one collector.
pub struct Messages {
    domain: u32,
    rate: Rate,
    /// Data records so far. Spec: RFC 7011 section 3.1.
    sequence: u32,
}

impl Messages {
    /// Those of this domain, where one in `rate` packets is in a flow.
    pub fn new(domain: u32, rate: Rate) -> Self {
        Self {
            domain,
            rate,
            sequence: 0,
        }
    }

    /// The message of all templates, at a time in seconds since 1970.
    pub fn templates(&self, seconds: u32) -> Vec<u8> {
        let mut body = Vec::new();
        for template in &TEMPLATES {
            put(&mut body, template.number);
            put(&mut body, template.elements().count() as u16);
            for element in template.elements() {
                put(&mut body, element.number);
                put(&mut body, element.bytes);
            }
        }
        self.message(seconds, TEMPLATE_SET, &body)
    }

    /// The messages of some flows. `origin_ms` is the time in milliseconds since 1970 when that of
    /// the flows was 0.
    pub fn data(&mut self, seconds: u32, origin_ms: u64, flows: &[FlowRecord]) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        for template in &TEMPLATES {
            let of_template = |flow: &&FlowRecord| flow.key.ip_version == template.ip_version;
            let meant: Vec<&FlowRecord> = flows.iter().filter(of_template).collect();
            let room = MAX_BYTES - HEADER_BYTES - SET_HEADER_BYTES;
            for chunk in meant.chunks(room / template.record_bytes()) {
                let mut body = Vec::with_capacity(room);
                for record in chunk {
                    let flow = Flow {
                        record,
                        key: &record.key,
                        origin_ms,
                        rate: self.rate,
                    };
                    for element in template.elements() {
                        let value = (element.value)(&flow).to_be_bytes();
                        body.extend(&value[16 - usize::from(element.bytes)..]);
                    }
                }
                messages.push(self.message(seconds, template.number, &body));
                self.sequence = self.sequence.wrapping_add(chunk.len() as u32);
            }
        }
        messages
    }

    /// A message of one set.
    fn message(&self, seconds: u32, set: u16, body: &[u8]) -> Vec<u8> {
        let set_bytes = SET_HEADER_BYTES + body.len();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + set_bytes);
        put(&mut bytes, VERSION);
        put(&mut bytes, (HEADER_BYTES + set_bytes) as u16);
        for number in [seconds, self.sequence, self.domain] {
            bytes.extend(number.to_be_bytes());
        }
        put(&mut bytes, set);
        put(&mut bytes, set_bytes as u16);
        bytes.extend(body);
        bytes
    }
}

fn put(to: &mut Vec<u8>, number: u16) {
    to.extend(number.to_be_bytes());
}

/// Bytes as a number, of which they are the last.
fn big_endian(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u128::from(*byte))
}
