//! The tuple that identifies a packet's microflow; masked, it identifies an aggregate.

use alloc::{format, vec, vec::Vec};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use bofuss_datapath::{HookContext, Microflow, UpcomingPacket};
use bofuss_oflib::field::{self, Field};
use bofuss_oflib::text::number;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer, be_number};
use bofuss_oflib::{DecodeError, Mac, ParseError};
use bofuss_packet::header::{ethertype, protocol};
use bofuss_packet::{Fragment, Layout};

use crate::common::args::Args;

/// Fields that hold the ports of a microflow: source, destination.
const PORTS: [[&Field; 2]; 3] = [
    [field::TCP_SRC, field::TCP_DST],
    [field::UDP_SRC, field::UDP_DST],
    [field::SCTP_SRC, field::SCTP_DST],
];

/// Fields whose values a tuple contains, besides [`PORTS`].
const FIELDS: [&Field; 8] = [
    field::IN_PORT,
    field::VLAN_VID,
    field::ETH_TYPE,
    field::IP_PROTO,
    field::IPV4_SRC,
    field::IPV4_DST,
    field::IPV6_SRC,
    field::IPV6_DST,
];

/// The fields of the addresses of a tuple with an Ethernet type.
fn address_fields(eth_type: u16) -> [&'static Field; 2] {
    match eth_type {
        ethertype::IPV4 => [field::IPV4_SRC, field::IPV4_DST],
        ethertype::IPV6 => [field::IPV6_SRC, field::IPV6_DST],
        _ => [field::ETH_SRC, field::ETH_DST],
    }
}

/// The fields of the ports of a protocol of IP that has some.
fn port_fields(ip_proto: u8) -> Option<[&'static Field; 2]> {
    match ip_proto {
        protocol::TCP => Some(PORTS[0]),
        protocol::UDP => Some(PORTS[1]),
        protocol::SCTP => Some(PORTS[2]),
        _ => None,
    }
}

/// A source of fields for a tuple: a packet, or an upcoming one.
pub(super) trait TupleFields {
    /// The value of a field, if it is there.
    fn value(&mut self, field: &Field) -> Option<u128>;

    /// Returns where its headers are, and its bytes.
    fn parsed(&self) -> (&Layout, &[u8]);
}

impl TupleFields for HookContext<'_> {
    fn value(&mut self, field: &Field) -> Option<u128> {
        self.get(field)
    }

    fn parsed(&self) -> (&Layout, &[u8]) {
        (self.layout(), self.frame().bytes())
    }
}

impl TupleFields for UpcomingPacket<'_> {
    fn value(&mut self, field: &Field) -> Option<u128> {
        self.get(field)
    }

    fn parsed(&self) -> (&Layout, &[u8]) {
        (self.layout(), self.bytes())
    }
}

/// The 5-tuple of a packet with its ingress port and VLAN: 48 bytes on the wire.
///
/// The ports are 0 for protocols without ports and for all fragments of a datagram (also the
/// first). A packet that is not IP has the addresses and the type of Ethernet. Choice: ingress port
/// and VLAN are part of it, because rules match on them and customers' addresses may overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowTuple {
    /// The source: of IPv4 and Ethernet in the low bits.
    pub source: u128,
    /// The destination, likewise.
    pub destination: u128,
    /// The ingress port.
    pub in_port: u32,
    /// The VLAN_VID value, 0 for untagged.
    pub vlan: u16,
    /// The Ethernet type.
    pub eth_type: u16,
    /// The source and the destination port of the transport protocol.
    pub ports: [u16; 2],
    /// The protocol of IP.
    pub ip_proto: u8,
}

impl FlowTuple {
    /// The mask with all bits, under which tuples are unchanged.
    pub const EXACT: Self = Self {
        source: u128::MAX,
        destination: u128::MAX,
        in_port: u32::MAX,
        vlan: u16::MAX,
        eth_type: u16::MAX,
        ports: [u16::MAX; 2],
        ip_proto: u8::MAX,
    };

    /// Reads the tuple of a packet.
    pub(super) fn of(packet: &mut impl TupleFields) -> Self {
        let eth_type = packet.value(field::ETH_TYPE).unwrap_or(0) as u16;
        let [source, destination] = address_fields(eth_type);
        let (layout, bytes) = packet.parsed();
        let is_whole = layout.fragment == Fragment::No;
        let ip_proto = match layout.fragment_protocol(bytes) {
            Some(of_all_fragments) => of_all_fragments,
            None => packet.value(field::IP_PROTO).unwrap_or(0) as u8,
        };
        let pair = port_fields(ip_proto).filter(|_| is_whole);
        Self {
            source: packet.value(source).unwrap_or(0),
            destination: packet.value(destination).unwrap_or(0),
            in_port: packet.value(field::IN_PORT).unwrap_or(0) as u32,
            vlan: packet.value(field::VLAN_VID).unwrap_or(0) as u16,
            eth_type,
            ports: pair.map_or([0; 2], |pair| {
                pair.map(|field| packet.value(field).unwrap_or(0) as u16)
            }),
            ip_proto,
        }
    }

