//! The forms in which Open vSwitch's tools write copy_field and masked set-fields before 1.5: as
//! actions of their own.

use super::registers;
use crate::action::{Action, SetField};
use crate::copy_field::{CopyField, read_field};
use crate::error::{BadAction, DecodeError};
use crate::field::{
    ARP_OP, ARP_SHA, ARP_SPA, ARP_THA, ARP_TPA, ETH_DST, ETH_SRC, ETH_TYPE, Field, ICMPV4_CODE,
    ICMPV4_TYPE, ICMPV6_CODE, ICMPV6_TYPE, IP_ECN, IP_PROTO, IPV4_DST, IPV4_SRC, IPV6_DST,
    IPV6_FLABEL, IPV6_ND_SLL, IPV6_ND_TARGET, IPV6_ND_TLL, IPV6_SRC, TCP_DST, TCP_FLAGS, TCP_SRC,
    TUNNEL_ID, UDP_DST, UDP_SRC,
};
use crate::matching::FieldMatch;
use crate::v1_3::matching::{check_tag, decode_set_field, encode_oxm};
use crate::wire::{Reader, Writer};

/// Nicira, the experimenter of Open vSwitch's actions.
pub const NICIRA: u32 = 0x2320;
/// The type of the action that copies bits of fields.
const REG_MOVE: u16 = 6;
/// The type of the action that sets bits of a field which follow each other: their lowest and, in
/// the low 6 bits of 16, their number less 1, the field's header and 64 bits of value.
const REG_LOAD: u16 = 7;
/// The type of the action that sets bits of a field: an OXM field with a mask follows.
const REG_LOAD2: u16 = 33;

/// Fields by the class and the number that they have in NXM, which was before OXM.
pub(crate) const NXM: [(u16, u8, &Field); 28] = [
    (0, 1, ETH_DST),
    (0, 2, ETH_SRC),
    (0, 3, ETH_TYPE),
    (0, 6, IP_PROTO),
    (0, 7, IPV4_SRC),
    (0, 8, IPV4_DST),
    (0, 9, TCP_SRC),
    (0, 10, TCP_DST),
    (0, 11, UDP_SRC),
    (0, 12, UDP_DST),
    (0, 13, ICMPV4_TYPE),
    (0, 14, ICMPV4_CODE),
    (0, 15, ARP_OP),
    (0, 16, ARP_SPA),
    (0, 17, ARP_TPA),
    (1, 16, TUNNEL_ID),
    (1, 17, ARP_SHA),
    (1, 18, ARP_THA),
    (1, 19, IPV6_SRC),
    (1, 20, IPV6_DST),
    (1, 21, ICMPV6_TYPE),
    (1, 22, ICMPV6_CODE),
    (1, 23, IPV6_ND_TARGET),
    (1, 24, IPV6_ND_SLL),
    (1, 25, IPV6_ND_TLL),
    (1, 27, IPV6_FLABEL),
    (1, 28, IP_ECN),
    (1, 34, TCP_FLAGS),
];
/// The highest class of NXM.
const LAST_CLASS: u16 = 1;

/// Reads a field's header, of NXM or of OXM. Errors: BAD_ACTION/BAD_SET_TYPE for a field that is
/// not known.
pub(super) fn field(r: &mut Reader<'_>) -> Result<&'static Field, DecodeError> {
    let at = r.clone();
    let class: u16 = r.clone().get()?;
    if class > LAST_CLASS || registers::of_header(r).is_some() {
        return read_field(r);
    }
    r.take(2)?;
    let number: u8 = r.get()?;
    let bytes: u8 = r.get()?;
    let row = NXM
        .iter()
        .find(|row| (row.0, row.1 << 1) == (class, number));
    match row {
        Some((_, _, field)) if field.bytes() == usize::from(bytes) => Ok(field),
        Some(_) | None => Err(at.err(BadAction::BAD_SET_TYPE)),
    }
}

/// Reads the body of an experimenter's action, if it is one of these.
///
/// Errors: BAD_ACTION with BAD_LEN, BAD_SET_TYPE, BAD_SET_LEN, BAD_SET_ARGUMENT or BAD_SET_MASK.
pub(crate) fn read(r: &mut Reader<'_>) -> Result<Option<Action>, DecodeError> {
    let mut body = r.clone();
    if body.get::<u32>() != Ok(NICIRA) {
        return Ok(None);
    }
    let action = match body.get::<u16>() {
        Ok(REG_MOVE) => Action::CopyField(reg_move(&mut body)?),
        Ok(REG_LOAD) => Action::SetField(SetField(reg_load(&mut body)?)),
        Ok(REG_LOAD2) => Action::SetField(SetField(decode_set_field(&mut body, true)?)),
        Ok(_) | Err(_) => return Ok(None),
    };
    *r = body;
    Ok(Some(action))
}

fn reg_load(body: &mut Reader<'_>) -> Result<FieldMatch, DecodeError> {
    let start = body.at("ofs_nbits").clone();
    let packed: u16 = body.get()?;
    let field = field(body.at("dst"))?;
    let value: u64 = body.at("value").get()?;
    let offset = packed >> 6;
    let n_bits = (packed & 0x3f) + 1;
    if n_bits > 64 || offset + n_bits > field.bits {
        return Err(start.err(BadAction::BAD_SET_LEN));
    }
    let ones = u128::MAX >> (128 - u32::from(n_bits));
    if !field.settable || u128::from(value) & !ones != 0 {
        return Err(start.err(BadAction::BAD_SET_ARGUMENT));
    }
    let one = FieldMatch::masked(field, u128::from(value) << offset, ones << offset);
    if !field.maskable && !one.is_exact() {
        return Err(start.err(BadAction::BAD_SET_MASK));
    }
    check_tag(&one).map_err(|error| start.err(error))?;
    registers::in_one(one).ok_or_else(|| start.err(BadAction::BAD_SET_LEN))
}

fn reg_move(body: &mut Reader<'_>) -> Result<CopyField, DecodeError> {
    let start = body.at("n_bits").clone();
    let copy = CopyField {
        n_bits: body.get()?,
        src_offset: body.at("src_ofs").get()?,
        dst_offset: body.at("dst_ofs").get()?,
        src: field(body.at("src"))?,
        dst: field(body.at("dst"))?,
    };
    copy.check().map_err(|error| start.err(error))?;
    registers::copy_in_one(copy).ok_or_else(|| start.err(BadAction::BAD_SET_LEN))
}

/// Appends the body of a set-field with a mask.
pub(crate) fn write_masked(one: &FieldMatch, w: &mut Writer<'_>) {
    w.put(&NICIRA).put(&REG_LOAD2);
    encode_oxm(one, w);
}
