//! Every rewrite of a packet: set-field, push and pop, TTLs, with the checksums that cover what
//! changes.

use core::ops::Range;

use bofuss_oflib::added_header::{AnyHeader, Sum};
use bofuss_oflib::field::{Field, Header, PBB_ISID, STANDARD_FIELDS, VLAN_PCP, VLAN_VID};

use crate::checksum::{crc32c, sum, update, update_partial};
use crate::configured::first_place;
use crate::header::{CHECKSUMS, Cover, cover, ethertype, protocol};
use crate::packet::Packet;
use crate::parse::{Flaw, Fragment};
use crate::rows::{field_at, ones, put_bits};

/// Where the first VLAN tag, or the Ethernet type, stands in a frame.
const TYPE_AT: usize = 12;
/// Bytes of a VLAN tag, and of an MPLS label stack entry.
const TAG_BYTES: usize = 4;
/// Bytes of a backbone service instance tag with the customer's addresses.
const PBB_BYTES: usize = 18;
/// The bit that the last MPLS label stack entry has, in its third byte.
const BOTTOM_OF_STACK: u8 = 1;
/// Offsets of checksum, protocol and addresses in an IPv4 header.
const IPV4_CHECKSUM: usize = 10;
const IPV4_PROTOCOL: usize = 9;
const IPV4_ADDRESSES: Range<usize> = 12..20;
/// Offsets of source and destination in an IPv6 header.
const IPV6_SOURCE: Range<usize> = 8..24;
const IPV6_DESTINATION: Range<usize> = 24..40;

/// Why an edit left its packet as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditError {
    /// The header to be changed is not there. Choice: the text says nothing of such a packet.
    NoHeader,
    /// There is no room in front of the frame for another header.
    NoHeadroom,
    /// The TTL is 0 or 1 and cannot be decremented.
    InvalidTtl,
}

/// The TTL byte of a header, and what it takes to change it.
#[derive(Clone, Copy)]
enum Ttl {
    Mpls(usize),
    Ipv4(usize),
    Ipv6(usize),
}

impl Ttl {
    fn at(self) -> usize {
        match self {
            Self::Mpls(header) => header + 3,
            Self::Ipv4(header) => header + 8,
            Self::Ipv6(header) => header + 7,
        }
    }
}

/// The TTL of the IP header that the first four bits at `at` announce, if all of it is there.
fn ip_ttl(bytes: &[u8], at: usize) -> Option<Ttl> {
    match (bytes.get(at)? >> 4, bytes.len() - at) {
        (4, 20..) => Some(Ttl::Ipv4(at)),
        (6, 40..) => Some(Ttl::Ipv6(at)),
        _ => None,
    }
}

impl Packet {
    /// Pushes a VLAN tag of type 0x8100 with id and priority 0, if there is no tag.
    pub fn tag_vlan(&mut self) -> Result<(), EditError> {
        match self.layout.offset(Header::Vlan) {
            Some(_) => Ok(()),
            None => self.push_vlan(ethertype::VLAN),
        }
    }

    /// Writes a field: its bytes, the checksums that cover them, and its slot in the key.
    ///
    /// Shape: the first [`Field::bytes`] bytes of `value`, as in OXM. The packet is not parsed
    /// again.
    /// Choice: the CRC32c of a fragmented or truncated SCTP packet cannot be refreshed and stays.
    pub fn set_field(&mut self, field: &Field, value: &[u8; 16]) -> Result<(), EditError> {
        let value = u128::from_be_bytes(*value) >> (128 - 8 * field.bytes());
        if field.at.is_empty() {
            self.key.set(field, value);
            return Ok(());
        }
        let (at, start) = first_place(field, &self.layout).ok_or(EditError::NoHeader)?;
        // Only the parse knows whether the frame reaches to a field of a configuration.
        let is_configured = usize::from(field.id) >= STANDARD_FIELDS;
        if is_configured && self.key.get(field, &mut ()).is_none() {
            return Err(EditError::NoHeader);
        }
        let bit = usize::from(at.bit);
        let bits = usize::from(at.bits);
        let range = start + bit / 8..start + (bit + bits).div_ceil(8);
        self.rewrite(at.header, range, |bytes| {
            put_bits(bytes, bit % 8, bits, value);
        });
        // Bits of the slot that stand in no header, such as the VLAN's presence, stay as they are.
        let slot = self.key.get(field, &mut ()).unwrap_or(0);
        self.key.set(field, slot & !ones(bits) | value & ones(bits));
        Ok(())
    }

