//! Key extractors: which fields make a flow's key, and the bytes that they make.
//!
//! The bytes are those that the reference switches have in memory on x86, since controllers build
//! and read them: most numbers are little-endian, addresses are as in the packet.

use alloc::{format, vec::Vec};
use core::fmt;
use core::hash::{Hash, Hasher};

use bofuss_datapath::UpcomingPacket;
use bofuss_oflib::field::{
    ARP_OP, ARP_SPA, ARP_TPA, ETH_DST, ETH_SRC, FIELDS, Field, IPV4_DST, IPV4_SRC, IPV6_DST,
    IPV6_EXTHDR, IPV6_SRC, ONF, PBB_ISID, TCP_DST, TCP_FLAGS, TCP_SRC, UDP_DST, UDP_SRC,
    VID_PRESENT, VLAN_VID,
};
use bofuss_oflib::text::{items, parse_bytes, parse_value, write_value};
use bofuss_oflib::wire::{Bytes, Reader, TextForm, Writer};
use bofuss_oflib::{Catalogue, DecodeError, FieldMatch, ParseError};

pub use super::field_source::FieldSource;
pub use super::flow_key::{FlowKey, MAX_KEY_BYTES};
use super::header_key::KeyInHeaders;
use super::{EXPERIMENTER, error};
use crate::common::beba;
use crate::common::oxm::{CLASS_BASIC, CLASS_EXPERIMENTER, EXPERIMENTER_BYTES, header_of};

/// The most fields of an extractor.
pub const MAX_FIELDS: usize = 6;
/// The most bytes of a value.
const MAX_VALUE_BYTES: usize = 16;
/// The numbers of the TCP flags in the basic class: BEBA's, and OpenFlow 1.5's.
const BASIC_TCP_FLAGS: [u8; 2] = [40, 42];

/// One field of an extractor.
#[derive(Clone, Copy, Debug)]
struct ExtractorField {
    /// The field; `None` if no packet has it.
    field: Option<&'static Field>,
    /// Its beginning in the key.
    at: usize,
    /// Bytes of the value there. The value of an experimenter's field is followed by zero bytes.
    bytes: usize,
    little_endian: bool,
}

impl ExtractorField {
    /// Writes a value to a key that has zero bytes in this place. Returns false if the value means
    /// that the packet has no such header, as a `vlan_vid` without OFPVID_PRESENT does.
    #[inline]
    fn write(&self, field: &Field, mut value: u128, key: &mut FlowKey) -> bool {
        if field == VLAN_VID {
            if value & u128::from(VID_PRESENT) == 0 {
                return false;
            }
            value &= u128::from(VID_PRESENT - 1);
        }
        // The least significant byte of `bytes` is the first one in the key.
        let unused = u128::BITS - 8 * self.bytes as u32;
        let bytes = if self.little_endian {
            value << unused >> unused
        } else {
            (value << unused).swap_bytes()
        };
        let shift = 8 * (self.at % 8) as u32;
        let low = bytes << shift;
        let high = bytes.checked_shr(u128::BITS - shift).unwrap_or(0);
        let words = [low as u64, (low >> 64) as u64, high as u64];
        for (to, word) in key.words_mut()[self.at / 8..].iter_mut().zip(words) {
            *to |= word;
        }
        true
    }
}

/// Pairs of fields of which a bidirectional key has the larger value first.
const PAIRS: [[&Field; 2]; 5] = [
    [ETH_DST, ETH_SRC],
    [IPV4_SRC, IPV4_DST],
    [TCP_SRC, TCP_DST],
    [UDP_SRC, UDP_DST],
    [IPV6_SRC, IPV6_DST],
];

/// The fields of a packet that make the key of its flow.
#[derive(Clone, Debug)]
pub struct Extractor {
    /// OXM headers, as they were given.
    headers: Vec<u32>,
    parts: Vec<ExtractorField>,
    bytes: usize,
    /// True if both directions of a conversation have the same key.
    biflow: bool,
    /// The places where the headers of a frame have the bytes of the key, if they have all of them
    /// as whole bytes.
    in_headers: Option<KeyInHeaders>,
}

impl PartialEq for Extractor {
    fn eq(&self, other: &Self) -> bool {
        (&self.headers, self.biflow) == (&other.headers, other.biflow)
    }
}
impl Eq for Extractor {}

impl Hash for Extractor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.headers.hash(state);
    }
}

impl Extractor {
    /// The extractor of the fields with these OXM headers. `None` if there are none or more than
    /// [`MAX_FIELDS`], or if their keys would be longer than [`MAX_KEY_BYTES`].
    pub fn new(headers: &[u32], catalogue: &Catalogue) -> Option<Self> {
        Self::in_order(headers, headers, false, catalogue)
    }

