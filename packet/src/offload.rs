//! What senders left undone: checksums to finish, super-frames to cut or to count as cut.

use bofuss_frame::{Frame, Gso, GsoKind, Offload};
use bofuss_oflib::field::Header;

use crate::checksum::{crc32c, fold, sum, update_partial};
use crate::header::{CHECKSUMS, Sum};
use crate::parse::{Fragment, Layout, parse_deep};

/// TCP flags that only the last segment keeps: FIN and PSH.
const TCP_LAST_FLAGS: u8 = 0x09;
/// The TCP flag that only the first segment keeps: CWR.
const TCP_FIRST_FLAG: u8 = 0x80;

/// Finishes the checksum that a frame's record says is unfinished, and clears that record.
///
/// Choice: the place of the checksum tells its kind, also in a tunnel: only SCTP has one at offset
/// 8. A record that points outside the frame is dropped.
pub fn finish_checksum(frame: &mut Frame) {
    let Some((start, offset)) = frame.offload.checksum.take() else {
        return;
    };
    let (start, offset) = (usize::from(start), usize::from(offset));
    let layout = parse_deep(frame.bytes());
    let end = if layout.payload == start {
        layout.end
    } else {
        frame.len()
    };
    let Some(covered) = frame.bytes_mut().get_mut(start..end) else {
        return;
    };
    let row = CHECKSUMS.iter().find(|row| row.1 == offset);
    let kind = row.map_or(Sum::Ones, |row| row.2);
    let bytes = if kind == Sum::Crc32c { 4 } else { 2 };
    if offset + bytes > covered.len() {
        return;
    }
    if kind == Sum::Crc32c {
        covered[offset..offset + 4].fill(0);
        let crc = crc32c(covered);
        covered[offset..offset + 4].copy_from_slice(&crc);
        return;
    }
    let sum = match !fold(sum(covered)) {
        0 if kind == Sum::PseudoOrNone => 0xffff,
        sum => sum,
    };
    covered[offset..offset + 2].copy_from_slice(&sum.to_be_bytes());
}

/// How many packets, and how many bytes in them, a frame is on a wire.
///
/// Choice: a super-frame that cannot be cut counts as one packet.
#[inline]
pub fn wire_count(frame: &Frame) -> (u64, u64) {
    let Some(cut) = frame.offload.gso.and_then(|gso| Cut::of(frame, gso)) else {
        return (1, frame.len() as u64);
    };
    let payload = cut.layout.end - cut.headers;
    let packets = payload.div_ceil(cut.segment_bytes).max(1);
    ((packets as u64), (packets * cut.headers + payload) as u64)
}

/// Gives `emit` the frames that a super-frame stands for, in order; each with the checksum
/// unfinished as the super-frame's, from buffers of the same pool. An ordinary frame is copied.
///
/// Choice: below VLAN tags, MPLS labels and PBB tags, but not inside a tunnel over IP; UDP
/// fragmentation and SCTP are not cut. Errors: `false` if the frame cannot be cut, or the pool is
/// exhausted, which may be after some segments.
pub fn segment(frame: &Frame, mut emit: impl FnMut(Frame)) -> bool {
    let Some(gso) = frame.offload.gso else {
        return frame.try_clone().map(emit).is_some();
    };
    let Some(cut) = Cut::of(frame, gso) else {
        return false;
    };
    let (headers, payload) = frame.bytes()[..cut.layout.end].split_at(cut.headers);
    let count = payload.len().div_ceil(cut.segment_bytes).max(1);
    for index in 0..count {
        let from = index * cut.segment_bytes;
        let part = &payload[from..payload.len().min(from + cut.segment_bytes)];
        let Some(mut segment) = frame.pool().take(headers.len() + part.len()) else {
            return false;
        };
        segment.set_len(headers.len() + part.len());
        let bytes = segment.bytes_mut();
        bytes[..headers.len()].copy_from_slice(headers);
        bytes[headers.len()..].copy_from_slice(part);
        cut.rewrite(bytes, index, index + 1 == count);
        segment.offload = Offload {
            checksum: cut.checksum,
            ..Offload::NONE
        };
        emit(segment);
    }
    true
}

