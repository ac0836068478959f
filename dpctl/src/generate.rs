//! Shell completions and the manual page, from the definitions that the command line is read by.

use std::io::Write;

use clap::builder::PossibleValuesParser;
use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::Cli;
use crate::verbs::{Style, VERBS, Verb};

/// What can be printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Generate {
    /// Completions for bash.
    Bash,
    /// Completions for zsh.
    Zsh,
    /// Completions for fish.
    Fish,
    /// The manual page dpctl(8).
    Man,
    /// The verbs, for docs/dpctl.md.
    Verbs,
}

/// Prints it.
pub(crate) fn print(what: Generate) {
    let mut out = Vec::new();
    let mut command = Cli::command();
    let names = VERBS.iter().map(|verb| verb.name);
    let with_verbs = |command: clap::Command| {
        command.mut_arg("words", |words| {
            words.value_parser(PossibleValuesParser::new(names))
        })
    };
    let shell = match what {
        Generate::Bash => Some(Shell::Bash),
        Generate::Zsh => Some(Shell::Zsh),
        Generate::Fish => Some(Shell::Fish),
        Generate::Man => {
            manual(command.clone(), &mut out).expect("a vector takes everything");
            None
        }
        Generate::Verbs => {
            out = verbs().into_bytes();
            None
        }
    };
    if let Some(shell) = shell {
        command = with_verbs(command);
        clap_complete::generate(shell, &mut command, "dpctl", &mut out);
    }
    crate::say(String::from_utf8_lossy(&out));
}

fn manual(command: clap::Command, out: &mut Vec<u8>) -> std::io::Result<()> {
    let page = Man::new(command.after_help("")).section("8");
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_description_section(out)?;
    page.render_options_section(out)?;
    for (style, title) in SECTIONS {
        writeln!(out, ".SH \"{}\"", title.to_uppercase())?;
        for verb in VERBS.iter().filter(|verb| verb.style == *style) {
            let escaped = |text: &str| text.replace('-', "\\-");
            let (name, arguments) = (escaped(verb.name), escaped(verb.arguments));
            writeln!(
                out,
                ".TP\n\\fB{name}\\fR {arguments}\n{}",
                escaped(verb.help)
            )?;
        }
    }
    writeln!(
        out,
        ".SH \"SEE ALSO\"\nbofuss(8), bofuss.toml(5), ovs\\-ofctl(8)"
    )
}

/// The titles that verbs stand under.
pub(crate) const SECTIONS: &[(Style, &str)] = &[
    (Style::Bofuss, "Verbs of BOFUSS's dpctl"),
    (Style::Ofctl, "Verbs of ovs-ofctl"),
    (Style::Own, "Further verbs"),
];

/// The verbs: section, name, arguments and help of each, with tabs between them.
fn verbs() -> String {
    let line = |verb: &Verb| {
        let section = SECTIONS.iter().find(|row| row.0 == verb.style);
        let title = section.expect("every style has a section").1;
        let (name, arguments, help) = (verb.name, verb.arguments, verb.help);
        format!("{title}\t{name}\t{arguments}\t{help}\n")
    };
    VERBS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_names_every_verb_and_option() {
        let mut page = Vec::new();
        manual(Cli::command(), &mut page).expect("a vector takes everything");
        let page = String::from_utf8(page)
            .expect("it is text")
            .replace('\\', "");
        for verb in VERBS {
            assert!(
                page.contains(&format!("fB{}fR", verb.name)),
                "{}",
                verb.name
            );
        }
        for option in ["--json", "--protocols", "--strict", "--xid"] {
            assert!(page.contains(option), "{option}");
        }
    }
}
