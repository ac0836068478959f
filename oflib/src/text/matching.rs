//! Reads the text of a match: field names of both traditions, keywords, masks.

use alloc::{format, string::String, vec::Vec};

use super::nicira::{NICIRA, is_nicira_field};
use super::word::Word;
use super::{KEYWORDS, number};
use crate::catalogue::Catalogue;
use crate::error::BadMatch;
use crate::field::{self, Field, Style, VID_PRESENT};
use crate::matching::{FieldMatch, Match, meets_need};
use crate::nicira::registers;
use crate::parse_error::ParseError;

/// Names whose field depends on the protocol: the first whose prerequisite the match meets. What
/// one row finds may be what a later row's fields need.
const BY_PROTOCOL: &[(&str, &[&Field])] = &[
    ("nw_proto", &[field::IP_PROTO, field::ARP_OP]),
    ("nw_src", &[field::IPV4_SRC, field::ARP_SPA]),
    ("nw_dst", &[field::IPV4_DST, field::ARP_TPA]),
    ("icmp_type", &[field::ICMPV4_TYPE, field::ICMPV6_TYPE]),
    ("icmp_code", &[field::ICMPV4_CODE, field::ICMPV6_CODE]),
    (
        "tp_src",
        &[
            field::TCP_SRC,
            field::UDP_SRC,
            field::SCTP_SRC,
            field::ICMPV4_TYPE,
            field::ICMPV6_TYPE,
        ],
    ),
    (
        "tp_dst",
        &[
            field::TCP_DST,
            field::UDP_DST,
            field::SCTP_DST,
            field::ICMPV4_CODE,
            field::ICMPV6_CODE,
        ],
    ),
];

/// Names of other tools that mean a part of a field, or for several.
const DERIVED: &[&str] = &["dl_vlan", "vlan_tci", "nw_tos"];

/// The value of `dl_vlan` for packets without a tag.
const NO_VLAN: u16 = 0xffff;

/// Reads a match: `in_port=1,ip,nw_dst=10.0.0.0/8`, in any order; empty for all packets.
///
/// Errors: the word that is no field, no value of its field, stands twice or lacks its
/// prerequisite.
pub fn parse_match(text: &str, catalogue: &Catalogue) -> Result<Match, ParseError> {
    let mut parser = MatchParser::new(catalogue);
    for item in Word::new(text).items() {
        parser.add(item)?;
    }
    parser.finish()
}

/// The names of fields and keywords that a match knows.
pub fn names(catalogue: &Catalogue) -> impl Iterator<Item = &str> {
    let fields = catalogue
        .fields()
        .iter()
        .flat_map(|f| f.aliases.iter().chain([&f.name]));
    let others = BY_PROTOCOL.iter().map(|row| &row.0).chain(DERIVED);
    fields
        .chain(others)
        .copied()
        .chain(KEYWORDS.iter().map(|k| k.name))
}

/// The error for a name that is no field.
pub(super) fn unknown_field<'n>(
    name: Word<'_>,
    what: &str,
    known: impl Iterator<Item = &'n str>,
) -> ParseError {
    if is_nicira_field(name.text) {
        name.err(NICIRA)
    } else {
        name.unknown(what, known)
    }
}

/// The field of a name, where that may depend on the protocol that `fields` names.
pub(super) fn field_named(
    name: &str,
    fields: &[FieldMatch],
    catalogue: &Catalogue,
) -> Option<&'static Field> {
    let row = BY_PROTOCOL
        .iter()
        .find(|row| row.0.eq_ignore_ascii_case(name));
    match row.and_then(|row| row.1.iter().find(|field| meets_need(fields, field))) {
        Some(field) => Some(field),
        None => catalogue.field_named(name),
    }
}

/// The same; if `fields` names no protocol, the field of the first that has one.
pub(super) fn field_named_first(
    name: &str,
    fields: &[FieldMatch],
    catalogue: &Catalogue,
) -> Option<&'static Field> {
    field_named(name, fields, catalogue).or_else(|| {
        let mut rows = BY_PROTOCOL.iter();
        let row = rows.find(|row| row.0.eq_ignore_ascii_case(name));
        row.map(|row| row.1[0])
    })
}

