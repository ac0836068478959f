//! Reads and writes the text of a field that is placed at run time: where it stands in a packet,
//! and what belongs to it.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use super::{number, write_value};
use crate::added_header::AnyHeader;
use crate::catalogue::adding::MAX_NUMBER;
use crate::catalogue::{Catalogue, CatalogueError, Mapping};
use crate::ext::BOFUSS;
use crate::field::{self, At, FIELDS, Field, Header, STANDARD_FIELDS, Style};
use crate::matching::FieldMatch;
use crate::parse_error::ParseError;

/// The owner of configured fields, in errors about clashes.
const BY: &str = "the configuration";
/// The most bits of a number; addresses have their own widths.
const MAX_NUMBER_BITS: u16 = 64;
/// Bits from a header's start within which a field may stand where the payload counts, too: those
/// of an Ethernet frame of 1514 bytes.
const WITH_PAYLOAD: u16 = 8 * 1514;

/// The headers that configured fields may stand in, and of each the bits from its start that may
/// be named.
const HEADERS: &[(&str, Header, u16)] = &[
    ("eth", Header::Eth, 96),
    ("vlan", Header::Vlan, 32),
    ("eth_type", Header::EthType, WITH_PAYLOAD),
    ("mpls", Header::Mpls, 32),
    ("pbb", Header::Pbb, 144),
    ("arp", Header::Arp, 224),
    ("ipv4", Header::Ipv4, 160),
    ("ipv6", Header::Ipv6, 320),
    ("tcp", Header::Tcp, WITH_PAYLOAD),
    ("udp", Header::Udp, WITH_PAYLOAD),
    ("sctp", Header::Sctp, WITH_PAYLOAD),
    ("icmpv4", Header::Icmpv4, WITH_PAYLOAD),
];

/// Adds a field to a catalogue: `NAME=HEADER:BIT:BITS,number=N`, and after these, in any order,
/// `mask`, `set`, `shared`, a style (`hex`, `mac`, `ip4` or `ip6`; else decimal), `experimenter=N`
/// (else ours) and a prerequisite, `FIELD=VALUE`.
///
/// BIT counts from the header's first bit on; the field may stand in the payload after it. The row
/// lives as long as the process. Errors: one sentence, without the text.
pub fn add_field(text: &str, catalogue: &mut Catalogue) -> Result<(), ParseError> {
    let field = read(text, catalogue)?;
    let added = catalogue.add(BY, &[field], &[]);
    added.map_err(|error: CatalogueError| error.what().to_string())?;
    catalogue.announce(BY);
    Ok(())
}

/// Reads how a spare row is mapped: `NAME=HEADER:BIT:BITS`, and after it, in any order, `mask`,
/// `set`, `shared` and a prerequisite, with the same meaning as in [`add_field`]. Errors: one
/// sentence.
pub fn parse_mapping(
    text: &str,
    catalogue: &Catalogue,
) -> Result<(&'static Field, Mapping), ParseError> {
    let (name, rest) = text.split_once('=').ok_or("it is NAME=HEADER:BIT:BITS")?;
    let field = parse_spare(name, catalogue)?;
    let mapping = mapping(rest, catalogue, |_, _| Ok(false))?;
    Ok((field, mapping))
}

/// Reads the name of a spare row. Errors: it is none of the catalogue's.
pub fn parse_spare(name: &str, catalogue: &Catalogue) -> Result<&'static Field, ParseError> {
    let field = catalogue.field_named(name).filter(|field| field.is_spare());
    field.ok_or_else(|| format!("{name}: no spare row is called that").into())
}

/// Writes a mapping as [`parse_mapping`] reads it.
pub fn write_mapping(field: &Field, mapping: &Mapping, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Mapping {
        at,
        need,
        maskable,
        settable,
        shared,
    } = mapping;
    let header = HEADERS
        .iter()
        .find(|row| AnyHeader::Known(row.1) == at.header);
    let header = header.map_or("", |row| row.0);
    write!(f, "{}={header}:{}:{}", field.name, at.bit, at.bits)?;
    for (word, is_there) in [("mask", maskable), ("set", settable), ("shared", shared)] {
        if *is_there {
            write!(f, ",{word}")?;
        }
    }
    if let Some((id, _, value)) = need {
        let field = &FIELDS[usize::from(*id)];
        write!(f, ",{}=", field.name)?;
        write_value(f, field, &FieldMatch::exact(field, (*value).into()).value)?;
    }
    Ok(())
}

