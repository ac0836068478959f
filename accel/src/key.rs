//! What tells the frames of one flow from others: as `accel.c` reads it, and the mask for the
//! fields that entries read.

use bofuss_oflib::field::{
    ARP_OP, ARP_SHA, ARP_SPA, ARP_THA, ARP_TPA, ETH_DST, ETH_SRC, ETH_TYPE, ICMPV4_CODE,
    ICMPV4_TYPE, ICMPV6_CODE, ICMPV6_TYPE, IN_PHY_PORT, IN_PORT, IP_DSCP, IP_ECN, IP_PROTO,
    IPV4_DST, IPV4_SRC, IPV6_DST, IPV6_EXTHDR, IPV6_ND_SLL, IPV6_ND_TARGET, IPV6_ND_TLL, IPV6_SRC,
    METADATA, MPLS_BOS, MPLS_LABEL, MPLS_TC, PACKET_TYPE, PBB_ISID, PBB_UCA, SCTP_DST, SCTP_SRC,
    TCP_DST, TCP_SRC, TUNNEL_ID, UDP_DST, UDP_SRC, VLAN_PCP, VLAN_VID,
};
use bofuss_oflib::{Field, FieldSet};

use crate::layout::KEY_WORDS;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 8 * KEY_WORDS;
/// Places in a key.
const TAG_AT: usize = 4;
const PROTOCOL_AT: usize = 6;
const TOS_AT: usize = 7;
const MACS_AT: usize = 8;
const ADDRESSES_AT: usize = 20;
const DESTINATION_AT: usize = ADDRESSES_AT + 16;
const PORTS_AT: usize = 52;
/// The bit of the protocol that says that it is in IPv6.
const OF_IPV6: u8 = 0x80;
/// The fixed bytes of an IPv6 header.
const IPV6_BYTES: usize = 40;
/// Bytes of an IPv4 header without options.
const IPV4_BYTES: usize = 20;
/// Protocols.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// The bit of the tag that says that there is one: that of DEI, which no field has.
const HAS_TAG: u16 = 0x1000;

/// A field, where it begins in a key, and the bits that it has there.
type Row = (&'static Field, usize, &'static [u8]);

/// The fields that a key has.
const ROWS: [Row; 14] = [
    (ETH_DST, MACS_AT, &[0xff; 6]),
    (ETH_SRC, MACS_AT + 6, &[0xff; 6]),
    (VLAN_VID, TAG_AT, &0x0fff_u16.to_ne_bytes()),
    (VLAN_PCP, TAG_AT, &0xe000_u16.to_ne_bytes()),
    (IP_DSCP, TOS_AT, &[0xfc]),
    (IP_ECN, TOS_AT, &[0x03]),
    (IPV4_SRC, ADDRESSES_AT, &[0xff; 4]),
    (IPV4_DST, DESTINATION_AT, &[0xff; 4]),
    (IPV6_SRC, ADDRESSES_AT, &[0xff; 16]),
    (IPV6_DST, DESTINATION_AT, &[0xff; 16]),
    (TCP_SRC, PORTS_AT, &[0xff; 2]),
    (TCP_DST, PORTS_AT + 2, &[0xff; 2]),
    (UDP_SRC, PORTS_AT, &[0xff; 2]),
    (UDP_DST, PORTS_AT + 2, &[0xff; 2]),
];

/// The fields that are the same in all frames of one port and protocol that are read.
const CONSTANT: [&Field; 27] = [
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
    ICMPV4_TYPE,
    ICMPV4_CODE,
    SCTP_SRC,
    SCTP_DST,
    IPV6_EXTHDR,
    ICMPV6_TYPE,
    ICMPV6_CODE,
    IPV6_ND_TARGET,
    IPV6_ND_SLL,
    IPV6_ND_TLL,
    MPLS_LABEL,
    MPLS_TC,
    MPLS_BOS,
    PBB_ISID,
    PBB_UCA,
];

/// The masked bits of a key by these fields. The port, the protocol and whether there is a tag
/// always count. Errors: there is a field that a key lacks.
pub(crate) fn mask_of(fields: FieldSet) -> Result<[u8; KEY_BYTES], String> {
    let mut mask = [0; KEY_BYTES];
    mask[..TAG_AT].fill(0xff);
    mask[PROTOCOL_AT] = 0xff;
    let mut add = |at: usize, bits: &[u8]| {
        for (byte, bits) in mask[at..].iter_mut().zip(bits) {
            *byte |= bits;
        }
    };
    add(TAG_AT, &HAS_TAG.to_ne_bytes());
    let mut known = FieldSet::EMPTY;
    for (field, at, bits) in ROWS {
        known.insert(FieldSet::of(field));
        if fields.contains(field) {
            add(at, bits);
        }
    }
    for field in CONSTANT {
        known.insert(FieldSet::of(field));
    }
    match fields.difference(known).ids().next() {
        None => Ok(mask),
        Some(id) => Err(match bofuss_oflib::field::FIELDS.get(id) {
            Some(field) => format!("entries read {}", field.name),
            None => "entries read a field of an extension".into(),
        }),
    }
}

/// The masked words of a key.
pub(crate) fn masked(key: &[u8; KEY_BYTES], mask: &[u8; KEY_BYTES]) -> [u64; KEY_WORDS] {
    let words: [[u8; 8]; KEY_WORDS] = std::array::from_fn(|word| {
        std::array::from_fn(|byte| key[8 * word + byte] & mask[8 * word + byte])
    });
    words.map(u64::from_ne_bytes)
}

/// The key of a frame that arrived by an interface, if it is of the kind that `accel.c` reads.
pub(crate) fn of_frame(bytes: &[u8], interface: u32) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    key[..TAG_AT].copy_from_slice(&interface.to_ne_bytes());
    key[MACS_AT..ADDRESSES_AT].copy_from_slice(bytes.get(..12)?);
    let mut rest = &bytes[12..];
    if let [0x81, 0x00, high, low, inner @ ..] = rest {
        let tag = u16::from_be_bytes([*high, *low]) | HAS_TAG;
        key[TAG_AT..PROTOCOL_AT].copy_from_slice(&tag.to_ne_bytes());
        rest = inner;
    }
    let (protocol, next, transport) = match rest {
        [0x08, 0x00, packet @ ..] => {
            let header: &[u8; IPV4_BYTES] = packet.first_chunk()?;
            let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
            if header[0] != 0x45 || fragment != 0 {
                return None;
            }
            key[TOS_AT] = header[1];
            key[ADDRESSES_AT..][..4].copy_from_slice(&header[12..16]);
            key[DESTINATION_AT..][..4].copy_from_slice(&header[16..]);
            (header[9], header[9], packet.get(IPV4_BYTES..total)?)
        }
        [0x86, 0xdd, packet @ ..] => {
            let header: &[u8; IPV6_BYTES] = packet.first_chunk()?;
            let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
            if header[0] >> 4 != 6 {
                return None;
            }
            key[TOS_AT] = header[0] << 4 | header[1] >> 4;
            key[ADDRESSES_AT..PORTS_AT].copy_from_slice(&header[8..]);
            let transport = packet.get(IPV6_BYTES..IPV6_BYTES + payload)?;
            (header[6] | OF_IPV6, header[6], transport)
        }
        _ => return None,
    };
    let bytes = match next {
        TCP => usize::from(transport.get(12)? >> 4) * 4,
        UDP => 8,
        _ => return None,
    };
    if next == TCP && bytes < 20 || transport.len() < bytes {
        return None;
    }
    key[PROTOCOL_AT] = protocol;
    key[PORTS_AT..].copy_from_slice(&transport[..4]);
    Some(key)
}
