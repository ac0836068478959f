//! Super-frames: frames that a sender has left to cut, counted as cut, and cut.
//!
//! Without the feature `super_frames`, `no_cut.rs` takes the place of this file.

use core::ops::Range;

use bofuss_frame::{Frame, Gso, GsoKind, Offload};
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::{Differs, Field, Header, TCP_FLAGS};

use crate::checksum::{fold, sum, update_partial};
use crate::configured::first_place;
use crate::header::CHECKSUMS;
use crate::parse::{Fragment, Layout, parse_deep};
use crate::rows::get_bits;

/// The TCP flag that only the first segment keeps, CWR, and those that only the last one does, FIN
/// and PSH.
///
/// They are taken from the field's row, by which the flow cache knows the same.
const TCP_FIRST_FLAG: u8 = TCP_ENDS.0;
const TCP_LAST_FLAGS: u8 = TCP_ENDS.1;
const TCP_ENDS: (u8, u8) = match TCP_FLAGS.differs {
    Differs::Ends { first, last } => (first as u8, last as u8),
    Differs::Nowhere | Differs::Every => panic!("the row of TCP_FLAGS says how"),
};

/// The most segments of a super-frame, which bounds its work.
///
/// Segments may have a byte each: receive offload joins them as they come. 64 KiB in Linux's least
/// TCP segments with timestamps, of 36 bytes (TCP_MIN_SND_MSS less 12), are 1,821.
pub const MAX_SEGMENTS: usize = 2048;

/// Returns how many packets, and how many bytes in them, a super-frame is on a wire. Errors: `None`
/// if no stack makes such a record.
pub(super) fn plausible_super_frame(frame: &Frame, gso: Gso) -> Option<(u64, u64)> {
    let (cut, place) = Cut::found(frame, gso, &parse_deep(frame.bytes(), Additions::NONE))?;
    // A checksum elsewhere than in the header that is to be cut is another protocol's.
    let misplaced = cut.checksum.is_some_and(|given| given != place);
    if cut.segments() > MAX_SEGMENTS || misplaced {
        return None;
    }
    if cut.can_follow(frame, place) {
        return Some(cut.wire_count());
    }
    Some((1, frame.len() as u64))
}

/// Returns how many packets, and how many bytes in them, a frame is on a wire.
///
/// Choice: a super-frame that cannot be cut counts as one packet.
///
/// Counters of entries, ports and meters count this, so that they are the same as without offloads.
#[inline]
pub fn wire_count(frame: &Frame) -> (u64, u64) {
    let Some(cut) = frame.offload.gso.and_then(|gso| Cut::of(frame, gso)) else {
        return (1, frame.len() as u64);
    };
    cut.wire_count()
}

/// Calls `emit` with the segments of a super-frame, in order; each with an unfinished checksum if
/// the super-frame's is unfinished, from buffers of the same pool. An ordinary frame is copied.
///
/// Choice: below VLAN tags, MPLS labels and PBB tags, but not inside a tunnel over IP; UDP
/// fragmentation and SCTP are not cut. Errors: `false` if the frame cannot be cut, or the pool is
/// exhausted, which may be after some segments.
///
/// A super-frame of one segment gives one frame.
pub fn segment(frame: &Frame, mut emit: impl FnMut(Frame)) -> bool {
    let Some(gso) = frame.offload.gso else {
        return frame.try_clone().map(emit).is_some();
    };
    let Some(cut) = Cut::of(frame, gso) else {
        return false;
    };
    for index in 0..cut.segments() {
        let Some(segment) = cut.piece(frame, index..index + 1) else {
            return false;
        };
        emit(segment);
    }
    true
}

/// The use of a field in which segments may differ.
///
/// Segments that agree in all fields in use can be treated together, as one super-frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use<'a> {
    /// The field.
    pub field: &'a Field,
    /// True if something writes it: then each segment must be one of its own, whatever it has.
    pub is_set: bool,
    /// The bits of it that are read.
    pub bits: u64,
}

/// Returns how many segments of a super-frame, from the first on, agree in fields that are used.
///
/// All of them if the frame cannot be cut. `additions` is what a catalogue has added.
///
/// The greatest number stands for all, as the frame is not cut in any case.
pub fn agreeing_segments<'a>(
    frame: &Frame,
    additions: &'static Additions,
    uses: impl Iterator<Item = Use<'a>>,
) -> usize {
    let Some(mut cut) = frame.offload.gso.and_then(|gso| Cut::of(frame, gso)) else {
        return usize::MAX;
    };
    // A header that an extension brings is found only by a parse that looks for it.
    if !additions.headers.is_empty() {
        cut.layout = parse_deep(frame.bytes(), additions);
    }
    cut.agreeing_segments(frame, uses)
}

