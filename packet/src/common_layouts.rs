//! The layouts of most frames, known beforehand: TCP or UDP in IPv4 without options or in IPv6
//! without extension headers, with one VLAN tag or none. A frame of another kind is walked along.

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
const FRAGMENT: u16 = 0x3fff;
/// Bytes of a TCP header without options, and of a UDP header.
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// Where the words in a TCP header are said, in the higher four bits.
const TCP_WORDS_AT: usize = 12;

/// The layouts of one kind of IP: with TCP and with UDP, without a tag and with one.
struct OfVersion {
    tcp: [Layout; 2],
    udp: [Layout; 2],
}

const IPV4: OfVersion = OfVersion::of(Header::Ipv4);
const IPV6: OfVersion = OfVersion::of(Header::Ipv6);

impl OfVersion {
    const fn of(ip: Header) -> Self {
        Self {
            tcp: [layout(ip, Header::Tcp, 0), layout(ip, Header::Tcp, 1)],
            udp: [layout(ip, Header::Udp, 0), layout(ip, Header::Udp, 1)],
        }
    }
}

/// The layout of frames with these headers, but for their ends.
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
    let mut fields = StandardFields::of(VLAN_VID).union(NO_SECOND_TAG);
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

/// Finds the headers of a frame if it is of a common kind. Errors: `None` if not; nothing is done.
#[inline]
pub(crate) fn survey_common(bytes: &[u8], layout: &mut Layout) -> Option<()> {
    let mut number = two_bytes(bytes, TYPE_AT)?;
    let mut tags = 0;
    if is_vlan_tag(number) {
        tags = 1;
        number = two_bytes(bytes, TYPE_AT + TAG_BYTES)?;
    }
    let ip_at = TYPE_AT + tags * TAG_BYTES + TYPE_BYTES;
    let ip = bytes.get(ip_at..)?;
    let (layouts, protocol, header_bytes, payload_bytes) = match number {
        ethertype::IPV4 => {
            let ip: &[u8; IPV4_BYTES] = ip.first_chunk()?;
            if ip[0] != IPV4_WITHOUT_OPTIONS || two_bytes(ip, 6)? & FRAGMENT != 0 {
                return None;
            }
            let total = usize::from(two_bytes(ip, 2)?);
            (&IPV4, ip[9], IPV4_BYTES, total.checked_sub(IPV4_BYTES)?)
        }
        ethertype::IPV6 => {
            let ip: &[u8; IPV6_BYTES] = ip.first_chunk()?;
            if ip[0] >> 4 != 6 {
                return None;
            }
            (&IPV6, ip[6], IPV6_BYTES, usize::from(two_bytes(ip, 4)?))
        }
        _ => return None,
    };
    let payload = ip.get(header_bytes..header_bytes + payload_bytes)?;
    let common = match protocol {
        protocol::TCP if payload.len() >= TCP_BYTES && payload[TCP_WORDS_AT] >> 4 >= 5 => {
            &layouts.tcp[tags]
        }
        protocol::UDP if payload.len() >= UDP_BYTES => &layouts.udp[tags],
        _ => return None,
    };
    *layout = Layout {
        end: ip_at + header_bytes + payload_bytes,
        additions: layout.additions,
        ..*common
    };
    Some(())
}

/// A big-endian number of two bytes.
#[inline(always)]
fn two_bytes(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes))
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
