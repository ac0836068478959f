//! What tells the frames of one flow from others: as `frame.h` reads it, and the mask for the
//! fields that entries read.

use bofuss_oflib::field::{
    ARP_OP, ARP_SHA, ARP_SPA, ARP_THA, ARP_TPA, ETH_DST, ETH_SRC, ETH_TYPE, FIELDS, ICMPV4_CODE,
    ICMPV4_TYPE, ICMPV6_CODE, ICMPV6_TYPE, IN_PHY_PORT, IN_PORT, IP_DSCP, IP_ECN, IP_PROTO,
    IPV4_DST, IPV4_SRC, IPV6_DST, IPV6_EXTHDR, IPV6_FLABEL, IPV6_ND_SLL, IPV6_ND_TARGET,
    IPV6_ND_TLL, IPV6_SRC, METADATA, MPLS_BOS, MPLS_LABEL, MPLS_TC, PACKET_TYPE, PBB_ISID, PBB_UCA,
    SCTP_DST, SCTP_SRC, TCP_DST, TCP_FLAGS, TCP_SRC, TUNNEL_ID, UDP_DST, UDP_SRC, VLAN_PCP,
    VLAN_VID,
};
use bofuss_oflib::{Field, FieldSet};

use crate::error::Refusal;
use crate::layout::KEY_WORDS;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 8 * KEY_WORDS;
/// Places in a key.
pub(crate) const TAG_AT: usize = 4;
const PROTOCOL_AT: usize = 6;
pub(crate) const TOS_AT: usize = 7;
pub(crate) const MACS_AT: usize = 8;
pub(crate) const ADDRESSES_AT: usize = 20;
const DESTINATION_AT: usize = ADDRESSES_AT + 16;
pub(crate) const PORTS_AT: usize = 52;
pub(crate) const LABEL_AT: usize = 56;
pub(crate) const TCP_FLAGS_AT: usize = 60;
/// Bytes of an Ethernet header and of a VLAN tag.
const ETHERNET_BYTES: usize = 14;
pub(crate) const TAG_BYTES: usize = 4;
/// Where the TTL is in a header of IPv4, and of IPv6.
const TTL_AT: usize = 8;
const HOP_LIMIT_AT: usize = 7;
/// The bit of the protocol that says that it is in IPv6.
const OF_IPV6: u8 = 0x80;
/// The fixed bytes of an IPv6 header.
const IPV6_BYTES: usize = 40;
/// Bytes of an IPv4 header without options.
const IPV4_BYTES: usize = 20;
/// Protocols.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58 | OF_IPV6;
/// Types of ICMPv6 that have fields of their own.
const ND_TYPES: [u8; 2] = [135, 136];
/// The bit of the tag that says that there is one: that of DEI, which no field has.
pub(crate) const HAS_TAG: u16 = 0x1000;

/// The headers that a frame of a key may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    Ethernet,
    Tag,
    Ip,
    Ipv4,
    Ipv6,
    Protocol(u8),
}

/// A field, its header, where it begins in a key, and the bits that it has there: it is their
/// number, the first byte being the highest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) field: &'static Field,
    header: Header,
    pub(crate) at: usize,
    pub(crate) bits: &'static [u8],
}

const fn row(field: &'static Field, header: Header, at: usize, bits: &'static [u8]) -> Row {
    Row {
        field,
        header,
        at,
        bits,
    }
}

/// The fields that a key has.
const ROWS: [Row; 20] = [
    row(ETH_DST, Header::Ethernet, MACS_AT, &[0xff; 6]),
    row(ETH_SRC, Header::Ethernet, MACS_AT + 6, &[0xff; 6]),
    row(VLAN_VID, Header::Tag, TAG_AT, &[0x0f, 0xff]),
    row(VLAN_PCP, Header::Tag, TAG_AT, &[0xe0, 0]),
    row(IP_DSCP, Header::Ip, TOS_AT, &[0xfc]),
    row(IP_ECN, Header::Ip, TOS_AT, &[0x03]),
    row(IPV4_SRC, Header::Ipv4, ADDRESSES_AT, &[0xff; 4]),
    row(IPV4_DST, Header::Ipv4, DESTINATION_AT, &[0xff; 4]),
    row(IPV6_SRC, Header::Ipv6, ADDRESSES_AT, &[0xff; 16]),
    row(IPV6_DST, Header::Ipv6, DESTINATION_AT, &[0xff; 16]),
    row(IPV6_FLABEL, Header::Ipv6, LABEL_AT, &[0, 0x0f, 0xff, 0xff]),
    row(TCP_SRC, Header::Protocol(TCP), PORTS_AT, &[0xff; 2]),
    row(TCP_DST, Header::Protocol(TCP), PORTS_AT + 2, &[0xff; 2]),
    row(
        TCP_FLAGS,
        Header::Protocol(TCP),
        TCP_FLAGS_AT,
        &[0x0f, 0xff],
    ),
    row(UDP_SRC, Header::Protocol(UDP), PORTS_AT, &[0xff; 2]),
    row(UDP_DST, Header::Protocol(UDP), PORTS_AT + 2, &[0xff; 2]),
    row(ICMPV4_TYPE, Header::Protocol(ICMP), PORTS_AT, &[0xff]),
    row(ICMPV4_CODE, Header::Protocol(ICMP), PORTS_AT + 1, &[0xff]),
    row(ICMPV6_TYPE, Header::Protocol(ICMPV6), PORTS_AT, &[0xff]),
    row(ICMPV6_CODE, Header::Protocol(ICMPV6), PORTS_AT + 1, &[0xff]),
];