    /// Changes the bytes of `range` in `header` by `write`, and updates the checksums.
    fn rewrite(&mut self, header: AnyHeader, range: Range<usize>, write: impl FnOnce(&mut [u8])) {
        let cover = cover(header);
        let ip_before = self.ipv4_sum(cover);
        let transport_before = self.transport_sum(cover, &range);
        write(&mut self.frame.bytes_mut()[range.clone()]);
        let ip_after = self.ipv4_sum(cover);
        let transport_after = self.transport_sum(cover, &range);
        if let Some(ip) = self.layout.offset(Header::Ipv4)
            && ip_before != ip_after
        {
            self.update_at(ip + IPV4_CHECKSUM, ip_before, ip_after);
        }
        if transport_before != transport_after {
            self.refresh_transport(transport_before, transport_after);
        }
    }

    /// The sum of the IPv4 header's fixed part, if its checksum covers what changes.
    fn ipv4_sum(&self, cover: Cover) -> u64 {
        match (cover, self.layout.offset(Header::Ipv4)) {
            (Cover::Ipv4, Some(ip)) => sum(&self.frame.bytes()[ip..ip + 20]),
            _ => 0,
        }
    }

    /// What a change of `range` may alter in the input of the transport checksum: its sum, or its
    /// CRC.
    fn transport_sum(&self, cover: Cover, range: &Range<usize>) -> u64 {
        let Some((_, kind)) = self.transport_checksum() else {
            return 0;
        };
        let bytes = self.frame.bytes();
        let start = self.layout.payload;
        match (cover, kind) {
            (Cover::Nothing, _) => 0,
            (Cover::Ipv4 | Cover::Pseudo, Sum::Ones | Sum::Crc32c) => 0,
            (Cover::Ipv4 | Cover::Pseudo, Sum::Pseudo | Sum::PseudoOrNone) => self.pseudo_sum(),
            (Cover::Transport, _) if self.is_checksum_pending() => 0,
            (Cover::Transport, Sum::Crc32c) => {
                let layout = &self.layout;
                if layout.fragment != Fragment::No || layout.flaw == Flaw::Truncated {
                    return 0;
                }
                u64::from(u32::from_be_bytes(crc32c(&bytes[start..layout.end])))
            }
            (Cover::Transport, Sum::Ones | Sum::Pseudo | Sum::PseudoOrNone) => {
                // Whole 16-bit words, as the checksum counts them from its start.
                let from = range.start - (range.start - start) % 2;
                let to = range.end + (range.end - start) % 2;
                sum(&bytes[from..to.min(bytes.len())])
            }
        }
    }

    /// The sum of what changes of the pseudo-header when addresses or protocol do.
    fn pseudo_sum(&self) -> u64 {
        let bytes = self.frame.bytes();
        if let Some(ip) = self.layout.offset(Header::Ipv4) {
            let addresses = sum(&bytes[ip..][IPV4_ADDRESSES]);
            return addresses + u64::from(bytes[ip + IPV4_PROTOCOL]);
        }
        let (Some(ip), Some(protocol)) = (
            self.layout.offset(Header::Ipv6),
            self.layout.offset(Header::NextHeader),
        ) else {
            return 0;
        };
        let mut addresses = sum(&bytes[ip..][IPV6_SOURCE]);
        // A routing header has the last destination, which alone is in the sum.
        if !self.layout.routed {
            addresses += sum(&bytes[ip..][IPV6_DESTINATION]);
        }
        addresses + u64::from(bytes[protocol])
    }

