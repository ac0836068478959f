//! The frames of hosts: what they read from them, and how they write them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bofuss_oflib::Mac;
use bofuss_packet::checksum::{fold, sum};
use bofuss_packet::craft::{self, Layer};
use bofuss_packet::header::{ethertype, protocol};

/// The Ethernet broadcast address.
pub(super) const BROADCAST: Mac = Mac([0xff; 6]);
/// TTL and hop limit of what hosts send, except neighbour discovery.
pub(super) const TTL: u8 = 64;
/// Hop limit of neighbour discovery: a packet that was forwarded cannot have it, so its sender is a
/// neighbour. Spec: RFC 4861 section 7.1.
const ND_HOP_LIMIT: u8 = 255;
/// Bytes of an Ethernet header.
pub(super) const ETHERNET_BYTES: usize = 14;
/// Bytes of an IPv4 header without options.
pub(super) const IPV4_BYTES: usize = 20;
/// Bytes of an IPv6 header.
pub(super) const IPV6_BYTES: usize = 40;

/// Operations of ARP.
mod arp_op {
    pub const REQUEST: u16 = 1;
    pub const REPLY: u16 = 2;
}

/// Types of ICMP messages. Spec: RFC 792, RFC 4443, RFC 4861.
mod icmp_type {
    pub const ECHO_REPLY_V4: u8 = 0;
    pub const ECHO_REQUEST_V4: u8 = 8;
    pub const ECHO_REQUEST_V6: u8 = 128;
    pub const ECHO_REPLY_V6: u8 = 129;
    pub const NEIGHBOUR_SOLICITATION: u8 = 135;
    pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
}

/// Options of neighbour discovery with a link-layer address. Spec: RFC 4861 section 4.6.1.
mod nd_option {
    pub const SOURCE: u8 = 1;
    pub const TARGET: u8 = 2;
}

/// Solicited and override. Spec: RFC 4861 section 4.4.
const ADVERTISEMENT_FLAGS: u8 = 0x60;
/// Override alone.
const OVERRIDE_FLAG: u8 = 0x20;
/// All nodes of the link. Spec: RFC 4291 section 2.7.1.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// The reason for which a host discards a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireError {
    /// A header is cut off or contradicts itself.
    Malformed,
    /// A checksum is wrong.
    Checksum,
    /// Something that hosts do not support: another protocol, a tag, a fragment, extension headers.
    Unknown,
}

/// A packet whose checksums are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received<'a> {
    /// The Ethernet source address.
    pub src_mac: Mac,
    pub src: IpAddr,
    pub dst: IpAddr,
    /// Its ECN codepoint; 0 if it is not IP.
    pub ecn: u8,
    pub content: Content<'a>,
}

