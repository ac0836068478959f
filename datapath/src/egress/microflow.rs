//! The microflow of a frame, its aggregate, and what a discipline tells of them.

use core::fmt;
use core::hash::{Hash, Hasher};

use bofuss_oflib::PortNo;
use bofuss_oflib::field::{self, Field};
use bofuss_packet::header::protocol;
use bofuss_packet::{Fragment, Layout, survey};

use crate::qos::QueueClass;

/// The most microflows that a port's discipline knows; beyond that, idle ones are forgotten early.
pub const MAX_MICROFLOWS: usize = 1 << 20;

/// Fields that hold the ports of a microflow: source, destination.
const PORTS: [[&Field; 2]; 3] = [
    [field::TCP_SRC, field::TCP_DST],
    [field::UDP_SRC, field::UDP_DST],
    [field::SCTP_SRC, field::SCTP_DST],
];

/// Fields that hold its addresses: of IP, or else of Ethernet.
const IP_ADDRESSES: [[&Field; 2]; 2] = [
    [field::IPV4_SRC, field::IPV4_DST],
    [field::IPV6_SRC, field::IPV6_DST],
];
const MAC_ADDRESSES: [[&Field; 2]; 1] = [[field::ETH_SRC, field::ETH_DST]];

/// Identifies the frames of one conversation in one direction: a number in their QoS records, or
/// else their VLAN, and addresses, protocol and ports of IP. The ports are 0 for all fragments of a
/// datagram (also the first) and for protocols without ports. A frame that is not IP, or has no
/// complete IP header, has the addresses and the type of Ethernet.
#[derive(Clone, Copy, Debug, Eq)]
pub struct Microflow {
    /// The number in QoS records; microflows that have one differ in nothing else.
    pub id: Option<u64>,
    /// The VLAN_VID of the outermost tag; 0 if there is none.
    pub vlan: u16,
    /// The source; an address of IPv4 or Ethernet in the low bits.
    pub source: u128,
    /// The destination.
    pub destination: u128,
    /// True if the addresses are those of IP.
    pub is_ip: bool,
    /// The Ethernet type.
    pub eth_type: u16,
    /// The protocol of IP.
    pub ip_proto: u8,
    /// The source and the destination port.
    pub ports: [u16; 2],
}

/// The key of an aggregate.
///
/// The number of the first variant is the Ethernet type, so that addresses of IPv4 and IPv6 are
/// never equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// Everything that goes to one IP address.
    Destination(u16, u128),
    /// Everything from one port that is not IP, or has no complete IP header.
    NotIp(PortNo),
    /// The frames to which QoS records assign the same number.
    Numbered(u64),
}

/// The values of the first of these pairs of fields that a frame has.
fn first_pair(pairs: &[[&Field; 2]], layout: &Layout, bytes: &[u8]) -> Option<[u128; 2]> {
    pairs.iter().find_map(|[source, destination]| {
        let source = layout.value(bytes, source)?;
        Some([source, layout.value(bytes, destination)?])
    })
}

impl Microflow {
    /// Returns what tells it from others.
    fn key(&self) -> impl Hash + Eq {
        let headers = (
            [self.source, self.destination],
            [self.vlan, self.eth_type, self.ports[0], self.ports[1]],
            (self.is_ip, self.ip_proto),
        );
        (self.id, self.id.is_none().then_some(headers))
    }

    /// The microflow of a frame of this class.
    pub fn in_class(bytes: &[u8], class: &QueueClass) -> Self {
        Self {
            id: class.qos().flow_id,
            ..Self::of(bytes)
        }
    }

    /// The microflow of a frame with these bytes; fields that are cut off are 0.
    ///
    /// Of fragments, none has ports, not even the first, which has them: otherwise the fragments of
    /// a packet would be in two microflows, and overtake each other.
    pub fn of(bytes: &[u8]) -> Self {
        let mut layout = Layout::EMPTY;
        survey(bytes, &mut layout);
        let mut ports = None;
        if layout.fragment == Fragment::No {
            ports = first_pair(&PORTS, &layout, bytes);
        }
        let of_ip = first_pair(&IP_ADDRESSES, &layout, bytes);
        let is_ip = of_ip.is_some();
        let addresses = of_ip.or_else(|| first_pair(&MAC_ADDRESSES, &layout, bytes));
        let [source, destination] = addresses.unwrap_or_default();
        let proto = layout.value(bytes, field::IP_PROTO).unwrap_or(0) as u8;
        Self {
            id: None,
            vlan: layout.value(bytes, field::VLAN_VID).unwrap_or(0) as u16,
            source,
            destination,
            is_ip,
            eth_type: layout.value(bytes, field::ETH_TYPE).unwrap_or(0) as u16,
            ip_proto: layout.fragment_protocol(bytes).unwrap_or(proto),
            ports: ports.unwrap_or_default().map(|port| port as u16),
        }
    }

