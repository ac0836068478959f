//! The layouts of most frames, known beforehand: TCP or UDP in IPv4 without options or in IPv6
//! without extension headers, with one VLAN tag or none. A frame of another kind is walked along.

use core::ops::Range;

use bofuss_oflib::field::{Header, IPV6_EXTHDR, VLAN_VID};
use bofuss_oflib::field_set::StandardFields;

use crate::header::{NO_SECOND_TAG, ethertype, is_vlan_tag, protocol};
use crate::headers::{TAG_BYTES, TYPE_AT};
use crate::parse::Layout;
use crate::rows::fields_of;

/// Bytes of an IPv4 header without options, and of an IPv6 header.
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
/// Bytes of an Ethernet type.
const TYPE_BYTES: usize = 2;
/// The first byte of an IPv4 header without options: version 4, and five words.
const IPV4_WITHOUT_OPTIONS: u8 = 0x45;
/// The offset of a fragment of IPv4, and the bit that more follow.
///
/// "Don't fragment", above them, makes no fragment.
const FRAGMENT: u16 = 0x3fff;
/// Bytes of a TCP header without options, and of a UDP header.
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// The offset in a TCP header of its number of words, in the higher four bits.
const TCP_WORDS_AT: usize = 12;
/// Bytes of the shortest frame of a common kind: UDP in IPv4, without a tag and without data.
///
/// All bytes below it are read without a further check, also those of the types after one tag.
const SHORTEST: usize = TYPE_AT + TYPE_BYTES + IPV4_BYTES + UDP_BYTES;

/// The amounts added to a layout's number for one tag, for UDP and for IPv6.
///
/// They are bits of the number, so that a number is their sum.
const TAGGED: usize = 1;
const UDP: usize = 2;
const IPV6: usize = 4;

/// The layouts of frames of common kinds, but for their ends. [`crate::survey`] returns their
/// numbers.
///
/// A flow cache can keep what it knows of a layout by this number.
pub static COMMON_LAYOUTS: [Layout; 8] = [
    layout(Header::Ipv4, Header::Tcp, 0),
    layout(Header::Ipv4, Header::Tcp, 1),
    layout(Header::Ipv4, Header::Udp, 0),
    layout(Header::Ipv4, Header::Udp, 1),
    layout(Header::Ipv6, Header::Tcp, 0),
    layout(Header::Ipv6, Header::Tcp, 1),
    layout(Header::Ipv6, Header::Udp, 0),
    layout(Header::Ipv6, Header::Udp, 1),
];

/// The layout of frames with these headers, but for their ends.
///
/// It says what the walk along such a frame would find. Invariant: both give the same layout for a
/// frame of a common kind.
const fn layout(ip: Header, transport: Header, vlan_tags: u8) -> Layout {
    let mut layout = Layout::EMPTY;
    let type_at = TYPE_AT + vlan_tags as usize * TAG_BYTES;
    let ip_at = type_at + TYPE_BYTES;
    layout.offsets[Header::Eth as usize] = 0;
    layout.offsets[Header::EthType as usize] = type_at as u16;
    layout.offsets[ip as usize] = ip_at as u16;
    layout.vlan_tags = vlan_tags;
    layout.payload = ip_at + IPV4_BYTES;
    if vlan_tags > 0 {
        layout.offsets[Header::Vlan as usize] = TYPE_AT as u16;
    }
    // A frame without a tag has VLAN_VID, too, with the value 0.
    let mut fields = StandardFields::of(VLAN_VID).union(NO_SECOND_TAG);
    // The byte that names the upper protocol is in the fixed header, as there are no others.
    if ip as u8 == Header::Ipv6 as u8 {
        layout.offsets[Header::NextHeader as usize] = (ip_at + 6) as u16;
        layout.payload = ip_at + IPV6_BYTES;
        layout.derived = Some((IPV6_EXTHDR, 0));
        fields.insert(StandardFields::of(IPV6_EXTHDR));
    }
    layout.offsets[transport as usize] = layout.payload as u16;
    layout.transport = Some(transport);
    let mut header = 0;
    while header < layout.offsets.len() {
        if layout.offsets[header] != Layout::EMPTY.offsets[header] {
            fields.insert(fields_of(header));
        }
        header += 1;
    }
    layout.fields = fields;
    layout
}

/// Finds the headers of a frame if it is of a common kind. Returns the number of its layout.
/// Errors: `None` if it is of another kind; nothing is done.
///
/// Everything that is unusual, also a flaw, is left to the walk: a common frame has no flaw.
#[inline]
pub(crate) fn survey_common(bytes: &[u8], layout: &mut Layout) -> Option<usize> {
    let start: &[u8; SHORTEST] = bytes.first_chunk()?;
    let number = two_bytes(start, TYPE_AT);
    let (kind, end) = if number == ethertype::IPV4 {
        find_ipv4::<0>(start, bytes)?
    } else if number == ethertype::IPV6 {
        find_ipv6::<0>(start, bytes)?
    } else if is_vlan_tag(number) {
        match two_bytes(start, TYPE_AT + TAG_BYTES) {
            ethertype::IPV4 => find_ipv4::<TAGGED>(start, bytes)?,
            ethertype::IPV6 => find_ipv6::<TAGGED>(start, bytes)?,
            _ => return None,
        }
    } else {
        return None;
    };
    *layout = Layout {
        end,
        additions: layout.additions,
        ..COMMON_LAYOUTS[kind]
    };
    Some(kind)
}

