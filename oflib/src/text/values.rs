//! The text of numbers, lists, strings, addresses and versions.

use alloc::{format, string::ToString, vec::Vec};
use core::fmt;
use core::str::FromStr;

use crate::ext::ExtValue;
use crate::matching::Match;
use crate::parse_error::ParseError;
use crate::types::{EtherType, Mac};
use crate::version::Version;
use crate::wire::{FixedStr, TextForm};

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl TextForm for $t {
            fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )* };
}
integers!(u8 u16 u32 u64 i32);

/// A value that may lack, as a list of at most one.
impl<T: TextForm> TextForm for Option<T> {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        if let Some(value) = self {
            value.text(f)?;
        }
        f.write_str("]")
    }
}

impl<T: TextForm> TextForm for Vec<T> {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, item) in self.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { "; " })?;
            item.text(f)?;
        }
        f.write_str("]")
    }
}

impl<const N: usize> TextForm for FixedStr<N> {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for Mac {
    type Err = ();
    /// Six hexadecimal bytes with `:` or `-` between them.
    fn from_str(s: &str) -> Result<Self, ()> {
        let mut mac = Self::default();
        let mut parts = s.split([':', '-']);
        for byte in &mut mac.0 {
            let part = parts
                .next()
                .filter(|p| (1..=2).contains(&p.len()))
                .ok_or(())?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| ())?;
        }
        if parts.next().is_none() {
            Ok(mac)
        } else {
            Err(())
        }
    }
}

impl TextForm for Mac {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TextForm for EtherType {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl TextForm for ExtValue {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TextForm for Match {
    fn text(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        crate::text::write_match(self, f)
    }
}

impl FromStr for Version {
    type Err = ParseError;
    /// Reads the name of a version that is offered: `1.3`, or `OpenFlow13` as Open vSwitch has it.
    /// Errors: the names that there are.
    fn from_str(name: &str) -> Result<Self, ParseError> {
        let word = name.to_ascii_lowercase().replace('.', "");
        let number = word.trim_start_matches("openflow");
        let mut names = Vec::new();
        for version in Self::SPOKEN {
            let own = version.to_string().replace('.', "");
            if own == number {
                return Ok(*version);
            }
            names.push(format!("OpenFlow{own}"));
        }
        Err(format!("none of {}", names.join(", ")).into())
    }
}
