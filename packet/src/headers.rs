//! The headers of a frame, edited without a key: set-field, TTLs, VLAN tags, and the checksums that
//! cover what changes.

use core::ops::Range;

use bofuss_frame::Frame;
use bofuss_oflib::added_header::{AnyHeader, Sum};
use bofuss_oflib::field::{Field, Header};

use crate::checksum::{crc32c, fold, sum, update, update_partial};
use crate::configured::first_place;
use crate::edit::EditError;
use crate::header::{CHECKSUMS, Cover, cover, protocol};
use crate::parse::{Flaw, Fragment, Layout};
use crate::rows::put_bits;

/// The offset of the first VLAN tag, or of the Ethernet type, in a frame.
pub(crate) const TYPE_AT: usize = 12;
/// Bytes of a VLAN tag, and of an MPLS label stack entry.
pub(crate) const TAG_BYTES: usize = 4;
/// Offsets of checksum, protocol and addresses in an IPv4 header.
pub(crate) const IPV4_CHECKSUM: usize = 10;
pub(crate) const IPV4_PROTOCOL: usize = 9;
pub(crate) const IPV4_ADDRESSES: Range<usize> = 12..20;
/// Offsets of source and destination in an IPv6 header.
pub(crate) const IPV6_SOURCE: Range<usize> = 8..24;
pub(crate) const IPV6_DESTINATION: Range<usize> = 24..40;
/// The bits of PCP and VID in a VLAN tag, after its type.
const PCP_AND_VID: u16 = 0xefff;

/// The bit that the last MPLS label stack entry has, in its third byte.
pub(crate) const BOTTOM_OF_STACK: u8 = 1;

/// The TTL byte of a header, and what it takes to change it.
///
/// Each has the offset of its header in the frame. Only IPv4 has a checksum that covers it.
#[derive(Clone, Copy)]
pub(crate) enum Ttl {
    Mpls(usize),
    Ipv4(usize),
    Ipv6(usize),
}

impl Ttl {
    /// Its offset in the frame.
    pub(crate) fn at(self) -> usize {
        match self {
            Self::Mpls(header) => header + 3,
            Self::Ipv4(header) => header + 8,
            Self::Ipv6(header) => header + 7,
        }
    }
}

/// The TTL of the IP header that the first four bits at `at` announce, if all of it is there.
///
/// A label does not say what follows the stack, so that the version alone tells.
fn ip_ttl(bytes: &[u8], at: usize) -> Option<Ttl> {
    match (bytes.get(at)? >> 4, bytes.len() - at) {
        (4, 20..) => Some(Ttl::Ipv4(at)),
        (6, 40..) => Some(Ttl::Ipv6(at)),
        _ => None,
    }
}

/// The TTL after a hop. Errors: INVALID_TTL if there is none left.
///
/// A packet that came with 1 ends here, as a router would not forward it.
pub(crate) fn decremented(ttl: u8) -> Result<u8, EditError> {
    match ttl {
        0 | 1 => Err(EditError::InvalidTtl),
        _ => Ok(ttl - 1),
    }
}

impl Layout {
    /// The TTL of the outermost MPLS label stack entry.
    pub(crate) fn mpls_ttl_place(&self) -> Option<Ttl> {
        self.offset(Header::Mpls).map(Ttl::Mpls)
    }

    /// The two outermost headers with a TTL: labels, and IP in a label or in IP.
    ///
    /// Spec: OpenFlow 1.3.5 section 5.12: copies may be IP to IP, MPLS to MPLS, and IP to MPLS.
    pub(crate) fn outer_ttls(&self, bytes: &[u8]) -> Option<(Ttl, Ttl)> {
        let outer = self.mpls_ttl_place().or(self.nw_ttl_place())?;
        let inner = match outer {
            // Not the last label, so that another follows.
            Ttl::Mpls(at) if bytes[at + 2] & BOTTOM_OF_STACK == 0 => {
                let next = at + TAG_BYTES;
                if bytes.len() < next + TAG_BYTES {
                    return None;
                }
                Ttl::Mpls(next)
            }
            Ttl::Mpls(at) => ip_ttl(bytes, at + TAG_BYTES)?,
            Ttl::Ipv4(at) => self.tunnelled_ttl(bytes, at + IPV4_PROTOCOL)?,
            Ttl::Ipv6(_) => self.tunnelled_ttl(bytes, self.offset(Header::NextHeader)?)?,
        };
        Some((outer, inner))
    }

