//! Why an extension did not set an option.

use alloc::{string::String, vec::Vec};
use core::fmt;

/// The reason for which an option of an extension was not set, which its text names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// The extension of this name has no options.
    NoOptions(&'static str),
    /// There is no option of this name.
    UnknownName {
        /// The name.
        name: String,
        /// The names of the options that there are.
        known: &'static [&'static str],
    },
    /// The value is none of some names.
    UnknownValue {
        /// The value.
        value: String,
        /// The names.
        known: Vec<&'static str>,
    },
    /// The value is not a number within bounds.
    OutOfRange {
        /// The value.
        value: String,
        /// The least number.
        least: u64,
        /// The largest number.
        most: u64,
    },
    /// The value has another fault, which this sentence says.
    Invalid(&'static str),
}

/// Writes names as `a, b or c`.
fn write_names(f: &mut fmt::Formatter<'_>, names: &[&str]) -> fmt::Result {
    for (i, name) in names.iter().enumerate() {
        let before = match i {
            0 => "",
            _ if i + 1 == names.len() => " or ",
            _ => ", ",
        };
        write!(f, "{before}{name}")?;
    }
    Ok(())
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOptions(extension) => write!(f, "{extension} has no options"),
            Self::UnknownName { name, known } => {
                write!(f, "'{name}' is not ")?;
                write_names(f, known)
            }
            Self::UnknownValue { value, known } => {
                write!(f, "'{value}' is not ")?;
                write_names(f, known)
            }
            Self::OutOfRange { value, least, most } => {
                write!(f, "'{value}' is not a number from {least} to {most}")
            }
            Self::Invalid(fault) => f.write_str(fault),
        }
    }
}

impl core::error::Error for OptionError {}
