//! The frames that are sent: a template with room for a signature, and what it becomes at the
//! other end.

use std::net::{Ipv4Addr, Ipv6Addr};

use bofuss_oflib::Mac;
use bofuss_packet::craft::{self, Layer};

use crate::testbed::net::{A_ADDRESS, A_MAC, B_ADDRESS};
use crate::testbed::traffic::{ABSENT_HOSTS, SMALL_FRAME};

/// Bytes of the signature: magic, run, number in the run, and time of departure.
pub const SIGNATURE_BYTES: usize = 16;
/// The first bytes of a signature.
const MAGIC: [u8; 2] = *b"om";
/// Bytes of a UDP header, and the offset of the checksum in it.
const UDP_BYTES: usize = 8;
const UDP_CHECKSUM: usize = 6;
/// The UDP ports of frames whose flow does not change.
pub const PORTS: (u16, u16) = (7_000, 7_001);
/// The addresses of frames of IPv6, those of IPv4 in a documentation prefix (RFC 3849).
pub const A_ADDRESS6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// See [`A_ADDRESS6`].
pub const B_ADDRESS6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

/// The headers of a frame, each as it is sent or as it is to arrive.
#[derive(Clone, Copy, Debug)]
pub struct FrameHeaders {
    /// Ethernet source.
    pub eth_src: [u8; 6],
    /// Ethernet destination; by default no host's, so that no kernel answers.
    pub eth_dst: [u8; 6],
    /// A VLAN tag: TPID and TCI.
    pub vlan: Option<(u16, u16)>,
    /// A tag before that one.
    pub outer_vlan: Option<(u16, u16)>,
    /// An MPLS entry: label, class and TTL.
    pub mpls: Option<(u32, u8, u8)>,
    /// IPv4 source and destination.
    pub ip: [Ipv4Addr; 2],
    /// IPv6 source and destination, instead of IPv4's.
    pub ip6: Option<[Ipv6Addr; 2]>,
    /// IPv4's type of service.
    pub tos: u8,
    /// TTL or hop limit.
    pub ttl: u8,
    /// UDP source and destination.
    pub udp: (u16, u16),
    /// True if UDP has a checksum; without one, IPv4 permits zero.
    pub has_checksum: bool,
}

impl Default for FrameHeaders {
    fn default() -> Self {
        Self {
            eth_src: A_MAC,
            eth_dst: ABSENT_HOSTS[0],
            vlan: None,
            outer_vlan: None,
            mpls: None,
            ip: [A_ADDRESS, B_ADDRESS],
            ip6: None,
            tos: 0,
            ttl: 64,
            udp: PORTS,
            has_checksum: false,
        }
    }
}

impl FrameHeaders {
    /// A frame whose UDP has this much data.
    fn frame(&self, data_bytes: usize) -> Vec<u8> {
        let udp = craft::udp(self.udp.0, self.udp.1, &vec![0; data_bytes]);
        let mut layer = match self.ip6 {
            Some([src, dst]) => craft::ipv6(src, dst, self.ttl, udp),
            None => self.ipv4(udp),
        };
        if let Some((label, class, ttl)) = self.mpls {
            layer = craft::mpls(label, class, ttl, layer);
        }
        for (tpid, tci) in [self.vlan, self.outer_vlan].into_iter().flatten() {
            layer = craft::vlan(tpid, tci, layer);
        }
        let mut frame = craft::ethernet(Mac(self.eth_dst), Mac(self.eth_src), layer);
        if !self.has_checksum && self.ip6.is_none() {
            let at = frame.len() - data_bytes - UDP_BYTES + UDP_CHECKSUM;
            frame[at..at + 2].fill(0);
        }
        frame
    }

    fn ipv4(&self, udp: Layer) -> Layer {
        let mut layer = craft::ipv4(self.ip[0], self.ip[1], self.ttl, udp);
        layer.bytes[1] = self.tos;
        let old = u16::from_be_bytes([layer.bytes[10], layer.bytes[11]]);
        // The type of service was 0 (RFC 1624, equation 3).
        let sum = u32::from(!old) + u32::from(self.tos);
        let folded = !((sum & 0xffff) + (sum >> 16)) as u16;
        layer.bytes[10..12].copy_from_slice(&folded.to_be_bytes());
        layer
    }

    /// Bytes of all headers.
    fn size(&self) -> usize {
        self.frame(0).len()
    }
}

