//! The matches of Nicira's structures in 1.0: lists of fields, NXM, from which OXM was made.
//!
//! A field is its class, its number and whether a mask follows (as in OXM), its length, the value
//! and the mask. Choice: a field that has no number there cannot be said.

use alloc::vec::Vec;

use crate::error::{BadMatch, DecodeError};
use crate::field::{Field, IN_PORT, IP_DSCP, VID_PRESENT, VLAN_PCP, VLAN_VID};
use crate::matching::{FieldMatch, Match};
use crate::nicira::actions::NXM;
use crate::nicira::subfield::{NXM_IN_PORT, NXM_IP_TOS, NXM_VLAN_TCI};
use crate::types::PortNo;
use crate::wire::{Reader, Writer, be_number};

/// The bits of a tag before its priority.
const PCP_SHIFT: u32 = 13;
const VID_BITS: u128 = 0x1fff;
const PCP_BITS: u128 = 0xe000;

/// Reads a match of so many bytes, and its padding.
///
/// Errors: BAD_MATCH with BAD_LEN, BAD_FIELD, BAD_MASK, BAD_VALUE, BAD_PREREQ or DUP_FIELD.
pub(super) fn read(length: u16, r: &mut Reader<'_>) -> Result<Match, DecodeError> {
    let length = usize::from(length);
    let start = r.at("match").clone();
    let mut list = r.sub(length, BadMatch::BAD_LEN)?;
    r.at("match padding")
        .take(length.next_multiple_of(8) - length)?;
    let mut fields = Vec::new();
    while !list.is_empty() {
        read_field(&mut list, &mut fields)?;
    }
    Match::new(&fields).map_err(|(error, _)| start.err(error))
}

fn read_field(list: &mut Reader<'_>, fields: &mut Vec<FieldMatch>) -> Result<(), DecodeError> {
    let at_header = list.at("nxm header").clone();
    let class = list.get::<u16>()?;
    let packed: u8 = list.get()?;
    let length = list.get::<u8>()?.into();
    let mut body = list.at("nxm field").sub(length, BadMatch::BAD_LEN)?;
    let has_mask = packed & 1 == 1;
    let size = if has_mask { length / 2 } else { length };
    let port = body.clone().get::<PortNo>();
    let value = be_number(body.take(size)?);
    let mask = if has_mask {
        be_number(body.take(size)?)
    } else {
        u128::MAX
    };
    body.finish()?;
    match (class, packed >> 1, size) {
        (0, NXM_IN_PORT, 2) if !has_mask => {
            fields.push(FieldMatch::exact(IN_PORT, port?.0.into()));
        }
        (0, NXM_IP_TOS, 1) if !has_mask && value & 3 == 0 => {
            fields.push(FieldMatch::exact(IP_DSCP, value >> 2));
        }
        (0, NXM_IP_TOS, 1) if !has_mask => return Err(at_header.err(BadMatch::BAD_VALUE)),
        (0, NXM_VLAN_TCI, 2) => match mask & PCP_BITS {
            0 => fields.push(FieldMatch::masked(VLAN_VID, value, mask & VID_BITS)),
            PCP_BITS => {
                fields.push(FieldMatch::masked(VLAN_VID, value, mask & VID_BITS));
                if value & u128::from(VID_PRESENT) != 0 {
                    fields.push(FieldMatch::exact(VLAN_PCP, value >> PCP_SHIFT));
                }
            }
            _ => return Err(at_header.err(BadMatch::BAD_MASK)),
        },
        (class, number, size) => {
            let mut rows = NXM.iter();
            let row = rows.find(|row| (row.0, row.1, row.2.bytes()) == (class, number, size));
            let (_, _, field) = *row.ok_or_else(|| at_header.err(BadMatch::BAD_FIELD))?;
            if has_mask && !field.maskable {
                return Err(at_header.err(BadMatch::BAD_MASK));
            }
            fields.push(FieldMatch::masked(field, value, mask));
        }
    }
    Ok(())
}

/// Appends a match with its padding, and its length without that at `at`.
pub(super) fn write(fields: &Match, at: usize, w: &mut Writer<'_>) {
    let start = w.bytes.len();
    for one in fields.fields() {
        write_field(one, fields, w);
    }
    w.patch_length(start, at);
    w.align8(start);
}

fn write_field(one: &FieldMatch, fields: &Match, w: &mut Writer<'_>) {
    let field = one.field;
    if field == IN_PORT {
        header(0, NXM_IN_PORT, false, 2, w);
        w.put(&PortNo(one.number() as u32));
    } else if field == IP_DSCP {
        header(0, NXM_IP_TOS, false, 1, w);
        w.put(&((one.number() << 2) as u8));
    } else if field == VLAN_VID {
        let pcp = fields.get(VLAN_PCP);
        let priority = pcp.map_or(0, |pcp| pcp.number() << PCP_SHIFT);
        let absent = one.is_exact() && one.number() == 0;
        let of_priority = if pcp.is_some() || absent { PCP_BITS } else { 0 };
        let mask = (one.mask_number() | of_priority) as u16;
        header(0, NXM_VLAN_TCI, mask != u16::MAX, 2, w);
        w.put(&((one.number() | priority) as u16));
        if mask != u16::MAX {
            w.put(&mask);
        }
    } else if field != VLAN_PCP {
        write_same(one, w);
    }
}

/// Appends a field that has the same bits in NXM.
fn write_same(one: &FieldMatch, w: &mut Writer<'_>) {
    let Some((class, number, _)) = NXM.iter().find(|row| row.2 == one.field) else {
        return w.unsupported(one.field.name);
    };
    let bytes = Field::bytes(one.field);
    header(*class, *number, !one.is_exact(), bytes, w);
    w.raw(one.value_bytes());
    if !one.is_exact() {
        w.raw(&one.mask[..bytes]);
    }
}

/// Appends the head of a field of so many bytes, and as many of a mask if it has one.
fn header(class: u16, number: u8, has_mask: bool, bytes: usize, w: &mut Writer<'_>) {
    let length = if has_mask { 2 * bytes } else { bytes };
    w.put(&class).put(&(number << 1 | u8::from(has_mask)));
    w.put(&(length as u8));
}
