//! Packets without an Ethernet header: the bytes that precede them in a frame, so that their
//! headers are found where those of an Ethernet frame are.
//!
//! In a frame such a packet follows 14 bytes: ten zeros, and its packet type as OpenFlow 1.5 has
//! it, namespace and type. A port without Ethernet leaves room for them before what it receives,
//! the switch writes them, and the port does not send them. No match and no controller sees them.

use core::iter;

use bofuss_frame::Frame;
use bofuss_oflib::field::{Header, OFPHTN_ETHERTYPE};
use bofuss_oflib::field_set::StandardFields;

use crate::header::ethertype;
use crate::parse::{ABSENT, Layout};
use crate::rows::fields_of;

/// Bytes in front of a packet without an Ethernet header: as many as that header has.
pub const FRONT_BYTES: usize = 14;
/// The offset of the packet type in these bytes.
const TYPE_AT: usize = 10;
/// The fields of the headers that such a packet does not have, and the facts about VLAN tags.
const OF_ETHERNET: StandardFields = fields_of(Header::Eth as usize)
    .union(fields_of(Header::Vlan as usize))
    .union(fields_of(Header::EthType as usize))
    .union(StandardFields::ALL.facts());

/// The packet types that the switch has besides Ethernet, by the version in the first four bits of
/// the packet: namespace and Ethernet type. Spec: OpenFlow 1.5.1 section 7.2.3.11.
const TYPES: [(u8, u32); 2] = [
    (4, packet_type(ethertype::IPV4)),
    (6, packet_type(ethertype::IPV6)),
];

/// The packet type of an Ethernet type.
const fn packet_type(number: u16) -> u32 {
    (OFPHTN_ETHERTYPE as u32) << 16 | number as u32
}

/// The types of packets that can be in the switch: Ethernet, which is 0, IPv4 and IPv6.
pub fn supported() -> impl Iterator<Item = u32> {
    iter::once(0).chain(TYPES.iter().map(|(_, packet_type)| *packet_type))
}

/// The bytes that precede a packet in a frame; `None` if the packet is neither IPv4 nor IPv6, or is
/// empty.
pub fn front(packet: &[u8]) -> Option<[u8; FRONT_BYTES]> {
    let version = packet.first()? >> 4;
    let (_, packet_type) = TYPES.iter().find(|(one, _)| *one == version)?;
    let mut front = [0; FRONT_BYTES];
    front[TYPE_AT..].copy_from_slice(&packet_type.to_be_bytes());
    Some(front)
}

/// Writes the bytes that precede the packet in a frame, which begins after [`FRONT_BYTES`] bytes.
/// Returns false, with nothing written, if the packet is neither IPv4 nor IPv6, or is empty.
pub fn write_front(frame: &mut Frame) -> bool {
    let Some((before, packet)) = frame.bytes_mut().split_first_chunk_mut() else {
        return false;
    };
    let Some(front) = front(packet) else {
        return false;
    };
    *before = front;
    true
}

impl Layout {
    /// Makes this the layout of a packet without an Ethernet header: what was taken for one is in
    /// front of it.
    pub fn leave_ethernet(&mut self) {
        for header in [Header::Eth, Header::Vlan, Header::EthType] {
            self.offsets[header as usize] = ABSENT;
        }
        self.offsets[Header::PacketType as usize] = TYPE_AT as u16;
        self.fields = self.fields.difference(OF_ETHERNET);
        self.fields
            .insert(const { fields_of(Header::PacketType as usize) });
        self.vlan_tags = 0;
    }
}
