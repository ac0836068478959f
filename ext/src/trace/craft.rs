//! Makes a packet from text: hexadecimal digits, or fields as `ovs-appctl ofproto/trace` takes
//! them.

use alloc::{format, string::ToString, vec, vec::Vec};
use core::net::{Ipv4Addr, Ipv6Addr};

use bofuss_frame::Pool;
use bofuss_oflib::field::{
    ARP_OP, ETH_TYPE, ICMPV6_TYPE, IN_PHY_PORT, IN_PORT, IP_PROTO, MPLS_BOS, PACKET_TYPE,
    STANDARD_FIELDS, VID_PRESENT, VLAN_VID,
};
use bofuss_oflib::text::{find_unquoted, items, parse_bytes, parse_match, parse_port_named};
use bofuss_oflib::{Catalogue, Field, FieldMatch, Mac, Match, ParseError, PortNo};
use bofuss_packet::craft::{
    Layer, arp, ethernet, icmp, ipv4, ipv6, mpls, pbb, sctp, tcp, udp, vlan,
};
use bofuss_packet::header::{ethertype, protocol};
use bofuss_packet::{Packet, packet_type};

/// The TTL of a packet whose text does not name one.
const DEFAULT_TTL: u8 = 64;
/// The ingress port of a packet whose text does not name one.
const DEFAULT_PORT: PortNo = PortNo(1);
/// The Ethernet addresses of a packet whose text does not name them. They differ, so that NORMAL
/// forwards.
const DEFAULT_SRC: Mac = Mac([2, 0, 0, 0, 0, 1]);
const DEFAULT_DST: Mac = Mac([2, 0, 0, 0, 0, 2]);
/// Buffers for one frame.
const POOL_BYTES: usize = 1 << 18;

/// Returns true if a text consists of hexadecimal digits, perhaps with separators between them.
fn is_hex(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_hexdigit() || " :-\n".contains(c))
}

/// The port before a packet in hexadecimal digits, and these; `None` if it is written otherwise.
fn port_and_digits<'t>(text: &'t str, catalogue: &Catalogue) -> Option<(PortNo, &'t str)> {
    let mut words = text.split(' ');
    // No frame has one byte: two words are a port and digits.
    if text.len() > 5 && words.all(|word| word.len() == 2) {
        return None;
    }
    let (port, digits) = text.split_at(find_unquoted(text, &[' '])?);
    let port = parse_port_named(port, catalogue).ok()?;
    is_hex(digits).then_some((port, digits))
}

/// Returns true if the text of a packet, as [`parse_packet`] reads it, says by which port it comes.
pub fn names_port(text: &str, catalogue: &Catalogue) -> bool {
    text.contains("in_port=") || port_and_digits(text.trim(), catalogue).is_some()
}

/// Reads a packet and returns its ingress port and the frame. The text is either pairs of
/// hexadecimal digits, perhaps after `IN_PORT` and a blank; or fields, as
/// `in_port=1,tcp,nw_dst=10.0.0.1`. Three words or more of two digits each are all bytes. Fields
/// that are not named are 0, except the ingress port (1), the TTL (64) and the Ethernet addresses
/// (those of two hosts).
///
/// Errors: what is wrong, or which field such a packet cannot have.
pub fn parse_packet(text: &str, catalogue: &Catalogue) -> Result<(PortNo, Vec<u8>), ParseError> {
    let text = text.trim();
    if let Some((port, digits)) = port_and_digits(text, catalogue) {
        return Ok((port, parse_bytes(digits)?));
    }
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let is_port = match rest {
        "" => first.parse::<u32>().is_ok(),
        _ => parse_port_named(first, catalogue).is_ok(),
    };
    if is_port && !is_hex(text) {
        let wrong = rest.trim();
        return Err(
            format!("'{wrong}' after port {first}: pairs of hexadecimal digits go there").into(),
        );
    }
    if !text.is_empty() && is_hex(text) {
        return Ok((DEFAULT_PORT, parse_bytes(text)?));
    }
    let mut ttl = DEFAULT_TTL;
    let mut words = Vec::new();
    for word in items(text) {
        match word.split_once('=') {
            Some(("nw_ttl", value)) => {
                ttl = value.parse().map_err(|_| format!("'{word}': 0 to 255"))?;
            }
            Some(("nw_frag", "no")) => {}
            _ => words.push(word),
        }
    }
    let wanted = parse_match(&words.join(","), catalogue).map_err(|error| error.to_string())?;
    let in_port = number(&wanted, IN_PORT).map_or(DEFAULT_PORT, |port| PortNo(port as u32));
    make(&wanted, in_port, ttl, catalogue).map(|frame| (in_port, frame))
}