    /// Brings the transport checksum up to date with a change of its input.
    fn refresh_transport(&mut self, before: u64, after: u64) {
        let Some((at, kind)) = self.transport_checksum() else {
            return;
        };
        let pending = self.is_checksum_pending();
        let bytes = self.frame.bytes_mut();
        let field = &mut bytes[at..];
        let old = u16::from_be_bytes([field[0], field[1]]);
        let new = match kind {
            Sum::Crc32c => {
                let delta = ((before ^ after) as u32).to_be_bytes();
                for (byte, delta) in field.iter_mut().zip(delta) {
                    *byte ^= delta;
                }
                return;
            }
            _ if pending => update_partial(old, before, after),
            Sum::PseudoOrNone if old == 0 => 0,
            Sum::PseudoOrNone => match update(old, before, after) {
                0 => 0xffff,
                new => new,
            },
            Sum::Ones | Sum::Pseudo => update(old, before, after),
        };
        field[..2].copy_from_slice(&new.to_be_bytes());
    }

    /// Offset in the frame, and kind, of the transport header's checksum.
    fn transport_checksum(&self) -> Option<(usize, Sum)> {
        let Some(transport) = self.layout.transport else {
            let (added, start) = self.layout.added?;
            let (at, kind) = added.checksum?;
            return Some((start + usize::from(at), kind));
        };
        let row = CHECKSUMS.iter().find(|row| row.0 == transport)?;
        Some((self.layout.payload + row.1, row.2))
    }

    /// Whether the transport checksum is left to others, with only the pseudo-header's sum in
    /// place.
    fn is_checksum_pending(&self) -> bool {
        let pending = self.frame.offload.checksum;
        pending.is_some_and(|(start, _)| usize::from(start) == self.layout.payload)
    }

    /// Brings the Internet checksum at `at` up to date with a change of its input.
    fn update_at(&mut self, at: usize, before: u64, after: u64) {
        let field = &mut self.frame.bytes_mut()[at..at + 2];
        let new = update(u16::from_be_bytes([field[0], field[1]]), before, after);
        field.copy_from_slice(&new.to_be_bytes());
    }

    /// Sets the TTL of the IP header.
    pub fn set_nw_ttl(&mut self, ttl: u8) -> Result<(), EditError> {
        let place = self.nw_ttl().ok_or(EditError::NoHeader)?;
        self.put_ttl(place, ttl);
        Ok(())
    }

    /// Decrements the TTL of the IP header.
    pub fn dec_nw_ttl(&mut self) -> Result<(), EditError> {
        self.dec_ttl(self.nw_ttl())
    }

    /// Sets the TTL of the outermost MPLS label stack entry.
    pub fn set_mpls_ttl(&mut self, ttl: u8) -> Result<(), EditError> {
        let place = self.mpls_ttl().ok_or(EditError::NoHeader)?;
        self.put_ttl(place, ttl);
        Ok(())
    }

    /// Decrements the TTL of the outermost MPLS label stack entry.
    pub fn dec_mpls_ttl(&mut self) -> Result<(), EditError> {
        self.dec_ttl(self.mpls_ttl())
    }

    /// Copies the TTL of the second outermost header that has one to the outermost.
    ///
    /// Choice: below the last label is IP if the first four bits say so.
    pub fn copy_ttl_out(&mut self) -> Result<(), EditError> {
        let (outer, inner) = self.outer_ttls().ok_or(EditError::NoHeader)?;
        self.put_ttl(outer, self.frame.bytes()[inner.at()]);
        Ok(())
    }

    /// Copies the TTL of the outermost header that has one to the second outermost.
    pub fn copy_ttl_in(&mut self) -> Result<(), EditError> {
        let (outer, inner) = self.outer_ttls().ok_or(EditError::NoHeader)?;
        self.put_ttl(inner, self.frame.bytes()[outer.at()]);
        Ok(())
    }

    fn nw_ttl(&self) -> Option<Ttl> {
        let ipv4 = self.layout.offset(Header::Ipv4).map(Ttl::Ipv4);
        ipv4.or(self.layout.offset(Header::Ipv6).map(Ttl::Ipv6))
    }

