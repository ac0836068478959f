//! Values of experimenters: rows that say how one is written on the wire and in text.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::error::{BadAction, BadInstruction, BadRequest, DecodeError, ErrorCode};
use crate::wire::{Bytes, Reader, TextForm, Writer};

/// Our own number as an experimenter: a locally administered OUI, "bof" in ASCII.
pub const BOFUSS: u32 = 0x0062_6f66;

/// Which kind of thing an experimenter value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtKind {
    /// An action.
    Action,
    /// An instruction.
    Instruction,
    /// A message, either way.
    Message,
    /// A multipart request or reply body.
    Multipart,
}

impl ExtKind {
    /// The errors for an unknown experimenter, an unknown type of it, and a wrong length.
    fn errors(self) -> (ErrorCode, ErrorCode, ErrorCode) {
        match self {
            Self::Action => (
                BadAction::BAD_EXPERIMENTER,
                BadAction::BAD_EXP_TYPE,
                BadAction::BAD_LEN,
            ),
            Self::Instruction => (
                BadInstruction::BAD_EXPERIMENTER,
                BadInstruction::BAD_EXP_TYPE,
                BadInstruction::BAD_LEN,
            ),
            Self::Message | Self::Multipart => (
                BadRequest::BAD_EXPERIMENTER,
                BadRequest::BAD_EXP_TYPE,
                BadRequest::BAD_LEN,
            ),
        }
    }
}

/// One argument of an experimenter value: a big-endian number.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Its name in text.
    pub name: &'static str,
    /// Its width on the wire: 1, 2, 4 or 8 bytes.
    pub bytes: u8,
}

/// One experimenter value's form: experimenter, 32-bit type, arguments, and perhaps raw bytes.
#[derive(Debug)]
pub struct ExtRow {
    /// What it is.
    pub kind: ExtKind,
    /// The experimenter's number.
    pub experimenter: u32,
    /// The experimenter's type.
    pub ty: u32,
    /// Its name in text.
    pub name: &'static str,
    /// Its arguments in wire order.
    pub args: &'static [Arg],
    /// Whether bytes may follow the arguments (messages and multiparts only).
    pub data: bool,
}

/// An experimenter value: its row, its arguments, its data.
#[derive(Clone, Debug)]
pub struct ExtValue {
    /// The form.
    pub row: &'static ExtRow,
    /// One number for each of the row's arguments.
    pub args: Vec<u64>,
    /// What follows the arguments.
    pub data: Bytes,
}

impl PartialEq for ExtValue {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.row, other.row) && self.args == other.args && self.data == other.data
    }
}
impl Eq for ExtValue {}

impl Hash for ExtValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.row.ty, &self.args, &self.data).hash(state);
    }
}

impl ExtValue {
    /// Reads experimenter, type, arguments and data to the end of the window; behind an action or
    /// an instruction stands padding to 8 bytes.
    ///
    /// Errors: BAD_EXPERIMENTER, BAD_EXP_TYPE or BAD_LEN of the kind.
    pub fn decode(kind: ExtKind, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (bad_experimenter, bad_type, bad_length) = kind.errors();
        let at_experimenter = r.at("experimenter").clone();
        let experimenter = r.get::<u32>()?;
        let known = || {
            r.codec
                .catalogue
                .values(kind)
                .filter(|v| v.experimenter == experimenter)
        };
        if known().next().is_none() {
            return Err(at_experimenter.err(bad_experimenter));
        }
        let ty = r.at("exp_type").clone().get::<u32>()?;
        let row = known()
            .find(|v| v.ty == ty)
            .ok_or_else(|| r.err(bad_type))?;
        r.take(4)?;
        let mut args = Vec::with_capacity(row.args.len());
        for arg in row.args {
            let bytes = r.at(arg.name).take(arg.bytes.into())?;
            args.push(bytes.iter().fold(0, |n, &b| n << 8 | u64::from(b)));
        }
        let data = if row.data { r.get()? } else { Bytes::default() };
        let padding = r.rest();
        let aligned = matches!(kind, ExtKind::Action | ExtKind::Instruction);
        if padding.len() > if aligned { 7 } else { 0 } {
            return Err(r.err(bad_length));
        }
        Ok(Self { row, args, data })
    }

    /// Appends experimenter, type, arguments and data.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.row.experimenter).put(&self.row.ty);
        for (arg, value) in self.row.args.iter().zip(&self.args) {
            w.raw(&value.to_be_bytes()[8 - usize::from(arg.bytes)..]);
        }
        w.put(&self.data);
    }
}

impl fmt::Display for ExtValue {
    /// `name(arg=1,arg=2)`, data in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.row.name)?;
        let mut comma = "";
        for (arg, value) in self.row.args.iter().zip(&self.args) {
            write!(f, "{comma}{}={value}", arg.name)?;
            comma = ",";
        }
        if self.row.data {
            write!(f, "{comma}data=")?;
            self.data.text(f)?;
        }
        f.write_str(")")
    }
}
