//! Any text is a case of packet tests that can be played, or an error that names a line of it.

use bofuss_p4::{Program, stf};

/// A program with all kinds of matches.
const PROGRAM: &[u8] = include_bytes!("../../testdata/p4/matches/matches.json");

/// Panics: if the reader or the player breaks its word.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let program = Program::load(PROGRAM).expect("p4c wrote it");
    match stf::play(program, text) {
        Ok(outcome) => assert!(outcome.received <= text.lines().count()),
        Err(error) => assert!((1..=text.lines().count()).contains(&error.line)),
    }
}
