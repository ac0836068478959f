//! Every rewrite of a packet: set-field, push and pop, TTLs, with the checksums that cover what
//! changes.

use bofuss_oflib::FieldMatch;
use bofuss_oflib::copy_field::CopyField;
use bofuss_oflib::field::{Field, Header, PBB_ISID, STANDARD_FIELDS, VLAN_PCP};

use crate::header::ethertype;
use crate::headers::{BOTTOM_OF_STACK, Headers, TAG_BYTES, TYPE_AT, Ttl, decremented};
use crate::packet::Packet;
use crate::rows::{field_at, ones};

/// Bytes of a backbone service instance tag with the customer's addresses.
const PBB_BYTES: usize = 18;

/// The reason for which an edit left its packet as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditError {
    /// The header to be changed is not there. Choice: the text says nothing of such a packet.
    NoHeader,
    /// There is no room in front of the frame for another header.
    NoHeadroom,
    /// The TTL is 0 or 1 and cannot be decremented.
    InvalidTtl,
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
    pub fn set_field(&mut self, field: &Field, value: &[u8; 16]) -> Result<(), EditError> {
        let number = u128::from_be_bytes(*value) >> (128 - 8 * field.bytes());
        if field.at.is_empty() {
            self.key.set(field, number);
            return Ok(());
        }
        // Only the parse knows whether the frame reaches to a field of a configuration.
        let is_configured = usize::from(field.id) >= STANDARD_FIELDS;
        if is_configured && self.key.get(field, &mut ()).is_none() {
            return Err(EditError::NoHeader);
        }
        let bits = self.headers().set_field(field, value)?;
        // Bits of the slot that are in no header, such as the VLAN's presence, stay unchanged.
        let slot = self.key.get(field, &mut ()).unwrap_or(0);
        self.key
            .set(field, slot & !ones(bits) | number & ones(bits));
        Ok(())
    }

    /// Writes the bits of a field that a mask covers, as [`Packet::set_field`] writes all.
    pub fn set_masked(&mut self, one: &FieldMatch) -> Result<(), EditError> {
        let others = self.present(one.field)? & !one.mask_number();
        let all = FieldMatch::exact(one.field, others | one.number());
        self.set_field(one.field, &all.value)
    }

    /// Copies bits from one field to another, as [`Packet::set_field`] writes them. A field that is
    /// in no header is 0 as long as it is not set.
    pub fn copy_field(&mut self, copy: &CopyField) -> Result<(), EditError> {
        let source = self.present(copy.src)?;
        let before = self.present(copy.dst)?;
        self.set_field(copy.dst, &copy.copied(source, before).value)
    }

    /// A field's value. Errors: the frame lacks its header.
    fn present(&self, field: &Field) -> Result<u128, EditError> {
        match self.key.get(field, &mut ()) {
            Some(value) => Ok(value),
            None if field.at.is_empty() => Ok(0),
            None => Err(EditError::NoHeader),
        }
    }

    /// Sets the TTL of the IP header.
    pub fn set_nw_ttl(&mut self, ttl: u8) -> Result<(), EditError> {
        let place = self.layout.nw_ttl_place().ok_or(EditError::NoHeader)?;
        self.put_ttl(place, ttl);
        Ok(())
    }

    /// Decrements the TTL of the IP header.
    pub fn dec_nw_ttl(&mut self) -> Result<(), EditError> {
        self.dec_ttl(self.layout.nw_ttl_place())
    }

    /// Sets the TTL of the outermost MPLS label stack entry.
    pub fn set_mpls_ttl(&mut self, ttl: u8) -> Result<(), EditError> {
        let place = self.layout.mpls_ttl_place().ok_or(EditError::NoHeader)?;
        self.put_ttl(place, ttl);
        Ok(())
    }

    /// Decrements the TTL of the outermost MPLS label stack entry.
    pub fn dec_mpls_ttl(&mut self) -> Result<(), EditError> {
        self.dec_ttl(self.layout.mpls_ttl_place())
    }

    /// Copies the TTL of the second outermost header that has one to the outermost.
    ///
    /// Choice: below the last label is IP if the first four bits say so.
    pub fn copy_ttl_out(&mut self) -> Result<(), EditError> {
        let ttls = self.layout.outer_ttls(self.frame.bytes());
        let (outer, inner) = ttls.ok_or(EditError::NoHeader)?;
        self.put_ttl(outer, self.frame.bytes()[inner.at()]);
        Ok(())
    }

    /// Copies the TTL of the outermost header that has one to the second outermost.
    pub fn copy_ttl_in(&mut self) -> Result<(), EditError> {
        let ttls = self.layout.outer_ttls(self.frame.bytes());
        let (outer, inner) = ttls.ok_or(EditError::NoHeader)?;
        self.put_ttl(inner, self.frame.bytes()[outer.at()]);
        Ok(())
    }

    fn dec_ttl(&mut self, place: Option<Ttl>) -> Result<(), EditError> {
        let place = place.ok_or(EditError::NoHeader)?;
        let ttl = decremented(self.frame.bytes()[place.at()])?;
        self.put_ttl(place, ttl);
        Ok(())
    }

    fn put_ttl(&mut self, place: Ttl, ttl: u8) {
        self.headers().put_ttl(place, ttl);
        let (header, start, field) = match place {
            Ttl::Mpls(at) => (Header::Mpls, at, const { field_at(Header::Mpls, 24) }),
            Ttl::Ipv4(at) => (Header::Ipv4, at, const { field_at(Header::Ipv4, 64) }),
            Ttl::Ipv6(at) => (Header::Ipv6, at, const { field_at(Header::Ipv6, 56) }),
        };
        if let Some(field) = field.filter(|_| self.layout.offset(header) == Some(start)) {
            self.key.set(field, ttl.into());
        }
    }

    /// Pushes a VLAN tag as the outermost, with VID and PCP of the tag that was outermost, or zero.
    ///
    /// Spec: OpenFlow 1.3.5 section 5.12.
    pub fn push_vlan(&mut self, tpid: u16) -> Result<(), EditError> {
        self.headers().push_vlan(tpid)?;
        self.reparse();
        Ok(())
    }

    /// Pops the outermost VLAN tag.
    pub fn pop_vlan(&mut self) -> Result<(), EditError> {
        self.headers().pop_vlan()?;
        self.reparse();
        Ok(())
    }

    /// Pushes an MPLS label stack entry as the outermost: a copy of the previous outermost, or
    /// label and class 0 with the TTL of IP, or 0.
    ///
    /// Spec: OpenFlow 1.3.5 section 5.12: immediately after the Ethernet header and before other
    /// tags, so that VLAN tags end up inside. Choice: where there are labels already, behind the
    /// same tags as they; an IEEE 802.3 frame has no type to replace and stays as it is.
    pub fn push_mpls(&mut self, ethertype: u16) -> Result<(), EditError> {
        self.layout.offset(Header::Eth).ok_or(EditError::NoHeader)?;
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
                let ttl = self.layout.nw_ttl_place().map_or(0, |ttl| bytes[ttl.at()]);
                (TYPE_AT + 2, [0, 0, BOTTOM_OF_STACK, ttl])
            }
        };
        self.headers().insert(at, TAG_BYTES)?;
        self.put(at, &entry);
        self.put(at - 2, &ethertype.to_be_bytes());
        self.reparse();
        Ok(())
    }

    /// Pops the outermost MPLS label stack entry; what follows is of type `ethertype`.
    pub fn pop_mpls(&mut self, ethertype: u16) -> Result<(), EditError> {
        let found = self.layout.offset(Header::Mpls);
        let at = found.ok_or(EditError::NoHeader)?;
        self.headers().remove(at, TAG_BYTES);
        self.put(at - 2, &ethertype.to_be_bytes());
        self.reparse();
        Ok(())
    }

    /// Pushes a backbone Ethernet header, with the frame's addresses, and a service instance tag,
    /// with the I-SID of the tag that was outermost, or 0, and the PCP of the VLAN tag, or 0.
    pub fn push_pbb(&mut self, ethertype: u16) -> Result<(), EditError> {
        self.layout.offset(Header::Eth).ok_or(EditError::NoHeader)?;
        let tag = self.value(VLAN_PCP) << 29 | self.value(PBB_ISID);
        self.headers().insert(0, PBB_BYTES)?;
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
        self.headers().remove(at, PBB_BYTES);
        self.reparse();
        Ok(())
    }

    /// The bytes with their layout, for edits after which the key is stale: afterwards call
    /// [`Packet::reparse`].
    pub fn headers(&mut self) -> Headers<'_> {
        Headers {
            frame: &mut self.frame,
            layout: &self.layout,
        }
    }

    /// A field's value, or 0 if it is absent.
    fn value(&self, field: &Field) -> u32 {
        self.key.get(field, &mut ()).unwrap_or(0) as u32
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.frame.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }
}
