//! The kernel's offload header (`virtio_net_hdr`) to and from a frame's record, and tags put back.

use bofuss_frame::{Frame, Gso, GsoKind, Offload};

use crate::{DriverDropReason, MIN_FRAME_BYTES};

/// The header's size: flags, type, header length, segment size, checksum start and offset.
pub(crate) const HEADER_BYTES: usize = 10;
/// A VLAN tag's size, and where the outer one sits.
pub(crate) const TAG_BYTES: usize = 4;
const TAG_AT: usize = 12;
/// Bytes of an Ethernet header.
pub(crate) const ETHERNET_BYTES: usize = 14;
const NEEDS_CHECKSUM: u8 = 1;
const ECN: u8 = 0x80;
/// The offsets of a TCP header's length and of its checksum; the latter tells TCP from UDP.
const TCP_DATA_OFFSET: usize = 12;
const TCP_CHECKSUM: u16 = 16;
const UDP_HEADER_BYTES: usize = 8;
/// The offset of an SCTP header's CRC.
const SCTP_CHECKSUM: u16 = 8;

/// One row a kind that the header can say.
const KINDS: [(u8, GsoKind); 4] = [
    (1, GsoKind::Tcp4),
    (3, GsoKind::UdpFragment),
    (4, GsoKind::Tcp6),
    (5, GsoKind::Udp),
];

/// The record that a header gives of a frame of `len` bytes; `None` if it makes no sense.
pub(crate) fn decode(header: &[u8; HEADER_BYTES], len: usize) -> Option<Offload> {
    let flags = header[0];
    let kind = header[1];
    let segment_bytes = u16::from_ne_bytes([header[4], header[5]]);
    let start = u16::from_ne_bytes([header[6], header[7]]);
    let offset = u16::from_ne_bytes([header[8], header[9]]);
    let checksum = (flags & NEEDS_CHECKSUM != 0).then_some((start, offset));
    if checksum.is_some() && usize::from(start) + usize::from(offset) + 2 > len {
        return None;
    }
    let gso = match kind & !ECN {
        0 => None,
        _ if segment_bytes == 0 => return None,
        kind_number => Some(Gso {
            kind: KINDS.iter().find(|row| row.0 == kind_number)?.1,
            segment_bytes,
            ecn: kind & ECN != 0,
        }),
    };
    Some(Offload {
        checksum,
        gso,
        ..Offload::NONE
    })
}

/// The same of a frame of `len` bytes whose first bytes the header does not count.
pub(crate) fn decode_after(
    header: &[u8; HEADER_BYTES],
    front_bytes: usize,
    len: usize,
) -> Option<Offload> {
    let mut offload = decode(header, len - front_bytes)?;
    if let Some((start, _)) = &mut offload.checksum {
        *start = start.checked_add(front_bytes as u16)?;
    }
    Some(offload)
}

/// The header that says what a frame's record does; `None` if it has no word for it.
pub(crate) fn encode(frame: &Frame) -> Option<[u8; HEADER_BYTES]> {
    encode_after(frame, 0)
}

/// The same of a frame whose first bytes the header does not count.
pub(crate) fn encode_after(frame: &Frame, front_bytes: usize) -> Option<[u8; HEADER_BYTES]> {
    let mut header = [0; HEADER_BYTES];
    if let Some((start, offset)) = frame.offload.checksum {
        let start = start.checked_sub(front_bytes as u16)?;
        header[0] = NEEDS_CHECKSUM;
        header[6..8].copy_from_slice(&start.to_ne_bytes());
        header[8..10].copy_from_slice(&offset.to_ne_bytes());
    }
    if let Some(gso) = frame.offload.gso {
        header[1] = KINDS.iter().find(|row| row.1 == gso.kind)?.0;
        if gso.ecn {
            header[1] |= ECN;
        }
        let headers = headers_bytes(frame).unwrap_or(0);
        let headers = headers.saturating_sub(front_bytes) as u16;
        header[2..4].copy_from_slice(&headers.to_ne_bytes());
        header[4..6].copy_from_slice(&gso.segment_bytes.to_ne_bytes());
    }
    Some(header)
}

/// Completes a frame of bytes that the kernel handed over with what came next to them: its offload
/// record, and the tag (TPID and TCI) that was taken out.
///
/// Errors: `false` if the header makes no sense.
pub(crate) fn complete(
    frame: &mut Frame,
    header: &[u8; HEADER_BYTES],
    tag: Option<(u16, u16)>,
) -> bool {
    let Some(offload) = decode(header, frame.len()) else {
        return false;
    };
    frame.offload = offload;
    tag.is_none_or(|(tpid, tci)| restore_tag(frame, tpid, tci))
}

