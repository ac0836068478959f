//! Plays packet tests in STF, the form that p4c's own are in.
//!
//! A case has commands, one a line: entries are added, packets go in, and packets are expected.
//! What left is compared at the end, on the ports that the case names, in order.

pub(crate) mod command;
mod outcome;
mod player;
pub(crate) mod value;

use alloc::string::String;
use core::fmt;

use crate::program::Program;

pub use outcome::{Difference, Outcome};

/// A line of a case that cannot be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StfError {
    /// From 1 on.
    pub line: usize,
    /// A sentence.
    pub what: String,
}

impl fmt::Display for StfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl core::error::Error for StfError {}

/// Plays a case. Nothing is left of it. Errors: the first line that is no command, or that names
/// what the program has not.
pub fn play(program: Program, case: &str) -> Result<Outcome, StfError> {
    let mut player = player::Player::new(program);
    for (index, text) in case.lines().enumerate() {
        let line = index + 1;
        let at = |what: String| StfError { line, what };
        if let Some(command) = command::parse(text).map_err(at)? {
            player.play(line, command).map_err(at)?;
        }
    }
    Ok(player.finish())
}