/// A match in the making.
pub(super) struct MatchParser<'a> {
    catalogue: &'a Catalogue,
    fields: Vec<FieldMatch>,
    /// The word of each of `fields`.
    words: Vec<Word<'a>>,
    /// Names that depend on the protocol, with their values.
    pending: Vec<(Word<'a>, Word<'a>)>,
}

impl<'a> MatchParser<'a> {
    pub(super) fn new(catalogue: &'a Catalogue) -> Self {
        Self {
            catalogue,
            fields: Vec::new(),
            words: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Takes one keyword or `name=value`.
    pub(super) fn add(&mut self, item: Word<'a>) -> Result<(), ParseError> {
        let Some((name, value)) = item.split_at(&['=']) else {
            return self.add_keyword(item);
        };
        if value.text == "*" {
            return Ok(());
        }
        if BY_PROTOCOL.iter().any(|row| name.is(row.0)) {
            self.pending.push((name, value));
        } else if DERIVED.iter().any(|derived| name.is(derived)) {
            self.add_derived(name, value)?;
        } else {
            let field = self.catalogue.field_named(name.text);
            let field = field
                .or_else(|| registers::named(name.text))
                .ok_or_else(|| unknown_field(name, "field", names(self.catalogue)))?;
            let one = parse_field(field, value, self.catalogue)?;
            for one in registers::in_packet_registers(one) {
                if field == one.field || !registers::join(&mut self.fields, &one) {
                    self.push(item, one);
                }
            }
        }
        Ok(())
    }

    fn add_keyword(&mut self, item: Word<'a>) -> Result<(), ParseError> {
        let Some(keyword) = KEYWORDS.iter().find(|keyword| item.is(keyword.name)) else {
            if names(self.catalogue).any(|name| item.is(name)) {
                return Err(item.err("a value is missing: write =VALUE after it"));
            }
            return Err(unknown_field(
                item,
                "field or keyword",
                names(self.catalogue),
            ));
        };
        let eth_type = FieldMatch::exact(field::ETH_TYPE, keyword.eth_type.into());
        self.push(item, eth_type);
        if let Some(proto) = keyword.ip_proto {
            self.push(item, FieldMatch::exact(field::IP_PROTO, proto.into()));
        }
        Ok(())
    }

    fn has(&self, field: &Field) -> bool {
        self.fields.iter().any(|one| one.field.id == field.id)
    }

    /// Takes a field; the same a second time is no fault, as in `ip,tcp`.
    fn push(&mut self, word: Word<'a>, one: FieldMatch) {
        if !self.fields.contains(&one) {
            self.fields.push(one);
            self.words.push(word);
        }
    }

    fn add_derived(&mut self, name: Word<'a>, value: Word<'a>) -> Result<(), ParseError> {
        let present = u128::from(VID_PRESENT);
        if name.is("nw_tos") {
            let tos: u8 = value.number()?;
            if tos & 3 != 0 {
                return Err(value.err("the low two bits are nw_ecn's; they must be 0 here"));
            }
            let dscp = FieldMatch::exact(field::IP_DSCP, u128::from(tos >> 2));
            self.push(name, dscp);
        } else if name.is("dl_vlan") {
            let vid = match value.number()? {
                NO_VLAN => 0,
                vid if vid < VID_PRESENT => u128::from(vid) | present,
                _ => return Err(value.err("no VLAN: 0 to 4095, or 0xffff for no tag")),
            };
            self.push(name, FieldMatch::exact(field::VLAN_VID, vid));
        } else {
            let (tci, mask) = match value.split_at(&['/']) {
                Some((tci, mask)) => (tci.number::<u16>()?, mask.number::<u16>()?),
                None => (value.number()?, u16::MAX),
            };
            let vid = FieldMatch::masked(field::VLAN_VID, tci.into(), mask.into());
            if vid.mask != [0; 16] {
                self.push(name, vid);
            }
            match mask >> 13 {
                0 => {}
                7 if tci == 0 => {}
                7 => self.push(
                    name,
                    FieldMatch::exact(field::VLAN_PCP, u128::from(tci >> 13)),
                ),
                _ => return Err(value.err("the mask must take all priority bits or none")),
            }
        }
        Ok(())
    }

    /// Gives the match. Errors: as [`parse_match`].
    pub(super) fn finish(mut self) -> Result<Match, ParseError> {
        for (row_name, candidates) in BY_PROTOCOL {
            for (name, value) in core::mem::take(&mut self.pending) {
                if !name.is(row_name) {
                    self.pending.push((name, value));
                    continue;
                }
                let found = candidates.iter().find(|f| meets_need(&self.fields, f));
                let field = *found.unwrap_or(&candidates[0]);
                self.push(name, parse_field(field, value, self.catalogue)?);
            }
        }
        if self.has(field::VLAN_PCP) && !self.has(field::VLAN_VID) {
            let tagged = u128::from(VID_PRESENT);
            self.fields
                .push(FieldMatch::masked(field::VLAN_VID, tagged, tagged));
        }
        Match::new(&self.fields).map_err(|(error, field)| {
            let at = self.fields.iter().rposition(|one| one.field.id == field.id);
            let word = self.words[at.expect("the field at fault is one of these")];
            match error {
                BadMatch::DUP_FIELD => word.err(format!("{} stands twice", field.shown())),
                _ => word.err(needed(field, self.catalogue)),
            }
        })
    }
}

/// Returns what to write for a field's prerequisite.
fn needed(field: &Field, catalogue: &Catalogue) -> String {
    let Some(need) = &field.need else {
        return format!("{} is in no packet of this type", field.shown());
    };
    let other = catalogue.fields()[usize::from(need.id)];
    let mut words: Vec<&str> = Vec::new();
    for value in need.any_of {
        let keyword = KEYWORDS.iter().find(|keyword| match keyword.ip_proto {
            None => need.id == field::ETH_TYPE.id && u64::from(keyword.eth_type) == *value,
            Some(proto) => need.id == field::IP_PROTO.id && u64::from(proto) == *value,
        });
        words.extend(keyword.map(|keyword| keyword.name));
    }
    let name = field.shown();
    let other = other.shown();
    match (words.as_slice(), need.any_of) {
        ([], [value]) if need.mask != 0 => format!("{name} needs {other}={value:#x} beside it"),
        ([], _) => format!("{name} needs {other} beside it"),
        (words, _) => format!("{name} needs {} beside it", words.join(" or ")),
    }
}

/// Reads `value` or `value/mask`; for addresses also `address/length`, for flags also `+name-name`.
pub(super) fn parse_field(
    field: &'static Field,
    value: Word<'_>,
    catalogue: &Catalogue,
) -> Result<FieldMatch, ParseError> {
    if let Style::Bits(names) = field.style {
        if value.text.starts_with(['+', '-']) {
            return parse_bits(field, names, value);
        }
    }
    let Some((value, mask)) = value.split_at(&['/']) else {
        return Ok(FieldMatch::exact(field, value.value_of(field, catalogue)?));
    };
    let bits = u64::from(field.bits);
    let ones = match (field.style, number(mask.text)) {
        // A prefix: that many ones, and then zeros.
        (Style::Ip4 | Style::Ip6, Some(length)) if length <= bits => {
            u128::MAX.checked_shl((bits - length) as u32).unwrap_or(0)
        }
        _ => mask.value_of(field, catalogue)?,
    };
    let one = FieldMatch::masked(field, value.value_of(field, catalogue)?, ones);
    if !field.maskable && !one.is_exact() {
        return Err(mask.err(format!("{} takes no mask", field.shown())));
    }
    Ok(one)
}

/// Reads `+syn-ack`: these bits set, those clear, whatever the others are.
fn parse_bits(
    field: &'static Field,
    names: &'static [&'static str],
    value: Word<'_>,
) -> Result<FieldMatch, ParseError> {
    let mut bits = 0;
    let mut mask = 0;
    let mut from = 0;
    while from < value.text.len() {
        let rest = &value.text[from + 1..];
        let end = from + 1 + rest.find(['+', '-']).unwrap_or(rest.len());
        let name = value.part(from + 1, end);
        let number = names
            .iter()
            .position(|flag| name.is(flag))
            .ok_or_else(|| name.unknown("flag", names.iter().copied()))?;
        mask |= 1 << number;
        if value.text.as_bytes()[from] == b'+' {
            bits |= 1 << number;
        }
        from = end;
    }
    Ok(FieldMatch::masked(field, bits, mask))
}
