//! The instruction that makes a packet from a template and copies fields of the trigger into it.

use alloc::{format, string::ToString, vec::Vec};
use core::fmt;

use bofuss_datapath::HookContext;
use bofuss_oflib::error::BadAction;
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::{Actions, items, number};
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Action, Catalogue, DecodeError, ErrorCode, Field, ParseError};
use bofuss_packet::Packet;

use super::wire::PacketGen;
use crate::common::oxm::header_of;

/// A copy of bits from a field of the trigger, the packet that hit the entry, to a field of the new
/// packet.
///
/// Invariant: both parts lie within their fields, which have OXM headers of their own, and the
/// destination may be set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldCopy {
    source: &'static Field,
    destination: &'static Field,
    /// The number of bits that are copied, at least 1.
    bits: u16,
    /// The lowest copied bit of the source field.
    source_offset: u16,
    /// The lowest bit of the destination field that is written.
    destination_offset: u16,
}

impl FieldCopy {
    /// Checks the invariant. Errors: those of OpenFlow 1.5's copy-field action, of BAD_ACTION:
    /// BAD_SET_ARGUMENT for a destination that may not be set; BAD_SET_LEN for no bits, or for bits
    /// beyond a field's width.
    fn check(&self) -> Result<(), ErrorCode> {
        if !self.destination.settable {
            return Err(BadAction::BAD_SET_ARGUMENT);
        }
        let source_end = u32::from(self.source_offset) + u32::from(self.bits);
        let destination_end = u32::from(self.destination_offset) + u32::from(self.bits);
        let is_beyond =
            source_end > self.source.bits.into() || destination_end > self.destination.bits.into();
        if self.bits == 0 || is_beyond {
            return Err(BadAction::BAD_SET_LEN);
        }
        Ok(())
    }

    /// Copies from the trigger, which `cx` reads, to the new packet. Does nothing if one of the two
    /// lacks its field.
    pub(super) fn apply(&self, cx: &mut HookContext<'_>, packet: &mut Packet) {
        let Some(value) = cx.get(self.source) else {
            return;
        };
        let ones = u128::MAX >> (128 - u32::from(self.bits));
        let part = value >> self.source_offset & ones;
        let before = packet.key().get(self.destination, &mut ()).unwrap_or(0);
        let kept = before & !(ones << self.destination_offset);
        let after = kept | part << self.destination_offset;
        let shifted = after << (128 - 8 * self.destination.bytes());
        // If the header is not there, nothing is set.
        let _ = packet.set_field(self.destination, &shifted.to_be_bytes());
    }

    /// Returns true if the copy takes the whole source to the whole destination.
    fn is_whole(&self) -> bool {
        self.bits == self.source.bits && self.bits == self.destination.bits
    }
}

impl Wire for FieldCopy {
    /// Errors: of BAD_ACTION, BAD_SET_TYPE for an OXM header that names no field or has the mask
    /// bit, BAD_SET_LEN for one with another length than its field's, and those of the invariant.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let source = decode_field(r.at("src_oxm"))?;
        let destination = decode_field(r.at("dst_oxm"))?;
        let at_bits = r.at("n_bits").clone();
        let copy = Self {
            source,
            destination,
            bits: r.get()?,
            source_offset: r.at("src_offset").get()?,
            destination_offset: r.at("dst_offset").get()?,
        };
        r.take(2)?;
        copy.check().map_err(|error| at_bits.err(error))?;
        Ok(copy)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&header_of(self.source))
            .put(&header_of(self.destination))
            .put(&self.bits)
            .put(&self.source_offset)
            .put(&self.destination_offset)
            .pad(2);
    }
}

fn decode_field(r: &mut Reader<'_>) -> Result<&'static Field, DecodeError> {
    let at = r.clone();
    let header: u32 = r.get()?;
    let field =
        field_of(header, &r.codec.catalogue).ok_or_else(|| at.err(BadAction::BAD_SET_TYPE))?;
    if header_of(field) != header {
        return Err(at.err(BadAction::BAD_SET_LEN));
    }
    Ok(field)
}

/// The first field of the catalogue with the class and number of an OXM header, whatever the length
/// in it. The header of an experimenter's field does not name the experimenter.
fn field_of(header: u32, catalogue: &Catalogue) -> Option<&'static Field> {
    let mut fields = catalogue.fields().iter().copied();
    fields.find(|field| header_of(field) >> 8 == header >> 8)
}