/// A frame with the place of its signature.
#[derive(Clone, Debug)]
pub struct SignedFrame {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The offset of the UDP header.
    udp_at: usize,
    /// True if addresses and ports are exchanged.
    is_back: bool,
}

/// The contents of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSignature {
    /// Tells runs apart.
    pub run: u16,
    /// The frame's number in its run.
    pub number: u32,
    /// The time of departure, nanoseconds since the run began.
    pub departed_ns: u64,
}

/// The frames that are sent, and those that are to arrive of them.
#[derive(Clone, Debug)]
pub struct Template {
    /// As it is sent.
    pub sent: SignedFrame,
    /// As it is to arrive.
    pub arriving: SignedFrame,
}

impl Template {
    /// Frames of `bytes` on the wire, without the frame check sequence, that arrive unchanged.
    pub fn plain(bytes: usize) -> Self {
        Self::rewritten(bytes, FrameHeaders::default(), FrameHeaders::default())
    }

    /// Frames of `bytes` with the headers `sent` that are to arrive with the headers `arriving`.
    pub fn rewritten(bytes: usize, sent: FrameHeaders, arriving: FrameHeaders) -> Self {
        let room = bytes.max(SMALL_FRAME).saturating_sub(sent.size());
        let data = room.max(SIGNATURE_BYTES);
        Self {
            sent: SignedFrame::new(sent, data),
            arriving: SignedFrame::new(arriving, data),
        }
    }

    /// Returns true if these frames can go there and back: if [`reflect`] sends back what arrives.
    pub fn is_reflectable(&self) -> bool {
        self.sent.is_reflectable() && self.arriving.is_reflectable()
    }

    /// The same with UDP ports that the flow chooses.
    pub fn set_ports(&mut self, ports: (u16, u16)) {
        self.sent.set_ports(ports);
        self.arriving.set_ports(ports);
    }
}

impl SignedFrame {
    fn new(headers: FrameHeaders, data_bytes: usize) -> Self {
        let bytes = headers.frame(data_bytes);
        let udp_at = bytes.len() - data_bytes - UDP_BYTES;
        Self {
            bytes,
            udp_at,
            is_back: false,
        }
    }

