//! Network headers as values, and their bytes.

use super::*;

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

impl Net {
    /// Type, bytes, and start and offset of a pending checksum.
    pub(super) fn build(&self) -> (u16, Vec<u8>, Option<(u16, u16)>) {
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
