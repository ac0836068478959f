//! Rows of experimenter values: their form, and how switches and tools treat them.

use core::ptr;

#[cfg(feature = "extensions")]
use super::BodyType;
#[cfg(feature = "extensions")]
use crate::error::ErrorRow;
use crate::error::{BadAction, BadInstruction, BadRequest, ErrorCode};

/// The kind of an experimenter value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtKind {
    /// An action.
    Action,
    /// An instruction.
    Instruction,
    /// A message, in either direction.
    Message,
    /// A multipart request or reply body.
    Multipart,
}

impl ExtKind {
    /// The errors for an unknown experimenter, an unknown type of it, and a wrong length.
    pub(super) fn errors(self) -> (ErrorCode, ErrorCode, ErrorCode) {
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

impl Arg {
    /// An argument of 1, 2, 4 or 8 bytes.
    pub const fn new(name: &'static str, bytes: u8) -> Self {
        Self { name, bytes }
    }
}

/// The connections that get an asynchronous message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Every controller that is no slave.
    Controllers,
    /// The connections that subscribed to it.
    Subscribers,
}

/// The verb of `dpctl` by which people ask for something, with the row's name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Usage {
    /// The words after the verb, as `help` shows them.
    pub arguments: &'static str,
    /// The effect, in a few words.
    pub help: &'static str,
}

/// The errors that an experimenter answers with in place of the specification's.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ExtErrors {
    /// For a type that it does not have.
    pub bad_type: ErrorCode,
    /// For a wrong length.
    pub bad_length: ErrorCode,
}

/// One experimenter value's form: experimenter, 32-bit type, and either arguments and perhaps raw
/// bytes, or a body of a type of its own. [`ExtRow::new`] and [`ExtRow::typed`] make one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ExtRow {
    /// The kind of value.
    pub kind: ExtKind,
    /// The experimenter's number.
    pub experimenter: u32,
    /// The experimenter's type.
    pub ty: u32,
    /// Its name in text.
    pub name: &'static str,
    /// Its arguments in wire order.
    pub args: &'static [Arg],
    /// True if bytes may follow the arguments (messages and multiparts only).
    pub data: bool,
    /// The type of its body, in place of arguments and data.
    #[cfg(feature = "extensions")]
    pub body: Option<BodyType>,
    /// True if, as a message or a multipart request, it changes the switch: a slave may not send
    /// it.
    pub changes: bool,
    /// The connections that get it as an asynchronous message.
    pub audience: Audience,
    /// The verb by which people ask for it, as a message or a multipart request, if they may.
    pub usage: Option<Usage>,
    /// Errors of its own.
    pub errors: Option<ExtErrors>,
    /// The names of its experimenter's errors; one row of the experimenter has them for all.
    #[cfg(feature = "extensions")]
    pub error_names: &'static [ErrorRow],
    /// True if it, as an instruction, is executed before all of the specification's.
    pub runs_first: bool,
    /// True if its type has 16 bits on the wire, as all types of its experimenter.
    pub short_type: bool,
}

/// Rows are equal if they are of one form: what the wire says of it, and its name.
impl PartialEq for ExtRow {
    fn eq(&self, other: &Self) -> bool {
        let one = (self.kind, self.experimenter, self.ty, self.name);
        one == (other.kind, other.experimenter, other.ty, other.name)
    }
}
impl Eq for ExtRow {}

impl ExtRow {
    /// A row without arguments, data and body.
    pub const fn new(kind: ExtKind, experimenter: u32, ty: u32, name: &'static str) -> Self {
        Self {
            kind,
            experimenter,
            ty,
            name,
            args: &[],
            data: false,
            #[cfg(feature = "extensions")]
            body: None,
            changes: false,
            audience: Audience::Controllers,
            usage: None,
            errors: None,
            #[cfg(feature = "extensions")]
            error_names: &[],
            runs_first: false,
            short_type: false,
        }
    }

    /// Its place in a list of rows, if it is there.
    pub fn place_in(&'static self, rows: &'static [Self]) -> Option<usize> {
        let bytes = ptr::from_ref(self)
            .addr()
            .checked_sub(rows.as_ptr().addr())?;
        let place = bytes / size_of::<Self>();
        (place < rows.len()).then_some(place)
    }
}