    /// As [`Extractor::new`], with keys that both directions of a conversation share: the fields
    /// are in the order of their OXM headers, and the larger value of a pair comes first.
    pub fn biflow(headers: &[u32], catalogue: &Catalogue) -> Option<Self> {
        let mut sorted = headers.to_vec();
        sorted.sort_unstable();
        Self::in_order(headers, &sorted, true, catalogue)
    }

    fn in_order(
        given: &[u32],
        ordered: &[u32],
        biflow: bool,
        catalogue: &Catalogue,
    ) -> Option<Self> {
        if given.is_empty() || given.len() > MAX_FIELDS {
            return None;
        }
        let mut this = Self {
            headers: given.to_vec(),
            parts: Vec::new(),
            bytes: 0,
            biflow,
            in_headers: None,
        };
        for header in ordered {
            let (field, length) = field_of(*header, catalogue);
            let is_experimenter = header >> 16 == u32::from(CLASS_EXPERIMENTER);
            let after = if is_experimenter {
                EXPERIMENTER_BYTES
            } else {
                0
            };
            this.parts.push(ExtractorField {
                field,
                at: this.bytes,
                bytes: length.saturating_sub(after),
                little_endian: field.is_some_and(is_little_endian),
            });
            this.bytes += length;
            if this.bytes > MAX_KEY_BYTES {
                return None;
            }
        }
        if !biflow {
            this.in_headers = this.header_key();
        }
        Some(this)
    }

    /// The OXM headers of its fields.
    pub fn headers(&self) -> &[u32] {
        &self.headers
    }

    /// Returns true if both directions of a conversation have the same key.
    pub fn is_biflow(&self) -> bool {
        self.biflow
    }

    /// Returns how many bytes its keys have.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The key of a packet's flow; `None` if the packet lacks a field.
    pub fn key(&self, packet: &mut impl FieldSource) -> Option<FlowKey> {
        let mut key = FlowKey::default();
        for part in &self.parts {
            let field = part.field?;
            let value = packet.get(field)?;
            if !part.write(field, value, &mut key) {
                return None;
            }
        }
        if self.biflow {
            let mut bytes = key.bytes();
            self.put_larger_first(&mut bytes);
            return Some(FlowKey::new(&bytes));
        }
        Some(key)
    }

    /// Returns where the headers of frames have the bytes of its keys, if they have all of them.
    fn header_key(&self) -> Option<KeyInHeaders> {
        let mut key = KeyInHeaders::default();
        for part in &self.parts {
            key.add(part.field?, (part.bytes, part.at), part.little_endian)?;
        }
        Some(key)
    }

    /// Returns true if headers have all fields of its keys, even if not as whole bytes.
    fn is_in_headers(&self) -> bool {
        let mut fields = self.parts.iter().map(|part| part.field);
        fields.all(|field| field.is_some_and(|field| !field.at.is_empty()))
    }

    /// Reads the key of an upcoming packet's flow into `key`. Returns false if the packet lacks a
    /// field, or if not all fields are in headers: then the key is made when the packet is looked
    /// up.
    #[inline]
    pub fn key_ahead(&self, mut packet: UpcomingPacket<'_>, key: &mut FlowKey) -> bool {
        let is_found = match &self.in_headers {
            Some(in_headers) => in_headers.read(&packet, key),
            None if self.is_in_headers() => match self.key(&mut packet) {
                Some(found) => {
                    *key = found;
                    true
                }
                None => false,
            },
            None => return false,
        };
        debug_assert_eq!(self.key(&mut packet), is_found.then_some(*key));
        is_found
    }

    /// Swaps the values of each pair whose second one is larger, compared as bytes.
    fn put_larger_first(&self, key: &mut [u8; MAX_KEY_BYTES]) {
        for parts in self.parts.windows(2) {
            let fields = [parts[0].field, parts[1].field];
            let is_pair = PAIRS.iter().any(|pair| fields == pair.map(Some));
            if !is_pair || parts[0].bytes != parts[1].bytes {
                continue;
            }
            let (before, after) = key.split_at_mut(parts[1].at);
            let first = &mut before[parts[0].at..parts[0].at + parts[0].bytes];
            let second = &mut after[..parts[1].bytes];
            if *first < *second {
                first.swap_with_slice(second);
            }
        }
    }

    /// The fields, with their places in keys.
    pub(super) fn placed_fields(
        &self,
    ) -> impl Iterator<Item = (Option<&'static Field>, core::ops::Range<usize>)> {
        let parts = self.parts.iter();
        parts.map(|part| (part.field, part.at..part.at + part.bytes))
    }

