//! Operands of conditions and update functions: variables, header fields and constants.

use alloc::format;
use core::fmt;

use bofuss_oflib::{ErrorCode, ParseError};

use super::N_EXTRACTORS;
use crate::common::beba::{self as error, N_FLOW_VARIABLES, N_GLOBAL_VARIABLES};

/// The source of an operand's value: two bits on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OperandKind {
    /// A variable of the packet's flow.
    #[default]
    FlowVariable,
    /// A variable of the table.
    GlobalVariable,
    /// The value that a header field extractor of the table reads in the packet.
    HeaderField,
    /// A constant: the operand's own number.
    Constant,
}

impl OperandKind {
    /// The kinds, by their numbers on the wire, each with the prefix of its text.
    const ALL: [(Self, &'static str); 4] = [
        (Self::FlowVariable, "fd"),
        (Self::GlobalVariable, "gd"),
        (Self::HeaderField, "hf"),
        (Self::Constant, ""),
    ];

    /// The kind that the two lowest bits of a number stand for.
    pub(super) fn of_bits(bits: u16) -> Self {
        Self::ALL[usize::from(bits & 3)].0
    }

    /// Its two bits.
    pub(super) fn bits(self) -> u16 {
        self as u16
    }
}

/// An operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Its kind.
    pub kind: OperandKind,
    /// The number of the variable or the extractor, or the constant.
    pub id: u8,
}

impl Operand {
    /// Checks its number. Errors: BAD_FLOW_DATA_VAR_ID, BAD_GLOBAL_DATA_VAR_ID or BAD_EXTRACTOR_ID
    /// if there is no variable or extractor of this number; BAD_OPERAND_TYPE for a constant that is
    /// not allowed.
    pub(super) fn check(self, allows_constant: bool) -> Result<(), ErrorCode> {
        let (end, error) = match self.kind {
            OperandKind::FlowVariable => (N_FLOW_VARIABLES, error::BAD_FLOW_DATA_VAR_ID),
            OperandKind::GlobalVariable => (N_GLOBAL_VARIABLES, error::BAD_GLOBAL_DATA_VAR_ID),
            OperandKind::HeaderField => (N_EXTRACTORS, error::BAD_EXTRACTOR_ID),
            OperandKind::Constant if allows_constant => return Ok(()),
            OperandKind::Constant => return Err(error::BAD_OPERAND_TYPE),
        };
        if usize::from(self.id) < end {
            Ok(())
        } else {
            Err(error)
        }
    }

    /// Returns true if it is a variable, so that a function can write it.
    pub(super) fn is_variable(self) -> bool {
        matches!(
            self.kind,
            OperandKind::FlowVariable | OperandKind::GlobalVariable
        )
    }

    /// Reads the text form: `fd1`, `gd2`, `hf0` or a number up to 255.
    ///
    /// Errors: it is none of these.
    pub(super) fn parse(text: &str) -> Result<Self, ParseError> {
        let found = OperandKind::ALL
            .into_iter()
            .find_map(|(kind, prefix)| Some((kind, text.strip_prefix(prefix)?)));
        let (kind, digits) = found.expect("the last prefix is empty");
        match digits.parse() {
            Ok(id) => Ok(Self { kind, id }),
            Err(_) => Err(format!("'{text}' is not fd0, gd0, hf0 or a number up to 255").into()),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, prefix) = OperandKind::ALL[usize::from(self.kind.bits())];
        write!(f, "{prefix}{}", self.id)
    }
}
