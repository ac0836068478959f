//! Parses words of a command line: lists, numbers and names, with errors that point at the wrong
//! part.

use bofuss_oflib::text::{find_port, items, nearest, number};
use bofuss_oflib::{Catalogue, PortNo};

use crate::Failure;

/// An argument of a verb. Its parts are slices of it, so that an error can report their position.
#[derive(Clone, Copy)]
pub(crate) struct Argument<'a>(pub(crate) &'a str);

impl<'a> Argument<'a> {
    /// The error `message` about a part of the argument, which must be a slice of it.
    pub(crate) fn wrong(self, part: &str, message: &str) -> Failure {
        let at = (part.as_ptr() as usize).wrapping_sub(self.0.as_ptr() as usize);
        let whole = self.0;
        match part {
            "" => Failure::Usage(format!("'{whole}': {message}")),
            _ if at == 0 && part == whole => Failure::Usage(format!("'{part}': {message}")),
            _ => {
                let before = whole.get(..at).unwrap_or_default();
                let at = 1 + before.chars().count();
                let said = format!("'{part}' (at character {at} of '{whole}'): {message}");
                Failure::Usage(said)
            }
        }
    }

    /// The error for a name that is not in `known`, with the nearest known one.
    pub(crate) fn unknown(self, part: &str, what: &str, known: &[&str]) -> Failure {
        match nearest(part, known.iter().copied()) {
            Some(near) => self.wrong(part, &format!("no such {what}; did you mean '{near}'?")),
            None => self.wrong(part, &format!("no such {what}: {}", known.join(", "))),
        }
    }

    /// The parts between commas; commas in quotes do not count, and empty parts are left out.
    pub(crate) fn items(self) -> impl Iterator<Item = &'a str> {
        items(self.0)
    }

    /// `key=value` pairs, each key one of `known`.
    pub(crate) fn pairs(self, known: &[&str]) -> Result<Vec<(&'a str, &'a str)>, Failure> {
        self.items().map(|item| self.pair(item, known)).collect()
    }

    fn pair(self, item: &'a str, known: &[&str]) -> Result<(&'a str, &'a str), Failure> {
        match item.split_once('=') {
            Some((key, _)) if !known.contains(&key) => Err(self.unknown(key, "key", known)),
            Some((key, value)) if !value.is_empty() => Ok((key, value)),
            _ if known.contains(&item.trim_end_matches('=')) => {
                Err(self.wrong(item, "a value is missing: write KEY=VALUE"))
            }
            _ => Err(self.unknown(item, "key", known)),
        }
    }

    /// A number, decimal or hexadecimal with `0x`.
    pub(crate) fn number<T: TryFrom<u64>>(self, part: &str) -> Result<T, Failure> {
        let value = number(part).and_then(|n| T::try_from(n).ok());
        let max = u64::MAX >> (64 - 8 * size_of::<T>());
        value.ok_or_else(|| self.wrong(part, &format!("no number from 0 to {max}")))
    }

    /// A number, or the value of one of `names`.
    pub(crate) fn named<T: TryFrom<u64> + Copy>(
        self,
        part: &str,
        names: &[(&str, T)],
    ) -> Result<T, Failure> {
        match names.iter().find(|(name, _)| *name == part) {
            Some((_, value)) => Ok(*value),
            None if part.starts_with(|c: char| c.is_ascii_digit()) => self.number(part),
            None => {
                let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
                Err(match nearest(part, names.iter().copied()) {
                    Some(_) => self.unknown(part, "name", &names),
                    None => self.wrong(part, &format!("no number, and not {}", names.join(", "))),
                })
            }
        }
    }

    /// A port by its number or name. The original dpctl calls the controller `ctrl`.
    pub(crate) fn port(self, part: &str, catalogue: &Catalogue) -> Result<PortNo, Failure> {
        let names: Vec<_> = PORTS.iter().map(|(name, port)| (*name, port.0)).collect();
        if catalogue.ports().is_empty() || names.iter().any(|row| row.0 == part) {
            return self.named(part, &names).map(PortNo);
        }
        find_port(part, catalogue).map_err(|error| self.wrong(part, &error.message))
    }
}

/// The names of reserved ports. If a port has two, the first is printed, as by the original dpctl.
pub(crate) const PORTS: &[(&str, PortNo)] = &[
    ("in_port", PortNo::IN_PORT),
    ("table", PortNo::TABLE),
    ("normal", PortNo::NORMAL),
    ("flood", PortNo::FLOOD),
    ("all", PortNo::ALL),
    ("ctrl", PortNo::CONTROLLER),
    ("local", PortNo::LOCAL),
    ("any", PortNo::ANY),
    ("controller", PortNo::CONTROLLER),
];

/// A number of 32 bits, decimal or hexadecimal with 0x.
pub(crate) fn xid(text: &str) -> Result<u32, Failure> {
    let number = number(text).and_then(|n| n.try_into().ok());
    number.ok_or_else(|| Failure::Usage("no number of 32 bits".into()))
}