/// The tag that a packet socket's status word says was taken out of a frame, if one was.
pub(crate) fn stripped_tag(status: u32, tpid: u16, tci: u16) -> Option<(u16, u16)> {
    // The TCI alone does not show whether there was a tag: that of a priority tag may be 0.
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    if status & libc::TP_STATUS_VLAN_TPID_VALID == 0 {
        return Some((libc::ETH_P_8021Q as u16, tci));
    }
    Some((tpid, tci))
}

/// Puts a tag that the kernel took out back before the type field, and moves the checksum start.
///
/// Errors: `false` if the frame is too short to have had one.
fn restore_tag(frame: &mut Frame, tpid: u16, tci: u16) -> bool {
    if !frame.insert(TAG_AT, TAG_BYTES) {
        return false;
    }
    let [a, b] = tpid.to_be_bytes();
    let [c, d] = tci.to_be_bytes();
    frame.bytes_mut()[TAG_AT..TAG_AT + TAG_BYTES].copy_from_slice(&[a, b, c, d]);
    if let Some((start, _)) = &mut frame.offload.checksum {
        *start += TAG_BYTES as u16;
    }
    true
}

/// Makes a frame ready for an interface of `mtu_bytes`: refuses what is too long or cannot be said,
/// pads runts.
pub(crate) fn prepare(
    frame: &mut Frame,
    mtu_bytes: usize,
    pad: bool,
) -> Result<(), DriverDropReason> {
    if exceeds_mtu(frame, mtu_bytes) {
        return Err(DriverDropReason::TxTooLong);
    }
    if frame
        .offload
        .gso
        .is_some_and(|gso| gso.kind == GsoKind::Sctp)
    {
        return Err(DriverDropReason::TxShape);
    }
    // Zeros do not change an unfinished Internet checksum, but they do change SCTP's CRC.
    let unfinished_crc = matches!(frame.offload.checksum, Some((_, SCTP_CHECKSUM)));
    let len = frame.len();
    if pad && len < MIN_FRAME_BYTES && !unfinished_crc {
        frame.set_len(MIN_FRAME_BYTES);
        frame.bytes_mut()[len..].fill(0);
    }
    Ok(())
}

/// Returns true if a frame, or each segment of a super-frame, is longer than the MTU with its
/// Ethernet header and tags.
fn exceeds_mtu(frame: &Frame, mtu_bytes: usize) -> bool {
    let limit = mtu_bytes + ETHERNET_BYTES;
    let len = match (frame.offload.gso, headers_bytes(frame)) {
        (None, _) => frame.len(),
        (Some(gso), Some(headers)) => headers + usize::from(gso.segment_bytes),
        // Without a checksum start there is no telling where the payload begins: the kernel's to
        // judge.
        (Some(_), None) => return false,
    };
    len > limit && len > limit + TAG_BYTES * tags(frame.bytes())
}

/// Returns how many VLAN tags precede the type field.
fn tags(bytes: &[u8]) -> usize {
    let stack = bytes[TAG_AT.min(bytes.len())..].chunks_exact(TAG_BYTES);
    stack
        .take_while(|tag| matches!(tag[..2], [0x81, 0x00] | [0x88, 0xa8]))
        .count()
}

/// The bytes before a super-frame's payload, if the record says where its transport header starts.
fn headers_bytes(frame: &Frame) -> Option<usize> {
    let (start, offset) = frame.offload.checksum?;
    let start = usize::from(start);
    let transport = match offset {
        TCP_CHECKSUM => usize::from(frame.bytes().get(start + TCP_DATA_OFFSET)? >> 4) * 4,
        _ => UDP_HEADER_BYTES,
    };
    Some(start + transport)
}

#[cfg(test)]
mod tests {
    use bofuss_frame::{Pool, SMALL_FRAME_BYTES};

    use super::*;

