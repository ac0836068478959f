//! Matches: a list of fields with value and mask, its OXM wire form, and its checks.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use crate::error::{BadMatch, ErrorCode};
use crate::field::{self, ETH_TYPE, Field, OFPHTN_ETHERTYPE, PACKET_TYPE, VID_PRESENT, VLAN_VID};

/// One field with the value wanted and the bits that matter.
///
/// Shape: the first [`Field::bytes`] bytes of `value` and `mask` count, big-endian as on the wire;
/// the others are zero. Invariant: no bit of `value` outside `mask`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FieldMatch {
    /// The field.
    pub field: &'static Field,
    /// The value.
    pub value: [u8; 16],
    /// Ones where the value counts.
    pub mask: [u8; 16],
}

impl FieldMatch {
    /// An exact match on `value`, of which the field's low bits count.
    pub fn exact(field: &'static Field, value: u128) -> Self {
        Self::masked(field, value, u128::MAX)
    }

    /// A match on the bits of `value` that `mask` and the field's width cover.
    pub fn masked(field: &'static Field, value: u128, mask: u128) -> Self {
        Self {
            field,
            value: placed(field, value & mask),
            mask: placed(field, mask),
        }
    }

    /// The value as a number.
    pub fn number(&self) -> u128 {
        u128::from_be_bytes(self.value) >> (128 - 8 * self.field.bytes())
    }

    /// The mask as a number.
    pub fn mask_number(&self) -> u128 {
        u128::from_be_bytes(self.mask) >> (128 - 8 * self.field.bytes())
    }

    /// Returns true if every bit of the field counts.
    pub fn is_exact(&self) -> bool {
        self.mask == self.field.ones()
    }

    /// The value bytes as on the wire.
    pub fn value_bytes(&self) -> &[u8] {
        &self.value[..self.field.bytes()]
    }

    /// Returns true if this guarantees what `field` needs, if it is about the field that `field`
    /// needs. A packet type of the namespace of Ethernet types is as good as that type after
    /// Ethernet.
    fn meets(&self, need: &field::Need) -> bool {
        if self.field.id == PACKET_TYPE.id && need.id == ETH_TYPE.id {
            let number = self.number() as u64;
            return number >> 16 == OFPHTN_ETHERTYPE && need.any_of.contains(&(number & 0xffff));
        }
        let mask = u128::from(need.mask);
        self.field.id == need.id
            && self.mask_number() & mask == mask
            && need.any_of.contains(&((self.number() & mask) as u64))
    }
}

impl fmt::Debug for FieldMatch {
    /// `name=0x1/0xff`: value and mask as plain numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.number();
        let mask = self.mask_number();
        write!(f, "{}={value:#x}/{mask:#x}", self.field.name)
    }
}

/// The bits of a number that a field's width holds, in the first bytes, as in OXM.
fn placed(field: &Field, number: u128) -> [u8; 16] {
    let unused = 128 - 8 * field.bytes() as u32;
    ((number & field.ones_number()) << unused).to_be_bytes()
}

/// Returns true if one of `fields` guarantees what `field` needs. Those of the Ethernet header need
/// that no packet type says that there is none.
pub(crate) fn meets_need(fields: &[FieldMatch], field: &Field) -> bool {
    if let Some(need) = field.need {
        return fields.iter().any(|one| one.meets(&need));
    }
    !field.is_of_ethernet() || is_of_ethernet(fields)
}

/// Returns true if fields are matched of packets with an Ethernet header. Spec: OpenFlow 1.5.1
/// section 7.2.3.11: those without a packet type are.
fn is_of_ethernet(fields: &[FieldMatch]) -> bool {
    let mut types = fields.iter().filter(|one| one.field.id == PACKET_TYPE.id);
    types.all(|one| one.number() == 0)
}

/// A match in the bytes in which a controller sent it, where what is ignored has a value, too.
///
/// Shape: the 40 bytes of OpenFlow 1.0, or the 88 of 1.1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sent(Box<[u8]>);

