//! Conditions: comparisons of two operands, whose outcomes are fields of packets.

use alloc::{format, vec::Vec};
use core::fmt;

use super::Operand;
use bofuss_oflib::ParseError;

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// a > b.
    Greater,
    /// a < b.
    Less,
    /// a >= b.
    GreaterOrEqual,
    /// a <= b.
    LessOrEqual,
    /// a = b.
    Equal,
    /// a is not b.
    NotEqual,
}

impl Comparison {
    /// The comparisons, by their numbers on the wire, with their texts.
    const ALL: [(Self, &'static str); 6] = [
        (Self::Greater, "gt"),
        (Self::Less, "lt"),
        (Self::GreaterOrEqual, "gte"),
        (Self::LessOrEqual, "lte"),
        (Self::Equal, "eq"),
        (Self::NotEqual, "neq"),
    ];

    /// The comparison of a number on the wire.
    pub(super) fn of_code(code: u8) -> Option<Self> {
        Some(Self::ALL.get(usize::from(code))?.0)
    }

    /// Its number on the wire.
    pub(super) fn code(self) -> u8 {
        self as u8
    }

    fn holds(self, a: u32, b: u32) -> bool {
        match self {
            Self::Greater => a > b,
            Self::Less => a < b,
            Self::GreaterOrEqual => a >= b,
            Self::LessOrEqual => a <= b,
            Self::Equal => a == b,
            Self::NotEqual => a != b,
        }
    }
}

/// A comparison of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// Their comparison.
    pub comparison: Comparison,
    /// The first operand.
    pub first: Operand,
    /// The second operand.
    pub second: Operand,
}

impl Condition {
    /// Its outcome, 1 or 0; `None` if an operand has no value. `value` reads an operand.
    pub(super) fn outcome(self, mut value: impl FnMut(Operand) -> Option<u32>) -> Option<u8> {
        let first = value(self.first)?;
        let second = value(self.second)?;
        Some(self.comparison.holds(first, second).into())
    }

    /// Reads the text form: `hf0+gte+gd2`. Errors: it is not of this form.
    pub(super) fn parse(text: &str) -> Result<Self, ParseError> {
        let parts: Vec<&str> = text.splitn(3, '+').collect();
        let wrong = || format!("'{text}' is not a condition like hf0+gte+gd2");
        let [first, name, second] = parts[..] else {
            return Err(wrong().into());
        };
        let comparison = Comparison::ALL.iter().find(|(_, known)| *known == name);
        Ok(Self {
            comparison: comparison.ok_or_else(wrong)?.0,
            first: Operand::parse(first)?,
            second: Operand::parse(second)?,
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = Comparison::ALL[self.comparison as usize];
        write!(f, "{}+{name}+{}", self.first, self.second)
    }
}
