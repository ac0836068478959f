//! The text form of values, matches and actions, in the syntax that users of `ovs-ofctl` know.
//!
//! Printing and single values are here; [`parse_match`], [`parse_flow`] and the others read whole
//! texts, and what is printed of a thing reads back as that thing.

mod action;
mod copy_field;
mod field_row;
mod flow;
mod group;
mod instruction;
mod matching;
mod message;
mod model;
mod multipart;
mod nicira;
mod stats;
mod subfield;
mod values;
mod word;

use alloc::{format, string::String};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::action::{Output, SetField};
use crate::catalogue::Catalogue;
use crate::field::{self, Field, Style};
use crate::matching::{FieldMatch, Match};
pub use crate::parse_error::ParseError;
use crate::types::{EtherType, GroupId, Mac, MaxLen, MeterId, PortNo, QueueId};
use crate::wire::{TextForm, be_number};

pub use action::{names as action_names, parse_actions, parse_instructions};
pub use field_row::{add_field, parse_mapping, parse_spare, write_mapping};
pub use flow::{PROPERTIES, parse_flow, parse_flow_filter};
pub(crate) use flow::{write_flow_entry, write_flow_mod};
pub use group::{parse_group, parse_meter};
use group::{write_bucket, write_group, write_meter};
pub(crate) use group::{write_group_mod, write_meter_mod};
pub(crate) use instruction::actions_text;
use matching::parse_field;
pub use matching::{names as match_names, parse_match};
pub(crate) use message::{messages_text, write_body, write_timestamp};
pub(crate) use model::{flags_text, model_text, named_text};
pub(crate) use multipart::multipart_text;
pub use nicira::NICIRA_ACTIONS;
use nicira::no_field;
use word::{Word, near_names};
pub use word::{find_unquoted, items, nearest};

/// Writes actions or instructions with commas between them; `drop` if there are none.
pub struct Actions<'a, T>(pub &'a [T]);

impl<T: fmt::Display> fmt::Display for Actions<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("drop");
        }
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// Reads a decimal number, or a hexadecimal one after `0x`.
pub fn number(s: &str) -> Option<u64> {
    match s.strip_prefix("0x").or_else(|| s.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => s.parse().ok(),
    }
}

/// Reads a bucket's weight. Errors: what is wrong, and for a fraction what to write instead.
pub fn parse_weight(s: &str) -> Result<u16, ParseError> {
    if let Some(weight) = number(s).and_then(|n| n.try_into().ok()) {
        return Ok(weight);
    }
    let whole = "weights are whole numbers from 0 to 65535";
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
    match s.split_once('.') {
        Some((units, parts)) if is_digits(units) && is_digits(parts) => {
            let tenfold = format!("1{}", "0".repeat(parts.len()));
            let scaled = format!("{units}{parts}").parse::<u16>();
            Err(match scaled {
                Ok(scaled) => format!(
                    "{whole}: multiply all of the group by {tenfold}, so that this is {scaled}"
                )
                .into(),
                Err(_) => format!("{whole}: scale all of the group").into(),
            })
        }
        Some(_) | None => Err("no number from 0 to 65535".into()),
    }
}

/// A keyword that means an Ethernet type, and possibly an IP protocol.
pub struct Keyword {
    /// The word.
    pub name: &'static str,
    /// The Ethernet type.
    pub eth_type: u16,
    /// The IP protocol.
    pub ip_proto: Option<u8>,
}

const fn keyword(name: &'static str, eth_type: u16, ip_proto: Option<u8>) -> Keyword {
    Keyword {
        name,
        eth_type,
        ip_proto,
    }
}

/// The keywords; of two for the same protocol, the first is printed.
pub const KEYWORDS: &[Keyword] = &[
    keyword("icmp", 0x0800, Some(1)),
    keyword("tcp", 0x0800, Some(6)),
    keyword("udp", 0x0800, Some(17)),
    keyword("sctp", 0x0800, Some(132)),
    keyword("icmp6", 0x86dd, Some(58)),
    keyword("tcp6", 0x86dd, Some(6)),
    keyword("udp6", 0x86dd, Some(17)),
    keyword("sctp6", 0x86dd, Some(132)),
    keyword("ip", 0x0800, None),
    keyword("ipv6", 0x86dd, None),
    keyword("arp", 0x0806, None),
    keyword("rarp", 0x8035, None),
    keyword("mpls", 0x8847, None),
    keyword("mplsm", 0x8848, None),
    keyword("icmp4", 0x0800, Some(1)),
    keyword("icmpv6", 0x86dd, Some(58)),
    keyword("ip6", 0x86dd, None),
];