fn read(text: &str, catalogue: &Catalogue) -> Result<Field, ParseError> {
    let form = "it is NAME=HEADER:BIT:BITS,number=N";
    let (name, rest) = text.split_once('=').ok_or(form)?;
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_name {
        return Err(format!("{name}: a name has small letters, digits and _").into());
    }
    if super::match_names(catalogue)
        .chain(super::PROPERTIES.iter().copied())
        .any(|known| known == name)
    {
        return Err(format!("{name}: flows have a word like this already").into());
    }
    let mut field = Field::extension(BOFUSS, 0, "", 0, false);
    let mut number_of = None;
    let mapping = mapping(rest, catalogue, |key, value| {
        match (key, value) {
            ("hex", "") => field.style = Style::Hex,
            ("mac", "") => field.style = Style::Mac,
            ("ip4", "") => field.style = Style::Ip4,
            ("ip6", "") => field.style = Style::Ip6,
            ("number", value) => number_of = number(value).filter(|n| *n <= MAX_NUMBER.into()),
            ("experimenter", value) => {
                field.experimenter = number(value)
                    .and_then(|n| u32::try_from(n).ok())
                    .filter(|n| *n != 0)
                    .ok_or_else(|| format!("{key}={value}: no such word, or no number for it"))?;
            }
            (_, _) => return Ok(false),
        }
        Ok(true)
    })?;
    let width = match field.style {
        Style::Mac => Some(48),
        Style::Ip4 => Some(32),
        Style::Ip6 => Some(128),
        Style::Dec | Style::Hex | Style::Bits(_) | Style::Port | Style::PacketType => None,
    };
    let bits = mapping.at.bits;
    if width.is_some_and(|width| width != bits) || width.is_none() && bits > MAX_NUMBER_BITS {
        return Err(format!("{bits} bits: not the width of what it holds").into());
    }
    field.bits = bits;
    field.number = number_of.ok_or(format!("number=N: N is 0 to {MAX_NUMBER}"))? as u8;
    field.name = String::from(name).leak();
    Ok(mapping.of(&field))
}

/// Reads `HEADER:BIT:BITS` and the words after it; those that `other` returns true for are its own.
fn mapping(
    text: &str,
    catalogue: &Catalogue,
    mut other: impl FnMut(&str, &str) -> Result<bool, ParseError>,
) -> Result<Mapping, ParseError> {
    let mut items = text.split(',');
    let mut mapping = Mapping {
        at: place(items.next().unwrap_or_default())?,
        need: None,
        maskable: false,
        settable: false,
        shared: false,
    };
    for item in items {
        let (key, value) = item.split_once('=').unwrap_or((item, ""));
        match (key, value) {
            ("mask", "") => mapping.maskable = true,
            ("set", "") => mapping.settable = true,
            ("shared", "") => mapping.shared = true,
            (key, value) if other(key, value)? => {}
            (name, value) => mapping.need = Some(need(name, value, catalogue)?),
        }
    }
    Ok(mapping)
}

/// Reads `HEADER:BIT:BITS`.
fn place(text: &str) -> Result<At, ParseError> {
    let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
    let Some((_, header, room)) = HEADERS.iter().find(|row| row.0 == name) else {
        let names: alloc::vec::Vec<&str> = HEADERS.iter().map(|row| row.0).collect();
        return Err(format!("{text}: HEADER is {}", names.join(", ")).into());
    };
    let (bit, bits) = numbers.split_once(':').unwrap_or((numbers, ""));
    let (Some(bit), Some(bits)) = (bit_count(bit), bit_count(bits)) else {
        return Err(format!("{text}: BIT and BITS are numbers").into());
    };
    if bits == 0 || u32::from(bit) + u32::from(bits) > u32::from(*room) {
        return Err(format!("{text}: the bits end with bit {room}").into());
    }
    Ok(At {
        header: AnyHeader::Known(*header),
        bit,
        bits,
    })
}

fn bit_count(text: &str) -> Option<u16> {
    number(text)?.try_into().ok()
}

/// Reads a prerequisite: a field's id, the bits that matter and their value.
fn need(name: &str, value: &str, catalogue: &Catalogue) -> Result<(u8, u64, u64), ParseError> {
    let other = catalogue
        .field_named(name)
        .ok_or_else(|| format!("{name}: no word of a field's, and no field"))?;
    let in_header = usize::from(other.id) < STANDARD_FIELDS && !other.at.is_empty();
    if !in_header || other.bits > MAX_NUMBER_BITS {
        return Err(format!("{name}: a prerequisite is a field of OpenFlow in a header").into());
    }
    let number =
        super::parse_value(other, value, catalogue).map_err(|error| format!("{name}: {error}"))?;
    // A frame that has the field has a tag.
    let present = if other == field::VLAN_VID {
        u64::from(field::VID_PRESENT)
    } else {
        0
    };
    Ok((
        other.id,
        other.ones_number() as u64,
        number as u64 | present,
    ))
}

