//! Matches: a list of fields with value and mask, its OXM wire form, and its checks.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use crate::error::{BadAction, BadMatch, DecodeError, ErrorCode};
use crate::field::{self, Field, VID_PRESENT};
use crate::wire::{Reader, Wire, Writer};

/// The OXM class of the specification's fields.
const CLASS_BASIC: u16 = 0x8000;
/// The OXM class of experimenters' fields.
const CLASS_EXPERIMENTER: u16 = 0xffff;
/// Bytes of a field with its value, about.
const MEAN_OXM_BYTES: usize = 6;
/// The match type of OXM lists.
const MATCH_TYPE_OXM: u16 = 1;

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
        let (bytes, ones) = (field.bytes(), field.ones());
        let place = |n: u128| {
            let mut placed = [0; 16];
            placed[..bytes].copy_from_slice(&n.to_be_bytes()[16 - bytes..]);
            placed.iter_mut().zip(ones).for_each(|(b, one)| *b &= one);
            placed
        };
        Self {
            field,
            value: place(value & mask),
            mask: place(mask),
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

    /// Whether every bit of the field counts.
    pub fn is_exact(&self) -> bool {
        self.mask == self.field.ones()
    }

    /// The value bytes as on the wire.
    pub fn value_bytes(&self) -> &[u8] {
        &self.value[..self.field.bytes()]
    }

    /// Whether this guarantees what `field` needs, if it is about the field that `field` needs.
    fn meets(&self, need: &field::Need) -> bool {
        let mask = u128::from(need.mask);
        self.field.id == need.id
            && self.mask_number() & mask == mask
            && need.any_of.contains(&((self.number() & mask) as u64))
    }

    /// Appends the OXM form; the mask only if not exact.
    pub fn encode(&self, w: &mut Writer<'_>) {
        let (bytes, masked) = (self.field.bytes(), !self.is_exact());
        encode_header(self.field, masked, w);
        w.raw(&self.value[..bytes]);
        if masked {
            w.raw(&self.mask[..bytes]);
        }
    }
}

impl fmt::Debug for FieldMatch {
    /// `name=0x1/0xff`: value and mask as plain numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, mask) = (self.number(), self.mask_number());
        write!(f, "{}={value:#x}/{mask:#x}", self.field.name)
    }
}

/// Whether one of `fields` guarantees what `field` needs.
pub(crate) fn meets_need(fields: &[FieldMatch], field: &Field) -> bool {
    field
        .need
        .is_none_or(|need| fields.iter().any(|one| one.meets(&need)))
}

/// The errors that one use of OXM fields gives: a match, or a set-field.
struct OxmErrors {
    unknown: ErrorCode,
    length: ErrorCode,
    mask: ErrorCode,
    wildcards: ErrorCode,
    value: ErrorCode,
}

const IN_MATCH: OxmErrors = OxmErrors {
    unknown: BadMatch::BAD_FIELD,
    length: BadMatch::BAD_LEN,
    mask: BadMatch::BAD_MASK,
    wildcards: BadMatch::BAD_WILDCARDS,
    value: BadMatch::BAD_VALUE,
};

const IN_SET_FIELD: OxmErrors = OxmErrors {
    unknown: BadAction::BAD_SET_TYPE,
    length: BadAction::BAD_SET_LEN,
    mask: BadAction::BAD_SET_TYPE,
    wildcards: BadAction::BAD_SET_TYPE,
    value: BadAction::BAD_SET_ARGUMENT,
};

/// Appends the OXM header of a field: class, number, mask bit, length, experimenter.
pub fn encode_header(field: &Field, masked: bool, w: &mut Writer<'_>) {
    let experimenter = field.experimenter != 0;
    let (class, more) = match experimenter {
        true => (CLASS_EXPERIMENTER, 4),
        false => (CLASS_BASIC, 0),
    };
    let ([high, low], masked) = (class.to_be_bytes(), u8::from(masked));
    let length = (field.bytes() << masked) as u8 + more;
    w.raw(&[high, low, field.number << 1 | masked, length]);
    if experimenter {
        w.put(&field.experimenter);
    }
}

/// Reads an OXM header; gives the field (if known), the mask bit, and how many bytes follow.
///
/// Errors: the reader's own if it ends within the header.
pub fn decode_header(
    r: &mut Reader<'_>,
) -> Result<(Option<&'static Field>, bool, usize), DecodeError> {
    let class = r.at("oxm_class").get::<u16>()?;
    let number = r.at("oxm_field").get::<u8>()?;
    let mut length = usize::from(r.at("oxm_length").get::<u8>()?);
    let mut experimenter = 0;
    if class == CLASS_EXPERIMENTER && length >= 4 {
        experimenter = r.at("experimenter").get::<u32>()?;
        length -= 4;
    }
    let known = class == CLASS_BASIC || (class == CLASS_EXPERIMENTER && experimenter != 0);
    let field = known
        .then(|| r.codec.catalogue.field(experimenter, number >> 1))
        .flatten();
    Ok((field, number & 1 == 1, length))
}

