//! IP fragments: put together to the packet that they are parts of, and cut again. Spec: RFC 791,
//! RFC 8200 section 4.5.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::Header;

use crate::checksum::{fold, sum};
use crate::parse::parse_deep;
use crate::{Flaw, Layout, Packet};

/// Packets that are put together at a time, at most.
pub const MAX_PACKETS: usize = 1024;
/// Fragments of one packet, at most.
pub const MAX_FRAGMENTS: usize = 64;
/// Bytes of buffers that fragments wait in, at most.
pub const MAX_BYTES: usize = 4 << 20;
/// Nanoseconds from a packet's first fragment until all that came are lost.
pub const TIMEOUT_NS: u64 = 30_000_000_000;
/// The longest IP packet that is put together, with its header.
const MAX_IP_BYTES: usize = 65_535;
/// What the flags and the offset leave of an IPv4 header's bytes 6 and 7: don't fragment, reserved.
const KEPT_FLAGS: u16 = 0xc000;
const IPV6_HEADER_BYTES: u16 = 40;
const FRAGMENT_HEADER_BYTES: usize = 8;

/// A fragment that waits: its frame, and the part of the packet's payload that it carries.
#[derive(Debug)]
struct WaitingFragment {
    frame: Frame,
    /// Where the payload begins in the frame.
    body: usize,
    at: usize,
    end: usize,
}

/// A packet whose fragments wait.
#[derive(Debug)]
struct Open {
    deadline: u64,
    /// In the order of the payload, without overlaps.
    parts: Vec<WaitingFragment>,
    /// Bytes of payload of the whole packet, once the last fragment came.
    total: Option<usize>,
}

impl Open {
    /// Puts a part where it belongs; `more`: whether others follow it in the packet. Returns
    /// whether it overlaps one that is there, or contradicts where the packet ends.
    fn insert(&mut self, part: WaitingFragment, more: bool) -> bool {
        let index = self.parts.partition_point(|other| other.at < part.at);
        let overlaps_previous = index > 0 && self.parts[index - 1].end > part.at;
        let overlaps_next = match self.parts.get(index) {
            Some(next) => next.at < part.end || !more,
            None => false,
        };
        let beyond_end = self.total.is_some_and(|total| part.end > total || !more);
        if self.total.is_none() && !more {
            self.total = Some(part.end);
        }
        self.parts.insert(index, part);
        overlaps_previous || overlaps_next || beyond_end
    }

    /// Whether the parts, which do not overlap, are all of the packet.
    fn is_whole(&self) -> bool {
        let lengths = self.parts.iter().map(|part| part.end - part.at);
        self.total == Some(lengths.sum())
    }
}

/// Fragments that wait for others. Shape: times are in nanoseconds, of one clock.
#[derive(Debug, Default)]
pub struct Reassembler {
    /// By what the fragments of a packet have in common.
    open: BTreeMap<Vec<u8>, Open>,
    /// No deadline is before.
    deadline: Option<u64>,
    bytes: usize,
}

impl Reassembler {
    /// Takes a fragment; gives the whole packet if it was the last to come, and how many fragments
    /// are lost: this one, if it is wrong or there is no room for it; with it those that it
    /// overlaps.
    ///
    /// Fragments belong together if all before their IP headers is equal, too. The packet has the
    /// first fragment's headers, and remembers how long the longest fragment was.
    pub fn add(&mut self, now_ns: u64, packet: Packet) -> (Option<Packet>, usize) {
        let bytes = packet.frame.bytes();
        let layout = packet.layout();
        let Some((ip, body)) = headers(bytes, layout).filter(|_| layout.flaw == Flaw::None) else {
            return (None, 1);
        };
        let (at, more) = place(bytes, ip, body);
        let length = layout.end - body;
        let end = at + length;
        let wrong =
            length == 0 || more && !length.is_multiple_of(8) || body - ip + end > MAX_IP_BYTES;
        let identity = identity(&packet, ip, body);
        if wrong || !self.has_room(&identity, &packet) || self.is_repeated(&identity, at, end) {
            return (None, 1);
        }
        let deadline = now_ns.saturating_add(TIMEOUT_NS);
        self.deadline.get_or_insert(deadline);
        self.bytes += packet.frame.buffer_bytes();
        let open = self.open.entry(identity.clone()).or_insert(Open {
            deadline,
            parts: Vec::new(),
            total: None,
        });
        let in_port = packet.in_port();
        let additions = packet.layout.additions;
        let part = WaitingFragment {
            frame: packet.frame,
            body,
            at,
            end,
        };
        let overlaps = open.insert(part, more);
        if !overlaps && !open.is_whole() {
            return (None, 0);
        }
        let parts = self.open.remove(&identity).expect("it is there").parts;
        self.bytes -= buffers(&parts);
        if overlaps {
            return (None, parts.len());
        }
        match join(&parts, ip) {
            Some(whole) => (Some(Packet::with_additions(whole, in_port, additions)), 0),
            None => (None, parts.len()),
        }
    }

