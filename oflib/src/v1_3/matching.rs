//! Matches as lists of OXM fields. Spec: OpenFlow 1.3.5 section 7.2.3.

use alloc::vec::Vec;

use super::V1_3;
use crate::error::{BadAction, BadMatch, BadProperty, DecodeError, ErrorCode};
use crate::field::{self, Field, ONF, PACKET_TYPE, TCP_FLAGS, VID_PRESENT};
use crate::field_set::FieldSet;
use crate::forms::Form;
use crate::matching::{FieldMatch, Match};
#[cfg(feature = "nicira")]
use crate::nicira::registers;
use crate::registers::PACKET_REGISTERS;
use crate::version::Version;
use crate::wire::{Reader, Writer};

/// The OXM class of the specification's fields.
///
/// Spec: OpenFlow 1.3.5 section 7.2.3.3.
const CLASS_BASIC: u16 = 0x8000;
/// The OXM class of experimenters' fields.
const CLASS_EXPERIMENTER: u16 = 0xffff;
/// The number under which controllers of BEBA have the TCP flags in the basic class, where the
/// specification has none before 1.5; they mean the lower 9 bits.
const BEBA_TCP_FLAGS: u8 = 40;
/// These bits.
const BEBA_TCP_FLAG_BITS: u16 = 0x1ff;
/// Bytes of a field with its value, about.
///
/// With the header of 4 bytes. It only sizes the allocation for a list.
const MEAN_OXM_BYTES: usize = 6;
/// The match type of OXM lists.
const MATCH_TYPE_OXM: u16 = 1;

/// The errors that one use of OXM fields gives: a match, or a set-field.
///
/// The wire form is the same in all uses, but each has errors of its own for the same fault.
struct OxmErrors {
    /// No row has the field, or the version does not.
    unknown: ErrorCode,
    /// The length is not that of the field, twice with a mask.
    length: ErrorCode,
    /// The field may not have a mask.
    mask: ErrorCode,
    /// The value has bits that the mask does not cover.
    wildcards: ErrorCode,
    /// The value has bits beyond the field's width.
    value: ErrorCode,
}

/// The fields of a match.
const IN_MATCH: OxmErrors = OxmErrors {
    unknown: BadMatch::BAD_FIELD,
    length: BadMatch::BAD_LEN,
    mask: BadMatch::BAD_MASK,
    wildcards: BadMatch::BAD_WILDCARDS,
    value: BadMatch::BAD_VALUE,
};

/// The field of a set-field. Before 1.5, a mask is refused before these are used.
const IN_SET_FIELD: OxmErrors = OxmErrors {
    unknown: BadAction::BAD_SET_TYPE,
    length: BadAction::BAD_SET_LEN,
    mask: BadAction::BAD_SET_MASK,
    wildcards: BadAction::BAD_SET_MASK,
    value: BadAction::BAD_SET_ARGUMENT,
};

/// Values in a list of properties, which came with 1.5.
const IN_PROPERTY: OxmErrors = OxmErrors {
    unknown: BadProperty::BAD_VALUE,
    length: BadProperty::BAD_LEN,
    mask: BadProperty::BAD_VALUE,
    wildcards: BadProperty::BAD_VALUE,
    value: BadProperty::BAD_VALUE,
};

/// Returns true if a version has a field in the basic class that others have from the ONF.
///
/// 1.5 took over the ONF's fields under the numbers that they had.
fn is_basic_here(field: &Field, version: Version) -> bool {
    field.experimenter == ONF && version.has_stat_lists()
}

/// Appends the OXM header of a field: class, number, mask bit, length, experimenter.
///
/// Shape: 16 bits of class, 7 of number, the mask bit, 8 of length. The length counts all that
/// follows the header: the experimenter, the value, and a mask of the same size.
pub(crate) fn encode_header(field: &Field, masked: bool, w: &mut Writer<'_>) {
    if !field.versions.has(w.version()) {
        w.unsupported(field.name);
    }
    // The packet registers have a class of their own, which stands in for an experimenter in the
    // row.
    let (class, more) = match field.experimenter {
        PACKET_REGISTERS => (PACKET_REGISTERS as u16, 0),
        0 => (CLASS_BASIC, 0),
        _ if is_basic_here(field, w.version()) => (CLASS_BASIC, 0),
        _ => (CLASS_EXPERIMENTER, 4),
    };
    let [high, low] = class.to_be_bytes();
    // At most 36: a masked IPv6 address of an experimenter.
    let length = (field.bytes() << u8::from(masked)) as u8 + more;
    w.raw(&[high, low, field.number << 1 | u8::from(masked), length]);
    if class == CLASS_EXPERIMENTER {
        w.put(&field.experimenter);
    }
}