    /// Writes bytes of UDP's header or data, and keeps a checksum right (RFC 1624, equation 3).
    /// `at` and the length are even.
    fn write(&mut self, at: usize, new: &[u8]) {
        let checksum_at = self.udp_at + UDP_CHECKSUM;
        let old_checksum = word(&self.bytes, checksum_at);
        let place = at..at + new.len();
        if old_checksum != 0 {
            let mut sum = u64::from(!old_checksum);
            for (old, new) in self.bytes[place.clone()].chunks(2).zip(new.chunks(2)) {
                sum += u64::from(!word(old, 0)) + u64::from(word(new, 0));
            }
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            let checksum = match !(sum as u16) {
                0 => 0xffff,
                other => other,
            };
            self.bytes[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
        }
        self.bytes[place].copy_from_slice(new);
    }

    /// Sets the UDP ports.
    pub fn set_ports(&mut self, (source, destination): (u16, u16)) {
        let (source, destination) = if self.is_back {
            (destination, source)
        } else {
            (source, destination)
        };
        let [high, low] = source.to_be_bytes();
        let [to_high, to_low] = destination.to_be_bytes();
        self.write(self.udp_at, &[high, low, to_high, to_low]);
    }

    /// Writes a signature.
    pub fn sign(&mut self, signature: FrameSignature) {
        let mut bytes = [0; SIGNATURE_BYTES];
        bytes[..2].copy_from_slice(&MAGIC);
        bytes[2..4].copy_from_slice(&signature.run.to_be_bytes());
        bytes[4..8].copy_from_slice(&signature.number.to_be_bytes());
        bytes[8..].copy_from_slice(&signature.departed_ns.to_be_bytes());
        self.write(self.udp_at + UDP_BYTES, &bytes);
    }

    /// The signature of a frame that has it where this one has.
    pub fn read(&self, frame: &[u8]) -> Option<FrameSignature> {
        signature_at(frame, self.udp_at + UDP_BYTES)
    }

    /// The signature of a frame that has as much after it as this one, whatever its headers are.
    pub fn read_from_end(&self, frame: &[u8]) -> Option<FrameSignature> {
        let data_bytes = self.bytes.len() - self.udp_at - UDP_BYTES;
        signature_at(frame, frame.len().checked_sub(data_bytes)?)
    }

    /// Returns true if [`reflect`] sends it back.
    fn is_reflectable(&self) -> bool {
        reflect(&mut self.bytes.clone())
    }

    /// The same frame in the reverse direction: addresses and ports exchanged; untagged IPv4 only.
    pub fn reflected(&self) -> Self {
        let mut back = self.clone();
        reflect(&mut back.bytes);
        back.is_back = !self.is_back;
        back
    }
}

fn signature_at(frame: &[u8], at: usize) -> Option<FrameSignature> {
    let bytes = frame.get(at..at + SIGNATURE_BYTES)?;
    let (numbers, departed) = bytes[2..].split_at(6);
    if bytes[..2] != MAGIC {
        return None;
    }
    Some(FrameSignature {
        run: word(numbers, 0),
        number: u32::from_be_bytes(numbers[2..].try_into().ok()?),
        departed_ns: u64::from_be_bytes(departed.try_into().ok()?),
    })
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Swaps addresses and ports of an untagged frame of UDP over IPv4, in which no checksum changes;
/// false, and nothing, for any other.
pub fn reflect(frame: &mut [u8]) -> bool {
    const HEADERS: usize = 42;
    if frame.len() < HEADERS || frame[12..15] != [8, 0, 0x45] || frame[23] != 17 {
        return false;
    }
    for (one, other, bytes) in [(0, 6, 6), (26, 30, 4), (34, 36, 2)] {
        for at in 0..bytes {
            frame.swap(one + at, other + at);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNED: FrameSignature = FrameSignature {
        run: 7,
        number: 70_000,
        departed_ns: 0x0102_0304_0506_0708,
    };

    #[test]
    fn the_ports_of_a_flow_are_exchanged_in_frames_that_come_back() {
        let mut template = Template::plain(64);
        template.arriving = template.arriving.reflected();
        template.set_ports((1_000, 2_000));
        let mut back = template.sent.bytes.clone();
        assert!(reflect(&mut back));
        assert_eq!(template.arriving.bytes, back);
    }

    #[test]
    fn a_signature_is_read_where_it_was_written_whatever_the_headers() {
        let tagged = FrameHeaders {
            vlan: Some((0x8100, 5)),
            ..FrameHeaders::default()
        };
        let six = FrameHeaders {
            ip6: Some([A_ADDRESS6, B_ADDRESS6]),
            ..FrameHeaders::default()
        };
        for headers in [FrameHeaders::default(), tagged, six] {
            let mut template = Template::rewritten(60, headers, headers);
            template.sent.sign(SIGNED);
            let bytes = &template.sent.bytes;
            assert_eq!(template.sent.read(bytes), Some(SIGNED));
            // Four bytes of headers are gone, as those of a VLAN tag.
            assert_eq!(template.sent.read_from_end(&bytes[4..]), Some(SIGNED));
        }
    }

    #[test]
    fn frames_have_the_size_that_was_asked_for_and_at_least_room_for_a_signature() {
        for bytes in [60, 64, 150, 1514] {
            assert_eq!(Template::plain(bytes).sent.bytes.len(), bytes);
        }
        assert_eq!(Template::plain(0).sent.bytes.len(), 60);
    }

    /// The sum of a checksum's words, which is all ones if it is right.
    fn sum(words: &[u8]) -> u16 {
        let mut sum: u64 = words.chunks(2).map(|pair| u64::from(word(pair, 0))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn checksums_stay_right_when_signed() {
        let headers = FrameHeaders {
            has_checksum: true,
            tos: 0x20,
            ..FrameHeaders::default()
        };
        let mut template = Template::rewritten(60, headers, headers);
        template.sent.sign(SIGNED);
        template.set_ports((1, 2));
        let bytes = &template.sent.bytes;
        assert_eq!(sum(&bytes[14..34]), 0xffff);
        let mut pseudo = bytes[26..].to_vec();
        pseudo.extend([0, 17]);
        pseudo.extend(&bytes[38..40]);
        assert_eq!(sum(&pseudo), 0xffff);
    }

    #[test]
    fn a_reflected_frame_goes_back_and_others_are_left_alone() {
        let frame = Template::plain(60).sent;
        let back = frame.reflected();
        assert_eq!(back.bytes[..6], frame.bytes[6..12]);
        assert_eq!(back.reflected().bytes, frame.bytes);
        assert!(!reflect(&mut [0; 60]));
    }
}
