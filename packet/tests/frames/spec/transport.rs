//! Transport headers as values: built with checksums, read and set by field.

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    First,
    Later,
}

#[derive(Clone, Debug)]
pub(crate) struct L4 {
    /// The number in the IP header.
    pub(crate) number: u8,
    pub(crate) body: Body,
    pub(crate) data: Vec<u8>,
    /// Data in other fragments.
    pub(crate) hidden: Vec<u8>,
    pub(crate) part: Part,
    /// The checksum is left to others.
    pub(crate) pending: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Tcp(TcpHeader),
    Udp {
        src: u16,
        dst: u16,
        none: bool,
    },
    Sctp {
        src: u16,
        dst: u16,
        tag: [u8; 4],
    },
    Icmp4 {
        ty: u8,
        code: u8,
        rest: [u8; 4],
    },
    Icmp6 {
        ty: u8,
        code: u8,
        rest: [u8; 4],
        nd: Option<Nd>,
    },
    Other,
}

#[derive(Clone, Debug)]
pub(crate) struct Nd {
    pub(crate) target: [u8; 16],
    pub(crate) options: Vec<(u8, Vec<u8>)>,
}

pub(super) fn ones(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let mut sum = 0u32;
    for (i, byte) in bytes.iter().enumerate() {
        sum += u32::from(*byte) << (8 * (1 - i % 2));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// CRC32c bit by bit.
pub(crate) fn crc32c(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    (!crc).to_le_bytes()
}

impl L4 {
    /// The transport packet's bytes in this frame, and offset of its checksum if that is pending.
    pub(super) fn build(&self, src: &[u8], dst: &[u8]) -> (Vec<u8>, Option<u16>) {
        if self.part == Part::Later {
            return (self.data.clone(), None);
        }
        let whole = [&self.data[..], &self.hidden].concat();
        let (mut header, at, standard) = match &self.body {
            Body::Tcp(tcp) => (tcp.to_bytes().to_vec(), 16, 6),
            Body::Udp { src, dst, .. } => {
                let udp = UdpHeader {
                    source_port: *src,
                    destination_port: *dst,
                    length: 8 + whole.len() as u16,
                    checksum: 0,
                };
                (udp.to_bytes().to_vec(), 6, 17)
            }
            Body::Sctp { src, dst, tag } => {
                let ports = [src.to_be_bytes(), dst.to_be_bytes()].concat();
                ([&ports[..], tag, &[0; 4]].concat(), 8, 132)
            }
            Body::Icmp4 { ty, code, rest } => ([&[*ty, *code, 0, 0], &rest[..]].concat(), 2, 1),
            Body::Icmp6 { ty, code, rest, nd } => {
                let mut bytes = [&[*ty, *code, 0, 0], &rest[..]].concat();
                if let Some(nd) = nd {
                    bytes.extend(nd.target);
                    for (number, rest) in &nd.options {
                        bytes.extend([*number, (rest.len() as u8 + 2) / 8]);
                        bytes.extend(rest);
                    }
                }
                (bytes, 2, 58)
            }
            Body::Other => return (self.data.clone(), None),
        };
        let length = (header.len() + whole.len()) as u32;
        let pseudo = [src, dst, &length.to_be_bytes(), &[0, self.number]].concat();
        header[at..at + 2].fill(0);
        let sum = match &self.body {
            Body::Udp { none: true, .. } => 0,
            Body::Icmp4 { .. } if self.pending => 0,
            _ if self.pending => ones(&[&pseudo]),
            Body::Icmp4 { ty, code, rest } => Icmpv4Type::Unknown {
                type_u8: *ty,
                code_u8: *code,
                bytes5to8: *rest,
            }
            .calc_checksum(&whole),
            _ if self.number != standard => match !ones(&[&pseudo, &header, &whole]) {
                0 if matches!(self.body, Body::Udp { .. }) => 0xffff,
                sum => sum,
            },
            _ => independent(&self.body, &header, src, dst, &whole),
        };
        if let Body::Sctp { .. } = self.body {
            if !self.pending {
                let crc = crc32c(&[&header[..], &whole].concat());
                header[8..12].copy_from_slice(&crc);
            }
        } else {
            header[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        }
        let none = matches!(self.body, Body::Udp { none: true, .. });
        let pending = (self.pending && !none).then_some(at as u16);
        ([header, self.data.clone()].concat(), pending)
    }
}

/// The checksum by the other library.
pub(super) fn independent(body: &Body, header: &[u8], src: &[u8], dst: &[u8], data: &[u8]) -> u16 {
    if src.len() == 4 {
        let (src, dst) = (src.try_into().unwrap(), dst.try_into().unwrap());
        match body {
            Body::Tcp(tcp) => tcp.calc_checksum_ipv4_raw(src, dst, data).unwrap(),
            Body::Udp { .. } => UdpHeader::from_slice(header)
                .unwrap()
                .0
                .calc_checksum_ipv4_raw(src, dst, data)
                .unwrap(),
            _ => 0,
        }
    } else {
        let (src, dst) = (src.try_into().unwrap(), dst.try_into().unwrap());
        match body {
            Body::Tcp(tcp) => tcp.calc_checksum_ipv6_raw(src, dst, data).unwrap(),
            Body::Udp { .. } => UdpHeader::from_slice(header)
                .unwrap()
                .0
                .calc_checksum_ipv6_raw(src, dst, data)
                .unwrap(),
            Body::Icmp6 { ty, code, rest, .. } => Icmpv6Type::Unknown {
                type_u8: *ty,
                code_u8: *code,
                bytes5to8: *rest,
            }
            .calc_checksum(src, dst, &[&header[8..], data].concat())
            .unwrap(),
            _ => 0,
        }
    }
}

impl L4 {
    pub(super) fn expected(&self, all: &mut Vec<(&'static Field, u128)>) {
        if self.part == Part::Later {
            return;
        }
        match &self.body {
            Body::Tcp(tcp) => {
                all.push((f::TCP_SRC, tcp.source_port.into()));
                all.push((f::TCP_DST, tcp.destination_port.into()));
                let bytes = tcp.to_bytes();
                let flags = u16::from_be_bytes([bytes[12], bytes[13]]) & 0xfff;
                all.push((f::TCP_FLAGS, flags.into()));
            }
            Body::Udp { src, dst, .. } => {
                all.push((f::UDP_SRC, (*src).into()));
                all.push((f::UDP_DST, (*dst).into()));
            }
            Body::Sctp { src, dst, .. } => {
                all.push((f::SCTP_SRC, (*src).into()));
                all.push((f::SCTP_DST, (*dst).into()));
            }
            Body::Icmp4 { ty, code, .. } => {
                all.push((f::ICMPV4_TYPE, (*ty).into()));
                all.push((f::ICMPV4_CODE, (*code).into()));
            }
            Body::Icmp6 { ty, code, nd, .. } => {
                all.push((f::ICMPV6_TYPE, (*ty).into()));
                all.push((f::ICMPV6_CODE, (*code).into()));
                let Some(nd) = nd else { return };
                all.push((f::IPV6_ND_TARGET, u128::from_be_bytes(nd.target)));
                let (wanted, field) = match ty {
                    135 => (1, f::IPV6_ND_SLL),
                    _ => (2, f::IPV6_ND_TLL),
                };
                if let Some((_, mac)) = nd.options.iter().find(|option| option.0 == wanted) {
                    let mac = mac[..6].iter().fold(0, |n, b| n << 8 | u128::from(*b));
                    all.push((field, mac));
                }
            }
            Body::Other => {}
        }
    }

    pub(super) fn set(&mut self, field: &Field, value: u128) {
        let port = value as u16;
        match (field.name, &mut self.body) {
            ("tcp_src", Body::Tcp(tcp)) => tcp.source_port = port,
            ("tcp_dst", Body::Tcp(tcp)) => tcp.destination_port = port,
            ("udp_src", Body::Udp { src, .. }) | ("sctp_src", Body::Sctp { src, .. }) => {
                *src = port;
            }
            ("udp_dst", Body::Udp { dst, .. }) | ("sctp_dst", Body::Sctp { dst, .. }) => {
                *dst = port;
            }
            ("icmpv4_type", Body::Icmp4 { ty, .. }) => *ty = value as u8,
            ("icmpv4_code", Body::Icmp4 { code, .. }) => *code = value as u8,
            ("icmpv6_type", Body::Icmp6 { ty, .. }) => *ty = value as u8,
            ("icmpv6_code", Body::Icmp6 { code, .. }) => *code = value as u8,
            ("ipv6_nd_target", Body::Icmp6 { nd: Some(nd), .. }) => {
                nd.target = value.to_be_bytes();
            }
            ("ipv6_nd_sll" | "ipv6_nd_tll", Body::Icmp6 { nd: Some(nd), .. }) => {
                let wanted = if field.name == "ipv6_nd_sll" { 1 } else { 2 };
                let option = nd.options.iter_mut().find(|option| option.0 == wanted);
                option.unwrap().1[..6].copy_from_slice(&value.to_be_bytes()[10..]);
            }
            _ => panic!("{} has a place of its own", field.name),
        }
    }
}