#[cfg(test)]
mod tests {
    use crate::field::Differs;

    use super::*;
    use crate::text::parse_match;

    #[test]
    fn a_configured_field_is_read_and_matched_by_name() {
        let mut all = Catalogue::default();
        let text = "icn_type=udp:64:8,number=1,mask,set,hex,udp_dst=6363";
        add_field(text, &mut all).expect("is right");
        let field = all.field_named("icn_type").expect("it was added");
        assert_eq!(
            (field.number, field.bits, field.experimenter),
            (1, 8, BOFUSS)
        );
        assert!(field.maskable && field.settable && field.differs == Differs::Every);
        let text = "udp,udp_dst=6363,icn_type=0x5";
        let parsed = parse_match(text, &all).expect("its prerequisite is there");
        assert_eq!(parsed.fields().len(), 4);
        assert!(parse_match("udp,icn_type=5", &all).is_err());
    }

    #[test]
    fn a_mapping_of_a_spare_row_reads_back_as_it_is_written() {
        struct Shown(&'static Field, Mapping);
        impl fmt::Display for Shown {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_mapping(self.0, &self.1, f)
            }
        }
        let mut all = Catalogue::default();
        let row = Field::spare(BOFUSS, 1, "spare");
        all.add("spares", &[row], &[]).expect("there is room");
        for text in [
            "spare=udp:64:8",
            "spare=ipv6:0:4,mask",
            "spare=eth_type:16:128,set,shared,eth_type=0x88b5",
            "spare=tcp:160:8,mask,set,shared,tcp_dst=443",
            "spare=vlan:16:4,vlan_vid=0x1005",
            "spare=ipv4:0:4,ipv4_src=10.0.0.1",
        ] {
            let (field, mapping) = parse_mapping(text, &all).expect(text);
            assert_eq!(Shown(field, mapping).to_string(), text);
        }
        let other_order = parse_mapping("spare=udp:64:8,udp_dst=1,set,mask", &all);
        let order = parse_mapping("spare=udp:64:8,mask,set,udp_dst=1", &all);
        assert_eq!(other_order, order);
        for (text, part) in [
            ("", "it is NAME=HEADER:BIT:BITS"),
            ("spare", "it is NAME=HEADER:BIT:BITS"),
            ("udp_src=udp:64:8", "no spare row"),
            ("spare=udp:64:8,hex", "hex: no word"),
            ("spare=udp:64:8,number=1", "number: no word"),
            ("spare=udp:64:8,", ": no word"),
            ("spare=udp:64:99999", "BIT and BITS"),
            ("spare=udp:64:8,udp_dst=70000", "udp_dst: no number"),
        ] {
            let error = parse_mapping(text, &all).expect_err(text);
            assert!(error.message.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_wrong_field_is_refused_with_what_is_wrong() {
        let wrong = [
            ("x", "it is NAME=HEADER:BIT:BITS,number=N"),
            ("X=udp:0:8,number=1", "a name has"),
            ("priority=udp:64:8,number=1", "a word like this"),
            ("x=gre:0:8,number=1", "HEADER is eth, "),
            ("x=udp:64,number=1", "BIT and BITS"),
            ("x=eth:90:8,number=1", "end with bit 96"),
            ("x=ipv4:60:8,number=1", "the TTL"),
            ("x=udp:64:8", "number=N"),
            ("x=udp:64:8,number=128", "number=N"),
            ("x=udp:64:8,number=1,colour", "colour: no word"),
            ("x=udp:64:8,number=1,metadata=1", "in a header"),
            ("x=udp:64:65,number=1", "width"),
            ("x=udp:64:8,number=1,mac", "width"),
            ("x=ipv4:100:8,number=1", "ipv4_src of OpenFlow"),
            ("x=udp:64:8,number=1,udp_dst=70000", "udp_dst: no number"),
        ];
        for (text, part) in wrong {
            let error = add_field(text, &mut Catalogue::default()).expect_err(text);
            assert!(error.message.contains(part), "{text}: {error}");
        }
    }
}
