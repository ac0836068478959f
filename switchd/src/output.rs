//! Text for the standard output, whose disk may be full.

use std::io::Write;

use crate::error::{Result, context};

/// Prints a text. Errors: the system's.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    printed.map_err(context("standard output"))
}
