//! IP fragments: put together to the packet that they are parts of, and cut again. Spec: RFC 791,
//! RFC 8200 section 4.5.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::Header;

use crate::checksum::{fold, sum};
use crate::parse::parse_deep;
use crate::{Flaw, Layout, Packet, Shares};

/// Packets that are put together at a time, at most. One port has at most its [share](Shares).
pub const MAX_PACKETS: usize = 1024;
/// Fragments of one packet, at most.
///
/// It bounds the search for a place among them, and what a packet in tiny fragments costs.
pub const MAX_FRAGMENTS: usize = 64;
/// Bytes of buffers that fragments wait in, at most, with shares of ports, too.
///
/// Whole buffers count, because a short fragment holds as much memory as its buffer has.
pub const MAX_BYTES: usize = 4 << 20;
/// Nanoseconds from a packet's first fragment until all that came are lost.
///
/// Fragments that come later do not extend it.
pub const TIMEOUT_NS: u64 = 30_000_000_000;
/// The longest IP packet that is put together, with its header.
///
/// Without this check, fragments at the highest offsets would make a packet whose length does not
/// fit into its header.
const MAX_IP_BYTES: usize = 65_535;
/// The bits of an IPv4 header's bytes 6 and 7 without the fragment's flag and offset: don't
/// fragment, reserved.
const KEPT_FLAGS: u16 = 0xc000;
const IPV6_HEADER_BYTES: u16 = 40;
const FRAGMENT_HEADER_BYTES: usize = 8;

/// A fragment that waits: its frame, and the part of the packet's payload that it carries.
#[derive(Debug)]
struct WaitingFragment {
    frame: Frame,
    /// The offset of the payload in the frame.
    body: usize,
    at: usize,
    end: usize,
}

/// A packet whose fragments wait.
#[derive(Debug)]
struct Open {
    /// The port whose share it is part of.
    port: PortNo,
    deadline: u64,
    /// In the order of the payload, without overlaps.
    parts: Vec<WaitingFragment>,
    /// Bytes of payload of the whole packet, once the last fragment came.
    total: Option<usize>,
}

impl Open {
    /// Puts a part where it belongs; `more`: whether others follow it in the packet. Returns
    /// whether it overlaps one that is there, or contradicts where the packet ends.
    ///
    /// The part is inserted even then, so that it is counted among those that are lost.
    fn insert(&mut self, part: WaitingFragment, more: bool) -> bool {
        let index = self.parts.partition_point(|other| other.at < part.at);
        let overlaps_previous = index > 0 && self.parts[index - 1].end > part.at;
        // What comes after the last fragment contradicts it.
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

    /// Returns true if the parts, which do not overlap, are all of the packet.
    ///
    /// Without overlaps, as many bytes as the packet has are all of its bytes.
    fn is_whole(&self) -> bool {
        let lengths = self.parts.iter().map(|part| part.end - part.at);
        self.total == Some(lengths.sum())
    }
}

/// Fragments that wait for others. Shape: times are in nanoseconds, of one clock.
///
/// It reads no clock: a caller passes the time, and asks for the next deadline. Everything in it is
/// bounded, so that fragments whose others never come cost a known amount of memory.
#[derive(Debug, Default)]
pub struct Reassembler {
    /// By what the fragments of a packet have in common.
    open: BTreeMap<Vec<u8>, Open>,
    /// No deadline is before.
    deadline: Option<u64>,
    /// The packets and the bytes of each port.
    packets: Shares,
    bytes: Shares,
}

impl Reassembler {
    /// Takes a fragment; gives the whole packet if it was the last to come, and how many fragments
    /// are lost: this fragment, if it is wrong or there is no room for it; with it those that it
    /// overlaps.
    ///
    /// Fragments belong together if their tunnel and all before their IP headers is equal, too. The
    /// packet has the first fragment's headers, and remembers how long the longest fragment was.
    ///
    /// Choice: overlapping fragments are dropped with all others of their packet, as RFC 8200
    /// section 4.5 says of IPv6, also in IPv4; a repeated fragment alone is dropped.
    pub fn add(&mut self, now_ns: u64, packet: Packet) -> (Option<Packet>, usize) {
        let bytes = packet.frame.bytes();
        let layout = packet.layout();
        let Some((ip, body)) = headers(bytes, layout).filter(|_| layout.flaw == Flaw::None) else {
            return (None, 1);
        };
        let (at, more) = place(bytes, ip, body);
        let length = layout.end - body;
        let end = at + length;
        // All fragments but the last are multiples of 8 bytes, as offsets count in these units.
        let wrong = length == 0 || more && length % 8 != 0 || body - ip + end > MAX_IP_BYTES;
        let identity = identity(&packet, ip, body);
        if wrong || !self.has_room(&identity, &packet) || self.is_repeated(&identity, at, end) {
            return (None, 1);
        }
        let deadline = now_ns.saturating_add(TIMEOUT_NS);
        // Deadlines ascend with the time, so that a later packet never has an earlier one.
        self.deadline.get_or_insert(deadline);
        let in_port = packet.in_port();
        self.bytes.take(in_port, packet.frame.buffer_bytes());
        let open = self.open.entry(identity.clone()).or_insert_with(|| {
            self.packets.take(in_port, 1);
            Open {
                port: in_port,
                deadline,
                parts: Vec::new(),
                total: None,
            }
        });
        let additions = packet.layout.additions;
        let is_of_ethernet = packet.key().is_of_ethernet();
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
        // The shares are given back before the packet is joined, whatever becomes of that.
        let parts = self.open.remove(&identity).expect("it is there").parts;
        self.packets.give_back(in_port, 1);
        self.bytes.give_back(in_port, buffers(&parts));
        if overlaps {
            return (None, parts.len());
        }
        match join(&parts, ip) {
            // The whole packet is parsed anew, as its transport header is now within reach.
            Some(whole) if is_of_ethernet => {
                (Some(Packet::with_additions(whole, in_port, additions)), 0)
            }
            Some(whole) => (Some(Packet::without_ethernet(whole, in_port, additions)), 0),
            None => (None, parts.len()),
        }
    }

