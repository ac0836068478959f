//! Random frames as values: built and checksummed by an independent library, edited as values.

mod network;
mod random;
mod rng;
mod transport;

use bofuss_frame::Offload;
use bofuss_oflib::field::{self as f, Field};
use etherparse::*;

pub(crate) use network::*;
pub(crate) use random::*;
pub(crate) use rng::*;
pub(crate) use transport::*;

/// The fields that these frames are described by. A row added behind them is held to its place in
/// the header, and to what a fresh parse says, by tests over all rows.
pub(crate) fn described() -> impl Iterator<Item = &'static Field> {
    f::FIELDS.iter().take(usize::from(f::TCP_FLAGS.id) + 1)
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
pub(crate) struct Spec {
    pub(crate) dst: [u8; 6],
    pub(crate) src: [u8; 6],
    pub(crate) tags: Vec<Tag>,
    /// A type that set-field wrote.
    pub(crate) eth_type: Option<u16>,
    pub(crate) net: Net,
    pub(crate) padding: Vec<u8>,
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
            Net::Pbb { flags, isid, .. } => {
                all.push((f::PBB_ISID, (*isid).into()));
                all.push((f::PBB_UCA, (flags >> 3 & 1).into()));
            }
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
            ("pbb_uca", Net::Pbb { flags, .. }) => *flags = *flags & !8 | (value as u8) << 3,
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
