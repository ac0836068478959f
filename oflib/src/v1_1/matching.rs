//! The match of OpenFlow 1.1: fields at fixed places, each with a wildcard bit or a mask.
//!
//! Fields whose prerequisite is not matched count for nothing, as the text says; of IPv6, of which
//! it knows the Ethernet type only, none does. Spec: OpenFlow 1.1.0 sections 4.4, A.2.3.

use alloc::vec::Vec;

use super::V1_1;
use crate::error::{BadMatch, DecodeError};
use crate::field::{
    ARP_OP, ARP_SPA, ARP_TPA, ETH_DST, ETH_SRC, ETH_TYPE, Field, ICMPV4_CODE, ICMPV4_TYPE, IN_PORT,
    IP_DSCP, IP_PROTO, IPV4_DST, IPV4_SRC, METADATA, MPLS_LABEL, MPLS_TC, SCTP_DST, SCTP_SRC,
    TCP_DST, TCP_SRC, UDP_DST, UDP_SRC, VID_PRESENT, VLAN_PCP, VLAN_VID,
};
use crate::forms::Form;
use crate::matching::{FieldMatch, Match, meets_need};
use crate::message::multipart::table_features::FieldId;
use crate::wire::{Reader, Writer, be_number};

/// Bytes of a match.
const MATCH_BYTES: usize = 88;
/// The match type of this structure.
const STANDARD: u16 = 0;
/// The offset of the wildcards.
const WILDCARDS_AT: usize = 8;
/// The number of fields that have a bit among the wildcards.
const WILDCARDS: u32 = 10;
/// The VLAN id that says that there is a tag, whatever its id.
const VLAN_ANY: u128 = 0xfffe;
/// The VLAN id that says that there is no tag.
const VLAN_NONE: u128 = 0xffff;
const TAGGED: u128 = VID_PRESENT as u128;
const IPV6: u128 = 0x86dd;

/// A match as it stands on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
struct StandardMatch([u8; MATCH_BYTES]);

/// The form of a value.
#[derive(Clone, Copy)]
enum StandardEncoding {
    /// A number, as in the model.
    Number,
    /// A VLAN id, or whether there is one.
    Vlan,
    /// The DSCP in the upper bits of a byte.
    Tos,
}

/// The place of a field, its number, and the fields of the model that it may be: the first whose
/// prerequisite holds.
struct StandardRow {
    at: usize,
    bytes: usize,
    /// Its bit in table statistics. The first [`WILDCARDS`] have the same one among the wildcards;
    /// a mask comes after each of the others, with ones where the value does not count.
    number: u32,
    encoding: StandardEncoding,
    fields: &'static [&'static Field],
}

const fn row(
    at: usize,
    bytes: usize,
    number: u32,
    fields: &'static [&'static Field],
) -> StandardRow {
    StandardRow {
        at,
        bytes,
        number,
        encoding: StandardEncoding::Number,
        fields,
    }
}

/// The fields, in the order of their prerequisites.
const ROWS: &[StandardRow] = &[
    row(4, 4, 0, &[IN_PORT]),
    row(12, 6, 11, &[ETH_SRC]),
    row(24, 6, 12, &[ETH_DST]),
    StandardRow {
        encoding: StandardEncoding::Vlan,
        ..row(36, 2, 1, &[VLAN_VID])
    },
    row(38, 1, 2, &[VLAN_PCP]),
    row(40, 2, 3, &[ETH_TYPE]),
    StandardRow {
        encoding: StandardEncoding::Tos,
        ..row(42, 1, 4, &[IP_DSCP])
    },
    row(43, 1, 5, &[IP_PROTO, ARP_OP]),
    row(44, 4, 13, &[IPV4_SRC, ARP_SPA]),
    row(52, 4, 14, &[IPV4_DST, ARP_TPA]),
    row(60, 2, 6, &[TCP_SRC, UDP_SRC, SCTP_SRC, ICMPV4_TYPE]),
    row(62, 2, 7, &[TCP_DST, UDP_DST, SCTP_DST, ICMPV4_CODE]),
    row(64, 4, 8, &[MPLS_LABEL]),
    row(68, 1, 9, &[MPLS_TC]),
    row(72, 8, 15, &[METADATA]),
];

impl StandardRow {
    fn is_masked(&self) -> bool {
        self.number >= WILDCARDS
    }

    /// Its bit among the wildcards; none if it has a mask.
    fn wildcard(&self) -> u32 {
        if self.is_masked() {
            0
        } else {
            1 << self.number
        }
    }

    /// The field of the model that this is in packets of this match, if they have it.
    fn field(&self, fields: &[FieldMatch]) -> Option<&'static Field> {
        let mut may = self.fields.iter().copied();
        may.find(|field| meets_need(fields, field) && !is_of_ipv6(fields, field))
    }

    /// The value wanted, and which bits count. Errors: `None` for a value that no packet has.
    fn wanted(&self, field: &Field, number: u128) -> Option<(u128, u128)> {
        let (value, mask) = match (self.encoding, number) {
            (StandardEncoding::Number, number) => (number, u128::MAX),
            (StandardEncoding::Tos, number) if number & 3 == 0 => (number >> 2, u128::MAX),
            (StandardEncoding::Tos, _) => return None,
            (StandardEncoding::Vlan, VLAN_NONE) => (0, u128::MAX),
            (StandardEncoding::Vlan, VLAN_ANY) => (TAGGED, TAGGED),
            (StandardEncoding::Vlan, number) if number < TAGGED => (number | TAGGED, u128::MAX),
            (StandardEncoding::Vlan, _) => return None,
        };
        (value & !field.ones_number() == 0).then_some((value, mask))
    }

    /// The number on the wire for what is wanted. Errors: `None` if there is none.
    fn number_of(&self, one: &FieldMatch) -> Option<u128> {
        let value = one.number();
        let number = match self.encoding {
            _ if self.is_masked() => value,
            StandardEncoding::Vlan if one.mask_number() == TAGGED && value == TAGGED => VLAN_ANY,
            _ if !one.is_exact() => return None,
            StandardEncoding::Number => value,
            StandardEncoding::Tos => value << 2,
            StandardEncoding::Vlan if value == 0 => VLAN_NONE,
            StandardEncoding::Vlan if value & TAGGED != 0 => value & !TAGGED,
            StandardEncoding::Vlan => return None,
        };
        (number >> (8 * self.bytes) == 0).then_some(number)
    }
}