/// Writes a field's value (not its mask) in the field's style.
pub fn write_value(
    f: &mut fmt::Formatter<'_>,
    field: &'static Field,
    value: &[u8; 16],
) -> fmt::Result {
    let number = FieldMatch {
        field,
        value: *value,
        mask: [0; 16],
    }
    .number();
    match field.style {
        Style::Dec => write!(f, "{number}"),
        Style::Hex if field.id == field::ETH_TYPE.id => write!(f, "{number:#06x}"),
        Style::Hex | Style::Bits(_) => write!(f, "{number:#x}"),
        Style::Port => write!(f, "{}", PortNo(number as u32)),
        Style::Mac => write!(f, "{}", Mac::of_value(value)),
        Style::Ip4 => write!(f, "{}", Ipv4Addr::from_bits(number as u32)),
        Style::Ip6 => write!(f, "{}", Ipv6Addr::from_bits(number)),
        Style::PacketType => write!(f, "({},{:#x})", number >> 16, number & 0xffff),
    }
}

impl TextForm for FieldMatch {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for FieldMatch {
    /// `name=value`, `name=value/mask` or `name=address/length`; a tag's VLAN as `dl_vlan=1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number();
        let present = u128::from(field::VID_PRESENT);
        if self.field.id == field::VLAN_VID.id && self.is_exact() && number & present != 0 {
            return write!(f, "dl_vlan={}", number & !present);
        }
        write!(f, "{}=", self.field.shown())?;
        if let Style::Bits(names) = self.field.style {
            if !self.is_exact() && self.mask_number() >> names.len() == 0 {
                return self.write_bits(names, f);
            }
        }
        write_value(f, self.field, &self.value)?;
        if self.is_exact() {
            return Ok(());
        }
        let leading = u128::from_be_bytes(self.mask).leading_ones();
        let is_prefix = u128::from_be_bytes(self.mask).count_ones() == leading;
        f.write_str("/")?;
        if is_prefix && matches!(self.field.style, Style::Ip4 | Style::Ip6) {
            return write!(f, "{leading}");
        }
        write_value(f, self.field, &self.mask)
    }
}

impl FieldMatch {
    /// `+syn-ack`: the named bits that the mask has, and whether each is set.
    fn write_bits(&self, names: &[&str], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, name) in names.iter().enumerate() {
            if self.mask_number() >> bit & 1 == 0 {
                continue;
            }
            let is_set = self.number() >> bit & 1 == 1;
            write!(f, "{}{name}", if is_set { '+' } else { '-' })?;
        }
        Ok(())
    }
}

/// The first keyword that is exactly this Ethernet type and IP protocol.
fn keyword_of(eth_type: u128, ip_proto: Option<u128>) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|keyword| {
        u128::from(keyword.eth_type) == eth_type && keyword.ip_proto.map(u128::from) == ip_proto
    })
}