/// The content of a packet, as far as a host understands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// `src` asks who has the address `dst`, by ARP or neighbour discovery.
    Question,
    /// `src` answers that this is its Ethernet address.
    Answer(Mac),
    /// An echo request, without its ICMP header.
    EchoRequest(&'a [u8]),
    /// An echo reply, likewise.
    EchoReply(&'a [u8]),
    /// A datagram with its header.
    Udp(&'a [u8]),
    /// A segment with its header.
    Tcp(&'a [u8]),
}

/// Reads a frame. Checksums of IPv4, ICMP, UDP and TCP must be right.
pub(super) fn read(frame: &[u8]) -> Result<Received<'_>, WireError> {
    let (header, payload) = frame
        .split_first_chunk::<ETHERNET_BYTES>()
        .ok_or(WireError::Malformed)?;
    let src_mac = mac(&header[6..12]);
    match u16::from_be_bytes([header[12], header[13]]) {
        ethertype::ARP => read_arp(src_mac, payload),
        ethertype::IPV4 => read_ipv4(src_mac, payload),
        ethertype::IPV6 => read_ipv6(src_mac, payload),
        _ => Err(WireError::Unknown),
    }
}

fn mac(bytes: &[u8]) -> Mac {
    let bytes = bytes.try_into();
    Mac(bytes.expect("callers cut out six bytes"))
}

fn read_arp(src_mac: Mac, packet: &[u8]) -> Result<Received<'_>, WireError> {
    let packet = packet.first_chunk::<28>().ok_or(WireError::Malformed)?;
    let [high, low] = ethertype::IPV4.to_be_bytes();
    if packet[..6] != [0, 1, high, low, 6, 4] {
        return Err(WireError::Unknown);
    }
    let sender = mac(&packet[8..14]);
    let content = match u16::from_be_bytes([packet[6], packet[7]]) {
        arp_op::REQUEST => Content::Question,
        arp_op::REPLY => Content::Answer(sender),
        _ => return Err(WireError::Unknown),
    };
    Ok(Received {
        src_mac,
        src: ipv4_at(packet, 14).into(),
        dst: ipv4_at(packet, 24).into(),
        ecn: 0,
        content,
    })
}

fn read_ipv4(src_mac: Mac, packet: &[u8]) -> Result<Received<'_>, WireError> {
    let fixed = packet
        .first_chunk::<IPV4_BYTES>()
        .ok_or(WireError::Malformed)?;
    let header_bytes = usize::from(fixed[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    let is_whole = fixed[0] >> 4 == 4 && (IPV4_BYTES..=total).contains(&header_bytes);
    let packet = packet.get(..total).filter(|_| is_whole);
    let (header, payload) = packet.ok_or(WireError::Malformed)?.split_at(header_bytes);
    if fold(sum(header)) != 0xffff {
        return Err(WireError::Checksum);
    }
    // More fragments, or an offset.
    if u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0 {
        return Err(WireError::Unknown);
    }
    let pseudo = sum(&fixed[12..20]);
    Ok(Received {
        src_mac,
        src: ipv4_at(fixed, 12).into(),
        dst: ipv4_at(fixed, 16).into(),
        ecn: fixed[1] & 3,
        content: read_transport(fixed[9], pseudo, payload)?,
    })
}

fn read_ipv6(src_mac: Mac, packet: &[u8]) -> Result<Received<'_>, WireError> {
    let (header, rest) = packet
        .split_first_chunk::<IPV6_BYTES>()
        .ok_or(WireError::Malformed)?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let is_ipv6 = header[0] >> 4 == 6;
    let payload = rest
        .get(..length)
        .filter(|_| is_ipv6)
        .ok_or(WireError::Malformed)?;
    let src = ipv6_at(header, 8);
    let dst = ipv6_at(header, 24);
    if header[6] == protocol::ICMPV6 && header[7] == ND_HOP_LIMIT {
        check(protocol::ICMPV6, sum(&header[8..]), payload)?;
        return read_nd(src_mac, src, dst, payload);
    }
    Ok(Received {
        src_mac,
        src: src.into(),
        dst: dst.into(),
        ecn: header[1] >> 4 & 3,
        content: read_transport(header[6], sum(&header[8..]), payload)?,
    })
}

fn ipv4_at(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3])
}

fn ipv6_at(bytes: &[u8], at: usize) -> Ipv6Addr {
    let octets: [u8; 16] = bytes[at..at + 16].try_into().expect("it is 16 bytes");
    octets.into()
}

/// Reads neighbour discovery. The link-layer address is taken from the frame and not from the
/// option, which may be missing.
fn read_nd(
    src_mac: Mac,
    src: Ipv6Addr,
    dst: Ipv6Addr,
    message: &[u8],
) -> Result<Received<'_>, WireError> {
    let fixed = message.first_chunk::<24>();
    let (src, dst, content) = match (message.first(), fixed) {
        (Some(&icmp_type::NEIGHBOUR_SOLICITATION), Some(fixed)) => {
            (src, ipv6_at(fixed, 8), Content::Question)
        }
        (Some(&icmp_type::NEIGHBOUR_ADVERTISEMENT), Some(fixed)) => {
            (ipv6_at(fixed, 8), dst, Content::Answer(src_mac))
        }
        _ => {
            let content = read_icmp(protocol::ICMPV6, message)?;
            (src, dst, content)
        }
    };
    Ok(Received {
        src_mac,
        src: src.into(),
        dst: dst.into(),
        ecn: 0,
        content,
    })
}

