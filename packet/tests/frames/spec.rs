//! Random frames as values: built and checksummed by an independent library, edited as values.

use bofuss_frame::Offload;
use bofuss_oflib::field::{self as f, Field};
use etherparse::*;

/// The fields that these frames are described by. A row added behind them is held to its place in
/// the header, and to what a fresh parse says, by tests over all rows.
pub(crate) fn described() -> impl Iterator<Item = &'static Field> {
    f::FIELDS.iter().take(usize::from(f::TCP_FLAGS.id) + 1)
}

pub(crate) struct Rng(pub u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }
    pub(crate) fn bytes(&mut self, max: u64) -> Vec<u8> {
        (0..self.below(max + 1))
            .map(|_| self.next() as u8)
            .collect()
    }
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Tag {
    pub(crate) tpid: u16,
    pub(crate) pcp: u8,
    pub(crate) dei: bool,
    pub(crate) vid: u16,
}

#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) label: u32,
    pub(crate) tc: u8,
    pub(crate) bos: bool,
    pub(crate) ttl: u8,
}

#[derive(Clone, Debug)]
pub(crate) enum Net {
    Other(u16, Vec<u8>),
    Llc(Vec<u8>),
    Snap(u16, Vec<u8>),
    Arp(ArpEthIpv4Packet),
    Mpls(u16, Vec<Label>, Box<Net>),
    Pbb {
        flags: u8,
        isid: u32,
        inner: Vec<u8>,
    },
    V4(Ipv4Header, L4),
    V6(V6),
}

#[derive(Clone, Debug)]
pub(crate) struct V6 {
    pub(crate) header: Ipv6Header,
    /// Number and bytes from the third on; the next-header number is filled in.
    pub(crate) exts: Vec<(u8, Vec<u8>)>,
    pub(crate) exthdr: u16,
    pub(crate) final_destination: Option<[u8; 16]>,
    pub(crate) l4: L4,
}

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

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) dst: [u8; 6],
    pub(crate) src: [u8; 6],
    pub(crate) tags: Vec<Tag>,
    /// A type that set-field wrote.
    pub(crate) eth_type: Option<u16>,
    pub(crate) net: Net,
    pub(crate) padding: Vec<u8>,
}

