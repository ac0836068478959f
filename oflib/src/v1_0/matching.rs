//! The match of OpenFlow 1.0: twelve fields, each a wildcard bit or, of addresses, a prefix.
//!
//! Fields whose prerequisite is not matched count for nothing, as the text says. Of IPv6 all but
//! the addresses count, as in Open vSwitch; the text does not know it.
//! Spec: OpenFlow 1.0.2 sections 3.4, 5.2.3.

use alloc::vec::Vec;

use super::V1_0;
use super::values::{port, port_number};
use crate::error::DecodeError;
use crate::field::{
    ARP_OP, ARP_SPA, ARP_TPA, ETH_DST, ETH_SRC, ETH_TYPE, Field, ICMPV4_CODE, ICMPV4_TYPE,
    ICMPV6_CODE, ICMPV6_TYPE, IN_PORT, IP_DSCP, IP_PROTO, IPV4_DST, IPV4_SRC, METADATA, SCTP_DST,
    SCTP_SRC, TCP_DST, TCP_SRC, UDP_DST, UDP_SRC, VID_PRESENT, VLAN_PCP, VLAN_VID,
};
use crate::forms;
use crate::matching::{FieldMatch, Match, meets_need};
use crate::message::multipart::table_features::FieldId;
use crate::types::PortNo;
use crate::wire::{Reader, Writer, be_number};

/// Bytes of a match.
const MATCH_BYTES: usize = 40;
/// All wildcards.
pub(super) const ALL_WILD: u32 = 0x3f_ffff;
/// The priority of an entry that has no wildcards: it is above all others.
/// Spec: OpenFlow 1.0.2 section 3.4.
pub(super) const EXACT_PRIORITY: u16 = u16::MAX;
/// The VLAN id that says that there is no tag.
const VLAN_NONE: u128 = 0xffff;
const VID_BITS: u128 = 0x0fff;
const TAGGED: u128 = VID_PRESENT as u128;
/// The fields that belong to one version of IP, which their prerequisites in the model leave open,
/// and its Ethernet type.
const OF_IP_VERSION: &[(&Field, u128)] = &[
    (ICMPV4_TYPE, 0x0800),
    (ICMPV4_CODE, 0x0800),
    (ICMPV6_TYPE, 0x86dd),
    (ICMPV6_CODE, 0x86dd),
];

/// The form of a field in a match.
#[derive(Clone, Copy)]
enum FieldEncoding {
    /// A number, as in the model.
    Number,
    /// A 16-bit port of the switch.
    Port,
    /// A port of a transport protocol; or a type or code of ICMP, which has half the bits.
    Transport,
    /// A VLAN id, or that there is none.
    Vlan,
    /// The DSCP in the upper bits of a byte.
    Tos,
    /// An address whose wildcard is a count of bits; the row has the count's lowest bit.
    Prefix,
}

/// The place of a field, its wildcard bit, and the fields of the model that it may be: the first
/// whose prerequisite holds.
struct Row {
    at: usize,
    bytes: usize,
    wild: u32,
    encoding: FieldEncoding,
    fields: &'static [&'static Field],
}

impl Row {
    /// Its bits among the wildcards.
    fn bits(&self) -> u32 {
        match self.encoding {
            FieldEncoding::Prefix => self.wild * PREFIX_BITS,
            FieldEncoding::Number
            | FieldEncoding::Port
            | FieldEncoding::Transport
            | FieldEncoding::Vlan
            | FieldEncoding::Tos => self.wild,
        }
    }

    /// The field of the model that this is in packets of this match, if they have it.
    fn field(&self, fields: &[FieldMatch]) -> Option<&'static Field> {
        let mut may = self.fields.iter().copied();
        may.find(|field| meets_need(fields, field) && is_of_ip_version(fields, field))
    }

    /// Returns true if a match has the field, or its packets do not.
    fn is_settled(&self, fields: &[FieldMatch]) -> bool {
        self.field(fields).is_none_or(|field| {
            let mut own = fields.iter().filter(|one| one.field == field);
            own.any(FieldMatch::is_exact)
        })
    }
}

const fn row(
    at: usize,
    bytes: usize,
    wild: u32,
    encoding: FieldEncoding,
    fields: &'static [&'static Field],
) -> Row {
    Row {
        at,
        bytes,
        wild,
        encoding,
        fields,
    }
}