/// The first segment of a super-frame. Errors: as [`split`].
pub fn first(frame: &Frame) -> Option<Frame> {
    Cut::of(frame, frame.offload.gso?)?.piece(frame, 0..1)
}

/// Parts a super-frame into one of its first `count` segments and one of the others, which there
/// must be; either is an ordinary frame if it has one segment. The shorter part is copied.
///
/// Errors: `None` if the frame cannot be cut, or the pool is exhausted.
pub fn split(mut frame: Frame, count: usize) -> Option<(Frame, Frame)> {
    let cut = Cut::of(&frame, frame.offload.gso?)?;
    let all = cut.segments();
    let bytes = count * cut.segment_bytes;
    // The frame is cut off at its end, and keeps its headers in place.
    if count > all - count {
        let others = cut.piece(&frame, count..all)?;
        frame.set_len(cut.headers + bytes);
        cut.seal(&mut frame, 0..count);
        return Some((frame, others));
    }
    let first = cut.piece(&frame, 0..count)?;
    // Padding goes, so that the payload ends where the headers say.
    frame.set_len(cut.layout.end);
    // The headers move up to the remaining payload, which is longer than they are in most cases.
    frame.remove(cut.headers, bytes);
    cut.seal(&mut frame, count..all);
    Some((first, frame))
}

/// The places at which a super-frame is cut.
///
/// Invariant: the headers lie within the frame, each segment has at least a byte to cut by, and the
/// payload ends with the IP packet.
pub struct Cut {
    /// That of the whole frame; pieces have the same headers in the same places.
    layout: Layout,
    gso: Gso,
    /// The unfinished checksum of each segment.
    checksum: Option<(u16, u16)>,
    /// Bytes in front of the payload.
    headers: usize,
    /// Payload of each segment but the last, which may be shorter.
    segment_bytes: usize,
}

impl Cut {
    /// Errors: `None` for one that cannot be cut.
    fn of(frame: &Frame, gso: Gso) -> Option<Self> {
        let (cut, place) = Self::found(frame, gso, &parse_deep(frame.bytes(), Additions::NONE))?;
        cut.can_follow(frame, place).then_some(cut)
    }

    /// Plans the cuts of a super-frame whose headers are known.
    ///
    /// Errors: `None` if it cannot be cut, if the layout ends before its IP packet, or if it may
    /// have headers that a catalogue has added.
    pub fn known(frame: &Frame, layout: &Layout) -> Option<Self> {
        if !layout.additions.headers.is_empty() {
            return None;
        }
        let (cut, place) = Self::found(frame, frame.offload.gso?, layout)?;
        cut.can_follow(frame, place).then_some(cut)
    }

    /// Reads the record of a frame, and the place of its checksum. Errors: `None` if the
    /// headers contradict it.
    ///
    /// The second value is the start of the checksummed bytes and the offset of the checksum in
    /// them.
    fn found(frame: &Frame, gso: Gso, layout: &Layout) -> Option<(Self, (u16, u16))> {
        let start = layout.payload;
        let (header, ip) = match gso.kind {
            GsoKind::Tcp4 => (Header::Tcp, layout.offset(Header::Ipv4)),
            GsoKind::Tcp6 => (Header::Tcp, layout.offset(Header::Ipv6)),
            GsoKind::Udp => (Header::Udp, Some(start)),
            GsoKind::UdpFragment | GsoKind::Sctp => return None,
        };
        // A record for another IP version than the frame's contradicts the headers.
        ip?;
        let transport = &frame.bytes()[layout.offset(header)?..layout.end];
        // TCP counts its header in words of 32 bits. The header of UDP has a fixed size.
        let bytes = if header == Header::Tcp {
            // The parser has seen that it is 20 at least.
            4 * usize::from(transport[12] >> 4)
        } else {
            8
        };
        if bytes > transport.len() || layout.fragment != Fragment::No || gso.segment_bytes == 0 {
            return None;
        }
        let row = CHECKSUMS.iter().find(|row| row.0 == header)?;
        let cut = Self {
            checksum: frame.offload.checksum,
            gso,
            headers: start + bytes,
            segment_bytes: usize::from(gso.segment_bytes),
            layout: *layout,
        };
        Some((cut, (start as u16, row.1 as u16)))
    }

    /// Returns true if segments can have a right checksum, which belongs at `place`.
    ///
    /// A complete checksum of the whole cannot be divided among the segments.
    fn can_follow(&self, frame: &Frame, place: (u16, u16)) -> bool {
        match self.checksum {
            // Only UDP may go without.
            None => {
                let at = usize::from(place.0 + place.1);
                self.gso.kind == GsoKind::Udp && frame.bytes()[at..at + 2] == [0, 0]
            }
            Some(given) => given == place,
        }
    }

