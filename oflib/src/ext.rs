//! Values of experimenters: rows that say how one is written on the wire and in text.
//!
//! A row of numbers needs nothing else. What has lists, actions or matches in it is a structure
//! with a [`TypedBody`], which any crate may declare.

#[cfg(feature = "extensions")]
mod body;
#[cfg(not(feature = "extensions"))]
#[path = "ext/no_body.rs"]
mod body;
#[cfg(feature = "extensions")]
mod declared;
#[cfg(feature = "text")]
mod parse;
mod rows;

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use crate::catalogue::Catalogue;
use crate::error::DecodeError;
use crate::wire::{Bytes, Reader, Writer, be_number};

#[cfg(feature = "extensions")]
use body::SharedBody;
#[cfg(feature = "extensions")]
pub use body::{BodyType, TypedBody};
pub use rows::{Arg, Audience, ExtErrors, ExtKind, ExtRow, Usage};

/// The depth to which experimenter values with bodies may be nested, such as a list of actions in
/// an action.
pub const MAX_NESTED: u8 = 8;

/// Our own number as an experimenter: a locally administered OUI, "bof" in ASCII.
pub const BOFUSS: u32 = 0x0062_6f66;

/// An experimenter value: its row, and its arguments and data or its body.
#[derive(Clone, Debug)]
pub struct ExtValue {
    /// The form.
    pub row: &'static ExtRow,
    /// One number for each of the row's arguments.
    pub args: Vec<u64>,
    /// The bytes after the arguments.
    pub data: Bytes,
    /// `Some` if the row has a type of bodies, and then of this type.
    #[cfg(feature = "extensions")]
    body: Option<SharedBody>,
}

impl PartialEq for ExtValue {
    fn eq(&self, other: &Self) -> bool {
        let same_numbers = self.args == other.args && self.data == other.data;
        self.row == other.row && same_numbers && self.has_same_body(other)
    }
}
impl Eq for ExtValue {}

/// Hashes less than `eq` compares of the row, which is allowed: rows of the same type differ
/// rarely.
impl Hash for ExtValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.row.ty, &self.args, &self.data).hash(state);
        self.hash_body(state);
    }
}

/// Counts bytes in place of hashing them.
///
/// For [`ExtValue::held_bytes`], which has no other way to know how long a body is.
struct ByteCount(usize);

impl Hasher for ByteCount {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
    fn finish(&self) -> u64 {
        0
    }
}

impl ExtValue {
    /// A value of a row of numbers: one for each of its arguments, and its data.
    ///
    /// The caller sees to it that there are as many arguments as the row has, each within its
    /// width: higher bytes are not written.
    pub fn new(row: &'static ExtRow, args: Vec<u64>, data: Bytes) -> Self {
        Self {
            row,
            args,
            data,
            #[cfg(feature = "extensions")]
            body: None,
        }
    }

    /// About how many bytes it holds besides itself: those that its hash reads, which are all that
    /// distinguish it from other values.
    pub fn held_bytes(&self) -> usize {
        let mut count = ByteCount(0);
        self.hash(&mut count);
        count.0
    }

    /// Reads experimenter, type, arguments and data, or the body, to the end of the window; after
    /// an action or an instruction comes padding to 8 bytes.
    ///
    /// Errors: BAD_EXPERIMENTER, BAD_EXP_TYPE or BAD_LEN of the kind, or in place of the latter two
    /// the row's own; the body's; BAD_ACTION/TOO_MANY for bodies within each other deeper than
    /// [`MAX_NESTED`].
    pub fn decode(kind: ExtKind, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (bad_experimenter, bad_type, bad_length) = kind.errors();
        let at_experimenter = r.at("experimenter").clone();
        let experimenter = r.get::<u32>()?;
        let catalogue = &r.codec.catalogue;
        let Some(first) = rows_of(catalogue, kind, experimenter).next() else {
            return Err(at_experimenter.err(bad_experimenter));
        };
        let at_type = r.at("exp_type").clone();
        // All rows of an experimenter have types of the same width, so that the first row tells it
        // before the row is known.
        let ty = if first.short_type {
            r.clone().get::<u16>()?.into()
        } else {
            r.clone().get::<u32>()?
        };
        // The reader is still in front of the type, so that the error points at it.
        let Some(row) = rows_of(catalogue, kind, experimenter).find(|row| row.ty == ty) else {
            let own = rows_of(catalogue, kind, experimenter).find_map(|row| row.errors);
            return Err(r.err(own.map_or(bad_type, |errors| errors.bad_type)));
        };
        r.take(if row.short_type { 2 } else { 4 })?;
        let short = match row.errors {
            Some(errors) => errors.bad_length,
            None => r.short,
        };
        let mut rest = r.sub(r.remaining(), short)?;
        let value = match Self::decode_body(row, &at_type, &mut rest)? {
            Some(value) => value,
            None => Self::decode_numbers(row, &mut rest)?,
        };
        // A wrong length is found at the end: only the body or the arguments know theirs.
        let padding = rest.rest();
        let aligned = matches!(kind, ExtKind::Action | ExtKind::Instruction);
        if padding.len() > if aligned { 7 } else { 0 } {
            return Err(rest.err(row.errors.map_or(bad_length, |errors| errors.bad_length)));
        }
        Ok(value)
    }

    fn decode_numbers(row: &'static ExtRow, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut args = Vec::with_capacity(row.args.len());
        for arg in row.args {
            let bytes = r.at(arg.name).take(arg.bytes.into())?;
            args.push(be_number(bytes) as u64);
        }
        let data = if row.data { r.get()? } else { Bytes::default() };
        Ok(Self::new(row, args, data))
    }

    /// Appends experimenter, type, and arguments and data or the body.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.row.experimenter);
        if self.row.short_type {
            w.put(&(self.row.ty as u16));
        } else {
            w.put(&self.row.ty);
        }
        for (arg, value) in self.row.args.iter().zip(&self.args) {
            // The lowest bytes of the number, big-endian.
            w.raw(&value.to_be_bytes()[8 - usize::from(arg.bytes)..]);
        }
        w.put(&self.data);
        self.encode_body(w);
    }
}

/// The values of one kind that an experimenter has.
fn rows_of(
    catalogue: &Catalogue,
    kind: ExtKind,
    experimenter: u32,
) -> impl Iterator<Item = &'static ExtRow> {
    let rows = catalogue.values(kind);
    rows.filter(move |row| row.experimenter == experimenter)
}
