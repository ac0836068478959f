//! `bofuss p4`: runs P4 programs, as p4c compiles them, on test cases and on single packets.

use std::path::{Path, PathBuf};

use bofuss_channel::read_input;
use bofuss_embed::p4::Explained;
use bofuss_p4::{Program, Switch, stf};

use crate::config;
use crate::config::p4::load_entries;
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
    /// Print the tables of a program with their entries: those of the program, and those of a file.
    Entries {
        #[command(flatten)]
        source: Source,
    },
    /// Explain what a program does with a packet: parser states, table hits and near misses, and
    /// the values that decided.
    Trace {
        #[command(flatten)]
        source: Source,
        /// The port at which the packet arrives.
        port: u32,
        /// The packet, in hexadecimal.
        #[arg(required = true, value_name = "HEX")]
        packet: Vec<String>,
    },
}

/// A program and its entries.
#[derive(clap::Args)]
pub struct Source {
    /// The program: the JSON that `p4c-bm2-ss` writes.
    program: PathBuf,
    /// Entries, multicast groups and clone sessions: JSON, in the form of the P4 tutorials' runtime
    /// files.
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
}

impl Source {
    /// The switch that they describe. Errors: what is wrong with them, and where.
    fn switch(&self) -> Result<Switch> {
        let mut switch = Switch::new(load(&self.program)?, 1);
        if let Some(file) = &self.entries {
            load_entries("", file, &mut switch).map_err(Error::into_usage)?;
        }
        Ok(switch)
    }
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
            Self::Entries { source } => print(&source.switch()?.show_entries()),
            Self::Trace {
                source,
                port,
                packet,
            } => {
                let mut switch = source.switch()?;
                let checked = switch
                    .replication()
                    .check_port(*port)
                    .map_err(|error| error.to_string());
                checked.map_err(|error| Error::from(error).into_usage())?;
                let frame = bytes(&packet.concat())?;
                let mut explained = Explained::default();
                switch.receive(*port, &frame, 0, &mut explained);
                print(&explained.0)
            }
        }
    }
}

/// The bytes that digits in hexadecimal are. Errors: other digits, half a byte.
pub fn bytes(digits: &str) -> Result<Vec<u8>> {
    let digits: String = digits.split_whitespace().collect();
    let wrong = || Error::from("a packet is whole bytes in hexadecimal").into_usage();
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let pairs = (0..digits.len()).step_by(2);
    let bytes = pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
    bytes.collect::<Result<_, _>>().map_err(|_| wrong())
}

/// Reads a file of text. Errors: one of the command line.
fn read(file: &Path) -> Result<String> {
    let text = read_input(file).map_err(context(file.display()));
    text.map_err(Error::into_usage)
}

/// Reads a program. Errors: what is wrong with it, and where.
fn load(file: &Path) -> Result<Program> {
    config::p4::load(file).map_err(Error::into_usage)
}

/// Plays a case, and prints what became of it. Returns whether it passes.
fn play(program: &Path, case: &Path) -> Result<bool> {
    let name = case.display();
    let text = read(case)?;
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
