//! What makes packets one flow, and what is reported of it.

use std::hash::{Hash, Hasher};

use bofuss_oflib::field::Header;
use bofuss_packet::{Fragment, Layout, survey};

/// What all packets of a flow agree in, besides the port by which they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowKey {
    /// Source address of Ethernet.
    pub eth_src: [u8; 6],
    /// Destination address of Ethernet.
    pub eth_dst: [u8; 6],
    /// The outermost VLAN; 0 without a tag.
    pub vlan: u16,
    /// The Ethernet type after all tags.
    pub eth_type: u16,
    /// 4 or 6; 0 if it is not IP.
    pub ip_version: u8,
    /// The protocol above IP.
    pub protocol: u8,
    /// Type of service, or traffic class.
    pub tos: u8,
    /// Source address; of IPv4 in the first 4 bytes.
    pub ip_src: [u8; 16],
    /// Destination address.
    pub ip_dst: [u8; 16],
    /// Source and destination port; 0 without one, as in later fragments.
    pub ports: [u16; 2],
    /// Type and code of ICMP.
    pub icmp: [u8; 2],
}

impl Hash for FlowKey {
    /// Gives the hasher words, as the calls for each field would take most of the time.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut ends = [0; 24];
        ends[..6].copy_from_slice(&self.eth_src);
        ends[6..12].copy_from_slice(&self.eth_dst);
        ends[12..14].copy_from_slice(&self.vlan.to_ne_bytes());
        ends[14..16].copy_from_slice(&self.ports[0].to_ne_bytes());
        ends[16..18].copy_from_slice(&self.ports[1].to_ne_bytes());
        ends[18..20].copy_from_slice(&self.icmp);
        ends[20..22].copy_from_slice(&self.eth_type.to_ne_bytes());
        ends[22] = self.protocol;
        ends[23] = self.tos;
        state.write(&ends);
        // The version of IP follows from the Ethernet type; 12 bytes of IPv4 are zeros.
        let address_bytes = if self.ip_version == 4 { 4 } else { 16 };
        state.write(&self.ip_src[..address_bytes]);
        state.write(&self.ip_dst[..address_bytes]);
    }
}

/// What a frame adds to its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameFacts {
    /// Bytes before the IP packet; `None` if it is not IP.
    pub ip_at: Option<usize>,
    /// The end of the IP packet: padding follows.
    pub ip_end: usize,
    /// The flags of TCP.
    pub tcp_flags: u8,
}

/// Why a flow is reported. Spec: RFC 5102, flowEndReason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EndReason {
    /// No packet came for the idle timeout.
    Idle = 1,
    /// It goes on, and is reported again.
    Active = 2,
    /// The switch sees its port no more.
    Forced = 4,
}

/// A flow to be reported; times are milliseconds of the export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// The flow.
    pub key: FlowKey,
    /// The index of the interface by which it came.
    pub index: u32,
    /// The time of its first packet.
    pub first_ms: u64,
    /// The time of its last packet.
    pub last_ms: u64,
    /// Its packets.
    pub packets: u64,
    /// Bytes of its IP packets.
    pub ip_bytes: u64,
    /// Bytes of its frames, without the FCS.
    pub bytes: u64,
    /// The flags of TCP that any packet had.
    pub tcp_flags: u8,
    /// Why it is reported.
    pub end: EndReason,
}

impl FlowKey {
    /// Reads a frame. Total: any bytes have a key.
    pub fn read(bytes: &[u8]) -> (Self, FrameFacts) {
        let mut layout = Layout::EMPTY;
        survey(bytes, &mut layout);
        let mut key = Self::default();
        let mut facts = FrameFacts::default();
        let at = |header| layout.offset(header);
        if let Some(eth) = at(Header::Eth) {
            key.eth_dst = array(bytes, eth);
            key.eth_src = array(bytes, eth + 6);
        }
        if let Some(vlan) = at(Header::Vlan) {
            key.vlan = number(bytes, vlan + 2) & 0xfff;
        }
        if let Some(eth_type) = at(Header::EthType) {
            key.eth_type = number(bytes, eth_type);
        }
        if let Some(ip) = at(Header::Ipv4) {
            key.ip_version = 4;
            key.tos = byte(bytes, ip + 1);
            key.protocol = byte(bytes, ip + 9);
            key.ip_src[..4].copy_from_slice(&array::<4>(bytes, ip + 12));
            key.ip_dst[..4].copy_from_slice(&array::<4>(bytes, ip + 16));
        } else if let Some(ip) = at(Header::Ipv6) {
            key.ip_version = 6;
            key.tos = (number(bytes, ip) >> 4) as u8;
            let named = layout.fragment_protocol(bytes);
            let next = byte(bytes, at(Header::NextHeader).unwrap_or(ip + 6));
            key.protocol = named.unwrap_or(next);
            key.ip_src = array(bytes, ip + 8);
            key.ip_dst = array(bytes, ip + 24);
        }
        if key.ip_version != 0 {
            facts.ip_at = at(Header::Ipv4).or(at(Header::Ipv6));
            facts.ip_end = layout.end;
        }
        if layout.fragment != Fragment::Later {
            key.read_transport(bytes, &layout, &mut facts);
        }
        (key, facts)
    }

    fn read_transport(&mut self, bytes: &[u8], layout: &Layout, facts: &mut FrameFacts) {
        for header in [Header::Tcp, Header::Udp, Header::Sctp] {
            if let Some(at) = layout.offset(header) {
                self.ports = [number(bytes, at), number(bytes, at + 2)];
            }
        }
        if let Some(at) = layout.offset(Header::Tcp) {
            facts.tcp_flags = byte(bytes, at + 13);
        }
        let icmp = layout.offset(Header::Icmpv4);
        if let Some(at) = icmp.or(layout.offset(Header::Icmpv6)) {
            self.icmp = array(bytes, at);
        }
    }
}

/// Bytes at a place; zeros beyond the end.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
    found.copied().unwrap_or([0; N])
}

fn number(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_have_a_key() {
        let mut random = 1_u64;
        let mut next = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) as usize
        };
        let types = [[8, 0], [0x86, 0xdd], [0x81, 0], [0x88, 0xa8], [0x88, 0x47]];
        for _ in 0..200_000 {
            let mut bytes: Vec<u8> = (0..next() % 120).map(|_| next() as u8).collect();
            let chosen = types[next() % types.len()];
            if let Some(place) = bytes.get_mut(12..14) {
                place.copy_from_slice(&chosen);
            }
            if let Some(version) = bytes.get_mut(14) {
                *version = [0x45, 0x46, 0x60, 0][next() % 4];
            }
            let (key, facts) = FlowKey::read(&bytes);
            assert!(facts.ip_end <= bytes.len());
            assert_eq!(facts.ip_at.is_some(), key.ip_version != 0);
        }
    }
}