impl TextForm for FieldCopy {
    /// `SOURCE->DESTINATION` for whole fields, else
    /// `SOURCE[LOW..HIGH]->DESTINATION[LOW..HIGH]`.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole() {
            return write!(f, "{}->{}", self.source.name, self.destination.name);
        }
        write_part(f, self.source, self.source_offset, self.bits)?;
        f.write_str("->")?;
        write_part(f, self.destination, self.destination_offset, self.bits)
    }
}

fn write_part(f: &mut fmt::Formatter<'_>, field: &Field, offset: u16, bits: u16) -> fmt::Result {
    write!(f, "{}[{offset}..{}]", field.name, offset + bits - 1)
}

impl FieldCopy {
    /// Reads the text form. Errors: what is wrong, in words.
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let (source, destination) = text
            .split_once("->")
            .ok_or_else(|| format!("'{text}' is not FIELD->FIELD"))?;
        let (source, source_offset, bits) = parse_part(source, catalogue)?;
        let (destination, destination_offset, wanted) = parse_part(destination, catalogue)?;
        if bits != wanted {
            return Err(format!("'{text}': {bits} bits are not {wanted}").into());
        }
        let copy = Self {
            source,
            destination,
            bits,
            source_offset,
            destination_offset,
        };
        match copy.check() {
            Ok(()) => Ok(copy),
            Err(BadAction::BAD_SET_ARGUMENT) => {
                Err(format!("'{}' may not be set", destination.name).into())
            }
            Err(_) => Err(format!("'{text}': bits beyond a field").into()),
        }
    }
}

/// Reads `FIELD` or `FIELD[LOW..HIGH]`: the field, its lowest chosen bit, and how many bits are
/// chosen.
fn parse_part(text: &str, catalogue: &Catalogue) -> Result<(&'static Field, u16, u16), ParseError> {
    let (name, range) = match text.split_once('[') {
        Some((name, range)) => (name, Some(range)),
        None => (text, None),
    };
    let Some(field) = catalogue.field_named(name) else {
        return Err(format!("there is no field '{name}'").into());
    };
    if field_of(header_of(field), catalogue) != Some(field) {
        return Err(format!("'{name}' has the OXM header of another field").into());
    }
    let Some(range) = range else {
        return Ok((field, 0, field.bits));
    };
    let ends = range
        .strip_suffix(']')
        .and_then(|range| range.split_once(".."));
    let low_high = ends.and_then(|(low, high)| Some((number(low)?, number(high)?)));
    match low_high {
        Some((low, high)) if low <= high && high < field.bits.into() => {
            Ok((field, low as u16, (high - low + 1) as u16))
        }
        Some(_) | None => Err(format!("'{text}': '{name}' has bits 0..{}", field.bits - 1).into()),
    }
}

/// The instruction that makes a packet from a template and copies fields of the trigger into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PacketGenCopy {
    /// The template, and the actions that are applied after the copies.
    pub made: PacketGen,
    /// The copies, in the order in which they are carried out.
    pub copies: Vec<FieldCopy>,
}

impl Wire for PacketGenCopy {
    /// Errors: those of a copy, or of the first wrong action.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let template = r.at("pkttmp_id").get()?;
        let count: u16 = r.at("n_copies").get()?;
        r.take(6)?;
        let mut copies = Vec::new();
        for _ in 0..count {
            copies.push(r.get()?);
        }
        let bytes = r.remaining();
        let actions = Action::decode_list(r, bytes)?;
        let made = PacketGen { template, actions };
        Ok(Self { made, copies })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        // A message of 64 KiB has no room for more copies than 16 bits can count.
        let count = self.copies.len() as u16;
        w.put(&self.made.template).put(&count).pad(6);
        for copy in &self.copies {
            w.put(copy);
        }
        w.put(&self.made.actions);
    }
}

impl TextForm for PacketGenCopy {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template={},copies=(", self.made.template)?;
        for (i, copy) in self.copies.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { "," })?;
            copy.text(f)?;
        }
        write!(f, "),actions=({})", Actions(&self.made.actions))
    }
}

impl TypedBody for PacketGenCopy {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let parts = text
            .split_once(",copies=(")
            .and_then(|(template, rest)| Some((template, rest.split_once("),")?)));
        let (template, (copies, actions)) = parts
            .ok_or("it is template=N,copies=(FIELD->FIELD,...),actions=(ACTIONS)".to_string())?;
        let copies = items(copies).map(|copy| FieldCopy::parse(copy, catalogue));
        Ok(Self {
            copies: copies.collect::<Result<_, _>>()?,
            made: PacketGen::parse(&format!("{template},{actions}"), catalogue)?,
        })
    }
}