/// Reads one OXM field with its value.
fn decode_oxm(r: &mut Reader<'_>, errors: &OxmErrors) -> Result<FieldMatch, DecodeError> {
    let start = r.at("oxm header").clone();
    let (field, masked, length) = decode_header(r)?;
    let field = field.ok_or_else(|| start.err(errors.unknown))?;
    r.at(field.name);
    if masked && !field.maskable {
        return Err(r.err(errors.mask));
    }
    let bytes = field.bytes();
    if length != bytes << u8::from(masked) {
        return Err(r.err(errors.length));
    }
    let (mask, value) = (field.ones(), [0; 16]);
    let mut one = FieldMatch { field, value, mask };
    let at_value = r.clone();
    one.value[..bytes].copy_from_slice(r.take(bytes)?);
    if one.value.iter().zip(mask).any(|(v, ones)| v & !ones != 0) {
        return Err(at_value.err(errors.value));
    }
    if masked {
        one.mask[..bytes].copy_from_slice(r.take(bytes)?);
        one.mask
            .iter_mut()
            .zip(mask)
            .for_each(|(m, ones)| *m &= ones);
        if one.value.iter().zip(one.mask).any(|(v, m)| v & !m != 0) {
            return Err(at_value.err(errors.wildcards));
        }
    }
    Ok(one)
}

/// Reads the field of a set-field action.
///
/// Errors: BAD_ACTION/BAD_SET_TYPE for a field that is unknown, masked or not settable,
/// BAD_SET_LEN, BAD_SET_ARGUMENT for a value out of range or a VLAN_VID without its presence bit.
/// Spec: OpenFlow 1.3.5 section 7.2.5.
pub fn decode_set_field(r: &mut Reader<'_>) -> Result<FieldMatch, DecodeError> {
    let mut start = r.at("set_field").clone();
    let (_, masked, _) = decode_header(&mut r.clone())?;
    let one = decode_oxm(r, &IN_SET_FIELD)?;
    if masked || !one.field.settable {
        return Err(start.err(BadAction::BAD_SET_TYPE));
    }
    if one.field.id == field::VLAN_VID.id && one.number() & u128::from(VID_PRESENT) == 0 {
        return Err(start.at(one.field.name).err(BadAction::BAD_SET_ARGUMENT));
    }
    Ok(one)
}

/// A match in the bytes in which a controller sent it: those of OpenFlow 1.0, where what is ignored
/// has a value, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent(pub(crate) [u8; crate::v1_0::MATCH_BYTES]);

/// What packets a flow entry is for.
///
/// Invariant: fields ascend by id, each once, each with its prerequisite; none has a mask of zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    fields: Vec<FieldMatch>,
    /// How it was sent, where the fields would be written otherwise.
    sent: Option<Box<Sent>>,
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

    /// The same match, to be told as it was sent.
    pub fn told_as(self, sent: Option<&Sent>) -> Self {
        let sent = sent.map(|sent| Box::new(*sent));
        Self { sent, ..self }
    }

    /// How it was sent, where the fields would be written otherwise.
    pub fn sent(&self) -> Option<&Sent> {
        self.sent.as_deref()
    }

    /// The fields, ascending by id.
    pub fn fields(&self) -> &[FieldMatch] {
        &self.fields
    }

    /// The match on one field.
    pub fn get(&self, field: &Field) -> Option<&FieldMatch> {
        self.fields.iter().find(|one| one.field.id == field.id)
    }

    /// Whether every packet of this match has `field`: the prerequisite is matched.
    pub fn meets_need(&self, field: &Field) -> bool {
        meets_need(&self.fields, field)
    }
}

impl Wire for Match {
    /// Errors: BAD_MATCH with BAD_TYPE, BAD_LEN, BAD_FIELD, BAD_MASK, BAD_VALUE, BAD_WILDCARDS,
    /// BAD_PREREQ (a prerequisite must stand before the field) or DUP_FIELD.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.position();
        let ty = r.at("match type").clone().get::<u16>()?;
        if ty != MATCH_TYPE_OXM {
            return Err(r.err(BadMatch::BAD_TYPE));
        }
        let mut list = r.at("match length").sized(2, 4, 0, BadMatch::BAD_LEN)?;
        let length = r.position() - start;
        list.take(4)?;
        let mut this = Self {
            fields: Vec::with_capacity(list.remaining() / MEAN_OXM_BYTES),
            sent: None,
        };
        let mut seen = 0u64;
        while !list.is_empty() {
            let here = list.clone();
            let one = decode_oxm(&mut list, &IN_MATCH)?;
            let bit = 1 << one.field.id;
            let mut here = here;
            here.at(one.field.name);
            if seen & bit != 0 {
                return Err(here.err(BadMatch::DUP_FIELD));
            }
            seen |= bit;
            if !this.meets_need(one.field) {
                return Err(here.err(BadMatch::BAD_PREREQ));
            }
            if one.mask != [0; 16] {
                this.fields.push(one);
            }
        }
        this.fields.sort_by_key(|one| one.field.id);
        r.at("match padding")
            .take(length.next_multiple_of(8) - length)?;
        Ok(this)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&MATCH_TYPE_OXM).put(&0u16);
        self.fields.iter().for_each(|one| one.encode(w));
        w.patch_length(start, start + 2);
        w.align8(start);
    }

    fn text(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        crate::text::write_match(self, f)
    }
}
