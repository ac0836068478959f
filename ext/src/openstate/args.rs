//! The arguments in texts of messages and actions: `name=value`, with commas between them.

use alloc::{format, string::String, vec::Vec};

use bofuss_oflib::Catalogue;
use bofuss_oflib::text::{items, number};

use super::N_TABLES;
use super::extractor::{Extractor, header_of, name_of, parse_key};
use super::table::{Timers, Transition};

/// The arguments of a text that have not been taken yet, by name and value.
pub(crate) struct Args<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Args<'a> {
    /// Splits a text. A word without `=` has an empty value.
    pub(crate) fn new(text: &'a str) -> Self {
        Self(
            items(text)
                .map(|part| part.split_once('=').unwrap_or((part, "")))
                .collect(),
        )
    }

    /// Takes the value of a name, if it is there.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'a str> {
        let index = self.0.iter().position(|(other, _)| *other == name)?;
        Some(self.0.remove(index).1)
    }

    /// Takes a number; 0 if it is not there. Errors: the value is not a number, or too large.
    pub(crate) fn number<T: TryFrom<u64>>(&mut self, name: &str) -> Result<T, String> {
        let text = self.take(name).unwrap_or("0");
        parse_number(text)
    }

    /// Takes a number and the mask that may follow a slash; without one, the mask is all ones.
    pub(crate) fn masked(&mut self, name: &str) -> Result<(u32, u32), String> {
        let text = self.take(name).unwrap_or("0");
        match text.split_once('/') {
            Some((value, mask)) => Ok((parse_number(value)?, parse_number(mask)?)),
            None => Ok((parse_number(text)?, u32::MAX)),
        }
    }

    /// Takes the number of a table. Errors: there is no such table.
    pub(crate) fn table(&mut self) -> Result<u8, String> {
        let table: u8 = self.number("table")?;
        if usize::from(table) >= N_TABLES {
            return Err(format!("tables have numbers below {N_TABLES}"));
        }
        Ok(table)
    }

    /// Takes the parts of a transition, as [`write_transition`] writes them.
    pub(crate) fn transition(&mut self) -> Result<Transition, String> {
        let (state, mask) = self.masked("state")?;
        let timers = Timers {
            hard_timeout: self.number("hard_timeout")?,
            idle_timeout: self.number("idle_timeout")?,
            hard_rollback: self.number("hard_rollback")?,
            idle_rollback: self.number("idle_rollback")?,
        };
        Ok(Transition {
            state,
            mask,
            timers,
        })
    }

    /// Takes a list of fields, as their OXM headers. Errors: a field's name is unknown.
    pub(crate) fn fields(&mut self, catalogue: &Catalogue) -> Result<Vec<u32>, String> {
        let text = self.take("fields").unwrap_or("");
        let mut headers = Vec::new();
        for name in text.split('+').filter(|name| !name.is_empty()) {
            headers.push(match catalogue.field_named(name) {
                Some(field) => header_of(field),
                None => parse_number(name).map_err(|_| format!("there is no field '{name}'"))?,
            });
        }
        Ok(headers)
    }

    /// Takes a list of fields as an action's own scope, if there is one. Errors: a field's name is
    /// unknown, or the fields are too many.
    pub(crate) fn scope(&mut self, catalogue: &Catalogue) -> Result<Option<Extractor>, String> {
        let headers = self.fields(catalogue)?;
        if headers.is_empty() {
            return Ok(None);
        }
        let scope = Extractor::new(&headers, catalogue);
        scope
            .map(Some)
            .ok_or_else(|| "the fields are too many for a key".into())
    }

    /// Takes a key, in hexadecimal or as `(FIELD=VALUE,...)`. Errors: it is neither.
    pub(crate) fn key(&mut self, catalogue: &Catalogue) -> Result<Vec<u8>, String> {
        parse_key(self.take("key").unwrap_or(""), catalogue)
    }

    /// Checks that everything was taken. Errors: a name that was not.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.0.first() {
            Some((name, _)) => Err(format!("'{name}' does not belong here")),
            None => Ok(()),
        }
    }
}

fn parse_number<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let value = number(text).and_then(|value| value.try_into().ok());
    value.ok_or_else(|| format!("'{text}' is not a number in range"))
}

/// Writes a number, and its mask unless that is all ones.
pub(crate) fn write_masked(
    f: &mut core::fmt::Formatter<'_>,
    name: &str,
    value: u32,
    mask: u32,
) -> core::fmt::Result {
    match mask {
        u32::MAX => write!(f, "{name}={value}"),
        mask => write!(f, "{name}={value}/{mask:#x}"),
    }
}

/// Writes the state of a transition and the timers that it has.
pub(crate) fn write_transition(
    f: &mut core::fmt::Formatter<'_>,
    transition: &Transition,
) -> core::fmt::Result {
    write_masked(f, "state", transition.state, transition.mask)?;
    write_timers(f, &transition.timers)
}

/// Writes the timers that are not 0, each after a comma.
pub(super) fn write_timers(f: &mut core::fmt::Formatter<'_>, timers: &Timers) -> core::fmt::Result {
    for (name, value) in [
        ("hard_timeout", timers.hard_timeout),
        ("hard_rollback", timers.hard_rollback),
        ("idle_timeout", timers.idle_timeout),
        ("idle_rollback", timers.idle_rollback),
    ] {
        if value != 0 {
            write!(f, ",{name}={value}")?;
        }
    }
    Ok(())
}

/// Writes a list of fields by their names, with `+` between them.
pub(crate) fn write_fields(f: &mut core::fmt::Formatter<'_>, headers: &[u32]) -> core::fmt::Result {
    for (i, header) in headers.iter().enumerate() {
        let plus = if i == 0 { "" } else { "+" };
        match name_of(*header) {
            Some(name) => write!(f, "{plus}{name}")?,
            None => write!(f, "{plus}{header:#x}")?,
        }
    }
    Ok(())
}

/// Writes the variables of a flow or a table, with `+` between them.
pub(crate) fn write_variables(
    f: &mut core::fmt::Formatter<'_>,
    variables: &[u32],
) -> core::fmt::Result {
    f.write_str("variables=")?;
    for (i, variable) in variables.iter().enumerate() {
        write!(f, "{}{variable}", if i == 0 { "" } else { "+" })?;
    }
    Ok(())
}
