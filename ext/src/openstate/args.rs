//! The arguments of state machines in texts: tables, transitions, fields and keys.

use alloc::{format, vec::Vec};

use bofuss_oflib::{Catalogue, ParseError};

use super::N_TABLES;
use super::extractor::{Extractor, name_of, parse_key};
use super::table::{Timers, Transition};
use crate::common::args::{Args, parse_number, write_masked};
use crate::common::oxm::header_of;

/// Takes the number of a table. Errors: there is no such table.
pub(crate) fn take_table(args: &mut Args<'_>) -> Result<u8, ParseError> {
    let table: u8 = args.number("table")?;
    if usize::from(table) >= N_TABLES {
        return Err(format!("tables have numbers below {N_TABLES}").into());
    }
    Ok(table)
}

/// Takes the parts of a transition, as [`write_transition`] writes them.
pub(crate) fn take_transition(args: &mut Args<'_>) -> Result<Transition, ParseError> {
    let (state, mask) = args.masked("state")?;
    let timers = Timers {
        hard_timeout: args.number("hard_timeout")?,
        idle_timeout: args.number("idle_timeout")?,
        hard_rollback: args.number("hard_rollback")?,
        idle_rollback: args.number("idle_rollback")?,
    };
    Ok(Transition {
        state,
        mask,
        timers,
    })
}

/// Takes a list of fields, as their OXM headers. Errors: a field's name is unknown.
pub(crate) fn take_fields(
    args: &mut Args<'_>,
    catalogue: &Catalogue,
) -> Result<Vec<u32>, ParseError> {
    let text = args.take("fields").unwrap_or("");
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
pub(crate) fn take_scope(
    args: &mut Args<'_>,
    catalogue: &Catalogue,
) -> Result<Option<Extractor>, ParseError> {
    let headers = take_fields(args, catalogue)?;
    if headers.is_empty() {
        return Ok(None);
    }
    let scope = Extractor::new(&headers, catalogue);
    scope
        .map(Some)
        .ok_or_else(|| "the fields are too many for a key".into())
}

/// Takes a key, in hexadecimal or as `(FIELD=VALUE,...)`. Errors: it is neither.
pub(crate) fn take_key(args: &mut Args<'_>, catalogue: &Catalogue) -> Result<Vec<u8>, ParseError> {
    parse_key(args.take("key").unwrap_or(""), catalogue)
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