/// Reads the payload of an IP packet; `pseudo` is the checksum's sum of the addresses.
fn read_transport(number: u8, pseudo: u64, payload: &[u8]) -> Result<Content<'_>, WireError> {
    match number {
        protocol::ICMPV4 => {
            let right = fold(sum(payload)) == 0xffff;
            right.then_some(()).ok_or(WireError::Checksum)?;
            read_icmp(number, payload)
        }
        protocol::ICMPV6 => {
            check(number, pseudo, payload)?;
            read_icmp(number, payload)
        }
        protocol::UDP => {
            let header = payload.first_chunk::<8>().ok_or(WireError::Malformed)?;
            let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
            let datagram = payload
                .get(..length)
                .filter(|_| length >= 8)
                .ok_or(WireError::Malformed)?;
            if header[6..8] != [0, 0] {
                check(number, pseudo, datagram)?;
            }
            Ok(Content::Udp(datagram))
        }
        protocol::TCP => {
            check(number, pseudo, payload)?;
            Ok(Content::Tcp(payload))
        }
        _ => Err(WireError::Unknown),
    }
}

fn check(number: u8, pseudo: u64, payload: &[u8]) -> Result<(), WireError> {
    let whole = sum(payload) + pseudo + u64::from(number) + payload.len() as u64;
    let right = fold(whole) == 0xffff;
    right.then_some(()).ok_or(WireError::Checksum)
}

fn read_icmp(number: u8, message: &[u8]) -> Result<Content<'_>, WireError> {
    let (header, body) = message
        .split_first_chunk::<4>()
        .ok_or(WireError::Malformed)?;
    match (number, header[0]) {
        (protocol::ICMPV4, icmp_type::ECHO_REQUEST_V4)
        | (protocol::ICMPV6, icmp_type::ECHO_REQUEST_V6) => Ok(Content::EchoRequest(body)),
        (protocol::ICMPV4, icmp_type::ECHO_REPLY_V4)
        | (protocol::ICMPV6, icmp_type::ECHO_REPLY_V6) => Ok(Content::EchoReply(body)),
        _ => Err(WireError::Unknown),
    }
}

/// Makes a frame with an IP packet; `dst_mac` may be filled in later. Both addresses are of one
/// version.
pub(super) fn ip_frame(
    dst_mac: Mac,
    src_mac: Mac,
    src: IpAddr,
    dst: IpAddr,
    payload: Layer,
) -> Vec<u8> {
    let packet = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => craft::ipv4(src, dst, TTL, payload),
        (IpAddr::V6(src), IpAddr::V6(dst)) => craft::ipv6(src, dst, TTL, payload),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
            unreachable!("hosts take their own address of the version of the destination's")
        }
    };
    craft::ethernet(dst_mac, src_mac, packet)
}