    fn header(flags: u8, kind: u8, words: [u16; 4]) -> [u8; HEADER_BYTES] {
        let mut header = [flags, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        for (at, word) in words.into_iter().enumerate() {
            header[2 + 2 * at..4 + 2 * at].copy_from_slice(&word.to_ne_bytes());
        }
        header
    }

    fn frame(len: usize, offload: Offload) -> Frame {
        let mut bytes = vec![0xee; len];
        bytes[TAG_AT..TAG_AT + 2].copy_from_slice(&[0x08, 0x00]);
        if let Some(byte) = bytes.get_mut(34 + TCP_DATA_OFFSET) {
            *byte = 0x80;
        }
        let mut frame = Pool::new(1 << 20).frame(&bytes).expect("within the limit");
        frame.offload = offload;
        frame
    }

    fn tcp(segment_bytes: u16) -> Offload {
        Offload {
            checksum: Some((34, TCP_CHECKSUM)),
            gso: Some(Gso {
                kind: GsoKind::Tcp4,
                segment_bytes,
                ecn: true,
            }),
            ..Offload::NONE
        }
    }

    #[test]
    fn every_kind_survives_encode_and_decode() {
        for (number, kind) in KINDS {
            let mut offload = tcp(1448);
            offload.gso.as_mut().expect("a super-frame").kind = kind;
            let header = encode(&frame(9000, offload)).expect("it can be said");
            assert_eq!(header[1], number | ECN);
            assert_eq!(decode(&header, 9000), Some(offload));
        }
        assert_eq!(decode(&[0; HEADER_BYTES], 60), Some(Offload::NONE));
    }

    #[test]
    fn header_length_covers_tcp_options() {
        let header = encode(&frame(9000, tcp(1448))).expect("it can be said");
        assert_eq!(u16::from_ne_bytes([header[2], header[3]]), 34 + 32);
    }

    #[test]
    fn headers_that_make_no_sense_are_refused() {
        assert_eq!(
            decode(&header(1, 0, [0, 0, 50, 9]), 60),
            None,
            "sum past the end"
        );
        assert!(decode(&header(1, 0, [0, 0, 50, 8]), 60).is_some());
        assert_eq!(
            decode(&header(0, 1, [0, 0, 0, 0]), 60),
            None,
            "segments of nothing"
        );
        assert_eq!(
            decode(&header(0, 2, [0, 9, 0, 0]), 60),
            None,
            "no such kind"
        );
    }

    #[test]
    fn a_restored_tag_moves_the_checksum_start() {
        let mut frame = frame(60, Offload::NONE);
        frame.offload.checksum = Some((34, 6));
        assert!(restore_tag(&mut frame, 0x88a8, 0xe000));
        assert_eq!(frame.len(), 64);
        assert_eq!(
            frame.bytes()[10..18],
            [0xee, 0xee, 0x88, 0xa8, 0xe0, 0, 8, 0]
        );
        assert_eq!(frame.offload.checksum, Some((38, 6)));
    }

    #[test]
    fn mtu_leaves_room_for_the_header_and_each_tag() {
        let tagged = |len: usize, count: usize| {
            let mut frame = frame(len - TAG_BYTES * count, Offload::NONE);
            for _ in 0..count {
                assert!(restore_tag(&mut frame, 0x8100, 7));
            }
            prepare(&mut frame, 1500, true)
        };
        for (len, tags) in [(1514, 0), (1518, 1), (1522, 2)] {
            assert_eq!(tagged(len, tags), Ok(()));
            assert_eq!(tagged(len + 1, tags), Err(DriverDropReason::TxTooLong));
        }
    }

    #[test]
    fn a_super_frame_is_judged_by_its_segments() {
        assert_eq!(prepare(&mut frame(9000, tcp(1448)), 1500, true), Ok(()));
        let too_long = prepare(&mut frame(9000, tcp(1449)), 1500, true);
        assert_eq!(too_long, Err(DriverDropReason::TxTooLong));
    }

    #[test]
    fn runts_are_padded_with_zeros_unless_told_not_to_or_a_crc_is_open() {
        let mut runt = frame(50, Offload::NONE);
        prepare(&mut runt, 1500, false).expect("short enough");
        assert_eq!(runt.len(), 50);
        prepare(&mut runt, 1500, true).expect("short enough");
        assert_eq!((runt.len(), &runt.bytes()[50..]), (60, &[0; 10][..]));
        // All that is left of the longest frame of a small buffer.
        let mut rest = frame(SMALL_FRAME_BYTES, Offload::NONE);
        assert!(rest.remove(0, SMALL_FRAME_BYTES - 55));
        prepare(&mut rest, 1500, true).expect("short enough");
        assert_eq!(rest.bytes(), [&[0xee; 55][..], &[0; 5]].concat());
        let mut sctp = frame(50, Offload::NONE);
        sctp.offload.checksum = Some((34, SCTP_CHECKSUM));
        prepare(&mut sctp, 1500, true).expect("short enough");
        assert_eq!(sctp.len(), 50);
    }
}