/// How a super-frame is cut.
struct Cut {
    layout: Layout,
    kind: GsoKind,
    /// The unfinished checksum of each segment.
    checksum: Option<(u16, u16)>,
    /// Bytes in front of the payload.
    headers: usize,
    segment_bytes: usize,
}

impl Cut {
    /// Errors: `None` for one that cannot be cut.
    fn of(frame: &Frame, gso: Gso) -> Option<Self> {
        let Gso {
            kind,
            segment_bytes,
            ..
        } = gso;
        let layout = parse_deep(frame.bytes());
        let start = layout.payload;
        let transport = frame
            .bytes()
            .get(start..layout.end)
            .filter(|_| start != 0)?;
        let (header, bytes) = match kind {
            GsoKind::Tcp4 | GsoKind::Tcp6 => {
                let bytes = 4 * usize::from(transport.get(12)? >> 4);
                (Header::Tcp, if bytes < 20 { return None } else { bytes })
            }
            GsoKind::Udp => (Header::Udp, 8),
            GsoKind::UdpFragment | GsoKind::Sctp => return None,
        };
        let row = CHECKSUMS.iter().find(|row| row.0 == header)?;
        let (at, checksum) = (row.1, frame.offload.checksum);
        let complete = match checksum {
            // Only UDP may go without.
            None => kind != GsoKind::Udp || *transport.get(at..at + 2)? != [0, 0],
            Some(place) => place != (start as u16, at as u16),
        };
        if complete
            || bytes > transport.len()
            || layout.fragment != Fragment::No
            || segment_bytes == 0
        {
            return None;
        }
        Some(Self {
            layout,
            kind,
            checksum,
            headers: start + bytes,
            segment_bytes: usize::from(segment_bytes),
        })
    }

    /// Makes the copied headers of segment `index` its own.
    fn rewrite(&self, bytes: &mut [u8], index: usize, last: bool) {
        let start = self.layout.payload;
        if let Some(ip) = self.layout.offset(Header::Ipv4) {
            let total = (bytes.len() - ip) as u16;
            put_u16(bytes, ip + 2, |_| total);
            put_u16(bytes, ip + 4, |id| id.wrapping_add(index as u16));
            put_u16(bytes, ip + 10, |_| 0);
            let checksum = !fold(sum(&bytes[ip..ip + 4 * usize::from(bytes[ip] & 15)]));
            put_u16(bytes, ip + 10, |_| checksum);
        } else if let Some(ip) = self.layout.offset(Header::Ipv6) {
            let length = (bytes.len() - ip - 40) as u16;
            put_u16(bytes, ip + 4, |_| length);
        }
        let transport = &mut bytes[start..];
        if self.kind == GsoKind::Udp {
            let length = transport.len() as u16;
            put_u16(transport, 4, |_| length);
        } else {
            let sequence = [transport[4], transport[5], transport[6], transport[7]];
            let moved = (index * self.segment_bytes) as u32;
            let sequence = u32::from_be_bytes(sequence).wrapping_add(moved);
            transport[4..8].copy_from_slice(&sequence.to_be_bytes());
            transport[13] &= !if last { 0 } else { TCP_LAST_FLAGS };
            transport[13] &= !if index == 0 { 0 } else { TCP_FIRST_FLAG };
        }
        if let Some((_, offset)) = self.checksum {
            let whole = (self.layout.end - start) as u64;
            let own = transport.len() as u64;
            put_u16(transport, usize::from(offset), |sum| {
                update_partial(sum, whole, own)
            });
        }
    }
}

fn put_u16(bytes: &mut [u8], at: usize, change: impl Fn(u16) -> u16) {
    let new = change(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
}
