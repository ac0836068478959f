//! The manual page and the shell completions, generated from the definitions of the command line.

use std::io::{self, Write};

use clap::{Arg, Command, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cases::CASES;

/// The texts that can be printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Generate {
    /// Completions for bash.
    Bash,
    /// Completions for zsh.
    Zsh,
    /// Completions for fish.
    Fish,
    /// The manual page ofmeter(8).
    Man,
}

/// Prints one; `command` is the whole command line.
///
/// Errors: those of `out`.
pub fn print(what: Generate, mut command: Command, out: &mut dyn Write) -> io::Result<()> {
    let shell = match what {
        Generate::Bash => Shell::Bash,
        Generate::Zsh => Shell::Zsh,
        Generate::Fish => Shell::Fish,
        Generate::Man => return manual(&command, out),
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "ofmeter", &mut text);
    out.write_all(&text)
}

/// Text of a manual page: no line of it is a request, no character a command.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    let quoted = text.strip_prefix(['.', '\'']).map(|_| format!("\\&{text}"));
    quoted.unwrap_or(text)
}

fn manual(command: &Command, mut out: &mut dyn Write) -> io::Result<()> {
    let page = Man::new(command.clone()).section("8");
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    page.render_synopsis_section(&mut out)?;
    page.render_description_section(&mut out)?;
    for sub in command.get_subcommands() {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let name = sub.get_name().to_uppercase();
        writeln!(out, ".SH \"OFMETER {name}\"\n{}", escaped(&about))?;
        for argument in sub.get_arguments() {
            entry(out, argument)?;
        }
    }
    writeln!(out, ".SH CASES")?;
    for case in CASES {
        let meaning = escaped(&format!("{}; after {}", case.title, case.source));
        writeln!(out, ".TP\n\\fB{}\\fR\n{meaning}", escaped(case.name))?;
    }
    Ok(())
}

/// One argument with its values and its help.
fn entry(out: &mut dyn Write, argument: &Arg) -> io::Result<()> {
    let long = argument.get_long().map(|long| format!("--{long}"));
    let values: Vec<String> = argument
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect();
    let takes = argument.get_action().takes_values();
    let values = if takes {
        values.join(" ")
    } else {
        String::new()
    };
    let help = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let name = escaped(&long.unwrap_or_default());
    let values = escaped(&values);
    writeln!(
        out,
        ".TP\n\\fB{name}\\fR \\fI{values}\\fR\n{}",
        escaped(&help)
    )
}