    /// Returns true if its frames are segments of TCP.
    pub fn is_tcp(&self) -> bool {
        self.ip_proto == protocol::TCP
    }

    /// The aggregate of its frames with this class.
    pub fn aggregate(&self, class: &QueueClass) -> Aggregate {
        if let Some(number) = class.qos().aggregate_id {
            Aggregate::Numbered(number)
        } else if self.is_ip {
            Aggregate::Destination(self.eth_type, self.destination)
        } else {
            Aggregate::NotIp(class.ingress)
        }
    }
}

impl PartialEq for Microflow {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Hash for Microflow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The state of a microflow at a port, as its discipline knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The rate in kb/s that it may have now; 0 if the discipline sets no rates.
    pub share_kbps: u64,
    /// The rate in kb/s that its aggregate may have now.
    pub aggregate_kbps: u64,
    /// Its guaranteed rate in kb/s, as far as the port could grant it.
    pub guaranteed_kbps: u64,
    /// Nanoseconds until its expected time of arrival; 0 if that has passed.
    pub eta_ns: u64,
    /// True if a frame that arrives now would be too early.
    pub is_early: bool,
    /// The number of its bytes that wait.
    pub waiting_bytes: u64,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of its microflow wait", self.waiting_bytes)?;
        if self.share_kbps > 0 {
            let own = self.share_kbps;
            let all = self.aggregate_kbps;
            let eta_us = self.eta_ns / 1_000;
            write!(
                f,
                ", its share is {own} kb/s of {all}, its ETA in {eta_us} us"
            )?;
        }
        if self.guaranteed_kbps > 0 {
            write!(f, ", {} kb/s are guaranteed", self.guaranteed_kbps)?;
        }
        Ok(())
    }
}

