//! Frames made from a few parameters, lengths and checksums right: for tests, tools and
//! demonstrations.
//!
//! ```
//! use bofuss_oflib::Mac;
//! use bofuss_packet::craft::{ethernet, ipv4, udp, vlan};
//! let (a, b) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
//! let ip = ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, udp(1000, 53, b"hello"));
//! assert_eq!(ethernet(b, a, vlan(0x8100, 5, ip)).len(), 14 + 4 + 20 + 8 + 5);
//! ```

use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};

use bofuss_oflib::Mac;
use bofuss_oflib::added_header::Sum;
use bofuss_oflib::field::Header;

use crate::checksum::{crc32c, fold, sum};
use crate::header::{CHECKSUMS, ethertype, protocol};

/// Headers with what follows, and the number that the header in front names them by.
///
/// Layers are put around each other from the inside out. Arguments must fit into the fields of
/// their header; a length past 65,535 is truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// An Ethernet type, or an IP protocol.
    pub number: u16,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Layer {
    /// Any bytes.
    pub fn new(number: u16, bytes: &[u8]) -> Self {
        Self::of(number, &[bytes])
    }

    fn of(number: u16, parts: &[&[u8]]) -> Self {
        let bytes = parts.concat();
        Self { number, bytes }
    }
}

/// A frame.
///
/// It is not padded to the 60 bytes that a wire needs.
pub fn ethernet(dst: Mac, src: Mac, payload: Layer) -> Vec<u8> {
    let number = payload.number.to_be_bytes();
    [&dst.0[..], &src.0, &number, &payload.bytes].concat()
}

/// A VLAN tag.
///
/// `tci` has the PCP in its highest 3 bits, then the DEI, and the VID in its lowest 12.
pub fn vlan(tpid: u16, tci: u16, payload: Layer) -> Layer {
    let number = payload.number.to_be_bytes();
    Layer::of(tpid, &[&tci.to_be_bytes(), &number, &payload.bytes])
}

/// An MPLS label stack entry; the last of the stack unless the payload is MPLS too.
pub fn mpls(label: u32, class: u8, ttl: u8, payload: Layer) -> Layer {
    let last = u32::from(payload.number != ethertype::MPLS);
    let entry = label << 12 | u32::from(class) << 9 | last << 8 | u32::from(ttl);
    Layer::of(ethertype::MPLS, &[&entry.to_be_bytes(), &payload.bytes])
}

/// A backbone service instance tag around a customer's frame.
///
/// The highest byte of `isid` is PCP, DEI and UCA; the lower three are the I-SID.
pub fn pbb(isid: u32, frame: &[u8]) -> Layer {
    Layer::of(ethertype::PBB, &[&isid.to_be_bytes(), frame])
}

/// ARP: 1 asks, 2 answers.
pub fn arp(op: u16, sha: Mac, spa: Ipv4Addr, tha: Mac, tpa: Ipv4Addr) -> Layer {
    let [high, low] = op.to_be_bytes();
    let fixed = [0, 1, 8, 0, 6, 4, high, low];
    let parts = [&fixed[..], &sha.0, &spa.octets(), &tha.0, &tpa.octets()];
    Layer::of(ethertype::ARP, &parts)
}