    /// Whether the limits allow one fragment more.
    fn has_room(&self, identity: &[u8], packet: &Packet) -> bool {
        if self.bytes + packet.frame.buffer_bytes() > MAX_BYTES {
            return false;
        }
        match self.open.get(identity) {
            Some(open) => open.parts.len() < MAX_FRAGMENTS,
            None => self.open.len() < MAX_PACKETS,
        }
    }

    /// Whether a fragment with exactly this part of the payload waits already.
    fn is_repeated(&self, identity: &[u8], at: usize, end: usize) -> bool {
        let Some(open) = self.open.get(identity) else {
            return false;
        };
        let mut parts = open.parts.iter();
        parts.any(|part| part.at == at && part.end == end)
    }

    /// When [`Reassembler::expire`] may have something to do.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.deadline
    }

    /// Forgets the fragments of packets that did not become whole in time; how many.
    pub fn expire(&mut self, now_ns: u64) -> usize {
        let mut lost = 0;
        if self.deadline.is_some_and(|at| at <= now_ns) {
            for (_, open) in self.open.extract_if(.., |_, open| open.deadline <= now_ns) {
                self.bytes -= buffers(&open.parts);
                lost += open.parts.len();
            }
            self.deadline = self.open.values().map(|open| open.deadline).min();
        }
        lost
    }
}

/// What the fragments of a packet have in common.
fn identity(packet: &Packet, ip: usize, body: usize) -> Vec<u8> {
    let bytes = packet.frame.bytes();
    let mut identity = packet.in_port().0.to_be_bytes().to_vec();
    // What stands in front of IP; identification, protocol and addresses.
    let ranges = match bytes[ip] >> 4 {
        4 => [0..ip, ip + 4..ip + 6, ip + 9..ip + 10, ip + 12..ip + 20],
        _ => [0..ip, ip + 8..ip + 24, ip + 24..ip + 40, body - 4..body],
    };
    for range in ranges {
        identity.extend_from_slice(&bytes[range]);
    }
    identity
}

fn buffers(parts: &[WaitingFragment]) -> usize {
    parts.iter().map(|part| part.frame.buffer_bytes()).sum()
}

/// Calls `emit` with fragments of a packet that came in fragments, none longer than the longest
/// was.
///
/// Choice: IPv4 options are in every fragment. Errors: `false` if it is no IP packet, or the pool
/// is exhausted, which may be after some fragments.
pub fn fragment(frame: &Frame, mut emit: impl FnMut(Frame)) -> bool {
    let bytes = frame.bytes();
    let layout = parse_deep(bytes, Additions::NONE);
    let Some((ip, body)) = headers(bytes, &layout) else {
        return false;
    };
    let step = usize::from(frame.offload.fragment_bytes).max(8);
    let payload = &bytes[body..layout.end];
    for (index, part) in payload.chunks(step).enumerate() {
        let Some(mut one) = frame.pool().take(body + part.len()) else {
            return false;
        };
        one.set_len(body + part.len());
        one.bytes_mut()[..body].copy_from_slice(&bytes[..body]);
        one.bytes_mut()[body..].copy_from_slice(part);
        let more = index * step + part.len() < payload.len();
        seal(one.bytes_mut(), (ip, body), index * step, more);
        emit(one);
    }
    true
}

/// Where the IP header of a packet that can be a fragment begins, and where its payload does.
fn headers(bytes: &[u8], layout: &Layout) -> Option<(usize, usize)> {
    let (ip, body) = if let Some(ip) = layout.offset(Header::Ipv4) {
        (ip, ip + 4 * usize::from(bytes[ip] & 15))
    } else if layout.fragment_header > 0 {
        let ip = layout.offset(Header::Ipv6)?;
        (ip, layout.fragment_header + FRAGMENT_HEADER_BYTES)
    } else {
        return None;
    };
    (body <= layout.end).then_some((ip, body))
}