impl fmt::Display for Match {
    /// Fields with commas between them, protocols by their keyword; empty for a match on
    /// everything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let eth_type = self.get(field::ETH_TYPE).map(FieldMatch::number);
        let ip_proto = self.get(field::IP_PROTO).map(FieldMatch::number);
        let mut keyword = None;
        if let Some(eth_type) = eth_type {
            keyword = keyword_of(eth_type, ip_proto).or_else(|| keyword_of(eth_type, None));
        }
        let mut comma = "";
        for one in self.fields() {
            match keyword {
                Some(keyword) if one.field.id == field::ETH_TYPE.id => {
                    write!(f, "{comma}{}", keyword.name)?;
                }
                // The keyword says it, too.
                Some(Keyword {
                    ip_proto: Some(_), ..
                }) if one.field.id == field::IP_PROTO.id => continue,
                Some(_) | None => write!(f, "{comma}{one}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

/// [`Match`]'s text, for messages.
pub(crate) fn write_match(fields: &Match, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{{{fields}}}")
}

/// An argument of an action, in text.
pub trait ActionArg: Sized {
    /// Writes the action that has this argument.
    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    /// Reads it. Errors: what is wrong, in words.
    fn parse(s: &str, catalogue: &Catalogue) -> Result<Self, ParseError>;
}

macro_rules! numeric_args {
    ($($t:ty, $inner:ty, $make:expr, $get:expr, $format:literal;)*) => { $(
        impl ActionArg for $t {
            fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{}:", $format), name, $get(self))
            }
            fn parse(s: &str, _: &Catalogue) -> Result<Self, ParseError> {
                let value = number(s).and_then(|n| <$inner>::try_from(n).ok());
                let max = <$inner>::MAX;
                let wrong = || format!("'{s}' is no number from 0 to {max}").into();
                value.map($make).ok_or_else(wrong)
            }
        }
    )* };
}
numeric_args! {
    u8, u8, |n| n, |n: &u8| *n, "{}";
    EtherType, u16, EtherType, |n: &EtherType| n.0, "{:#06x}";
    GroupId, u32, GroupId, |n: &GroupId| n.0, "{}";
    MeterId, u32, MeterId, |n: &MeterId| n.0, "{}";
    QueueId, u32, QueueId, |n: &QueueId| n.0, "{}";
}

/// Reads a port's number or reserved name. Errors: what is wrong, in words.
pub fn parse_port(s: &str) -> Result<PortNo, ParseError> {
    s.parse()
        .map_err(|()| format!("'{s}' is no port number and none of the reserved names").into())
}

/// The same, or the name of a port of the catalogue. As in ovs-ofctl, numbers and reserved names
/// take precedence, unless the name is in quotes.
///
/// Errors: what is wrong, in words, with the nearest names.
pub fn parse_port_named(s: &str, catalogue: &Catalogue) -> Result<PortNo, ParseError> {
    find_port(s, catalogue).map_err(|error| ParseError {
        message: format!("'{s}' is {error}"),
        ..error
    })
}

/// The same. Errors: what is wrong with the word, which is not named again.
pub fn find_port(s: &str, catalogue: &Catalogue) -> Result<PortNo, ParseError> {
    let quoted = s.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let found = match quoted {
        Some(name) => catalogue.port_named(name),
        None => parse_port(s).ok().or_else(|| catalogue.port_named(s)),
    };
    found.ok_or_else(|| no_port(quoted.unwrap_or(s), catalogue))
}

/// Returns what is wrong with a word that is no port.
fn no_port(name: &str, catalogue: &Catalogue) -> ParseError {
    let text = "no port number and none of the reserved names";
    if catalogue.ports().is_empty() {
        return ParseError {
            needs_port_names: true,
            ..text.into()
        };
    }
    let names = catalogue.ports().iter().map(|row| row.0.as_str());
    let near = near_names(name, names.chain(RESERVED_PORTS.iter().copied()));
    match near.as_slice() {
        [] => format!("{text}, and no port of the switch").into(),
        near => {
            let near = near.join("' or '");
            format!("{text}, and no port of the switch; did you mean '{near}'?").into()
        }
    }
}

/// The names of the reserved ports that a text may mean.
const RESERVED_PORTS: &[&str] = &[
    "in_port",
    "table",
    "normal",
    "flood",
    "all",
    "controller",
    "local",
    "any",
];

/// Reads at least one byte as pairs of hexadecimal digits, which blanks, colons, dashes and line
/// ends may separate. Errors: what is wrong, in words.
pub fn parse_bytes(s: &str) -> Result<alloc::vec::Vec<u8>, ParseError> {
    let digits: String = s.chars().filter(|c| !" :-\n".contains(*c)).collect();
    match bytes_of(&digits) {
        Some(bytes) if !bytes.is_empty() => Ok(bytes),
        _ => Err(format!("'{s}' is no packet: pairs of hexadecimal digits").into()),
    }
}

/// The bytes of pairs of digits; `None` if something else is among them.
fn bytes_of(digits: &str) -> Option<alloc::vec::Vec<u8>> {
    let mut bytes = alloc::vec::Vec::new();
    for at in (0..digits.len()).step_by(2) {
        let pair = digits.get(at..at + 2)?;
        bytes.push(u8::from_str_radix(pair, 16).ok()?);
    }
    Some(bytes)
}

impl ActionArg for Output {
    /// A reserved port stands alone, the controller with the length.
    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port.name() {
            None => write!(f, "{name}:{}", self.port),
            Some(port) if self.port == PortNo::CONTROLLER => write!(f, "{port}:{}", self.max_len.0),
            Some(port) => f.write_str(port),
        }
    }
    /// `PORT`, or `controller:MAX_LEN`; the whole packet if the controller is named without a
    /// length. Other ports have no use for a length: none is read or printed.
    fn parse(s: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let (port, length) = match find_unquoted(s, &[':']) {
            Some(at) => (&s[..at], Some(&s[at + 1..])),
            None => (s, None),
        };
        let port = parse_port_named(port, catalogue)?;
        let max_len = match length {
            None if port == PortNo::CONTROLLER => MaxLen::NO_BUFFER,
            None => MaxLen(0),
            Some(_) if port != PortNo::CONTROLLER => {
                return Err("only the controller takes a length".into());
            }
            Some(text) => number(text)
                .and_then(|n| n.try_into().ok())
                .map(MaxLen)
                .ok_or_else(|| format!("'{s}': no length from 0 to 65535"))?,
        };
        Ok(Self { port, max_len })
    }
}

/// Reads `(namespace,type)`, two numbers of 16 bits.
fn packet_type(s: &str) -> Option<u32> {
    let (namespace, ty) = s.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    let namespace: u16 = number(namespace.trim())?.try_into().ok()?;
    let ty: u16 = number(ty.trim())?.try_into().ok()?;
    Some(u32::from(namespace) << 16 | u32::from(ty))
}

/// Reads a value in a field's style. Errors: what it is not.
pub fn parse_value(field: &Field, s: &str, catalogue: &Catalogue) -> Result<u128, ParseError> {
    let value = match field.style {
        Style::Hex if field.bits > 64 && s.starts_with("0x") => {
            u128::from_str_radix(&s[2..], 16).ok()
        }
        Style::Dec | Style::Hex | Style::Bits(_) => number(s).map(u128::from),
        Style::Port => return find_port(s, catalogue).map(|port| port.0.into()),
        Style::Mac => s.parse().ok().map(|mac: Mac| be_number(&mac.0)),
        Style::Ip4 => s.parse().ok().map(|a: Ipv4Addr| a.to_bits().into()),
        Style::Ip6 => s.parse().ok().map(Ipv6Addr::to_bits),
        Style::PacketType => packet_type(s).map(u128::from),
    };
    match value {
        Some(value) if field.bits >= 128 || value >> field.bits == 0 => Ok(value),
        _ => Err(match field.style {
            Style::Mac => "no Ethernet address".into(),
            Style::Ip4 => "no IPv4 address".into(),
            Style::Ip6 => "no IPv6 address".into(),
            Style::PacketType => "no packet type: write (NAMESPACE,TYPE), as (1,0x800)".into(),
            Style::Dec | Style::Hex | Style::Bits(_) | Style::Port => {
                format!("no number of {} bits", field.bits).into()
            }
        }),
    }
}

impl ActionArg for SetField {
    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{name}:")?;
        write_value(f, self.0.field, &self.0.value)?;
        if !self.0.is_exact() {
            f.write_str("/")?;
            write_value(f, self.0.field, &self.0.mask)?;
        }
        write!(f, "->{}", self.0.field.shown())
    }
    /// `VALUE->FIELD`, or `VALUE/MASK->FIELD`. For `vlan_vid`, a value below 4096 counts with its
    /// presence bit.
    fn parse(s: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        Self::parse_among(s, catalogue, |name| catalogue.field_named(name))
    }
}

impl SetField {
    /// The same, where `named` finds the field of a name.
    fn parse_among(
        s: &str,
        catalogue: &Catalogue,
        named: impl Fn(&str) -> Option<&'static Field>,
    ) -> Result<Self, ParseError> {
        let (text, name) = s
            .split_once("->")
            .ok_or_else(|| format!("'{s}' is not VALUE->FIELD"))?;
        let field = named(name.trim())
            .filter(|field| field.settable)
            .ok_or_else(|| no_field(name, format!("'{name}' is no field that can be set")))?;
        if text.contains('/') {
            let one = parse_field(field, Word::new(text.trim()), catalogue);
            return one.map(Self).map_err(|error| error.message.into());
        }
        let mut value = parse_value(field, text.trim(), catalogue)
            .map_err(|what| format!("'{text}' is {what}"))?;
        if field.id == field::VLAN_VID.id {
            value |= u128::from(field::VID_PRESENT);
        }
        Ok(Self(FieldMatch::exact(field, value)))
    }
}