/// IPv4; fills in the payload's checksum.
///
/// It has no options, and is no fragment. DSCP, ECN and identification are 0.
pub fn ipv4(src: Ipv4Addr, dst: Ipv4Addr, ttl: u8, payload: Layer) -> Layer {
    let total = (20 + payload.bytes.len()) as u16;
    let mut header = [0; 20];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[8] = ttl;
    header[9] = payload.number as u8;
    header[12..16].copy_from_slice(&src.octets());
    header[16..20].copy_from_slice(&dst.octets());
    let checksum = !fold(sum(&header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    let payload = with_checksum(Header::Ipv4, sum(&header[12..20]), payload);
    Layer::of(ethertype::IPV4, &[&header, &payload.bytes])
}

/// IPv6; fills in the payload's checksum.
///
/// It has no extension headers. Traffic class and flow label are 0.
pub fn ipv6(src: Ipv6Addr, dst: Ipv6Addr, hop_limit: u8, payload: Layer) -> Layer {
    let mut header = [0; 40];
    header[0] = 0x60;
    header[4..6].copy_from_slice(&(payload.bytes.len() as u16).to_be_bytes());
    header[6] = payload.number as u8;
    header[7] = hop_limit;
    header[8..24].copy_from_slice(&src.octets());
    header[24..40].copy_from_slice(&dst.octets());
    let payload = with_checksum(Header::Ipv6, sum(&header[8..40]), payload);
    Layer::of(ethertype::IPV6, &[&header, &payload.bytes])
}

/// TCP with these flags (FIN 1, SYN 2, RST 4, PSH 8, ACK 16).
///
/// It has no options. Sequence and acknowledgement number are 1, the window is 65,535.
pub fn tcp(src: u16, dst: u16, flags: u8, data: &[u8]) -> Layer {
    let fixed = [0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0];
    let parts = [&src.to_be_bytes()[..], &dst.to_be_bytes(), &fixed, data];
    Layer::of(protocol::TCP.into(), &parts)
}

/// UDP.
pub fn udp(src: u16, dst: u16, data: &[u8]) -> Layer {
    let length = (8 + data.len()) as u16;
    let words = [src, dst, length, 0].map(u16::to_be_bytes);
    Layer::of(protocol::UDP.into(), &[words.as_flattened(), data])
}

/// SCTP with these chunks.
///
/// The verification tag is 0.
pub fn sctp(src: u16, dst: u16, chunks: &[u8]) -> Layer {
    let parts = [&src.to_be_bytes()[..], &dst.to_be_bytes(), &[0; 8], chunks];
    Layer::of(protocol::SCTP.into(), &parts)
}

/// ICMP, for IPv4 or IPv6 as what goes around it says; `body` follows the checksum.
pub fn icmp(protocol: u8, icmp_type: u8, code: u8, body: &[u8]) -> Layer {
    Layer::of(protocol.into(), &[&[icmp_type, code, 0, 0], body])
}

/// An ICMP echo request, identifier and sequence number in front of `data`.
///
/// The identifier is 1.
pub fn ping(sequence: u16, data: &[u8]) -> Layer {
    let [high, low] = sequence.to_be_bytes();
    icmp(protocol::ICMPV4, 8, 0, &[&[0, 1, high, low], data].concat())
}

/// Fills in a transport checksum. `pseudo` is the sum of the addresses.
///
/// The payload's length and number are added to it here, as the pseudo-header has them. The field
/// has to be zero before.
fn with_checksum(ip: Header, pseudo: u64, mut payload: Layer) -> Layer {
    let header = match (ip, payload.number as u8) {
        (_, protocol::TCP) => Header::Tcp,
        (_, protocol::UDP) => Header::Udp,
        (_, protocol::SCTP) => Header::Sctp,
        (Header::Ipv4, protocol::ICMPV4) => Header::Icmpv4,
        (Header::Ipv6, protocol::ICMPV6) => Header::Icmpv6,
        _ => return payload,
    };
    let row = CHECKSUMS.iter().find(|row| row.0 == header);
    let &(_, at, kind) = row.expect("each header above is in the table");
    let whole = sum(&payload.bytes);
    let pseudo = pseudo + payload.bytes.len() as u64 + u64::from(payload.number);
    let sum = match kind {
        Sum::Crc32c => {
            let crc = crc32c(&payload.bytes);
            payload.bytes[at..at + 4].copy_from_slice(&crc);
            return payload;
        }
        Sum::Ones => !fold(whole),
        Sum::Pseudo => !fold(whole + pseudo),
        Sum::PseudoOrNone => match !fold(whole + pseudo) {
            0 => 0xffff,
            sum => sum,
        },
    };
    payload.bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    payload
}