    /// The TTL of IP in IP; `protocol_at` is where the outer header says what follows.
    ///
    /// A payload at 0 means that the walk ended before it.
    fn tunnelled_ttl(&self, bytes: &[u8], protocol_at: usize) -> Option<Ttl> {
        let is_ip = matches!(bytes[protocol_at], protocol::IPV4 | protocol::IPV6);
        if !is_ip || self.payload == 0 {
            return None;
        }
        ip_ttl(bytes, self.payload)
    }

    /// The offset of the TTL in the IP header.
    ///
    /// It is that of the outermost IP header, which is the one with fields.
    pub(crate) fn nw_ttl_place(&self) -> Option<Ttl> {
        let ipv4 = self.offset(Header::Ipv4).map(Ttl::Ipv4);
        ipv4.or(self.offset(Header::Ipv6).map(Ttl::Ipv6))
    }

    /// Offset in the frame, and kind, of the transport header's checksum.
    ///
    /// Errors: `None` also if the header has none, and in a fragment without it.
    pub fn transport_checksum(&self) -> Option<(usize, Sum)> {
        let Some(transport) = self.transport else {
            let (added, start) = self.added?;
            let (at, kind) = added.checksum?;
            return Some((start + usize::from(at), kind));
        };
        let row = CHECKSUMS.iter().find(|row| row.0 == transport)?;
        Some((self.payload + row.1, row.2))
    }
}

/// A change of the PCP, DEI and VID of a VLAN tag, in the tag's bits.
///
/// It is kept as two masks, so that several changes in a row become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TagChange {
    pub(crate) stays: u16,
    pub(crate) set: u16,
}

impl TagChange {
    /// None of the bits.
    pub const NONE: Self = Self {
        stays: u16::MAX,
        set: 0,
    };

    /// This change and then `next`.
    pub fn then(self, next: Self) -> Self {
        Self {
            stays: self.stays & next.stays,
            set: next.of(self.set),
        }
    }

    /// These bits after the change.
    fn of(self, bits: u16) -> u16 {
        bits & self.stays | self.set
    }
}

/// A frame and its layout: what an edit needs if the packet is not looked up afterwards. A
/// [`crate::Packet`] has a key, too, and its edits keep that up to date.
///
/// Invariant: the layout is that of the bytes, whose offsets it has checked. Edits index by them
/// without looking again.
pub struct Headers<'a> {
    /// The bytes, and what remains to be done to them.
    pub frame: &'a mut Frame,
    /// The places of the headers. They are out of date after a tag was pushed or popped;
    /// then call [`crate::survey`].
    pub layout: &'a Layout,
}