const WILD_VLAN: u32 = 1 << 1;
const WILD_PCP: u32 = 1 << 20;
/// The bits of a prefix's count.
const PREFIX_BITS: u32 = 0x3f;

/// The fields, in the order of their prerequisites.
const ROWS: &[Row] = &[
    row(4, 2, 1 << 0, FieldEncoding::Port, &[IN_PORT]),
    row(6, 6, 1 << 2, FieldEncoding::Number, &[ETH_SRC]),
    row(12, 6, 1 << 3, FieldEncoding::Number, &[ETH_DST]),
    row(18, 2, WILD_VLAN, FieldEncoding::Vlan, &[VLAN_VID]),
    row(20, 1, WILD_PCP, FieldEncoding::Number, &[VLAN_PCP]),
    row(22, 2, 1 << 4, FieldEncoding::Number, &[ETH_TYPE]),
    row(24, 1, 1 << 21, FieldEncoding::Tos, &[IP_DSCP]),
    row(25, 1, 1 << 5, FieldEncoding::Number, &[IP_PROTO, ARP_OP]),
    row(28, 4, 1 << 8, FieldEncoding::Prefix, &[IPV4_SRC, ARP_SPA]),
    row(32, 4, 1 << 14, FieldEncoding::Prefix, &[IPV4_DST, ARP_TPA]),
    row(
        36,
        2,
        1 << 6,
        FieldEncoding::Transport,
        &[TCP_SRC, UDP_SRC, SCTP_SRC, ICMPV4_TYPE, ICMPV6_TYPE],
    ),
    row(
        38,
        2,
        1 << 7,
        FieldEncoding::Transport,
        &[TCP_DST, UDP_DST, SCTP_DST, ICMPV4_CODE, ICMPV6_CODE],
    ),
];

/// The fields that these wildcards are of; of several, the first.
pub(super) fn fields_of(wildcards: u32) -> Vec<FieldId> {
    let rows = ROWS.iter().filter(|row| wildcards & row.bits() != 0);
    rows.map(|row| FieldId::Known(row.fields[0], false))
        .collect()
}

/// The wildcards that these fields have.
pub(super) fn wildcards_of(fields: &[FieldId]) -> u32 {
    let mut wildcards = 0;
    for id in fields {
        let FieldId::Known(field, _) = id else {
            continue;
        };
        for row in ROWS {
            if row.fields.contains(field) {
                wildcards |= row.bits();
            }
        }
    }
    wildcards
}

/// Reads a match as it was sent.
pub(super) fn read(r: &mut Reader<'_>) -> Result<WireMatch, DecodeError> {
    let bytes = r.at("match").take(MATCH_BYTES)?;
    Ok(WireMatch(bytes.try_into().expect("so many were taken")))
}

/// A match as it stands on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct WireMatch([u8; MATCH_BYTES]);

impl WireMatch {
    fn wildcards(&self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }

    /// Returns true if it has no wildcards.
    pub(super) fn is_exact(&self) -> bool {
        self.wildcards() & ALL_WILD == 0
    }

    /// The match of the model, which remembers this if it would be written otherwise, `exact` or
    /// not.
    pub(super) fn to_match(self, exact: bool) -> Match {
        let fields = Match::new(&self.fields()).expect("each field comes once, with what it needs");
        if to_sent(&fields, exact) == Ok(self) {
            return fields;
        }
        fields.sent_in(&self.0)
    }

    /// The fields that count.
    ///
    /// No packet has an ICMP type or code above 255. Such a match has METADATA beside its lower
    /// bits, which no packet has in the first table.
    fn fields(&self) -> Vec<FieldMatch> {
        let wildcards = self.wildcards();
        let mut fields: Vec<FieldMatch> = Vec::new();
        let mut above = 0;
        if wildcards & WILD_VLAN != 0 && wildcards & WILD_PCP == 0 {
            fields.push(FieldMatch::masked(VLAN_VID, TAGGED, TAGGED));
        }
        for row in ROWS {
            let prefix = matches!(row.encoding, FieldEncoding::Prefix);
            if !prefix && wildcards & row.wild != 0 {
                continue;
            }
            let Some(field) = row.field(&fields) else {
                continue;
            };
            let bytes = &self.0[row.at..][..row.bytes];
            let number = be_number(bytes);
            let (value, mask) = match row.encoding {
                FieldEncoding::Number => (number, u128::MAX),
                FieldEncoding::Transport => {
                    above = above << 8 | number >> field.bits;
                    (number, u128::MAX)
                }
                FieldEncoding::Port => (port(number as u16).0.into(), u128::MAX),
                FieldEncoding::Vlan if number == VLAN_NONE => (0, u128::MAX),
                FieldEncoding::Vlan => (number & VID_BITS | TAGGED, u128::MAX),
                FieldEncoding::Tos => (number >> 2, u128::MAX),
                FieldEncoding::Prefix => {
                    (number, u128::MAX << ((wildcards / row.wild) & PREFIX_BITS))
                }
            };
            fields.push(FieldMatch::masked(field, value, mask));
        }
        if above != 0 {
            fields.push(FieldMatch::exact(METADATA, above));
        }
        fields
    }
}