/// Returns true if a field is one of IPv6 in this match, where 1.1 has none.
fn is_of_ipv6(fields: &[FieldMatch], field: &Field) -> bool {
    let mut types = fields.iter().filter(|one| one.field == ETH_TYPE);
    (field == IP_DSCP || field == IP_PROTO) && types.any(|one| one.number() == IPV6)
}

/// The fields that these numbers are of; of several, the first.
pub(super) fn fields_of(numbers: u32) -> Vec<FieldId> {
    let rows = ROWS.iter().filter(|row| numbers >> row.number & 1 == 1);
    rows.map(|row| FieldId::Known(row.fields[0], false))
        .collect()
}

/// The numbers that these fields have, as bits.
pub(super) fn numbers_of(fields: &[FieldId]) -> u32 {
    let mut numbers = 0;
    for row in ROWS {
        for field in row.fields {
            if fields.iter().any(|id| is_known(id, field)) {
                numbers |= 1 << row.number;
            }
        }
    }
    numbers
}

fn is_known(id: &FieldId, field: &Field) -> bool {
    matches!(id, FieldId::Known(known, _) if *known == field)
}

impl StandardMatch {
    /// The bytes of a field, and of its mask after it.
    fn number(&self, at: usize, bytes: usize) -> u128 {
        be_number(&self.0[at..at + bytes])
    }

    /// The fields that count. Errors: the row whose value no packet has, with its field.
    fn fields(&self) -> Result<Vec<FieldMatch>, (usize, &'static Field)> {
        let wildcards = self.number(WILDCARDS_AT, 4) as u32;
        let mut fields = Vec::new();
        for row in ROWS {
            let Some(field) = row.field(&fields) else {
                continue;
            };
            if wildcards & row.wildcard() != 0 {
                continue;
            }
            let number = self.number(row.at, row.bytes);
            let (value, mask) = row.wanted(field, number).ok_or((row.at, field))?;
            let one = if row.is_masked() {
                let ignored = self.number(row.at + row.bytes, row.bytes);
                FieldMatch::masked(field, value, !ignored)
            } else {
                FieldMatch::masked(field, value, mask)
            };
            if one.mask != [0; 16] {
                fields.push(one);
            }
        }
        Ok(fields)
    }

    /// Returns the fields of a match as 1.1 has them.
    ///
    /// Errors: the field that it does not have, or not with this mask or value.
    fn of(fields: &Match) -> Result<Self, &'static str> {
        let mut this = Self([0; MATCH_BYTES]);
        this.put(0, 2, STANDARD.into());
        this.put(2, 2, MATCH_BYTES as u128);
        let mut wildcards = 0;
        for row in ROWS {
            let mut own = fields.fields().iter();
            match own.find(|one| row.fields.contains(&one.field)) {
                Some(one) => {
                    let number = row.number_of(one).ok_or(one.field.name)?;
                    this.put(row.at, row.bytes, number);
                    if row.is_masked() {
                        this.put(row.at + row.bytes, row.bytes, !one.mask_number());
                    }
                }
                None if row.is_masked() => this.put(row.at + row.bytes, row.bytes, u128::MAX),
                None => wildcards |= row.wildcard(),
            }
        }
        this.put(WILDCARDS_AT, 4, wildcards.into());
        for one in fields.fields() {
            let is_here = ROWS.iter().any(|row| row.fields.contains(&one.field));
            if !is_here || is_of_ipv6(fields.fields(), one.field) {
                return Err(one.field.name);
            }
        }
        Ok(this)
    }

    fn put(&mut self, at: usize, bytes: usize, number: u128) {
        self.0[at..at + bytes].copy_from_slice(&number.to_be_bytes()[16 - bytes..]);
    }
}

impl Form<V1_1> for Match {
    /// Errors: BAD_MATCH with BAD_TYPE, BAD_LEN, or BAD_VALUE for one that no packet has.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.clone();
        let ty: u16 = r.at("match type").clone().get()?;
        if ty != STANDARD {
            return Err(r.err(BadMatch::BAD_TYPE));
        }
        let bad = BadMatch::BAD_LEN;
        let mut body = r.at("match length").sized(2, MATCH_BYTES, 0, bad)?;
        let on_wire = StandardMatch(body.array()?);
        body.finish()?;
        let fields = on_wire.fields().map_err(|(at, field)| {
            let mut place = start.clone();
            let error = place.at(field.name).err(BadMatch::BAD_VALUE);
            DecodeError {
                offset: error.offset + at,
                ..error
            }
        })?;
        let this = Self::new(&fields).expect("each field comes once, with what it needs");
        if StandardMatch::of(&this) == Ok(on_wire) {
            return Ok(this);
        }
        Ok(this.sent_in(&on_wire.0))
    }
    fn write(&self, w: &mut Writer<'_>) {
        let made = match self.sent_as() {
            Some(sent) => Ok(StandardMatch(sent)),
            None => StandardMatch::of(self),
        };
        match made {
            Ok(on_wire) => {
                w.raw(&on_wire.0);
            }
            Err(what) => w.unsupported(what),
        }
    }
}
