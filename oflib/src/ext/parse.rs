//! Reads the text of experimenters' values.

use alloc::{format, vec::Vec};

use super::{ExtRow, ExtValue, MAX_NESTED};
use crate::catalogue::Catalogue;
use crate::parse_error::ParseError;
use crate::text::number;
use crate::wire::Bytes;

impl ExtValue {
    /// Reads what is between the parentheses of a text.
    ///
    /// Errors: which argument is missing, unknown or out of range, or what the body's type finds.
    pub fn parse(
        row: &'static ExtRow,
        text: &str,
        catalogue: &Catalogue,
    ) -> Result<Self, ParseError> {
        let Some(body) = row.body else {
            return parse_numbers(row, text);
        };
        if nesting(text) >= MAX_NESTED.into() {
            return Err(format!("more than {MAX_NESTED} parentheses within each other").into());
        }
        Ok(Self::with_body(row, (body.parse)(text, catalogue)?))
    }
}

/// Reads the arguments of a row of numbers: `a=1,b=2`; what is not named is 0.
fn parse_numbers(row: &'static ExtRow, text: &str) -> Result<ExtValue, ParseError> {
    let mut given: Vec<(&str, &str)> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("'{part}' is not key=value"))?;
        if !row.args.iter().any(|arg| arg.name == key) {
            return Err(format!("{} has no argument '{key}'", row.name).into());
        }
        given.push((key, value));
    }
    let mut args = Vec::new();
    for arg in row.args {
        let text = given
            .iter()
            .find(|(key, _)| *key == arg.name)
            .map_or("0", |(_, v)| v);
        let max = u64::MAX >> (64 - 8 * u32::from(arg.bytes));
        let value = number(text).filter(|n| *n <= max);
        args.push(value.ok_or_else(|| format!("'{text}' is no number up to {max}"))?);
    }
    Ok(ExtValue::new(row, args, Bytes::default()))
}

/// The depth to which the parentheses of a text are nested.
fn nesting(text: &str) -> usize {
    let mut open = 0usize;
    let mut most = 0;
    for byte in text.bytes() {
        match byte {
            b'(' => open += 1,
            b')' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}