/// Where the payload of a fragment stands in that of its packet, and whether more follows.
fn place(bytes: &[u8], ip: usize, body: usize) -> (usize, bool) {
    if bytes[ip] >> 4 == 4 {
        // Three flags, the last of which is "more fragments", and the offset in units of 8 bytes.
        let word = u16::from_be_bytes([bytes[ip + 6], bytes[ip + 7]]);
        (usize::from(word & 0x1fff) * 8, word & 0x2000 != 0)
    } else {
        // The offset in units of 8 bytes, which is bytes because of the 3 bits after it.
        let word = u16::from_be_bytes([bytes[body - 6], bytes[body - 5]]);
        (usize::from(word & 0xfff8), word & 1 != 0)
    }
}

/// Makes the headers of a frame those of the part of a packet's payload that begins at `at`.
fn seal(bytes: &mut [u8], (ip, body): (usize, usize), at: usize, more: bool) {
    let length = (bytes.len() - ip) as u16;
    let offset = at as u16;
    let more = u16::from(more);
    if bytes[ip] >> 4 == 4 {
        let kept = u16::from(bytes[ip + 6]) << 8 & KEPT_FLAGS;
        put(bytes, ip + 2, length);
        put(bytes, ip + 6, kept | more << 13 | offset >> 3);
        put(bytes, ip + 10, 0);
        let checksum = !fold(sum(&bytes[ip..body]));
        put(bytes, ip + 10, checksum);
    } else {
        put(bytes, ip + 4, length - IPV6_HEADER_BYTES);
        put(bytes, body - 6, offset | more);
    }
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The whole packet, of fragments without gaps.
fn join(parts: &[WaitingFragment], ip: usize) -> Option<Frame> {
    let first = &parts[0];
    let total = parts[parts.len() - 1].end;
    let mut whole = first.frame.pool().take(first.body + total)?;
    whole.set_len(first.body + total);
    let bytes = whole.bytes_mut();
    bytes[..first.body].copy_from_slice(&first.frame.bytes()[..first.body]);
    for part in parts {
        let carried = &part.frame.bytes()[part.body..][..part.end - part.at];
        bytes[first.body + part.at..][..carried.len()].copy_from_slice(carried);
    }
    seal(bytes, (ip, first.body), 0, false);
    let longest = parts.iter().map(|part| part.end - part.at).max();
    whole.offload.fragment_bytes = longest.unwrap_or(0) as u16 & !7;
    Some(whole)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use bofuss_frame::Pool;
    use bofuss_oflib::{Mac, PortNo};

    use super::*;
    use crate::craft::{self, Layer};

    /// A UDP packet in a VLAN, as of `version`; version 6 with a hop-by-hop and a fragment header.
    fn packet(pool: &Pool, version: u8, payload: usize) -> Frame {
        let data: Vec<u8> = (0..payload - 8).map(|i| (i * 7 + i / 256) as u8).collect();
        let udp = craft::udp(1, 2, &data);
        let ip = match version {
            4 => craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, udp),
            _ => {
                let mut bytes = vec![44, 0, 1, 4, 0, 0, 0, 0, 17, 0, 0, 0, 1, 2, 3, 4];
                bytes.extend(&udp.bytes);
                craft::ipv6([1; 16].into(), [2; 16].into(), 64, Layer::new(0, &bytes))
            }
        };
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), craft::vlan(0x8100, 5, ip));
        let mut frame = pool.frame(&bytes).expect("within the limit");
        frame.offload.fragment_bytes = 64;
        frame
    }

    fn cut(frame: &Frame) -> Vec<Packet> {
        let mut fragments = vec![];
        assert!(fragment(frame, |one| fragments.push(Packet::new(one, PortNo(1)))));
        fragments
    }

    fn copy(packet: &Packet) -> Packet {
        packet.try_clone().expect("within the limit")
    }

    #[test]
    fn fragments_in_any_order_give_the_packet_and_the_packet_the_fragments() {
        let pool = Pool::new(1 << 24);
        for (version, payload) in [(4, 65), (6, 65), (4, 640), (6, 1000), (4, 4000), (6, 3999)] {
            let whole = packet(&pool, version, payload);
            let fragments = cut(&whole);
            assert_eq!(fragments.len(), payload.div_ceil(64));
            for turn in 0..fragments.len() {
                let mut order: Vec<&Packet> = fragments.iter().collect();
                order.rotate_left(turn);
                order[1..].reverse();
                let mut reassembler = Reassembler::default();
                let (last, others) = order.split_last().expect("there are some");
                for one in others {
                    assert!(matches!(reassembler.add(0, copy(one)), (None, 0)));
                }
                let joined = reassembler.add(0, copy(last)).0.expect("is whole");
                assert_eq!(joined.frame.bytes(), whole.bytes());
                assert_eq!(joined.frame.offload.fragment_bytes, 64);
                assert!(!joined.is_fragment() && joined.in_port() == PortNo(1));
                assert_eq!((reassembler.bytes, reassembler.open.len()), (0, 0));
                let again = cut(&joined.frame);
                let bytes = |packets: &[Packet]| -> Vec<Vec<u8>> {
                    packets
                        .iter()
                        .map(|packet| packet.frame.bytes().to_vec())
                        .collect()
                };
                assert_eq!(bytes(&again), bytes(&fragments));
            }
        }
    }

    #[test]
    fn padding_is_no_payload_and_dont_fragment_stays() {
        let pool = Pool::new(1 << 20);
        let mut whole = packet(&pool, 4, 68);
        whole.bytes_mut()[18 + 6] = 0x40;
        seal(whole.bytes_mut(), (18, 38), 0, false);
        let mut fragments = cut(&whole);
        let last = &mut fragments[1];
        assert_eq!(last.frame.len(), 42);
        last.frame.set_len(60);
        last.reparse();
        let mut reassembler = Reassembler::default();
        assert!(matches!(reassembler.add(0, copy(&fragments[0])), (None, 0)));
        let joined = reassembler.add(0, copy(&fragments[1])).0;
        assert_eq!(joined.expect("is whole").frame.bytes(), whole.bytes());
    }

    #[test]
    fn fragments_of_different_packets_wait_apart() {
        let pool = Pool::new(1 << 20);
        for version in [4, 6] {
            let at = [18 + 4, 18 + 40 + 8 + 4][usize::from(version == 6)];
            // Another identification, source, VLAN; the last is not told by bytes, but by its port.
            for changed in [at, 18 + 12, 15, 0] {
                let mut reassembler = Reassembler::default();
                let fragments = cut(&packet(&pool, version, 100));
                let mut other = copy(&fragments[1]);
                if changed == 0 {
                    other = Packet::new(other.frame, PortNo(2));
                } else {
                    other.frame.bytes_mut()[changed] ^= 1;
                    other.reparse();
                }
                assert!(matches!(reassembler.add(0, copy(&fragments[0])), (None, 0)));
                assert!(
                    matches!(reassembler.add(0, other), (None, 0)),
                    "{version} {changed}"
                );
                assert!(matches!(
                    reassembler.add(0, copy(&fragments[1])),
                    (Some(_), 0)
                ));
                assert_eq!(reassembler.expire(TIMEOUT_NS), 1);
            }
        }
    }

    #[test]
    fn what_overlaps_takes_the_packet_along_and_a_repeated_fragment_does_not() {
        let pool = Pool::new(1 << 20);
        let coarse = packet(&pool, 4, 1000);
        let mut fine = coarse.try_clone().expect("within the limit");
        fine.offload.fragment_bytes = 40;
        let (coarse, fine) = (cut(&coarse), cut(&fine));
        let mut reassembler = Reassembler::default();
        assert!(matches!(reassembler.add(0, copy(&coarse[0])), (None, 0)));
        assert!(matches!(reassembler.add(0, copy(&coarse[2])), (None, 0)));
        assert_eq!(reassembler.add(0, copy(&coarse[2])).1, 1, "repeated");
        // 40 to 80 overlaps 0 to 64.
        assert_eq!(reassembler.add(0, copy(&fine[1])).1, 3);
        assert_eq!((reassembler.bytes, reassembler.open.len()), (0, 0));
        // A second end, and a part behind the end.
        let mut ends = copy(&coarse[3]);
        ends.frame.bytes_mut()[18 + 6] &= !0x20;
        for (first, second) in [
            (&ends, &coarse[15]),
            (&coarse[15], &ends),
            (&ends, &coarse[4]),
        ] {
            assert!(matches!(reassembler.add(0, copy(first)), (None, 0)));
            assert_eq!(reassembler.add(0, copy(second)).1, 2);
        }
    }

    #[test]
    fn fragments_that_cannot_be_parts_are_refused() {
        let pool = Pool::new(1 << 20);
        let fragments = cut(&packet(&pool, 4, 100));
        let refused = |change: &dyn Fn(&mut [u8]), length: usize| {
            let mut one = copy(&fragments[0]);
            change(one.frame.bytes_mut());
            one.frame.set_len(length);
            one.reparse();
            assert!(one.is_fragment());
            let mut reassembler = Reassembler::default();
            assert_eq!(reassembler.add(0, one).1, 1);
            assert_eq!((reassembler.bytes, reassembler.open.len()), (0, 0));
        };
        refused(&|bytes| bytes[18 + 3] = 20, 102);
        refused(&|bytes| bytes[18 + 3] = 20 + 63, 102);
        refused(&|_| {}, 101);
        // 20 + 65,528 - 8 + 64 bytes are too many.
        refused(
            &|bytes| bytes[18 + 6..18 + 8].copy_from_slice(&[0x3f, 0xff]),
            102,
        );
    }

    #[test]
    fn so_many_packets_fragments_and_bytes_wait_for_so_long_and_no_more() {
        let pool = Pool::new(1 << 24);
        let fragments = cut(&packet(&pool, 4, 64 * (MAX_FRAGMENTS + 2)));
        let mut reassembler = Reassembler::default();
        for one in &fragments[..MAX_FRAGMENTS] {
            assert!(matches!(reassembler.add(5, copy(one)), (None, 0)));
        }
        assert_eq!(reassembler.add(5, copy(&fragments[MAX_FRAGMENTS])).1, 1);
        assert_eq!(reassembler.deadline_ns(), Some(5 + TIMEOUT_NS));
        assert_eq!(reassembler.expire(4 + TIMEOUT_NS), 0);
        assert_eq!(reassembler.expire(5 + TIMEOUT_NS), MAX_FRAGMENTS);
        let numbered = |number: usize| {
            let mut one = copy(&fragments[0]);
            one.frame.bytes_mut()[18 + 4..18 + 6].copy_from_slice(&(number as u16).to_be_bytes());
            one.reparse();
            one
        };
        for number in 0..MAX_PACKETS {
            assert!(matches!(reassembler.add(0, numbered(number)), (None, 0)));
        }
        assert_eq!(reassembler.add(0, numbered(MAX_PACKETS)).1, 1);
        assert!(
            matches!(reassembler.add(0, copy(&fragments[1])), (None, 0)),
            "of one that waits"
        );
        let mut added = 2;
        while reassembler.add(0, copy(&fragments[added])).1 == 0 {
            added += 1;
        }
        assert!(added == MAX_FRAGMENTS);
        let most = MAX_BYTES / 2048 - MAX_PACKETS - (MAX_FRAGMENTS - 1);
        for number in 0..most {
            let mut one = numbered(number + 1);
            one.frame.bytes_mut()[18 + 7] = 8 * (1 + (number / (MAX_PACKETS - 1)) as u8);
            one.reparse();
            assert!(matches!(reassembler.add(0, one), (None, 0)), "{number}");
        }
        assert_eq!(reassembler.bytes, MAX_BYTES);
        let mut one = numbered(1);
        one.frame.bytes_mut()[18 + 7] = 32;
        assert_eq!(reassembler.add(0, one).1, 1);
    }

    #[test]
    fn an_empty_pool_loses_the_packet() {
        let pool = Pool::new(1 << 20);
        let fragments = cut(&packet(&pool, 4, 100));
        let mut reassembler = Reassembler::default();
        let second = copy(&fragments[1]);
        assert!(matches!(reassembler.add(0, copy(&fragments[0])), (None, 0)));
        let held: Vec<Frame> = core::iter::from_fn(|| pool.take(1)).collect();
        assert_eq!(reassembler.add(0, second).1, 2);
        drop(held);
    }
}