    /// Returns how many packets, and how many bytes in them, the frame is on a wire.
    ///
    /// Each segment has the headers again.
    pub fn wire_count(&self) -> (u64, u64) {
        let payload = self.layout.end - self.headers;
        let packets = self.segments();
        ((packets as u64), (packets * self.headers + payload) as u64)
    }

    /// Returns how many segments, from the first on, agree in fields that are used.
    pub fn agreeing_segments<'a>(
        &self,
        frame: &Frame,
        uses: impl Iterator<Item = Use<'a>>,
    ) -> usize {
        let mut agreeing = self.segments();
        for Use {
            field,
            is_set,
            bits,
        } in uses
        {
            let Some((at, start)) = first_place(field, &self.layout) else {
                continue;
            };
            let (first, last) = match field.differs {
                // A field in the payload differs in each segment, whatever its row says.
                _ if start + usize::from(at.bit + at.bits).div_ceil(8) > self.headers => return 1,
                Differs::Nowhere => continue,
                Differs::Every => return 1,
                // A segment at an end would get the value for itself alone.
                Differs::Ends { .. } if is_set => return 1,
                Differs::Ends { first, last } => (first, last),
            };
            let header = &frame.bytes()[start..];
            let value = get_bits(header, usize::from(at.bit), usize::from(at.bits)) as u64 & bits;
            // A bit of the first segment parts it from the others.
            if value & first != 0 {
                return 1;
            }
            // A bit of the last segment leaves all before it in agreement.
            if value & last != 0 {
                agreeing = agreeing.min(self.segments() - 1);
            }
        }
        agreeing.max(1)
    }

    /// Returns the number of segments.
    fn segments(&self) -> usize {
        let payload = self.layout.end - self.headers;
        payload.div_ceil(self.segment_bytes).max(1)
    }

    /// A frame of some of the segments, a super-frame if they are several. Errors: `None` if the
    /// pool is exhausted.
    pub fn piece(&self, frame: &Frame, segments: Range<usize>) -> Option<Frame> {
        let (headers, payload) = frame.bytes()[..self.layout.end].split_at(self.headers);
        let end = payload.len().min(segments.end * self.segment_bytes);
        let part = &payload[segments.start * self.segment_bytes..end];
        let mut piece = frame.pool().take(headers.len() + part.len())?;
        piece.set_len(headers.len() + part.len());
        let bytes = piece.bytes_mut();
        bytes[..headers.len()].copy_from_slice(headers);
        bytes[headers.len()..].copy_from_slice(part);
        self.seal(&mut piece, segments);
        piece.tunnel_id = frame.tunnel_id;
        Some(piece)
    }

    /// Makes the headers and the record of a frame those of some segments, whose payload it has.
    ///
    /// Further work on the piece starts from this record: it may be cut again.
    fn seal(&self, frame: &mut Frame, segments: Range<usize>) {
        let last = segments.end == self.segments();
        self.rewrite(frame.bytes_mut(), segments.start, last);
        frame.offload = Offload {
            checksum: self.checksum,
            gso: (segments.len() > 1).then_some(self.gso),
            ..Offload::NONE
        };
    }

    /// Makes the copied headers those of a piece that begins with segment `index`; `last`: whether
    /// it ends with the last segment.
    ///
    /// It changes what Linux's segmentation changes: lengths, identification, sequence number, and
    /// the flags that only an end has.
    fn rewrite(&self, bytes: &mut [u8], index: usize, last: bool) {
        let start = self.layout.payload;
        if let Some(ip) = self.layout.offset(Header::Ipv4) {
            let total = (bytes.len() - ip) as u16;
            put_u16(bytes, ip + 2, |_| total);
            // Each segment has an identification of its own, as if it had been sent alone.
            put_u16(bytes, ip + 4, |id| id.wrapping_add(index as u16));
            put_u16(bytes, ip + 10, |_| 0);
            let checksum = !fold(sum(&bytes[ip..ip + 4 * usize::from(bytes[ip] & 15)]));
            put_u16(bytes, ip + 10, |_| checksum);
        } else if let Some(ip) = self.layout.offset(Header::Ipv6) {
            // The length of IPv6 does not count its fixed header.
            let length = (bytes.len() - ip - 40) as u16;
            put_u16(bytes, ip + 4, |_| length);
        }
        let transport = &mut bytes[start..];
        if self.gso.kind == GsoKind::Udp {
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
            // The pseudo-header has the length, so that its sum changes with it. All else is left
            // to who finishes the checksum.
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