/// Reads an OXM header; gives the field (if the version has it), the mask bit, and how many bytes
/// follow.
///
/// Errors: the reader's own if it ends within the header.
///
/// The count is what the peer says, not checked against the field's width, and without the
/// experimenter.
pub(crate) fn decode_header(
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
    let mut field = None;
    // Rows use these two numbers for other classes. A peer that sends them as an experimenter's
    // would otherwise name the specification's fields in a second way.
    let is_own = class == CLASS_EXPERIMENTER && ![0, PACKET_REGISTERS].contains(&experimenter);
    if class == CLASS_BASIC || is_own {
        field = r.codec.catalogue.field(experimenter, number >> 1);
    }
    if u32::from(class) == PACKET_REGISTERS {
        field = r.codec.catalogue.field(PACKET_REGISTERS, number >> 1);
    }
    let version = r.version();
    if class == CLASS_BASIC && field.is_none() {
        let others = r.codec.catalogue.field(ONF, number >> 1);
        field = others.filter(|field| is_basic_here(field, version));
    }
    let known = field.filter(|field| field.versions.has(version));
    Ok((known, number & 1 == 1, length))
}

/// Returns true if an OXM header has BEBA's number of the TCP flags.
///
/// Its mask bit is not compared: the field may come with a mask.
fn is_beba_tcp_flags(mut r: Reader<'_>) -> bool {
    let [high, low] = CLASS_BASIC.to_be_bytes();
    matches!(r.take(3), Ok([a, b, c]) if [*a, *b, *c >> 1] == [high, low, BEBA_TCP_FLAGS])
}

/// Reads one OXM field with its value.
///
/// The order of the checks decides which error a field with several faults gives: the field, its
/// mask, its length, its value, and last what value and mask say together.
fn decode_oxm(r: &mut Reader<'_>, errors: &OxmErrors) -> Result<FieldMatch, DecodeError> {
    let start = r.at("oxm header").clone();
    let (mut field, masked, length) = decode_header(r)?;
    // The uses are told apart by an error that each has for itself.
    let in_match = errors.unknown == IN_MATCH.unknown;
    let is_beba = field.is_none() && in_match && is_beba_tcp_flags(start.clone());
    if is_beba {
        field = Some(TCP_FLAGS);
    }
    #[cfg(feature = "nicira")]
    if errors.unknown != IN_PROPERTY.unknown {
        field = field.or_else(|| registers::of_header(&start));
    }
    let field = field.ok_or_else(|| start.err(errors.unknown))?;
    r.at(field.name);
    if masked && !field.maskable {
        return Err(r.err(errors.mask));
    }
    let bytes = field.bytes();
    if length != bytes << u8::from(masked) {
        return Err(r.err(errors.length));
    }
    let ones = field.ones();
    let mut one = FieldMatch {
        field,
        value: [0; 16],
        mask: ones,
    };
    let at_value = r.clone();
    one.value[..bytes].copy_from_slice(r.take(bytes)?);
    // A field of 12 bits comes in 16, of which the upper 4 must be zero.
    if one.value.iter().zip(ones).any(|(v, ones)| v & !ones != 0) {
        return Err(at_value.err(errors.value));
    }
    if is_beba {
        one.mask[..2].copy_from_slice(&BEBA_TCP_FLAG_BITS.to_be_bytes());
    }
    if masked {
        one.mask[..bytes].copy_from_slice(r.take(bytes)?);
        // Bits of a mask beyond the field's width are ignored, so that a mask of all ones is exact.
        for (mask, ones) in one.mask.iter_mut().zip(ones) {
            *mask &= ones;
        }
    }
    // This also restores the invariant of a match: no bit of the value outside the mask.
    if one.value.iter().zip(one.mask).any(|(v, m)| v & !m != 0) {
        return Err(at_value.err(field.bad_wildcards.unwrap_or(errors.wildcards)));
    }
    Ok(one)
}

/// Reads the field of a set-field action.
///
/// Errors: BAD_ACTION/BAD_SET_TYPE for a field that is unknown or not settable, or masked unless
/// it `takes_mask`, BAD_SET_LEN, BAD_SET_MASK for a mask that the field may not have,
/// BAD_SET_ARGUMENT for a value out of range or a VLAN_VID without its presence bit.
/// Spec: OpenFlow 1.3.5 section 7.2.5.
pub(crate) fn decode_set_field(
    r: &mut Reader<'_>,
    takes_mask: bool,
) -> Result<FieldMatch, DecodeError> {
    let mut start = r.at("set_field").clone();
    // The header is read ahead, as the mask is judged before the field: this error is about the
    // action, and points at its beginning.
    let (_, masked, _) = decode_header(&mut r.clone())?;
    if masked && !takes_mask {
        return Err(start.err(BadAction::BAD_SET_TYPE));
    }
    let one = decode_oxm(r, &IN_SET_FIELD)?;
    if !one.field.settable {
        return Err(start.err(BadAction::BAD_SET_TYPE));
    }
    check_tag(&one).map_err(|error| start.at(one.field.name).err(error))?;
    #[cfg(feature = "nicira")]
    let one = registers::in_one(one).ok_or_else(|| start.err(BadAction::BAD_SET_LEN))?;
    Ok(one)
}