/// The guaranteed rates that a port has granted to QoS records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guarantees {
    /// The sum of granted rates, in kb/s.
    pub granted_kbps: u64,
    /// The rate that can still be granted, in kb/s.
    pub free_kbps: u64,
    /// The number of guarantees that were refused because they did not fit.
    pub refused: u64,
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use bofuss_oflib::Mac;
    use bofuss_packet::craft::{self, Layer};

    use super::*;

    fn ethernet(payload: Layer) -> Vec<u8> {
        craft::ethernet(Mac([2; 6]), Mac([4; 6]), payload)
    }

    fn of_ip(destination: u8) -> Layer {
        let destination = [10, 0, 0, destination].into();
        craft::ipv4(
            [10, 0, 0, 1].into(),
            destination,
            64,
            craft::udp(1, 2, b"a"),
        )
    }

    fn ipv4(destination: u8, payload: Layer) -> Vec<u8> {
        let destination = [10, 0, 0, destination].into();
        ethernet(craft::ipv4([10, 0, 0, 1].into(), destination, 64, payload))
    }

    fn ipv6(source: u16, payload: Layer) -> Vec<u8> {
        let source = [0xfd00, 0, 0, 0, 0, 0, 0, source].into();
        // As a number its address is that of 10.0.0.2.
        let destination = [0, 0, 0, 0, 0, 0, 0x0a00, 2].into();
        ethernet(craft::ipv6(source, destination, 64, payload))
    }

    #[test]
    fn addresses_protocol_and_ports_make_a_microflow() {
        let arp = |op| {
            let [one, other] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
            ethernet(craft::arp(op, Mac([4; 6]), one, Mac([0; 6]), other))
        };
        let frames = [
            ipv4(2, craft::udp(1, 2, b"a")),
            ipv4(2, craft::udp(2, 1, b"a")),
            ipv4(2, craft::tcp(1, 2, 0, b"a")),
            ipv4(2, craft::sctp(1, 2, b"a")),
            ipv4(2, craft::ping(1, b"a")),
            ipv4(3, craft::udp(1, 2, b"a")),
            ipv6(1, craft::udp(1, 2, b"a")),
            ipv6(9, craft::udp(1, 2, b"a")),
            arp(1),
            ethernet(craft::vlan(0x8100, 1, of_ip(2))),
            ethernet(craft::vlan(0x8100, 2, of_ip(2))),
            vec![],
        ];
        for (n, frame) in frames.iter().enumerate() {
            for (m, other) in frames.iter().enumerate() {
                assert_eq!(
                    Microflow::of(frame) == Microflow::of(other),
                    n == m,
                    "{n}, {m}"
                );
            }
        }
        let same = [
            (&frames[0], ipv4(2, craft::udp(1, 2, b"other"))),
            (&frames[4], ipv4(2, craft::ping(2, b"other"))),
            (&frames[8], arp(2)),
        ];
        for (frame, other) in same {
            assert_eq!(Microflow::of(frame), Microflow::of(&other));
        }
        let aggregates =
            [0, 5, 6, 8].map(|n| Microflow::of(&frames[n]).aggregate(&QueueClass::DEFAULT));
        for (n, one) in aggregates.iter().enumerate() {
            assert!(!aggregates[..n].contains(one), "{one:?}");
        }
        for (one, other) in [(0, 4), (6, 7), (8, 11)] {
            let [one, other] =
                [one, other].map(|n| Microflow::of(&frames[n]).aggregate(&QueueClass::DEFAULT));
            assert_eq!(one, other);
        }
    }

    /// A part of a datagram: what is named before it, and what it has at an offset in units of 8
    /// bytes, with a bit that says whether more follow.
    fn part_of_ipv6(named: u8, offset: u8, more: u8, data: &[u8]) -> Vec<u8> {
        let header = [named, 0, 0, offset << 3 | more, 0, 0, 0, 1];
        ipv6(1, Layer::new(44, &[&header, data].concat()))
    }

    /// All parts are of one microflow, which the whole is not; both are of one aggregate.
    fn are_one_microflow(whole: &[u8], parts: [&[u8]; 3]) {
        let [first, middle, last] = parts.map(Microflow::of);
        assert_eq!((first, middle), (middle, last));
        let whole = Microflow::of(whole);
        assert_ne!(first, whole);
        let aggregates = [first, whole].map(|one| one.aggregate(&QueueClass::DEFAULT));
        assert_eq!(aggregates[0], aggregates[1]);
    }

    #[test]
    fn microflows_of_records_differ_by_their_numbers_alone() {
        let class = |id| QueueClass {
            qos: Some(crate::Qos {
                flow_id: id,
                ..crate::Qos::DEFAULT
            }),
            ..QueueClass::DEFAULT
        };
        let [one, other] = [2, 3].map(|to| ipv4(to, craft::udp(1, 2, b"")));
        let of = |bytes, id| Microflow::in_class(bytes, &class(id));
        assert_eq!(of(&one, Some(1)), of(&other, Some(1)), "it was rewritten");
        assert_ne!(of(&one, Some(1)), of(&one, Some(2)));
        assert_ne!(of(&one, Some(0)), of(&one, None));
        assert_ne!(of(&one, None), of(&other, None));
    }

    #[test]
    fn all_fragments_of_a_datagram_are_of_one_microflow() {
        let whole = ipv4(2, craft::udp(1, 2, &[7; 64]));
        let part = |flags_and_offset: u16| {
            let mut bytes = whole.clone();
            bytes[20..22].copy_from_slice(&flags_and_offset.to_be_bytes());
            bytes
        };
        are_one_microflow(&whole, [&part(0x2000), &part(0x2004), &part(0x0005)]);

        let udp = craft::udp(1, 2, &[7; 64]);
        let whole = ipv6(1, craft::udp(1, 2, &[7; 64]));
        let first = part_of_ipv6(17, 0, 1, &udp.bytes[..32]);
        let middle = part_of_ipv6(17, 4, 1, &udp.bytes[32..48]);
        let last = part_of_ipv6(17, 6, 0, &udp.bytes[48..]);
        are_one_microflow(&whole, [&first, &middle, &last]);
        assert_eq!(Microflow::of(&last).ip_proto, 17);

        // Only the first one has the destination options that the others name.
        let options = [17, 0, 1, 4, 0, 0, 0, 0];
        let first = part_of_ipv6(60, 0, 1, &[&options, &udp.bytes[..24]].concat());
        let middle = part_of_ipv6(60, 4, 1, &udp.bytes[24..40]);
        let last = part_of_ipv6(60, 6, 0, &udp.bytes[40..]);
        are_one_microflow(&whole, [&first, &middle, &last]);
    }
}