fn ones(parts: &[&[u8]]) -> u16 {
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
    fn build(&self, src: &[u8], dst: &[u8]) -> (Vec<u8>, Option<u16>) {
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
fn independent(body: &Body, header: &[u8], src: &[u8], dst: &[u8], data: &[u8]) -> u16 {
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

impl Net {
    /// Type, bytes, and start and offset of a pending checksum.
    fn build(&self) -> (u16, Vec<u8>, Option<(u16, u16)>) {
        match self {
            Net::Other(ty, data) => (*ty, data.clone(), None),
            Net::Llc(data) => (data.len() as u16, data.clone(), None),
            Net::Snap(ty, data) => {
                let snap = [&[0xaa, 0xaa, 3, 0, 0, 0], &ty.to_be_bytes()[..], data].concat();
                (snap.len() as u16, snap, None)
            }
            Net::Arp(arp) => (0x0806, arp.to_bytes().to_vec(), None),
            Net::Mpls(ty, labels, inner) => {
                let mut bytes = Vec::new();
                for l in labels {
                    let entry = l.label << 12 | u32::from(l.tc) << 9 | u32::from(l.bos) << 8;
                    bytes.extend((entry | u32::from(l.ttl)).to_be_bytes());
                }
                let (_, data, pending) = inner.build();
                let pending = pending.map(|(start, at)| (start + bytes.len() as u16, at));
                (*ty, [bytes, data].concat(), pending)
            }
            Net::Pbb { flags, isid, inner } => {
                let tag = (u32::from(*flags) << 24 | isid).to_be_bytes();
                (0x88e7, [&tag[..], inner].concat(), None)
            }
            Net::V4(header, l4) => {
                let (data, pending) = l4.build(&header.source, &header.destination);
                let mut header = header.clone();
                header.protocol = IpNumber(l4.number);
                header.total_len = (header.header_len() + data.len()) as u16;
                header.header_checksum = header.calc_header_checksum();
                let bytes = header.to_bytes().to_vec();
                let pending = pending.map(|at| (bytes.len() as u16, at));
                (0x0800, [bytes, data].concat(), pending)
            }
            Net::V6(v6) => {
                let destination = v6.final_destination.unwrap_or(v6.header.destination);
                let (data, pending) = v6.l4.build(&v6.header.source, &destination);
                let mut header = v6.header.clone();
                let first = v6.exts.first().map_or(v6.l4.number, |ext| ext.0);
                header.next_header = IpNumber(first);
                let mut exts = Vec::new();
                for (i, (number, rest)) in v6.exts.iter().enumerate() {
                    let next = v6.exts.get(i + 1).map_or(v6.l4.number, |ext| ext.0);
                    let length = match number {
                        44 => 0,
                        51 => (rest.len() + 2) / 4 - 2,
                        _ => (rest.len() + 2) / 8 - 1,
                    };
                    exts.extend([next, length as u8]);
                    exts.extend(rest);
                }
                header.payload_length = (exts.len() + data.len()) as u16;
                let pending = pending.map(|at| (40 + exts.len() as u16, at));
                (
                    0x86dd,
                    [&header.to_bytes()[..], &exts, &data].concat(),
                    pending,
                )
            }
        }
    }
}

impl Spec {
    pub(crate) fn build(&self) -> (Vec<u8>, Offload) {
        let (mut ty, mut data, pending) = self.net.build();
        if let Some(set) = self.eth_type {
            match self.net {
                Net::Snap(..) => data[6..8].copy_from_slice(&set.to_be_bytes()),
                _ => ty = set,
            }
        }
        let mut tags = Vec::new();
        for (i, tag) in self.tags.iter().enumerate() {
            let next = self.tags.get(i + 1).map_or(ty, |tag| tag.tpid);
            let vlan = SingleVlanHeader {
                pcp: VlanPcp::try_new(tag.pcp).unwrap(),
                drop_eligible_indicator: tag.dei,
                vlan_id: VlanId::try_new(tag.vid).unwrap(),
                ether_type: EtherType(next),
            };
            tags.extend(vlan.to_bytes());
        }
        let ethernet = Ethernet2Header {
            source: self.src,
            destination: self.dst,
            ether_type: EtherType(self.tags.first().map_or(ty, |tag| tag.tpid)),
        };
        let bytes = [&ethernet.to_bytes()[..], &tags, &data, &self.padding].concat();
        let before = 14 + tags.len() as u16;
        let checksum = pending.map(|(start, at)| (start + before, at));
        (
            bytes,
            Offload {
                checksum,
                ..Offload::NONE
            },
        )
    }

    pub(crate) fn l4_mut(&mut self) -> Option<&mut L4> {
        match &mut self.net {
            Net::V4(_, l4) | Net::V6(V6 { l4, .. }) => Some(l4),
            _ => None,
        }
    }

    /// The fields that the frame has, by what it was made of.
    pub(crate) fn expected(&self) -> Vec<(&'static Field, u128)> {
        let mac = |m: [u8; 6]| m.iter().fold(0, |n, b| n << 8 | u128::from(*b));
        let mut all = vec![(f::ETH_DST, mac(self.dst)), (f::ETH_SRC, mac(self.src))];
        match self.tags.first() {
            Some(tag) => {
                all.push((f::VLAN_VID, 0x1000 | u128::from(tag.vid)));
                all.push((f::VLAN_PCP, tag.pcp.into()));
            }
            None => all.push((f::VLAN_VID, 0)),
        }
        let ty = match &self.net {
            Net::Llc(_) => 0x05ff,
            Net::Snap(ty, _) => *ty,
            other => other.build().0,
        };
        all.push((f::ETH_TYPE, ty.into()));
        match &self.net {
            Net::Other(..) | Net::Llc(_) | Net::Snap(..) => {}
            Net::Arp(arp) => {
                all.push((f::ARP_OP, arp.operation.0.into()));
                all.push((f::ARP_SHA, mac(arp.sender_mac)));
                all.push((f::ARP_THA, mac(arp.target_mac)));
                all.push((f::ARP_SPA, u32::from_be_bytes(arp.sender_ipv4).into()));
                all.push((f::ARP_TPA, u32::from_be_bytes(arp.target_ipv4).into()));
            }
            Net::Mpls(_, labels, _) => {
                all.push((f::MPLS_LABEL, labels[0].label.into()));
                all.push((f::MPLS_TC, labels[0].tc.into()));
                all.push((f::MPLS_BOS, labels[0].bos.into()));
            }
            Net::Pbb { isid, .. } => all.push((f::PBB_ISID, (*isid).into())),
            Net::V4(ip, l4) => {
                all.push((f::IP_DSCP, ip.dscp.value().into()));
                all.push((f::IP_ECN, ip.ecn.value().into()));
                all.push((f::IPV4_SRC, u32::from_be_bytes(ip.source).into()));
                all.push((f::IPV4_DST, u32::from_be_bytes(ip.destination).into()));
                all.push((f::IP_PROTO, l4.number.into()));
                l4.expected(&mut all);
            }
            Net::V6(v6) => {
                let ip = &v6.header;
                all.push((f::IP_DSCP, (ip.traffic_class >> 2).into()));
                all.push((f::IP_ECN, (ip.traffic_class & 3).into()));
                all.push((f::IPV6_SRC, u128::from_be_bytes(ip.source)));
                all.push((f::IPV6_DST, u128::from_be_bytes(ip.destination)));
                all.push((f::IPV6_FLABEL, ip.flow_label.value().into()));
                all.push((f::IPV6_EXTHDR, v6.exthdr.into()));
                all.push((f::IP_PROTO, v6.l4.number.into()));
                v6.l4.expected(&mut all);
            }
        }
        all.sort_by_key(|(field, _)| field.id);
        all
    }

    /// Sets a field of the value; false if the frame has no place for it.
    pub(crate) fn set(&mut self, field: &Field, value: u128) -> bool {
        if !self.expected().iter().any(|(has, _)| *has == field) {
            return false;
        }
        let mac = <[u8; 6]>::try_from(&value.to_be_bytes()[10..]).unwrap();
        let four = (value as u32).to_be_bytes();
        match (field.name, &mut self.net) {
            ("eth_dst", _) => self.dst = mac,
            ("eth_src", _) => self.src = mac,
            ("eth_type", Net::Llc(_)) => return false,
            ("eth_type", _) => self.eth_type = Some(value as u16),
            ("vlan_vid", _) if self.tags.is_empty() => return false,
            ("vlan_vid", _) => self.tags[0].vid = value as u16 & 0xfff,
            ("vlan_pcp", _) => self.tags[0].pcp = value as u8,
            ("arp_op", Net::Arp(arp)) => arp.operation.0 = value as u16,
            ("arp_sha", Net::Arp(arp)) => arp.sender_mac = mac,
            ("arp_tha", Net::Arp(arp)) => arp.target_mac = mac,
            ("arp_spa", Net::Arp(arp)) => arp.sender_ipv4 = four,
            ("arp_tpa", Net::Arp(arp)) => arp.target_ipv4 = four,
            ("mpls_label", Net::Mpls(_, labels, _)) => labels[0].label = value as u32,
            ("mpls_tc", Net::Mpls(_, labels, _)) => labels[0].tc = value as u8,
            ("mpls_bos", Net::Mpls(_, labels, _)) => labels[0].bos = value == 1,
            ("pbb_isid", Net::Pbb { isid, .. }) => *isid = value as u32,
            ("ip_dscp", Net::V4(ip, _)) => ip.dscp = IpDscp::try_new(value as u8).unwrap(),
            ("ip_ecn", Net::V4(ip, _)) => ip.ecn = IpEcn::try_new(value as u8).unwrap(),
            ("ipv4_src", Net::V4(ip, _)) => ip.source = four,
            ("ipv4_dst", Net::V4(ip, _)) => ip.destination = four,
            ("ip_dscp", Net::V6(v6)) => {
                let class = &mut v6.header.traffic_class;
                *class = *class & 3 | (value as u8) << 2;
            }
            ("ip_ecn", Net::V6(v6)) => {
                let class = &mut v6.header.traffic_class;
                *class = *class & !3 | value as u8;
            }
            ("ipv6_src", Net::V6(v6)) => v6.header.source = value.to_be_bytes(),
            ("ipv6_dst", Net::V6(v6)) => v6.header.destination = value.to_be_bytes(),
            ("ipv6_flabel", Net::V6(v6)) => {
                v6.header.flow_label = Ipv6FlowLabel::try_new(value as u32).unwrap();
            }
            ("ip_proto", Net::V4(_, l4) | Net::V6(V6 { l4, .. })) => l4.number = value as u8,
            (_, Net::V4(_, l4) | Net::V6(V6 { l4, .. })) => l4.set(field, value),
            _ => panic!("{} has a place of its own", field.name),
        }
        true
    }
}

impl L4 {
    fn expected(&self, all: &mut Vec<(&'static Field, u128)>) {
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

    fn set(&mut self, field: &Field, value: u128) {
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

fn body(rng: &mut Rng, v6: bool) -> (u8, Body) {
    let (src, dst) = (rng.next() as u16, rng.next() as u16);
    match rng.below(5) {
        0 => {
            let mut tcp = TcpHeader::new(src, dst, rng.next() as u32, rng.next() as u16);
            let options = 4 * rng.below(11) as usize;
            tcp.set_options_raw(&vec![1; options]).unwrap();
            [tcp.syn, tcp.ack, tcp.fin, tcp.psh] = rng.array::<4>().map(|b| b & 1 == 1);
            [tcp.ns, tcp.cwr, tcp.ece, tcp.urg] = rng.array::<4>().map(|b| b & 1 == 1);
            (6, Body::Tcp(tcp))
        }
        1 => (
            17,
            Body::Udp {
                src,
                dst,
                none: rng.one_in(4),
            },
        ),
        2 => (
            132,
            Body::Sctp {
                src,
                dst,
                tag: rng.array(),
            },
        ),
        3 if v6 => {
            let ty = rng.pick(&[128, 135, 136, 135, 136, 3]);
            let option = |rng: &mut Rng| {
                let length = 8 * (1 + rng.below(2) as usize) - 2;
                let rest = (0..length).map(|_| rng.next() as u8).collect();
                (rng.pick(&[1, 2, 5]), rest)
            };
            let nd = (ty == 135 || ty == 136).then(|| Nd {
                target: rng.array(),
                options: (0..rng.below(4)).map(|_| option(rng)).collect(),
            });
            let (code, rest) = (rng.next() as u8, rng.array());
            (58, Body::Icmp6 { ty, code, rest, nd })
        }
        3 => {
            let (ty, code, rest) = (rng.next() as u8, rng.next() as u8, rng.array());
            (1, Body::Icmp4 { ty, code, rest })
        }
        // Numbers for experiments: no header will ever have them.
        _ => (rng.pick(&[253, 254]), Body::Other),
    }
}

fn l4(rng: &mut Rng, v6: bool, part: Part) -> L4 {
    let (number, body) = body(rng, v6);
    let nd = matches!(body, Body::Icmp6 { nd: Some(_), .. });
    L4 {
        number,
        data: if nd { Vec::new() } else { rng.bytes(90) },
        hidden: if part == Part::Whole || nd {
            Vec::new()
        } else {
            rng.bytes(50)
        },
        body,
        part,
        pending: part == Part::Whole && rng.one_in(4),
    }
}

fn part(rng: &mut Rng) -> Part {
    rng.pick(&[
        Part::Whole,
        Part::Whole,
        Part::Whole,
        Part::First,
        Part::Later,
    ])
}

fn ipv4(rng: &mut Rng) -> Net {
    let part = part(rng);
    let mut header = Ipv4Header {
        dscp: IpDscp::try_new(rng.below(64) as u8).unwrap(),
        ecn: IpEcn::try_new(rng.below(4) as u8).unwrap(),
        identification: rng.next() as u16,
        time_to_live: rng.next() as u8,
        source: rng.array(),
        destination: rng.array(),
        more_fragments: part == Part::First || part == Part::Later && rng.one_in(2),
        ..Ipv4Header::default()
    };
    if part == Part::Later {
        header.fragment_offset = IpFragOffset::try_new(1 + rng.below(8191) as u16).unwrap();
    }
    header.dont_fragment = rng.one_in(2);
    let options = vec![1; 4 * rng.below(11) as usize];
    header.options = options.as_slice().try_into().unwrap();
    Net::V4(header, l4(rng, false, part))
}

/// IPv6; the IPV6_EXTHDR bits are those of a second reading of RFC 2460: a list of places.
fn ipv6(rng: &mut Rng) -> Net {
    const PLACES: [u8; 7] = [0, 60, 43, 44, 51, 50, 60];
    let mut part = Part::Whole;
    let mut exts: Vec<(u8, Vec<u8>)> = Vec::new();
    let mut final_destination = None;
    let count = rng.pick(&[0, 0, 1, 2, 3, 5]);
    for _ in 0..count {
        let number = rng.pick(&[0, 60, 60, 43, 44, 51]);
        let units = rng.below(3) as usize;
        let mut rest: Vec<u8> = match number {
            44 => vec![0, 0, 1, 2, 3, 4],
            51 => (0..10 + 4 * units).map(|_| rng.next() as u8).collect(),
            _ => (0..6 + 8 * units).map(|_| rng.next() as u8).collect(),
        };
        if number == 43 {
            rest[1] = if rng.one_in(2) { 0 } else { 2 };
            if rest[1] != 0 {
                final_destination.get_or_insert_with(|| rng.array());
            }
        }
        let mut stop = false;
        if number == 44 {
            let (offset, more) = match self::part(rng) {
                Part::Whole => (0, 0),
                Part::First => (0, 1),
                Part::Later => (8 * (1 + rng.below(8191) as u16), rng.below(2) as u16),
            };
            rest[..2].copy_from_slice(&(offset | more).to_be_bytes());
            stop = offset != 0;
            part = match (offset, more) {
                (0, 0) => Part::Whole,
                (0, _) => Part::First,
                _ => Part::Later,
            };
        }
        exts.push((number, rest));
        if stop {
            break;
        }
    }
    let mut l4 = l4(rng, true, part);
    let end = rng.below(8);
    if end < 2 && part != Part::Later {
        (l4.number, l4.body, l4.pending) = ([59, 50][end as usize], Body::Other, false);
    }
    let mut exthdr = 0u16;
    let mut place = 0;
    let seen = |n: u8, upto: usize| exts[..upto].iter().filter(|ext| ext.0 == n).count();
    for (i, (number, _)) in exts.iter().enumerate() {
        exthdr |= match number {
            0 if i == 0 => 1 << 6,
            0 => 0,
            43 => 1 << 5,
            44 => 1 << 4,
            60 => 1 << 3,
            _ => 1 << 2,
        };
        if seen(*number, i) >= if *number == 60 { 2 } else { 1 } {
            exthdr |= 1 << 7;
        }
        // The next place that this header may take, not before the last taken; two destination
        // headers take both of theirs.
        let from = if i > 0 && *number == 60 && place == 1 {
            2
        } else {
            place
        };
        match PLACES[from..].iter().position(|n| n == number) {
            Some(ahead) => place = from + ahead,
            None => {
                exthdr |= 1 << 8;
                place = PLACES.iter().position(|n| n == number).unwrap();
            }
        }
    }
    if part != Part::Later {
        exthdr |= match l4.number {
            59 => 1,
            50 => 1 << 1,
            _ => 0,
        };
        if l4.number == 50 && place == 6 {
            exthdr |= 1 << 8;
        }
    }
    Net::V6(V6 {
        header: Ipv6Header {
            traffic_class: rng.next() as u8,
            flow_label: Ipv6FlowLabel::try_new(rng.below(1 << 20) as u32).unwrap(),
            payload_length: 0,
            next_header: IpNumber(0),
            hop_limit: rng.next() as u8,
            source: rng.array(),
            destination: rng.array(),
        },
        exts,
        exthdr,
        final_destination,
        l4,
    })
}

/// A random frame.
pub(crate) fn spec(rng: &mut Rng) -> Spec {
    let net = match rng.below(12) {
        0 => Net::Other(rng.pick(&[0x88cc, 0x0600, 0x6003]), rng.bytes(60)),
        1 if rng.one_in(2) => Net::Llc([&[0x42, 0x42, 3], &rng.bytes(60)[..]].concat()),
        1 => Net::Snap(rng.pick(&[0x88cc, 0x2000]), rng.bytes(40)),
        2 => Net::Arp(ArpEthIpv4Packet {
            operation: ArpOperation(rng.next() as u16),
            sender_mac: rng.array(),
            sender_ipv4: rng.array(),
            target_mac: rng.array(),
            target_ipv4: rng.array(),
        }),
        3 => {
            let mut labels: Vec<_> = (0..1 + rng.below(4))
                .map(|_| Label {
                    label: rng.below(1 << 20) as u32,
                    tc: rng.below(8) as u8,
                    bos: false,
                    ttl: rng.next() as u8,
                })
                .collect();
            labels.last_mut().unwrap().bos = true;
            let inner = if rng.one_in(2) { ipv4(rng) } else { ipv6(rng) };
            Net::Mpls(rng.pick(&[0x8847, 0x8848]), labels, Box::new(inner))
        }
        4 => Net::Pbb {
            flags: rng.next() as u8,
            isid: rng.below(1 << 24) as u32,
            inner: {
                let inner = Spec {
                    net: ipv4(rng),
                    ..spec(rng)
                };
                inner.build().0
            },
        },
        5..8 => ipv6(rng),
        _ => ipv4(rng),
    };
    let tag = |rng: &mut Rng| Tag {
        tpid: rng.pick(&[0x8100, 0x88a8, 0x9100]),
        pcp: rng.below(8) as u8,
        dei: rng.one_in(2),
        vid: rng.below(4096) as u16,
    };
    let tags = rng.pick(&[0, 0, 1, 1, 2, 3]);
    Spec {
        dst: rng.array(),
        src: rng.array(),
        tags: (0..tags).map(|_| tag(rng)).collect(),
        eth_type: None,
        padding: match net {
            Net::V4(..) | Net::V6(_) => rng.bytes(7),
            _ => Vec::new(),
        },
        net,
    }
}
