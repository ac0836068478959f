//! The names of versions, as people read them.

use core::fmt;

use super::Version;

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Name(self.number()))
    }
}

/// The name of a version by its number on the wire, spoken or not: `1.3`, or the number.
pub struct Name(pub u8);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if (1..=Version::LAST.number()).contains(&n) => write!(f, "1.{}", n - 1),
            n => write!(f, "{n:#04x}"),
        }
    }
}