impl Headers<'_> {
    /// Writes a field that is in a header: its bytes, and the checksums that cover them. Returns
    /// how many bits of the field the header has.
    ///
    /// Shape: the first [`Field::bytes`] bytes of `value`, as in OXM. The frame must reach to a
    /// field that a configuration has placed.
    /// Choice: the CRC32c of a fragmented or truncated SCTP packet cannot be refreshed and stays.
    pub fn set_field(&mut self, field: &Field, value: &[u8; 16]) -> Result<usize, EditError> {
        let row = self.layout.additions.row_of(field);
        // A field in several headers, such as IP_DSCP in IPv4 and IPv6, is in the first that is
        // there.
        let place = row.and_then(|row| first_place(row, self.layout));
        let (at, start) = place.ok_or(EditError::NoHeader)?;
        let bit = usize::from(at.bit);
        let bits = usize::from(at.bits);
        let range = start + bit / 8..start + (bit + bits).div_ceil(8);
        if bit % 8 == 0 && bits == 8 * field.bytes() {
            let whole = &value[..range.len()];
            self.change(at.header, range, |bytes| bytes.copy_from_slice(whole));
        } else {
            let number = u128::from_be_bytes(*value) >> (128 - 8 * field.bytes());
            self.change(at.header, range, |bytes| {
                put_bits(bytes, bit % 8, bits, number);
            });
        }
        Ok(bits)
    }

    /// Changes the bytes of `range` in `header` by `write`, and updates the checksums.
    ///
    /// Checksums change by the difference of old and new words, not anew (RFC 1624): one that was
    /// wrong stays wrong, and a long payload costs nothing.
    #[inline(always)]
    fn change(&mut self, header: AnyHeader, range: Range<usize>, write: impl FnOnce(&mut [u8])) {
        let cover = cover(header);
        if cover == Cover::Nothing {
            return write(&mut self.frame.bytes_mut()[range]);
        }
        let checksum = self.layout.transport_checksum();
        if let (Cover::Transport, Some((at, Sum::Crc32c))) = (cover, checksum) {
            return self.change_below_crc(range, at, write);
        }
        let words = self.words_of(cover, &range);
        let before = sum(&self.frame.bytes()[words.clone()]);
        write(&mut self.frame.bytes_mut()[range.clone()]);
        let after = sum(&self.frame.bytes()[words]);
        // Equal sums leave each checksum as it is, also one of zero.
        if fold(before) == fold(after) {
            return;
        }
        if let (Cover::Ipv4, Some(ip)) = (cover, self.layout.offset(Header::Ipv4)) {
            self.update_at(ip + IPV4_CHECKSUM, before, after);
        }
        let counts = |kind| self.counts_in_transport(cover, kind, &range);
        if let Some((at, kind)) = checksum.filter(|(_, kind)| counts(*kind)) {
            self.refresh_transport(at, kind, before, after);
        }
    }

    /// The whole 16-bit words that a change of `range` is in, as checksums count them.
    ///
    /// A checksum adds words that are counted from its first byte, so that the same byte counts 256
    /// times as much at an even place.
    fn words_of(&self, cover: Cover, range: &Range<usize>) -> Range<usize> {
        let start = match cover {
            Cover::Nothing | Cover::Transport => self.layout.payload,
            Cover::Ipv4 => self.layout.offset(Header::Ipv4).unwrap_or(0),
            Cover::Pseudo => match self.layout.offset(Header::NextHeader) {
                // In the pseudo-header the protocol is the second byte of a word.
                Some(protocol) if protocol == range.start => protocol + 1,
                _ => self.layout.offset(Header::Ipv6).unwrap_or(0),
            },
        };
        // A place with another parity than `start` is in the middle of a word.
        let from = range.start - ((range.start ^ start) & 1);
        let to = range.end + ((range.end ^ start) & 1);
        from..to.min(self.frame.len())
    }

    /// Returns true if a change of `range` is one of the input of the transport checksum.
    ///
    /// A transport checksum that is pending has only the pseudo-header's sum, so that changes of
    /// the header and payload do not count in it.
    fn counts_in_transport(&self, cover: Cover, kind: Sum, range: &Range<usize>) -> bool {
        let has_pseudo = matches!(kind, Sum::Pseudo | Sum::PseudoOrNone);
        let layout = self.layout;
        match cover {
            Cover::Nothing => false,
            Cover::Transport => !self.is_checksum_pending(),
            Cover::Ipv4 => {
                let ip = layout.offset(Header::Ipv4).unwrap_or(0);
                let at = range.start - ip;
                has_pseudo && (at == IPV4_PROTOCOL || IPV4_ADDRESSES.contains(&at))
            }
            Cover::Pseudo => {
                let is_protocol = layout.offset(Header::NextHeader) == Some(range.start);
                let at = range.start - layout.offset(Header::Ipv6).unwrap_or(0);
                // A routing header has the last destination, which alone is in the sum.
                let is_destination = IPV6_DESTINATION.contains(&at) && !layout.routed;
                has_pseudo && (is_protocol || IPV6_SOURCE.contains(&at) || is_destination)
            }
        }
    }

    /// Changes bytes that the CRC32c at `at` covers. That of a fragment or of a packet that is cut
    /// off stays.
    ///
    /// The CRC of two inputs of the same length differs by what the inputs differ in, so that the
    /// field may be among the bytes, and a wrong CRC stays wrong.
    #[inline(never)]
    fn change_below_crc(&mut self, range: Range<usize>, at: usize, write: impl FnOnce(&mut [u8])) {
        let layout = self.layout;
        let is_whole = layout.fragment == Fragment::No && layout.flaw != Flaw::Truncated;
        let stays = !is_whole || self.is_checksum_pending();
        let packet = layout.payload..layout.end;
        let bytes = self.frame.bytes_mut();
        if stays {
            return write(&mut bytes[range]);
        }
        let before = crc32c(&bytes[packet.clone()]);
        write(&mut bytes[range]);
        let after = crc32c(&bytes[packet]);
        for (number, byte) in bytes[at..at + 4].iter_mut().enumerate() {
            *byte ^= before[number] ^ after[number];
        }
    }

    /// Brings the transport checksum at `at` up to date with a change of its input.
    ///
    /// `before` and `after` are the sums of the words that changed.
    pub(crate) fn refresh_transport(&mut self, at: usize, kind: Sum, before: u64, after: u64) {
        let is_pending = self.is_checksum_pending();
        let field = &mut self.frame.bytes_mut()[at..at + 2];
        let old = u16::from_be_bytes([field[0], field[1]]);
        let new = match kind {
            _ if is_pending => update_partial(old, before, after),
            // The sender left UDP without a checksum; it stays without.
            Sum::PseudoOrNone if old == 0 => 0,
            Sum::PseudoOrNone => match update(old, before, after) {
                0 => 0xffff,
                new => new,
            },
            Sum::Ones | Sum::Pseudo => update(old, before, after),
            // It is changed with what it covers.
            Sum::Crc32c => old,
        };
        field.copy_from_slice(&new.to_be_bytes());
    }

    /// Returns true if the transport checksum is left to others, with only the pseudo-header's sum
    /// in place.
    ///
    /// A record about another place, as in a tunnel, leaves this checksum complete.
    pub(crate) fn is_checksum_pending(&self) -> bool {
        let pending = self.frame.offload.checksum;
        pending.is_some_and(|(start, _)| usize::from(start) == self.layout.payload)
    }

    /// Brings the Internet checksum at `at` up to date with a change of its input.
    pub(crate) fn update_at(&mut self, at: usize, before: u64, after: u64) {
        let field = &mut self.frame.bytes_mut()[at..at + 2];
        let new = update(u16::from_be_bytes([field[0], field[1]]), before, after);
        field.copy_from_slice(&new.to_be_bytes());
    }

    /// Writes a TTL, and the checksum that covers it.
    pub(crate) fn put_ttl(&mut self, place: Ttl, ttl: u8) {
        let old = core::mem::replace(&mut self.frame.bytes_mut()[place.at()], ttl);
        if let Ttl::Ipv4(header) = place {
            self.update_at(
                header + IPV4_CHECKSUM,
                u64::from(old) << 8,
                u64::from(ttl) << 8,
            );
        }
    }

    /// Pushes a VLAN tag as the outermost, with VID and PCP of the tag that was outermost, or zero.
    ///
    /// Spec: OpenFlow 1.3.5 section 5.12.
    pub fn push_vlan(&mut self, tpid: u16) -> Result<(), EditError> {
        self.push_changed_vlan(tpid, TagChange::NONE)
    }

    /// The same, and changes VID and PCP of the new tag.
    pub fn push_changed_vlan(&mut self, tpid: u16, change: TagChange) -> Result<(), EditError> {
        self.layout.offset(Header::Eth).ok_or(EditError::NoHeader)?;
        // The DEI is no field of OpenFlow, and is not copied.
        let tci = match self.layout.offset(Header::Vlan) {
            Some(at) => self.u16(at + 2) & PCP_AND_VID,
            None => 0,
        };
        self.insert(TYPE_AT, TAG_BYTES)?;
        let tag = u32::from(tpid) << 16 | u32::from(change.of(tci));
        self.frame.bytes_mut()[TYPE_AT..TYPE_AT + TAG_BYTES].copy_from_slice(&tag.to_be_bytes());
        Ok(())
    }

    /// Pops the outermost VLAN tag.
    pub fn pop_vlan(&mut self) -> Result<(), EditError> {
        let at = self.layout.offset(Header::Vlan);
        self.remove(at.ok_or(EditError::NoHeader)?, TAG_BYTES);
        Ok(())
    }

    fn u16(&self, at: usize) -> u16 {
        let bytes = self.frame.bytes();
        u16::from_be_bytes([bytes[at], bytes[at + 1]])
    }

    /// Opens a gap, and moves the start of an unfinished checksum. Afterwards call
    /// [`crate::survey`].
    ///
    /// The bytes before the gap move into the headroom. Errors: [`EditError::NoHeadroom`], and
    /// nothing is changed.
    pub fn insert(&mut self, at: usize, count: usize) -> Result<(), EditError> {
        let mut checksum = self.frame.offload.checksum;
        if let Some((start, _)) = checksum.as_mut().filter(|sum| usize::from(sum.0) >= at) {
            *start = start
                .checked_add(count as u16)
                .ok_or(EditError::NoHeadroom)?;
        }
        if !self.frame.insert(at, count) {
            return Err(EditError::NoHeadroom);
        }
        self.frame.offload.checksum = checksum;
        Ok(())
    }

    /// Closes a gap, and moves the start of an unfinished checksum; one that started within becomes
    /// void. Afterwards call [`crate::survey`].
    ///
    /// The frame must have `count` bytes at `at`.
    pub fn remove(&mut self, at: usize, count: usize) {
        let removed = self.frame.remove(at, count);
        debug_assert!(removed, "the layout lies within the frame");
        self.frame.offload.checksum = match self.frame.offload.checksum {
            Some((start, offset)) if usize::from(start) >= at + count => {
                Some((start - count as u16, offset))
            }
            // The bytes to be summed have lost their beginning.
            Some((start, _)) if usize::from(start) > at => None,
            checksum => checksum,
        };
    }
}