    /// The fields that its packets have, with their values; without ports that the tuple ignores.
    pub(super) fn fields(&self) -> Vec<(&'static Field, u128)> {
        let [source, destination] = address_fields(self.eth_type);
        let mut fields = vec![
            (field::IN_PORT, self.in_port.into()),
            (field::ETH_TYPE, self.eth_type.into()),
            (field::VLAN_VID, self.vlan.into()),
            (source, self.source),
            (destination, self.destination),
        ];
        if !self.is_ip() {
            return fields;
        }
        fields.push((field::IP_PROTO, self.ip_proto.into()));
        if let Some(pair) = port_fields(self.ip_proto).filter(|_| self.ports != [0; 2]) {
            fields.extend(pair.into_iter().zip(self.ports.map(u128::from)));
        }
        fields
    }

    /// Returns true if packets with the same tuple have the same value of a field. Choice: all
    /// fragments of a datagram follow the one that arrives first, although only the first fragment
    /// has ports.
    pub(super) fn holds(field: &Field) -> bool {
        FIELDS.contains(&field) || PORTS.as_flattened().contains(&field)
    }

    /// Returns true if it is of TCP.
    pub(super) fn is_tcp(&self) -> bool {
        self.ip_proto == protocol::TCP
    }

    /// Returns true if it is of IP.
    pub(super) fn is_ip(&self) -> bool {
        [ethertype::IPV4, ethertype::IPV6].contains(&self.eth_type)
    }

    /// The tuple under a mask.
    pub(super) fn masked(&self, mask: &Self) -> Self {
        Self {
            source: self.source & mask.source,
            destination: self.destination & mask.destination,
            in_port: self.in_port & mask.in_port,
            vlan: self.vlan & mask.vlan,
            eth_type: self.eth_type & mask.eth_type,
            ports: core::array::from_fn(|i| self.ports[i] & mask.ports[i]),
            ip_proto: self.ip_proto & mask.ip_proto,
        }
    }
}

impl From<&FlowTuple> for Microflow {
    /// The microflow of the tuple, as disciplines see it, without the ingress port.
    fn from(tuple: &FlowTuple) -> Self {
        Self {
            id: None,
            vlan: tuple.vlan,
            source: tuple.source,
            destination: tuple.destination,
            is_ip: tuple.is_ip(),
            eth_type: tuple.eth_type,
            ip_proto: tuple.ip_proto,
            ports: tuple.ports,
        }
    }
}

impl Wire for FlowTuple {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let source = be_number(r.at("src").take(16)?);
        let destination = be_number(r.at("dst").take(16)?);
        let in_port = r.at("in_port").get()?;
        let vlan = r.at("vlan").get()?;
        let eth_type = r.at("eth_type").get()?;
        let ports = [r.at("sport").get()?, r.at("dport").get()?];
        let ip_proto = r.at("ip_proto").get()?;
        r.take(3)?;
        Ok(Self {
            source,
            destination,
            in_port,
            vlan,
            eth_type,
            ports,
            ip_proto,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.raw(&self.source.to_be_bytes());
        w.raw(&self.destination.to_be_bytes());
        w.put(&self.in_port).put(&self.vlan).put(&self.eth_type);
        w.put(&self.ports[0]).put(&self.ports[1]);
        w.put(&self.ip_proto).pad(3);
    }
}

/// A match on tuples: those that equal the value in the bits of the mask. 96 bytes on the wire: the
/// value, then the mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TupleMatch {
    /// The value; 0 where the mask is 0.
    pub value: FlowTuple,
    /// The bits that count.
    pub mask: FlowTuple,
}

impl TupleMatch {
    /// A match on exactly one tuple.
    pub fn exact(value: FlowTuple) -> Self {
        Self {
            value,
            mask: FlowTuple::EXACT,
        }
    }

    /// Returns true if it matches a tuple.
    pub fn matches(&self, tuple: &FlowTuple) -> bool {
        tuple.masked(&self.mask) == self.value.masked(&self.mask)
    }

    /// Takes its words from a text. Errors: what is wrong with one.
    pub(super) fn take(args: &mut Args<'_>) -> Result<Self, ParseError> {
        let mut this = Self::default();
        let value = &mut this.value;
        let mask = &mut this.mask;
        take_number(args, "in_port", &mut value.in_port, &mut mask.in_port)?;
        take_number(args, "vlan", &mut value.vlan, &mut mask.vlan)?;
        take_number(args, "eth_type", &mut value.eth_type, &mut mask.eth_type)?;
        take_number(args, "ip_proto", &mut value.ip_proto, &mut mask.ip_proto)?;
        for (i, name) in ["sport", "dport"].into_iter().enumerate() {
            take_number(args, name, &mut value.ports[i], &mut mask.ports[i])?;
        }
        let ends = [
            ("src", &mut value.source, &mut mask.source),
            ("dst", &mut value.destination, &mut mask.destination),
        ];
        for (name, address, bits) in ends {
            let Some(text) = args.take(name) else {
                continue;
            };
            let eth_type;
            (*address, *bits, eth_type) = parse_masked_address(text)?;
            if mask.eth_type == 0 && eth_type != 0 {
                (value.eth_type, mask.eth_type) = (eth_type, u16::MAX);
            }
        }
        Ok(this)
    }
}