/// The fields that are the same in all frames of one port and protocol that are read.
const CONSTANT: [&Field; 23] = [
    IN_PORT,
    IN_PHY_PORT,
    METADATA,
    TUNNEL_ID,
    PACKET_TYPE,
    ETH_TYPE,
    IP_PROTO,
    ARP_OP,
    ARP_SPA,
    ARP_TPA,
    ARP_SHA,
    ARP_THA,
    SCTP_SRC,
    SCTP_DST,
    IPV6_EXTHDR,
    IPV6_ND_TARGET,
    IPV6_ND_SLL,
    IPV6_ND_TLL,
    MPLS_LABEL,
    MPLS_TC,
    MPLS_BOS,
    PBB_ISID,
    PBB_UCA,
];

impl Row {
    /// Returns true if frames of a key have the header of the field, given whether they have a tag.
    pub(crate) fn is_in(&self, key: &[u8; KEY_BYTES], has_tag: bool) -> bool {
        let protocol = key[PROTOCOL_AT];
        let is_ipv6 = protocol & OF_IPV6 != 0;
        match self.header {
            Header::Ethernet | Header::Ip => true,
            Header::Tag => has_tag,
            Header::Ipv4 => !is_ipv6,
            Header::Ipv6 => is_ipv6,
            Header::Protocol(wanted @ (TCP | UDP)) => protocol & !OF_IPV6 == wanted,
            Header::Protocol(wanted) => protocol == wanted,
        }
    }
}

/// The row of a field; `Err` if no key has it, with whether frames of keys may have it.
pub(crate) fn row_of(field: &Field) -> Result<Row, bool> {
    let row = ROWS.into_iter().find(|row| row.field == field);
    row.ok_or_else(|| !CONSTANT.contains(&field))
}

/// Returns true if the transport header of frames of a key may have a checksum that is not known
/// and is also of the addresses.
pub(crate) fn has_unknown_sum(key: &[u8; KEY_BYTES]) -> bool {
    let protocol = key[PROTOCOL_AT];
    ![TCP, UDP, ICMP].contains(&(protocol & !OF_IPV6)) && protocol != ICMPV6
}

/// Returns true if frames of a key have a tag.
pub(crate) fn has_tag(key: &[u8; KEY_BYTES]) -> bool {
    key[TAG_AT..PROTOCOL_AT] != [0, 0]
}

/// The TTL of a frame with a key.
pub(crate) fn ttl(frame: &[u8], key: &[u8; KEY_BYTES]) -> u8 {
    let tag = if has_tag(key) { TAG_BYTES } else { 0 };
    let is_ipv6 = key[PROTOCOL_AT] & OF_IPV6 != 0;
    let at = if is_ipv6 { HOP_LIMIT_AT } else { TTL_AT };
    frame[ETHERNET_BYTES + tag + at]
}

/// The masked bits of a key by these fields. The port, the protocol and whether there is a tag
/// always count. Errors: there is a field that a key lacks.
pub(crate) fn mask_of(fields: FieldSet) -> Result<[u8; KEY_BYTES], Refusal> {
    let mut mask = [0; KEY_BYTES];
    mask[..TAG_AT].fill(0xff);
    mask[PROTOCOL_AT] = 0xff;
    let mut add = |at: usize, bits: &[u8]| {
        for (byte, bits) in mask[at..].iter_mut().zip(bits) {
            *byte |= bits;
        }
    };
    add(TAG_AT, &HAS_TAG.to_be_bytes());
    let mut known = FieldSet::EMPTY;
    for row in ROWS {
        known.insert(FieldSet::of(row.field));
        if fields.contains(row.field) {
            add(row.at, row.bits);
        }
    }
    for field in CONSTANT {
        known.insert(FieldSet::of(field));
    }
    match fields.difference(known).ids().next() {
        None => Ok(mask),
        Some(id) => Err(Refusal::Field(match FIELDS.get(id) {
            Some(field) => field.name,
            None => "a field of an extension",
        })),
    }
}