    fn mpls_ttl(&self) -> Option<Ttl> {
        self.layout.offset(Header::Mpls).map(Ttl::Mpls)
    }

    /// The two outermost headers with a TTL: labels, and IP in a label or in IP.
    fn outer_ttls(&self) -> Option<(Ttl, Ttl)> {
        let bytes = self.frame.bytes();
        let outer = self.mpls_ttl().or(self.nw_ttl())?;
        let inner = match outer {
            Ttl::Mpls(at) if bytes[at + 2] & BOTTOM_OF_STACK == 0 => {
                let next = at + TAG_BYTES;
                if bytes.len() < next + TAG_BYTES {
                    return None;
                }
                Ttl::Mpls(next)
            }
            Ttl::Mpls(at) => ip_ttl(bytes, at + TAG_BYTES)?,
            Ttl::Ipv4(at) => self.tunnelled_ttl(at + IPV4_PROTOCOL)?,
            Ttl::Ipv6(_) => self.tunnelled_ttl(self.layout.offset(Header::NextHeader)?)?,
        };
        Some((outer, inner))
    }

    /// The TTL of IP in IP; `protocol_at`: where the outer header says what follows.
    fn tunnelled_ttl(&self, protocol_at: usize) -> Option<Ttl> {
        let bytes = self.frame.bytes();
        let is_ip = matches!(bytes[protocol_at], protocol::IPV4 | protocol::IPV6);
        if !is_ip || self.layout.payload == 0 {
            return None;
        }
        ip_ttl(bytes, self.layout.payload)
    }

    fn dec_ttl(&mut self, place: Option<Ttl>) -> Result<(), EditError> {
        let place = place.ok_or(EditError::NoHeader)?;
        match self.frame.bytes()[place.at()] {
            0 | 1 => Err(EditError::InvalidTtl),
            ttl => {
                self.put_ttl(place, ttl - 1);
                Ok(())
            }
        }
    }

    fn put_ttl(&mut self, place: Ttl, ttl: u8) {
        let old = core::mem::replace(&mut self.frame.bytes_mut()[place.at()], ttl);
        let (header, start, field) = match place {
            Ttl::Mpls(at) => (Header::Mpls, at, const { field_at(Header::Mpls, 24) }),
            Ttl::Ipv4(at) => (Header::Ipv4, at, const { field_at(Header::Ipv4, 64) }),
            Ttl::Ipv6(at) => (Header::Ipv6, at, const { field_at(Header::Ipv6, 56) }),
        };
        if let Some(field) = field.filter(|_| self.layout.offset(header) == Some(start)) {
            self.key.set(field, ttl.into());
        }
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
        self.layout.offset(Header::Eth).ok_or(EditError::NoHeader)?;
        let tci = self.value(VLAN_PCP) << 13 | self.value(VLAN_VID) & 0xfff;
        self.insert(TYPE_AT, TAG_BYTES)?;
        self.put(TYPE_AT, &(u32::from(tpid) << 16 | tci).to_be_bytes());
        self.reparse();
        Ok(())
    }

    /// Pops the outermost VLAN tag.
    pub fn pop_vlan(&mut self) -> Result<(), EditError> {
        let at = self
            .layout
            .offset(Header::Vlan)
            .ok_or(EditError::NoHeader)?;
        self.remove(at, TAG_BYTES);
        self.reparse();
        Ok(())
    }

