//! The headers that extensions declare, and the numbers that these may have.

use super::{AddedHeader, After, AnyHeader, Sum};
use crate::field::{ETH_TYPE, FIELDS, Field, Header, IP_PROTO, Need, UDP_DST};

/// Ethernet types of VLAN tags: IEEE 802.1Q, IEEE 802.1ad, and that of older equipment.
const VLAN_TYPES: [u64; 3] = [0x8100, 0x88a8, 0x9100];
/// The least number that is an Ethernet type; one below is the length of an IEEE 802.3 frame.
const MIN_ETH_TYPE: u64 = 0x0600;
/// IP protocols that IPv6 uses for its extension headers, and for their end. Source: RFC 7045
/// section 4, and RFC 8200 section 4.7.
const EXTENSION_HEADERS: [u64; 7] = [0, 43, 44, 50, 51, 59, 60];

impl After {
    /// The field whose value is the number.
    pub const fn field(self) -> &'static Field {
        match self {
            Self::EthType => ETH_TYPE,
            Self::IpProtocol => IP_PROTO,
            Self::UdpPort => UDP_DST,
        }
    }
}

impl AddedHeader {
    /// A header of `bytes` bytes after this Ethernet type.
    pub const fn after_eth_type(number: u16, name: &'static str, bytes: u16) -> Self {
        Self::new(After::EthType, number as u64, name, bytes)
    }

    /// A header of `bytes` bytes in IPv4 and IPv6, of this protocol.
    pub const fn after_ip_protocol(number: u8, name: &'static str, bytes: u16) -> Self {
        Self::new(After::IpProtocol, number as u64, name, bytes)
    }

    /// A header of `bytes` bytes at the start of the payload of UDP, to this port.
    pub const fn after_udp_port(number: u16, name: &'static str, bytes: u16) -> Self {
        Self::new(After::UdpPort, number as u64, name, bytes)
    }

    const fn new(after: After, number: u64, name: &'static str, bytes: u16) -> Self {
        Self {
            name,
            after,
            number: [number],
            bytes,
            checksum: None,
        }
    }

    /// The same with a checksum at this byte of it, over it and its payload. Panics: if the header
    /// is not one in IP, or ends before.
    pub const fn with_checksum(self, at: u16, sum: Sum) -> Self {
        let sum_bytes = if matches!(sum, Sum::Crc32c) { 4 } else { 2 };
        assert!(matches!(self.after, After::IpProtocol));
        assert!(at + sum_bytes <= self.bytes);
        Self {
            checksum: Some((at, sum)),
            ..self
        }
    }

    /// The prerequisite of its fields.
    pub const fn need(&'static self) -> Need<'static> {
        let field = self.after.field();
        Need {
            id: field.id,
            mask: u64::MAX >> (64 - field.bits),
            any_of: &self.number,
        }
    }

    /// Returns true if the number names something else: what a row of OpenFlow's fields needs, a
    /// VLAN tag, an extension header of IPv6, or a length.
    pub(crate) fn is_taken(&self) -> bool {
        let [number] = self.number;
        let others = match self.after {
            After::EthType => number < MIN_ETH_TYPE || VLAN_TYPES.contains(&number),
            After::IpProtocol => EXTENSION_HEADERS.contains(&number),
            After::UdpPort => false,
        };
        others
            || FIELDS
                .iter()
                .filter_map(|field| field.need.as_ref())
                .any(|need| need.id == self.after.field().id && need.any_of.contains(&number))
    }
}

impl AnyHeader {
    /// The same place counted from a header that the parser knows, as far as there is one at a
    /// fixed distance: header, and the bit of it.
    pub(crate) fn counted_from_known(self, bit: u16) -> (Self, u16) {
        match self {
            Self::Added(row) => match row.after {
                After::EthType => (Self::Known(Header::EthType), bit + 16),
                After::UdpPort => (Self::Known(Header::Udp), bit + 64),
                After::IpProtocol => (self, bit),
            },
            Self::Known(_) | Self::Spare => (self, bit),
        }
    }
}