/// The number of the layout of a frame with IPv4 after so many tags, and where the packet ends.
///
/// The IP packet may end before the frame, which then has padding.
#[inline(always)]
fn find_ipv4<const TAGS: usize>(start: &[u8; SHORTEST], bytes: &[u8]) -> Option<(usize, usize)> {
    let at = TYPE_AT + TAGS * TAG_BYTES + TYPE_BYTES;
    // A later fragment has no transport header, and what looks like one is payload.
    if start[at] != IPV4_WITHOUT_OPTIONS || two_bytes(start, at + 6) & FRAGMENT != 0 {
        return None;
    }
    let end = at + usize::from(two_bytes(start, at + 2));
    let kind = find_transport(start[at + 9], bytes, at + IPV4_BYTES..end)?;
    Some((TAGS + kind, end))
}

/// The same with IPv6.
///
/// The length in the header does not count the header itself. An extension header is a protocol
/// that `find_transport` does not know.
#[inline(always)]
fn find_ipv6<const TAGS: usize>(start: &[u8; SHORTEST], bytes: &[u8]) -> Option<(usize, usize)> {
    let at = TYPE_AT + TAGS * TAG_BYTES + TYPE_BYTES;
    if start[at] >> 4 != 6 {
        return None;
    }
    let payload = at + IPV6_BYTES;
    let end = payload + usize::from(two_bytes(start, at + 4));
    let kind = find_transport(start[at + 6], bytes, payload..end)?;
    Some((TAGS + IPV6 + kind, end))
}

/// Returns what the transport header in the payload of IP adds to the number of a layout.
///
/// Errors: `None` if the frame ends before the packet, or the packet before the header.
#[inline(always)]
fn find_transport(protocol: u8, bytes: &[u8], payload: Range<usize>) -> Option<usize> {
    let payload = bytes.get(payload)?;
    match protocol {
        protocol::TCP if payload.len() >= TCP_BYTES && payload[TCP_WORDS_AT] >> 4 >= 5 => Some(0),
        protocol::UDP if payload.len() >= UDP_BYTES => Some(UDP),
        _ => None,
    }
}

/// A big-endian number of two bytes.
#[inline(always)]
fn two_bytes(start: &[u8; SHORTEST], at: usize) -> u16 {
    u16::from_be_bytes([start[at], start[at + 1]])
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use bofuss_oflib::Mac;

    use super::*;
    use crate::craft::{Layer, ethernet, ipv4, ipv6, tcp, udp, vlan};
    use crate::parse::walk;

    fn frames() -> Vec<Vec<u8>> {
        let (four, six) = ([10, 1, 2, 3].into(), [0xfe80, 1, 2, 3, 4, 5, 6, 7].into());
        let layers: [fn() -> Layer; 2] = [|| tcp(1, 2, 0x18, b"data"), || udp(3, 4, b"data")];
        let mut frames = Vec::new();
        for layer in layers {
            let packets = [ipv4(four, four, 64, layer()), ipv6(six, six, 64, layer())];
            for packet in packets {
                let (dst, src) = (Mac([1, 2, 3, 4, 5, 6]), Mac([7, 8, 9, 10, 11, 12]));
                frames.push(ethernet(dst, src, packet.clone()));
                frames.push(ethernet(dst, src, vlan(0x88a8, 7, packet)));
            }
        }
        frames
    }

    /// Panics: if a frame is taken for one of a common kind and is none. Returns true if it is one.
    fn is_common(frame: &[u8]) -> bool {
        let (mut layout, mut walked) = (Layout::EMPTY, Layout::EMPTY);
        walk(frame, &mut walked, 0);
        let is_common = survey_common(frame, &mut layout).is_some();
        assert_eq!(layout, if is_common { walked } else { Layout::EMPTY });
        is_common
    }

    // I4
    #[test]
    fn a_common_layout_is_the_one_that_a_walk_finds() {
        // Bytes that tell headers: types, versions, protocols, lengths, and what they are not.
        const TELLING: [u8; 16] = [
            0, 1, 4, 5, 6, 8, 17, 0x11, 0x40, 0x45, 0x46, 0x50, 0x60, 0x81, 0x86, 0xdd,
        ];
        let mut n_common = 0;
        for mut frame in frames() {
            assert!(is_common(&frame));
            for length in 0..frame.len() {
                assert!(!is_common(&frame[..length]));
            }
            for at in 0..frame.len() {
                let before = frame[at];
                for byte in TELLING
                    .into_iter()
                    .chain([before.wrapping_add(1), before ^ 0x80])
                {
                    frame[at] = byte;
                    n_common += usize::from(is_common(&frame));
                    frame.push(0);
                    n_common += usize::from(is_common(&frame));
                    frame.pop();
                }
                frame[at] = before;
            }
        }
        assert!(n_common > 5000, "{n_common}");
    }
}