    /// Pushes an MPLS label stack entry as the outermost: a copy of the one that was outermost, or
    /// label and class 0 with the TTL of IP, or 0.
    ///
    /// Spec: OpenFlow 1.3.5 section 5.12: immediately after the Ethernet header and before other
    /// tags, so that VLAN tags end up inside. Choice: where there are labels already, behind the
    /// same tags as they; an IEEE 802.3 frame has no type to replace and stays as it is.
    pub fn push_mpls(&mut self, ethertype: u16) -> Result<(), EditError> {
        let bytes = self.frame.bytes();
        let (at, entry) = match self.layout.offset(Header::Mpls) {
            Some(at) => {
                let third = bytes[at + 2] & !BOTTOM_OF_STACK;
                (at, [bytes[at], bytes[at + 1], third, bytes[at + 3]])
            }
            None => {
                let number = bytes.get(TYPE_AT..TYPE_AT + 2).ok_or(EditError::NoHeader)?;
                if u16::from_be_bytes([number[0], number[1]]) < ethertype::MIN {
                    return Err(EditError::NoHeader);
                }
                let ttl = self.nw_ttl().map_or(0, |ttl| bytes[ttl.at()]);
                (TYPE_AT + 2, [0, 0, BOTTOM_OF_STACK, ttl])
            }
        };
        self.insert(at, TAG_BYTES)?;
        self.put(at, &entry);
        self.put(at - 2, &ethertype.to_be_bytes());
        self.reparse();
        Ok(())
    }

    /// Pops the outermost MPLS label stack entry; what follows is of type `ethertype`.
    pub fn pop_mpls(&mut self, ethertype: u16) -> Result<(), EditError> {
        let at = self
            .layout
            .offset(Header::Mpls)
            .ok_or(EditError::NoHeader)?;
        self.remove(at, TAG_BYTES);
        self.put(at - 2, &ethertype.to_be_bytes());
        self.reparse();
        Ok(())
    }

    /// Pushes a backbone Ethernet header, with the frame's addresses, and a service instance tag,
    /// with the I-SID of the tag that was outermost, or 0, and the PCP of the VLAN tag, or 0.
    pub fn push_pbb(&mut self, ethertype: u16) -> Result<(), EditError> {
        self.layout.offset(Header::Eth).ok_or(EditError::NoHeader)?;
        let tag = self.value(VLAN_PCP) << 29 | self.value(PBB_ISID);
        self.insert(0, PBB_BYTES)?;
        let bytes = self.frame.bytes_mut();
        bytes.copy_within(PBB_BYTES..PBB_BYTES + TYPE_AT, 0);
        self.put(TYPE_AT, &ethertype.to_be_bytes());
        self.put(TYPE_AT + 2, &tag.to_be_bytes());
        self.reparse();
        Ok(())
    }

    /// Pops the backbone service instance tag, and makes the customer's addresses those of the
    /// frame.
    ///
    /// Spec: OpenFlow 1.3.5 section 7.2.5: a backbone VLAN tag in front stays.
    pub fn pop_pbb(&mut self) -> Result<(), EditError> {
        let at = self.layout.offset(Header::Pbb).ok_or(EditError::NoHeader)?;
        if at + PBB_BYTES > self.frame.len() {
            return Err(EditError::NoHeader);
        }
        let customer = at + PBB_BYTES - TYPE_AT..at + PBB_BYTES;
        self.frame.bytes_mut().copy_within(customer, 0);
        self.remove(at, PBB_BYTES);
        self.reparse();
        Ok(())
    }

    /// A field's value, or 0 if it is absent.
    fn value(&self, field: &Field) -> u32 {
        self.key.get(field, &mut ()).unwrap_or(0) as u32
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.frame.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Opens a gap, and moves the start of an unfinished checksum. Whoever is done with the bytes
    /// calls [`Packet::reparse`].
    pub fn insert(&mut self, at: usize, count: usize) -> Result<(), EditError> {
        let mut checksum = self.frame.offload.checksum;
        if let Some((start, _)) = &mut checksum
            && usize::from(*start) >= at
        {
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

    /// Closes a gap, and moves the start of an unfinished checksum; one that started within is
    /// void. Whoever is done with the bytes calls [`Packet::reparse`].
    ///
    /// The frame must have `count` bytes at `at`.
    pub fn remove(&mut self, at: usize, count: usize) {
        let removed = self.frame.remove(at, count);
        debug_assert!(removed, "the layout lies within the frame");
        self.frame.offload.checksum = match self.frame.offload.checksum {
            Some((start, offset)) if usize::from(start) >= at + count => {
                Some((start - count as u16, offset))
            }
            Some((start, _)) if usize::from(start) > at => None,
            checksum => checksum,
        };
    }
}
