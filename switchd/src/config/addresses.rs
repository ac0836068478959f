//! The addresses of controllers, listeners and tools, as they are configured.

use std::fmt;
use std::str::FromStr;

use bofuss_channel::ActiveAddress;

use crate::error::Result;

/// Parses addresses. Errors: the first that is wrong.
pub(super) fn addresses<T: FromStr<Err: fmt::Display>>(
    option: &str,
    list: &[String],
) -> Result<Vec<T>> {
    list.iter()
        .map(|text| {
            text.parse()
                .map_err(|error| format!("{option} {error}").into())
        })
        .collect()
}

/// Parses the addresses of controllers. A controller that is there twice would take the second
/// connection for another switch with the same datapath id.
pub(super) fn controllers(list: &[String]) -> Result<Vec<ActiveAddress>> {
    let all: Vec<ActiveAddress> = addresses("--controller", list)?;
    let mut twice = (1..all.len()).filter(|place| all[..*place].contains(&all[*place]));
    match twice.next() {
        Some(place) => Err(format!("--controller: {} is there twice", all[place]).into()),
        None => Ok(all),
    }
}