/// Takes `NAME=VALUE` or `NAME=VALUE/MASK` from a text, if it is there.
fn take_number<T>(
    args: &mut Args<'_>,
    name: &str,
    value: &mut T,
    mask: &mut T,
) -> Result<(), ParseError>
where
    T: TryFrom<u64> + Copy + Default,
    T: core::ops::BitAnd<Output = T> + core::ops::Not<Output = T>,
{
    let Some(text) = args.take(name) else {
        return Ok(());
    };
    let (first, second) = match text.split_once('/') {
        Some((first, second)) => (parse::<T>(first), parse(second)),
        None => (parse(text), Some(!T::default())),
    };
    let both = first.zip(second);
    let (first, second) = both.ok_or_else(|| format!("{name}={text} is not a number in range"))?;
    (*value, *mask) = (first & second, second);
    Ok(())
}

/// Reads a number, if it fits its type.
fn parse<T: TryFrom<u64>>(text: &str) -> Option<T> {
    T::try_from(number(text)?).ok()
}

/// Reads `ADDRESS`, `ADDRESS/PREFIX` or `ADDRESS/MASK`: the value, the mask, and the Ethernet type
/// of IP, 0 for an address of Ethernet.
pub(super) fn parse_masked_address(text: &str) -> Result<(u128, u128, u16), ParseError> {
    let (address, mask) = match text.split_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (text, None),
    };
    let (value, eth_type) = parse_address(address)?;
    let width = match eth_type {
        ethertype::IPV4 => 32,
        ethertype::IPV6 => 128,
        _ => 48,
    };
    let all = u128::MAX >> (128 - width);
    let mask = match mask {
        None => u128::MAX,
        Some(mask) => match number(mask).filter(|prefix| *prefix <= width) {
            Some(0) => 0,
            Some(prefix) => all << (width - prefix) & all,
            None => parse_address(mask)?.0,
        },
    };
    Ok((value & mask, mask, eth_type))
}

fn parse_address(text: &str) -> Result<(u128, u16), ParseError> {
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok((address.to_bits().into(), ethertype::IPV4));
    }
    if let Ok(Mac(bytes)) = text.parse::<Mac>() {
        return Ok((be_number(&bytes), 0));
    }
    match text.parse::<Ipv6Addr>() {
        Ok(address) => Ok((address.to_bits(), ethertype::IPV6)),
        Err(_) => Err(format!("'{text}' is no address").into()),
    }
}

/// Writes an address in its usual notation.
fn write_address(f: &mut fmt::Formatter<'_>, eth_type: u16, address: u128) -> fmt::Result {
    match eth_type {
        ethertype::IPV4 => write!(f, "{}", Ipv4Addr::from_bits(address as u32)),
        ethertype::IPV6 => write!(f, "{}", Ipv6Addr::from_bits(address)),
        _ => {
            let [.., a, b, c, d, e, g] = address.to_be_bytes();
            write!(f, "{}", Mac([a, b, c, d, e, g]))
        }
    }
}

impl Wire for TupleMatch {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let value = r.get()?;
        let mask = r.get()?;
        Ok(Self { value, mask })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.value).put(&self.mask);
    }
}

impl TextForm for TupleMatch {
    /// Writes only what the mask selects, with commas between the words.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, mask } = self;
        let numbers: [(&str, u64, u64, u64); 6] = [
            (
                "in_port",
                u64::from(value.in_port),
                u64::from(mask.in_port),
                u32::MAX.into(),
            ),
            ("vlan", value.vlan.into(), mask.vlan.into(), u16::MAX.into()),
            (
                "eth_type",
                value.eth_type.into(),
                mask.eth_type.into(),
                u16::MAX.into(),
            ),
            (
                "ip_proto",
                value.ip_proto.into(),
                mask.ip_proto.into(),
                u8::MAX.into(),
            ),
            (
                "sport",
                value.ports[0].into(),
                mask.ports[0].into(),
                u16::MAX.into(),
            ),
            (
                "dport",
                value.ports[1].into(),
                mask.ports[1].into(),
                u16::MAX.into(),
            ),
        ];
        let mut comma = "";
        for (name, value, mask, all) in numbers {
            if mask == 0 {
                continue;
            }
            write!(f, "{comma}{name}={value:#x}")?;
            if mask != all {
                write!(f, "/{mask:#x}")?;
            }
            comma = ",";
        }
        let ends = [
            ("src", value.source, mask.source),
            ("dst", value.destination, mask.destination),
        ];
        for (name, address, bits) in ends {
            if bits == 0 {
                continue;
            }
            write!(f, "{comma}{name}=")?;
            write_address(f, value.eth_type, address)?;
            if bits != u128::MAX {
                f.write_str("/")?;
                write_address(f, value.eth_type, bits)?;
            }
            comma = ",";
        }
        Ok(())
    }
}

impl TextForm for FlowTuple {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TupleMatch::exact(*self).text(f)
    }
}