/// Sets the ECN codepoint of a frame that [`ip_frame`] made.
pub(super) fn set_ecn(frame: &mut [u8], ecn: u8) {
    let packet = &mut frame[ETHERNET_BYTES..];
    if packet[0] >> 4 == 6 {
        packet[1] |= ecn << 4;
        return;
    }
    packet[1] |= ecn;
    packet[10..12].fill(0);
    let checksum = !fold(sum(&packet[..IPV4_BYTES]));
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Makes an echo request or reply; `body` begins with identifier and sequence number.
pub(super) fn echo(is_v4: bool, is_reply: bool, body: &[u8]) -> Layer {
    let (number, request, reply) = if is_v4 {
        let request = icmp_type::ECHO_REQUEST_V4;
        let reply = icmp_type::ECHO_REPLY_V4;
        (protocol::ICMPV4, request, reply)
    } else {
        let request = icmp_type::ECHO_REQUEST_V6;
        let reply = icmp_type::ECHO_REPLY_V6;
        (protocol::ICMPV6, request, reply)
    };
    craft::icmp(number, if is_reply { reply } else { request }, 0, body)
}

/// Makes the frame that asks all neighbours, or in IPv6 a group of them, who has `wanted`.
pub(super) fn question(src_mac: Mac, src: IpAddr, wanted: IpAddr) -> Vec<u8> {
    match (src, wanted) {
        (IpAddr::V4(src), IpAddr::V4(wanted)) => {
            let arp = craft::arp(arp_op::REQUEST, src_mac, src, Mac::default(), wanted);
            craft::ethernet(BROADCAST, src_mac, arp)
        }
        (IpAddr::V6(src), IpAddr::V6(wanted)) => {
            let kind = icmp_type::NEIGHBOUR_SOLICITATION;
            let body = nd_body(0, wanted, nd_option::SOURCE, src_mac);
            let icmp = craft::icmp(protocol::ICMPV6, kind, 0, &body);
            let group = solicited_node(wanted);
            let packet = craft::ipv6(src, group, ND_HOP_LIMIT, icmp);
            craft::ethernet(multicast_mac(group), src_mac, packet)
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
            unreachable!("hosts take their own address of the version of the wanted one")
        }
    }
}

/// Makes the frame that answers `question`: `own_mac` has the address `question.dst`.
pub(super) fn answer(own_mac: Mac, question: &Received<'_>) -> Vec<u8> {
    let to = question.src_mac;
    match (question.dst, question.src) {
        (IpAddr::V4(own), IpAddr::V4(asker)) => {
            let arp = craft::arp(arp_op::REPLY, own_mac, own, to, asker);
            craft::ethernet(to, own_mac, arp)
        }
        (IpAddr::V6(own), IpAddr::V6(asker)) => {
            let kind = icmp_type::NEIGHBOUR_ADVERTISEMENT;
            let body = nd_body(ADVERTISEMENT_FLAGS, own, nd_option::TARGET, own_mac);
            let icmp = craft::icmp(protocol::ICMPV6, kind, 0, &body);
            craft::ethernet(to, own_mac, craft::ipv6(own, asker, ND_HOP_LIMIT, icmp))
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
            unreachable!("both addresses of a packet are of one version")
        }
    }
}

/// Makes the frame that tells all neighbours that `ip` is at `mac`: an ARP Announcement, or an
/// unsolicited Neighbor Advertisement. Spec: RFC 5227 section 3, RFC 4861 section 7.2.6.
pub(super) fn announcement(mac: Mac, ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(_) => question(mac, ip, ip),
        IpAddr::V6(own) => {
            let kind = icmp_type::NEIGHBOUR_ADVERTISEMENT;
            let body = nd_body(OVERRIDE_FLAG, own, nd_option::TARGET, mac);
            let icmp = craft::icmp(protocol::ICMPV6, kind, 0, &body);
            let packet = craft::ipv6(own, ALL_NODES, ND_HOP_LIMIT, icmp);
            craft::ethernet(multicast_mac(ALL_NODES), mac, packet)
        }
    }
}

fn nd_body(flags: u8, target: Ipv6Addr, option: u8, mac: Mac) -> Vec<u8> {
    let parts: [&[u8]; 4] = [&[flags, 0, 0, 0], &target.octets(), &[option, 1], &mac.0];
    parts.concat()
}

/// The solicited-node multicast address of an address. Spec: RFC 4291 section 2.7.1.
fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let octets = address.octets();
    let high = 0xff00 | u16::from(octets[13]);
    let low = u16::from_be_bytes([octets[14], octets[15]]);
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, high, low)
}

/// The Ethernet address of a multicast group. Spec: RFC 2464 section 7.
fn multicast_mac(group: Ipv6Addr) -> Mac {
    let octets = group.octets();
    Mac([0x33, 0x33, octets[12], octets[13], octets[14], octets[15]])
}
