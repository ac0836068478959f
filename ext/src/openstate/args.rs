//! The arguments of state machines in texts: tables, transitions, fields and keys.

use alloc::{format, vec::Vec};

use bofuss_oflib::{Catalogue, ParseError};

use super::N_TABLES;
use super::extractor::{Extractor, name_of, parse_key};
use super::table::{Timers, Transition};
use crate::common::args::{Args, parse_number, write_masked};
use crate::common::oxm::header_of;

impl Args<'_> {
    /// Takes the number of a table. Errors: there is no such table.
    pub(crate) fn table(&mut self) -> Result<u8, ParseError> {
        let table: u8 = self.number("table")?;
        if usize::from(table) >= N_TABLES {
            return Err(format!("tables have numbers below {N_TABLES}").into());
        }
        Ok(table)
    }

    /// Takes the parts of a transition, as [`write_transition`] writes them.
    pub(crate) fn transition(&mut self) -> Result<Transition, ParseError> {
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
    pub(crate) fn fields(&mut self, catalogue: &Catalogue) -> Result<Vec<u32>, ParseError> {
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
    pub(crate) fn scope(&mut self, catalogue: &Catalogue) -> Result<Option<Extractor>, ParseError> {
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
    pub(crate) fn key(&mut self, catalogue: &Catalogue) -> Result<Vec<u8>, ParseError> {
        parse_key(self.take("key").unwrap_or(""), catalogue)
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