    /// The value of a field in a key; `None` if it is not a part of it.
    pub(super) fn value_in(&self, key: &FlowKey, field: &'static Field) -> Option<u128> {
        let mut parts = self.parts.iter();
        let part = parts.find(|part| part.field == Some(field))?;
        let bytes = &key.bytes()[part.at..part.at + part.bytes];
        let mut number = [0; MAX_VALUE_BYTES];
        if part.little_endian {
            number[..part.bytes].copy_from_slice(bytes);
            return Some(u128::from_le_bytes(number));
        }
        number[MAX_VALUE_BYTES - part.bytes..].copy_from_slice(bytes);
        Some(u128::from_be_bytes(number))
    }

    /// The value of a header field operand, for an extractor of one field. As in the reference
    /// switches, it is the little-endian number of the key's bytes; of a field longer than 4 bytes,
    /// that of the first two.
    pub fn number(&self, packet: &mut impl FieldSource) -> Option<u32> {
        let [a, b, c, d, ..] = self.key(packet)?.bytes();
        match self.parts[0].bytes {
            0..=4 => Some(u32::from_le_bytes([a, b, c, d])),
            _ => Some(u16::from_le_bytes([a, b]).into()),
        }
    }

    /// Returns what a request demands of a key: for each field the range of its bytes, and a key
    /// that has the wanted value there. `None` if the extractor lacks one of the fields, so that no
    /// flow matches.
    pub fn wanted(&self, fields: &[FieldMatch]) -> Option<Vec<(core::ops::Range<usize>, FlowKey)>> {
        let mut wanted = Vec::new();
        for one in fields {
            let part = self
                .parts
                .iter()
                .find(|part| part.field == Some(one.field))?;
            let mut key = FlowKey::default();
            if !part.write(one.field, one.number(), &mut key) {
                return None;
            }
            wanted.push((part.at..part.at + part.bytes, key));
        }
        Some(wanted)
    }
}

/// The inverse of [`Extractor::number`]: the value of a field whose bytes in a key are this number
/// in little-endian order, followed by zero bytes.
pub(crate) fn value_of_number(field: &'static Field, number: u32) -> u128 {
    let low = u128::from(number);
    let value = if is_little_endian(field) {
        low
    } else {
        low.swap_bytes() >> (128 - 8 * field.bytes())
    };
    value & field.ones_number()
}

/// Reads the fields of an action's own scope, which end the action, and their padding to 8 bytes.
/// `at_count` is where their number is. `None` if there are none.
///
/// Errors: BAD_EXP_LEN if another number of fields is left, or if they make no key.
pub(crate) fn get_scope(
    at_count: &mut Reader<'_>,
    r: &mut Reader<'_>,
) -> Result<Option<Extractor>, DecodeError> {
    let count = at_count.at("field_count").clone().get::<u32>()? as usize;
    if count > MAX_FIELDS || r.remaining() != (4 * count).next_multiple_of(8) {
        return Err(at_count.err(error::BAD_EXP_LEN));
    }
    let mut headers = Vec::new();
    for _ in 0..count {
        headers.push(r.at("fields").get()?);
    }
    r.rest();
    if headers.is_empty() {
        return Ok(None);
    }
    let scope = Extractor::new(&headers, &r.codec.catalogue);
    scope
        .map(Some)
        .ok_or_else(|| at_count.err(error::BAD_EXP_LEN))
}

/// Returns how many fields an action's scope has.
pub(crate) fn scope_count(scope: Option<&Extractor>) -> u32 {
    scope.map_or(0, |scope| scope.headers().len() as u32)
}

/// Writes the fields of an action's scope, and the padding.
pub(crate) fn put_scope(scope: Option<&Extractor>, w: &mut Writer<'_>) {
    let start = w.bytes.len();
    for header in scope.map_or(&[][..], Extractor::headers) {
        w.put(header);
    }
    w.align8(start);
}

/// The field of an OXM header, if packets have it, and how many bytes it takes in a key.
pub(crate) fn field_of(header: u32, catalogue: &Catalogue) -> (Option<&'static Field>, usize) {
    let (class, number, length) = parts_of(header);
    let field = match class {
        CLASS_BASIC if BASIC_TCP_FLAGS.contains(&number) => Some(TCP_FLAGS),
        CLASS_BASIC => catalogue.field(0, number),
        CLASS_EXPERIMENTER => catalogue
            .field(EXPERIMENTER, number)
            .or_else(|| catalogue.field(ONF, number)),
        _ => None,
    };
    let bytes = field.map_or(length, |field| bytes_in_key(field, length));
    let more = if class == CLASS_EXPERIMENTER {
        EXPERIMENTER_BYTES
    } else {
        0
    };
    let value_bytes = bytes.saturating_sub(more);
    let field = field.filter(|field| {
        let has_room = (field.bytes()..=MAX_VALUE_BYTES).contains(&value_bytes);
        has_room && *field != IPV6_EXTHDR
    });
    (field, bytes)
}

