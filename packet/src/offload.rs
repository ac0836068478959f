//! The work that senders left undone: checksums to finish, super-frames to cut or to count as cut.

use bofuss_frame::Frame;
use bofuss_oflib::added_header::Sum;
use bofuss_oflib::catalogue::Additions;

use crate::checksum::{crc32c, fold, sum};
use crate::header::CHECKSUMS;
use crate::parse::parse_deep;

#[cfg(feature = "super_frames")]
mod cut;
#[cfg(not(feature = "super_frames"))]
#[path = "offload/no_cut.rs"]
mod cut;

use cut::plausible_super_frame;
#[cfg(feature = "super_frames")]
pub use cut::{Cut, MAX_SEGMENTS, Use, agreeing_segments, first, split};
pub use cut::{segment, wire_count};

/// The earliest offset at which a checksum begins: after the Ethernet header.
const ETHERNET_BYTES: usize = 14;

/// Returns how many packets, and how many bytes in them, a frame is on a wire, if its record is one
/// that a network stack makes: its work is within the frame, and a super-frame has the kind and the
/// headers that its record says.
///
/// The kernel passes a header length on as a hint only, so that the parse alone tells the headers.
/// Choice: a super-frame whose checksum is complete, as large receive offload makes them, may pass,
/// although it cannot be cut. Errors: `None` if no stack makes such a record.
#[inline]
pub fn plausible_count(frame: &Frame) -> Option<(u64, u64)> {
    if frame.offload.checksum.is_none() && frame.offload.gso.is_none() {
        return Some((1, frame.len() as u64));
    }
    plausible_offload(frame)
}

/// The same of a frame with which something is left to do.
///
/// It is out of line, because most frames of a burst have no record.
#[inline(never)]
fn plausible_offload(frame: &Frame) -> Option<(u64, u64)> {
    if let Some((start, offset)) = frame.offload.checksum {
        // Two bytes: a CRC32c has four, and `finish_checksum` looks again.
        let end = usize::from(start) + usize::from(offset) + 2;
        if usize::from(start) < ETHERNET_BYTES || end > frame.len() {
            return None;
        }
    }
    let Some(gso) = frame.offload.gso else {
        return Some((1, frame.len() as u64));
    };
    plausible_super_frame(frame, gso)
}

/// Finishes the checksum that a frame's record says is unfinished, and clears that record.
///
/// Choice: the place of the checksum tells its kind, also in a tunnel: only SCTP has one at offset
/// 8. A record that points outside the frame is dropped.
///
/// The field has the sum of the pseudo-header, as the sender left it, so that the sum over all that
/// follows, with the field, is the whole.
pub fn finish_checksum(frame: &mut Frame) {
    let Some(pending) = frame.offload.checksum.take() else {
        return;
    };
    let start = usize::from(pending.0);
    let offset = usize::from(pending.1);
    let layout = parse_deep(frame.bytes(), Additions::NONE);
    // Padding after the IP packet does not count. In a tunnel the end is not known.
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
        // A CRC has no pseudo-header, and is taken with its own field zero.
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
