//! The names of algorithms in a configuration.

use alloc::format;
use core::str::FromStr;

use bofuss_oflib::ParseError;

use super::Algorithm;

impl FromStr for Algorithm {
    type Err = ParseError;
    /// Errors: a sentence that lists the names.
    fn from_str(name: &str) -> Result<Self, ParseError> {
        match name {
            "hash" => Ok(Self::Hash),
            "round-robin" => Ok(Self::RoundRobin),
            "random" => Ok(Self::Random),
            other => Err(format!("'{other}' is not hash, round-robin or random").into()),
        }
    }
}