/// The Ethernet type and the protocol of frames with a key.
pub(crate) fn protocol(key: &[u8; KEY_BYTES]) -> (u16, u8) {
    let protocol = key[PROTOCOL_AT];
    let is_ipv6 = protocol & OF_IPV6 != 0;
    (if is_ipv6 { 0x86dd } else { 0x0800 }, protocol & !OF_IPV6)
}

/// The fields of frames with a key that the mask has, with their values.
pub(crate) fn values(
    key: &[u8; KEY_BYTES],
    mask: &[u8; KEY_BYTES],
) -> impl Iterator<Item = (&'static Field, u128)> {
    let rows = ROWS.into_iter().filter(|row| {
        let mut bits = mask[row.at..].iter().zip(row.bits);
        row.is_in(key, has_tag(key)) && bits.all(|(mask, bits)| mask & bits == *bits)
    });
    rows.map(|row| {
        let number = |bytes: &mut dyn Iterator<Item = u8>| {
            bytes.fold(0, |sum, byte| sum << 8 | u128::from(byte))
        };
        let bits = number(&mut row.bits.iter().copied());
        let mut bytes = key[row.at..].iter().zip(row.bits);
        let value = number(&mut bytes.by_ref().map(|(byte, bits)| byte & bits));
        (row.field, value >> bits.trailing_zeros())
    })
}

/// The masked words of a key.
pub(crate) fn masked(key: &[u8; KEY_BYTES], mask: &[u8; KEY_BYTES]) -> [u64; KEY_WORDS] {
    let words: [[u8; 8]; KEY_WORDS] = std::array::from_fn(|word| {
        std::array::from_fn(|byte| key[8 * word + byte] & mask[8 * word + byte])
    });
    words.map(u64::from_ne_bytes)
}

/// The key of a frame that arrived by an interface, if it is of the kind that `frame.h` reads.
pub(crate) fn of_frame(bytes: &[u8], interface: u32) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    key[..TAG_AT].copy_from_slice(&interface.to_ne_bytes());
    key[MACS_AT..ADDRESSES_AT].copy_from_slice(bytes.get(..12)?);
    let mut rest = &bytes[12..];
    if let [0x81, 0x00, high, low, inner @ ..] = rest {
        let tag = u16::from_be_bytes([*high, *low]) | HAS_TAG;
        key[TAG_AT..PROTOCOL_AT].copy_from_slice(&tag.to_be_bytes());
        rest = inner;
    }
    let (protocol, transport) = match rest {
        [0x08, 0x00, packet @ ..] => {
            let header: &[u8; IPV4_BYTES] = packet.first_chunk()?;
            let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
            if header[0] != 0x45 || fragment != 0 || header[9] & OF_IPV6 != 0 {
                return None;
            }
            key[TOS_AT] = header[1];
            key[ADDRESSES_AT..][..4].copy_from_slice(&header[12..16]);
            key[DESTINATION_AT..][..4].copy_from_slice(&header[16..]);
            (header[9], packet.get(IPV4_BYTES..total)?)
        }
        [0x86, 0xdd, packet @ ..] => {
            let header: &[u8; IPV6_BYTES] = packet.first_chunk()?;
            let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
            if header[0] >> 4 != 6 || header[6] & OF_IPV6 != 0 {
                return None;
            }
            key[TOS_AT] = header[0] << 4 | header[1] >> 4;
            key[LABEL_AT + 1..TCP_FLAGS_AT].copy_from_slice(&header[1..4]);
            key[LABEL_AT + 1] &= 0x0f;
            key[ADDRESSES_AT..PORTS_AT].copy_from_slice(&header[8..]);
            let transport = packet.get(IPV6_BYTES..IPV6_BYTES + payload)?;
            (header[6] | OF_IPV6, transport)
        }
        _ => return None,
    };
    let (bytes, in_key) = match (protocol, protocol & !OF_IPV6) {
        (_, TCP) => {
            let words = transport.get(12..14)?;
            key[TCP_FLAGS_AT..][..2].copy_from_slice(&[words[0] & 0x0f, words[1]]);
            (usize::from(words[0] >> 4) * 4, 4)
        }
        (_, UDP) => (8, 4),
        (ICMP, _) => (8, 2),
        (ICMPV6, _) if !ND_TYPES.contains(transport.first()?) => (4, 2),
        // Others of IPv4 have no fields; those of IPv6 may be headers that others follow.
        (0..OF_IPV6, _) => (0, 0),
        _ => return None,
    };
    if protocol & !OF_IPV6 == TCP && bytes < 20 || transport.len() < bytes {
        return None;
    }
    key[PROTOCOL_AT] = protocol;
    key[PORTS_AT..][..in_key].copy_from_slice(&transport[..in_key]);
    Some(key)
}