/// Returns true if an OXM header names a field that only Open Packet Processor has.
pub(crate) fn is_opp_field(header: u32) -> bool {
    let (class, number, _) = parts_of(header);
    let is_own = usize::from(number) < beba::FIELDS.len();
    class == CLASS_EXPERIMENTER && is_own && number >= beba::FIRST_OPP_FIELD
}

/// Class, number and length of an OXM header.
fn parts_of(header: u32) -> (u16, u8, usize) {
    let [high, low, number, length] = header.to_be_bytes();
    let class = u16::from_be_bytes([high, low]);
    (class, number >> 1, length.into())
}

/// Returns how many bytes a field takes in a key, with this length in its OXM header.
fn bytes_in_key(field: &Field, length: usize) -> usize {
    // The reference counts the 4 bytes of the integer that holds these 3.
    if field == PBB_ISID { 4 } else { length }
}

/// Returns true if keys have a field's bytes in little-endian order, as the reference switches have
/// numbers in memory on x86. Addresses are in the packet's order, and so is ARP_OP, unlike all
/// other numbers.
fn is_little_endian(field: &Field) -> bool {
    let as_in_packet: [&Field; 5] = [ARP_OP, ARP_SPA, ARP_TPA, IPV4_SRC, IPV4_DST];
    let is_address = field.bits == 48 || field.bits == 128;
    !is_address && !as_in_packet.contains(&field)
}

/// Writes a key as the values of its fields, `(ipv4_src=10.0.0.1,tcp_dst=80)`; in hexadecimal if
/// the fields are unknown, or the key has another length than theirs.
pub(crate) fn write_key(f: &mut fmt::Formatter<'_>, headers: &[u32], key: &[u8]) -> fmt::Result {
    let known: Option<Vec<_>> = headers.iter().map(|header| named_field(*header)).collect();
    let fields = known.unwrap_or_default();
    let placed = fields.iter().zip(headers);
    let placed = placed.map(|(field, header)| (field, bytes_in_key(field, parts_of(*header).2)));
    let bytes: usize = placed.clone().map(|(_, bytes)| bytes).sum();
    if fields.is_empty() || bytes != key.len() {
        return Bytes(key.to_vec()).text(f);
    }
    let mut rest = key;
    for (at, (field, bytes)) in placed.enumerate() {
        let (value, after) = rest.split_at(bytes);
        rest = after;
        let mut number = [0; 16];
        number[..field.bytes()].copy_from_slice(&value[..field.bytes()]);
        if is_little_endian(field) {
            number[..field.bytes()].reverse();
        }
        write!(f, "{}{}=", if at == 0 { "(" } else { "," }, field.name)?;
        write_value(f, field, &number)?;
    }
    f.write_str(")")
}

/// Reads what [`write_key`] writes. Errors: what is wrong with it.
pub(crate) fn parse_key(text: &str, catalogue: &Catalogue) -> Result<Vec<u8>, ParseError> {
    let inner = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let Some(inner) = inner else {
        return parse_bytes(text);
    };
    let mut key = Vec::new();
    for item in items(inner) {
        let (name, value) = item
            .split_once('=')
            .ok_or_else(|| format!("'{item}': no value"))?;
        let Some(field) = catalogue.field_named(name) else {
            return Err(format!("there is no field '{name}'").into());
        };
        let mut number =
            parse_value(field, value, catalogue).map_err(|error| format!("'{item}': {error}"))?;
        if field == VLAN_VID {
            number &= u128::from(VID_PRESENT - 1);
        }
        let mut bytes = number.to_be_bytes()[16 - field.bytes()..].to_vec();
        if is_little_endian(field) {
            bytes.reverse();
        }
        bytes.resize(bytes_in_key(field, parts_of(header_of(field)).2), 0);
        key.extend(bytes);
    }
    Ok(key)
}

/// The name of the field that has exactly this OXM header, without a mask.
pub(crate) fn name_of(header: u32) -> Option<&'static str> {
    named_field(header).map(|field| field.name)
}

/// The field that has exactly this OXM header.
fn named_field(header: u32) -> Option<&'static Field> {
    let mut own = beba::FIELDS.iter().chain(&FIELDS);
    own.find(|field| header_of(field) == header)
}