/// The packets that a flow entry is for.
///
/// Invariant: fields ascend by id, each once, each with its prerequisite; none has a mask of zero.
///
/// ```
/// use bofuss_oflib::error::BadMatch;
/// use bofuss_oflib::field::{ETH_TYPE, IPV4_DST};
/// use bofuss_oflib::matching::{FieldMatch, Match};
///
/// let ip = FieldMatch::exact(ETH_TYPE, 0x0800);
/// let dst = FieldMatch::masked(IPV4_DST, 0x0a00_0000, 0xff00_0000);
/// assert!(Match::new(&[ip, dst]).is_ok());
/// // Without the Ethernet type, packets need not have the field.
/// assert_eq!(Match::new(&[dst]), Err((BadMatch::BAD_PREREQ, IPV4_DST)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Match {
    fields: Vec<FieldMatch>,
    /// The form in which it was sent, where the fields would be written otherwise.
    sent: Option<Sent>,
}

impl Match {
    /// Matches every packet.
    pub const ANY: Self = Self {
        fields: Vec::new(),
        sent: None,
    };

    /// Makes a match of fields in any order; a field with an all-zero mask is left out.
    ///
    /// Errors: BAD_MATCH/DUP_FIELD, BAD_MATCH/BAD_PREREQ, with the field at fault.
    pub fn new(fields: &[FieldMatch]) -> Result<Self, (ErrorCode, &'static Field)> {
        let mut this = Self {
            fields: fields.to_vec(),
            sent: None,
        };
        this.fields.sort_by_key(|one| one.field.id);
        for pair in this.fields.windows(2) {
            if pair[0].field.id == pair[1].field.id {
                return Err((BadMatch::DUP_FIELD, pair[0].field));
            }
        }
        this.fields.retain(|one| one.mask != [0; 16]);
        match this.fields.iter().find(|one| !this.meets_need(one.field)) {
            Some(one) => Err((BadMatch::BAD_PREREQ, one.field)),
            None => Ok(this),
        }
    }

    /// The match that had these fields, ascending by id.
    pub fn again(fields: Vec<FieldMatch>) -> Self {
        debug_assert!(Self::new(&fields).is_ok_and(|one| one.fields == fields));
        Self { fields, sent: None }
    }

    /// The same match, to be written again as it was sent.
    pub fn written_as(self, sent: Option<&Sent>) -> Self {
        let sent = sent.cloned();
        Self { sent, ..self }
    }

    /// The form in which it was sent, where the fields would be written otherwise.
    pub fn sent(&self) -> Option<&Sent> {
        self.sent.as_ref()
    }

    /// The fields, ascending by id.
    pub fn fields(&self) -> &[FieldMatch] {
        &self.fields
    }

    /// The match on one field.
    pub fn get(&self, field: &Field) -> Option<&FieldMatch> {
        self.fields.iter().find(|one| one.field.id == field.id)
    }

    /// Returns true if this is a match of packets with an Ethernet header, and not of another type.
    pub fn is_of_ethernet(&self) -> bool {
        is_of_ethernet(&self.fields)
    }

    /// Returns true if the packets of this match have a VLAN tag, as far as it says.
    pub fn is_tagged(&self) -> Option<bool> {
        let present = u128::from(VID_PRESENT);
        let one = self.get(VLAN_VID)?;
        (one.mask_number() & present != 0).then(|| one.number() & present != 0)
    }

    /// Returns true if every packet of this match has `field`: the prerequisite is matched.
    pub fn meets_need(&self, field: &Field) -> bool {
        meets_need(&self.fields, field)
    }
}

#[cfg(feature = "v1_0")]
impl Match {
    /// The same match, to be written again in these bytes of a version.
    pub(crate) fn sent_in(self, bytes: &[u8]) -> Self {
        self.written_as(Some(&Sent(bytes.into())))
    }

    /// The bytes in which it was sent, if they are of the version whose matches have so many.
    pub(crate) fn sent_as<const N: usize>(&self) -> Option<[u8; N]> {
        let Sent(bytes) = self.sent()?;
        bytes.as_ref().try_into().ok()
    }
}
