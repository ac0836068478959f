//! `bofuss p4`: runs P4 programs, as p4c compiles them, on test cases.

use std::path::{Path, PathBuf};

use bofuss_channel::read_input;
use bofuss_p4::{Program, stf};

use crate::error::{Error, Result, context};
use crate::output::print;

/// The commands for P4 programs.
#[derive(clap::Subcommand)]
pub enum P4Command {
    /// Play packet tests in STF, and say what differs: with exit code 1 if a case fails, with 2 if
    /// the program or a case cannot be read.
    Stf {
        /// The program: the JSON that `p4c-bm2-ss` writes.
        program: PathBuf,
        /// The cases, each on a switch of its own.
        #[arg(required = true, value_name = "CASE")]
        cases: Vec<PathBuf>,
    },
}

impl P4Command {
    /// Runs the command. Errors: a sentence for the user, also if a case fails.
    pub fn run(&self) -> Result<()> {
        match self {
            Self::Stf { program, cases } => {
                let mut failed = 0;
                for case in cases {
                    failed += usize::from(!play(program, case)?);
                }
                match failed {
                    0 => Ok(()),
                    _ => Err(format!("{failed} of {} cases failed", cases.len()).into()),
                }
            }
        }
    }
}

/// Reads a program. Errors: what is wrong with it, and where.
fn load(file: &Path) -> Result<Program> {
    let name = file.display();
    let text = read_input(file).map_err(context(&name))?;
    let program = Program::load(text.as_bytes());
    let program = program.map_err(|error| context(&name)(error.to_string()));
    program.map_err(Error::into_usage)
}

/// Plays a case, and prints what became of it. Returns whether it passes.
fn play(program: &Path, case: &Path) -> Result<bool> {
    let name = case.display();
    let text = read_input(case).map_err(context(&name))?;
    let played = stf::play(load(program)?, &text);
    let outcome = played.map_err(|error| context(&name)(error.to_string()).into_usage())?;
    let mut lines = String::new();
    for text in &outcome.log {
        lines.push_str(&format!("log: {text}\n"));
    }
    for (line, why) in &outcome.refused {
        lines.push_str(&format!(
            "{name}, line {line}: refused, and ignored: {why}\n"
        ));
    }
    for difference in &outcome.differences {
        match difference.line {
            Some(line) => lines.push_str(&format!("{name}, line {line}: ")),
            None => lines.push_str(&format!("{name}: ")),
        }
        lines.push_str(&format!("{}\n", difference.what));
    }
    let passes = outcome.differences.is_empty();
    let verdict = if passes { "passes" } else { "fails" };
    let (received, sent) = (outcome.received, outcome.sent);
    lines.push_str(&format!(
        "{name}: {verdict} ({received} packets in, {sent} out)\n"
    ));
    print(&lines)?;
    Ok(passes)
}