/// Checks that a set-field leaves a tag where it is. Errors: BAD_ACTION/BAD_SET_ARGUMENT for a
/// VLAN_VID without its presence bit.
///
/// Without this check a set-field could clear the bit, and the key would say that a tagged packet
/// has no tag. Packets lose and get tags by POP_VLAN and PUSH_VLAN alone.
pub(crate) fn check_tag(one: &FieldMatch) -> Result<(), ErrorCode> {
    let present = u128::from(VID_PRESENT) & one.mask_number();
    if one.field.id == field::VLAN_VID.id && one.number() & present != present {
        return Err(BadAction::BAD_SET_ARGUMENT);
    }
    Ok(())
}

/// Appends the OXM form; the mask only if not exact.
///
/// A match has no field with a mask of zero, so that each field is written.
pub(crate) fn encode_oxm(one: &FieldMatch, w: &mut Writer<'_>) {
    let bytes = one.field.bytes();
    let masked = !one.is_exact();
    encode_header(one.field, masked, w);
    w.raw(&one.value[..bytes]);
    if masked {
        w.raw(&one.mask[..bytes]);
    }
}

/// Reads OXM fields up to the window's end, which need not go together. Errors: BAD_PROPERTY with
/// BAD_LEN, or BAD_VALUE for what is no value of a field.
///
/// Neither prerequisites nor doubles are checked: the packet types of a table are alternatives.
pub(super) fn decode_values(list: &mut Reader<'_>) -> Result<Vec<FieldMatch>, DecodeError> {
    let mut values = Vec::new();
    while !list.is_empty() {
        values.push(decode_oxm(list, &IN_PROPERTY)?);
    }
    Ok(values)
}

/// Reads OXM fields up to the window's end as a match. Errors: BAD_MATCH's.
///
/// The peer's order matters only for prerequisites, which must come first. The match is sorted by
/// id, which makes equal matches equal.
pub(super) fn decode_fields(mut list: Reader<'_>) -> Result<Match, DecodeError> {
    let mut fields = Vec::with_capacity(list.remaining() / MEAN_OXM_BYTES);
    let mut seen = FieldSet::EMPTY;
    while !list.is_empty() {
        let mut here = list.clone();
        let one = decode_oxm(&mut list, &IN_MATCH)?;
        here.at(one.field.name);
        #[cfg(feature = "nicira")]
        if registers::is_part(one.field) {
            for part in registers::in_packet_registers(one) {
                seen.insert(FieldSet::of(part.field));
                if !registers::put(part, &mut fields) {
                    return Err(here.err(BadMatch::DUP_FIELD));
                }
            }
            continue;
        }
        if seen.contains(one.field) {
            return Err(here.err(BadMatch::DUP_FIELD));
        }
        seen.insert(FieldSet::of(one.field));
        // Spec: OpenFlow 1.5.1 section 7.2.3.11.
        let is_late = one.field == PACKET_TYPE && seen != FieldSet::of(PACKET_TYPE);
        if is_late || !crate::matching::meets_need(&fields, one.field) {
            return Err(here.err(BadMatch::BAD_PREREQ));
        }
        // An all-zero mask is the same as no field, but it must not be a double and needs its
        // prerequisite all the same.
        if one.mask != [0; 16] {
            fields.push(one);
        }
    }
    fields.sort_by_key(|one: &FieldMatch| one.field.id);
    Ok(Match::again(fields))
}

/// Type and length of 16 bits each, the fields, and padding to 8 bytes, which the length does not
/// count. Spec: OpenFlow 1.3.5 section 7.2.3.1.
impl Form<V1_3> for Match {
    /// Errors: BAD_MATCH with BAD_TYPE, BAD_LEN, BAD_FIELD, BAD_MASK, BAD_VALUE, BAD_WILDCARDS,
    /// BAD_PREREQ (a prerequisite must stand before the field, the packet type before all) or
    /// DUP_FIELD.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.position();
        // The type is read ahead: the structure with the length begins at it.
        let ty = r.at("match type").clone().get::<u16>()?;
        if ty != MATCH_TYPE_OXM {
            return Err(r.err(BadMatch::BAD_TYPE));
        }
        let mut list = r.at("match length").sized(2, 4, 0, BadMatch::BAD_LEN)?;
        let length = r.position() - start;
        list.take(4)?;
        let fields = decode_fields(list)?;
        r.at("match padding")
            .take(length.next_multiple_of(8) - length)?;
        Ok(fields)
    }

    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&MATCH_TYPE_OXM).put(&0u16);
        self.fields().iter().for_each(|one| encode_oxm(one, w));
        w.patch_length(start, start + 2);
        w.align8(start);
    }
}