/// Appends a match, as it was sent if that is known; gives whether it is exact. What cannot be
/// said: what [`to_sent`] refuses.
pub(super) fn write(fields: &Match, exact: bool, w: &mut Writer<'_>) -> bool {
    let made = match fields.sent_as() {
        Some(sent) => Ok(WireMatch(sent)),
        None => to_sent(fields, exact),
    };
    match made {
        Ok(sent) => {
            w.raw(&sent.0);
            sent.is_exact()
        }
        Err(what) => {
            w.unsupported(what);
            false
        }
    }
}

/// Returns the fields of a match as 1.0 has them. With `exact` a match that has all fields that its
/// packets have is written without wildcards: what counts for nothing needs none.
///
/// Errors: the field that 1.0 does not have, or not with this mask or value.
fn to_sent(fields: &Match, exact: bool) -> Result<WireMatch, &'static str> {
    let mut bytes = [0; MATCH_BYTES];
    let mut wildcards = ALL_WILD;
    for one in fields.fields() {
        let name = one.field.name;
        let row = ROWS
            .iter()
            .find(|row| row.fields.contains(&one.field))
            .ok_or(name)?;
        if !is_of_ip_version(fields.fields(), one.field) {
            return Err(name);
        }
        let number = one.number();
        let mask = one.mask_number();
        let any_tag = one.field == VLAN_VID && number == TAGGED && mask == TAGGED;
        if any_tag && fields.get(VLAN_PCP).is_some() {
            continue;
        }
        let zeros = mask.trailing_zeros();
        let is_prefix = mask == u128::from(u32::MAX << zeros.min(31)) && zeros < 32;
        let value = match row.encoding {
            FieldEncoding::Prefix if is_prefix => number,
            FieldEncoding::Prefix => return Err(name),
            _ if !one.is_exact() => return Err(name),
            FieldEncoding::Number | FieldEncoding::Transport => number,
            FieldEncoding::Port => port_number(PortNo(number as u32))?.into(),
            FieldEncoding::Vlan if number == 0 => VLAN_NONE,
            FieldEncoding::Vlan if number & TAGGED != 0 => number & VID_BITS,
            FieldEncoding::Vlan => return Err(name),
            FieldEncoding::Tos => number << 2,
        };
        if value >> (8 * row.bytes) != 0 {
            return Err(name);
        }
        wildcards &= match row.encoding {
            FieldEncoding::Prefix => !(row.wild * (PREFIX_BITS - zeros)),
            FieldEncoding::Number
            | FieldEncoding::Port
            | FieldEncoding::Transport
            | FieldEncoding::Vlan
            | FieldEncoding::Tos => !row.wild,
        };
        bytes[row.at..row.at + row.bytes].copy_from_slice(&value.to_be_bytes()[16 - row.bytes..]);
    }
    if exact && ROWS.iter().all(|row| row.is_settled(fields.fields())) {
        wildcards = 0;
    }
    bytes[..4].copy_from_slice(&wildcards.to_be_bytes());
    Ok(WireMatch(bytes))
}

/// Returns true if a field belongs to the version of IP that a match names, or to any.
fn is_of_ip_version(fields: &[FieldMatch], field: &Field) -> bool {
    let Some((_, version)) = OF_IP_VERSION.iter().find(|(one, _)| *one == field) else {
        return true;
    };
    let mut types = fields.iter().filter(|one| one.field == ETH_TYPE);
    types.any(|one| one.number() == *version)
}

impl forms::Form<V1_0> for Match {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let sent = read(r)?;
        Ok(sent.to_match(sent.is_exact()))
    }
    fn write(&self, w: &mut Writer<'_>) {
        write(self, false, w);
    }
}