    /// Returns true if the limits allow one fragment more.
    ///
    /// It asks for all limits before anything is counted, so that a refusal needs no undoing.
    fn has_room(&self, identity: &[u8], packet: &Packet) -> bool {
        let port = packet.in_port();
        let bytes = packet.frame.buffer_bytes();
        if !self.bytes.allow(MAX_BYTES, port, bytes) {
            return false;
        }
        match self.open.get(identity) {
            Some(open) => open.parts.len() < MAX_FRAGMENTS,
            None => self.packets.allow(MAX_PACKETS, port, 1),
        }
    }

    /// Returns true if a fragment with exactly this part of the payload waits already.
    fn is_repeated(&self, identity: &[u8], at: usize, end: usize) -> bool {
        let Some(open) = self.open.get(identity) else {
            return false;
        };
        let mut parts = open.parts.iter();
        parts.any(|part| part.at == at && part.end == end)
    }

    /// Returns when [`Reassembler::expire`] may have something to do.
    ///
    /// It may be early: a packet that became whole leaves its deadline behind.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.deadline
    }

    /// Forgets the fragments of packets that did not become whole in time; how many.
    pub fn expire(&mut self, now_ns: u64) -> usize {
        let mut lost = 0;
        if self.deadline.is_some_and(|at| at <= now_ns) {
            self.open.retain(|_, open| {
                let stays = open.deadline > now_ns;
                if !stays {
                    self.packets.give_back(open.port, 1);
                    self.bytes.give_back(open.port, buffers(&open.parts));
                    lost += open.parts.len();
                }
                stays
            });
            self.deadline = self.open.values().map(|open| open.deadline).min();
        }
        lost
    }
}

/// The properties that a packet's fragments have in common.
///
/// RFC 791 names addresses, protocol and identification, RFC 8200 the same without the protocol.
/// Choice: the port, the tunnel and the bytes before IP, such as VLAN tags, must be equal, too, so
/// that fragments of different networks are never mixed.
fn identity(packet: &Packet, ip: usize, body: usize) -> Vec<u8> {
    let bytes = packet.frame.bytes();
    let mut identity = packet.in_port().0.to_be_bytes().to_vec();
    identity.extend(packet.frame.tunnel_id.to_be_bytes());
    // The bytes in front of IP; identification, protocol and addresses.
    let ranges = match bytes[ip] >> 4 {
        4 => [0..ip, ip + 4..ip + 6, ip + 9..ip + 10, ip + 12..ip + 20],
        _ => [0..ip, ip + 8..ip + 24, ip + 24..ip + 40, body - 4..body],
    };
    for range in ranges {
        identity.extend_from_slice(&bytes[range]);
    }
    identity
}

/// Bytes of memory that fragments hold.
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
    // A multiple of 8, as `join` has rounded it.
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
        one.tunnel_id = frame.tunnel_id;
        emit(one);
    }
    true
}

/// Returns the offsets of the IP header and of its payload, for a packet that can be a fragment.
///
/// The payload of IPv6 begins after the fragment header, which each fragment has. Extension headers
/// before it are in each fragment, too.
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

/// The offset of a fragment's payload in that of its packet, and whether more follows.
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
///
/// `at` is in bytes and a multiple of 8. The transport checksum stays: it is that of the whole
/// packet.
fn seal(bytes: &mut [u8], (ip, body): (usize, usize), at: usize, more: bool) {
    let length = (bytes.len() - ip) as u16;
    let offset = at as u16;
    let more = u16::from(more);
    if bytes[ip] >> 4 == 4 {
        // "More fragments" is bit 13 of the word, and the offset is in units of 8 bytes.
        let kept = u16::from(bytes[ip + 6]) << 8 & KEPT_FLAGS;
        put(bytes, ip + 2, length);
        put(bytes, ip + 6, kept | more << 13 | offset >> 3);
        // The checksum is computed anew over the header, with its own field zero.
        put(bytes, ip + 10, 0);
        let checksum = !fold(sum(&bytes[ip..body]));
        put(bytes, ip + 10, checksum);
    } else {
        put(bytes, ip + 4, length - IPV6_HEADER_BYTES);
        // The lower 3 bits of the offset are free, as it is a multiple of 8; the lowest is "more".
        put(bytes, body - 6, offset | more);
    }
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The whole packet, of fragments without gaps.
///
/// Errors: `None` if the pool has no buffer for it, or it is longer than a frame may be.
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
    // The header of a fragment at offset 0 without others is that of a whole packet. IPv6 keeps its
    // fragment header, so that the packet can be cut again.
    seal(bytes, (ip, first.body), 0, false);
    whole.tunnel_id = first.frame.tunnel_id;
    // Whoever sends the packet cuts it so that no fragment is longer than those that came, as the
    // path's MTU is not known.
    let longest = parts.iter().map(|part| part.end - part.at).max();
    whole.offload.fragment_bytes = longest.unwrap_or(0) as u16 & !7;
    Some(whole)
}

#[cfg(test)]
mod tests;