/// The bytes on the wire of a packet with these fields. Errors: the field that it cannot have.
fn make(
    wanted: &Match,
    in_port: PortNo,
    ttl: u8,
    catalogue: &Catalogue,
) -> Result<Vec<u8>, ParseError> {
    let bytes = ethernet(DEFAULT_DST, DEFAULT_SRC, layers(wanted, ttl));
    let mut frame = Pool::new(POOL_BYTES).frame(&bytes).expect("it is short");
    let additions = catalogue.additions();
    let mut packet = if !wanted.is_of_ethernet() && packet_type::write_front(&mut frame) {
        Packet::without_ethernet(frame, in_port, additions)
    } else {
        Packet::with_additions(frame, in_port, additions)
    };
    for one in wanted.fields() {
        if one.field.at.is_empty() {
            continue;
        }
        if usize::from(one.field.id) >= STANDARD_FIELDS {
            // Its prerequisite may have been set just now.
            packet.reparse();
        }
        // A field that the packet lacks is found below.
        let _ = packet.set_field(one.field, &one.value);
    }
    packet.reparse();
    let mut fields = wanted.fields().iter();
    match fields.find(|one| !packet.key().has(one, &mut ())) {
        None => Ok(packet.wire_bytes().to_vec()),
        Some(one) if one.field.id == IN_PHY_PORT.id => {
            Err(format!("{one}: it is the in_port").into())
        }
        Some(one) if one.field.at.is_empty() => {
            Err(format!("{one}: a packet made from text cannot have it").into())
        }
        Some(one) => Err(format!("{one}: no packet with the other fields has it").into()),
    }
}

/// The value of a field in a match.
fn number(wanted: &Match, field: &Field) -> Option<u128> {
    wanted.get(field).map(FieldMatch::number)
}

/// The headers of a packet with these fields.
fn layers(wanted: &Match, ttl: u8) -> Layer {
    // In the namespace of Ethernet types, a packet type has the Ethernet type in its low 16 bits.
    let known = number(wanted, ETH_TYPE).or(number(wanted, PACKET_TYPE));
    let ty = known.map_or(0xffff, |ty| ty as u16);
    let v4 = Ipv4Addr::UNSPECIFIED;
    let v6 = Ipv6Addr::UNSPECIFIED;
    let payload = match ty {
        ethertype::IPV4 => ipv4(v4, v4, ttl, transport(wanted)),
        ethertype::IPV6 => ipv6(v6, v6, ttl, transport(wanted)),
        ethertype::ARP => {
            let op = number(wanted, ARP_OP).unwrap_or(1) as u16;
            arp(op, Mac([0; 6]), v4, Mac([0; 6]), v4)
        }
        ethertype::MPLS | ethertype::MPLS_MULTICAST => {
            let inner = ipv4(v4, v4, ttl, Layer::new(u8::MAX.into(), &[]));
            let stack = match number(wanted, MPLS_BOS) {
                Some(0) => mpls(0, 0, ttl, inner),
                _ => inner,
            };
            Layer {
                number: ty,
                ..mpls(0, 0, ttl, stack)
            }
        }
        ethertype::PBB => pbb(
            0,
            &ethernet(Mac([0; 6]), Mac([0; 6]), Layer::new(0xffff, &[])),
        ),
        other => Layer::new(other, &vec![0; payload_bytes(wanted)]),
    };
    match number(wanted, VLAN_VID) {
        Some(vid) if vid & u128::from(VID_PRESENT) != 0 => vlan(ethertype::VLAN, 0, payload),
        _ => payload,
    }
}

/// Makes what follows the IP header of a packet with these fields.
fn transport(wanted: &Match) -> Layer {
    let payload = vec![0; payload_bytes(wanted)];
    match number(wanted, IP_PROTO).map_or(u8::MAX, |proto| proto as u8) {
        protocol::TCP => tcp(0, 0, 0, &payload),
        protocol::UDP => udp(0, 0, &payload),
        protocol::SCTP => sctp(0, 0, &payload),
        protocol::ICMPV4 => icmp(protocol::ICMPV4, 0, 0, &[0; 4]),
        protocol::ICMPV6 => {
            let ty = number(wanted, ICMPV6_TYPE).unwrap_or(0) as u8;
            icmp(protocol::ICMPV6, ty, 0, &neighbour(ty))
        }
        other => Layer::new(other.into(), &[]),
    }
}

/// The bytes of payload that these fields need: fields of a configuration may lie there.
fn payload_bytes(wanted: &Match) -> usize {
    let fields = wanted.fields().iter().map(|one| one.field);
    let configured = fields.filter(|field| usize::from(field.id) >= STANDARD_FIELDS);
    let places = configured.flat_map(|field| field.at);
    let ends = places.map(|at| usize::from(at.bit + at.bits).div_ceil(8));
    ends.max().unwrap_or(0)
}

/// Makes what follows the checksum of an ICMPv6 message: a target and its option in a solicitation
/// (135) or an advertisement (136).
fn neighbour(icmpv6_type: u8) -> Vec<u8> {
    let option = match icmpv6_type {
        135 => 1,
        136 => 2,
        _ => return vec![0; 4],
    };
    let mut body = vec![0; 4 + 16 + 8];
    body[20..22].copy_from_slice(&[option, 1]);
    body
}
