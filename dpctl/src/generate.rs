//! Shell completions and the manual page, generated from the definitions of the command line.

use std::io::Write;

use clap::{CommandFactory, ValueEnum};
use clap_mangen::Man;

use crate::verb::{SECTIONS, Verb};
use crate::{Cli, verbs};

/// The texts that can be printed.
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

/// The completions: on each request, the shell calls `dpctl --complete` with the line up to the
/// cursor.
const BASH: &str = r#"_dpctl() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("$1" --complete "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    # If there were only one candidate, readline would close the quotes around a flow that goes on.
    if [[ ${#COMPREPLY[@]} = 1 && $COMPREPLY != *' ' ]]; then
        COMPREPLY+=("$COMPREPLY...")
    fi
}
complete -o nospace -o bashdefault -o default -F _dpctl dpctl
"#;
const ZSH: &str = r#"#compdef dpctl
_dpctl() {
    local -a lines names shown end
    lines=("${(@f)$("$words[1]" --complete "${words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}")
    if [[ -z $lines ]]; then
        _files
        return
    fi
    [[ $lines[1] == *' '$'\t'* ]] || end=(-S '')
    names=("${(@)${(@)lines%%$'\t'*}% }")
    shown=("${(@)lines/$'\t'/  }")
    compadd "$end[@]" -l -d shown -a names
}
[[ $funcstack[1] == _dpctl ]] && _dpctl || compdef _dpctl dpctl
"#;
const FISH: &str = r#"function __dpctl
    dpctl --complete (commandline -cp | string collect) 2>/dev/null | string replace ' '\t \t
end
complete -c dpctl -f -a '(__dpctl)'
complete -c dpctl -n 'test -z "$(__dpctl)"' -F
"#;

/// Prints one of them.
pub(crate) fn print(what: Generate) {
    crate::say(match what {
        Generate::Bash => BASH.into(),
        Generate::Zsh => ZSH.into(),
        Generate::Fish => FISH.into(),
        Generate::Man => {
            let mut page = Vec::new();
            manual(Cli::command(), &mut page).expect("a vector takes everything");
            String::from_utf8(page).expect("it is text")
        }
        Generate::Verbs => verbs(),
    });
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
        for verb in verbs::all().filter(|verb| verb.style == *style) {
            let name = escaped(verb.name);
            let arguments = escaped(verb.arguments);
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

/// A text with its hyphens escaped, so that roff breaks no word at them.
fn escaped(text: &str) -> String {
    text.replace('-', "\\-")
}

/// The verbs: section, name, arguments and help of each, separated by tabs.
fn verbs() -> String {
    verbs::all().map(line).collect()
}

fn line(verb: &Verb) -> String {
    let section = SECTIONS.iter().find(|row| row.0 == verb.style);
    let title = section.expect("every style has a section").1;
    let name = verb.name;
    let arguments = verb.arguments;
    let help = verb.help;
    format!("{title}\t{name}\t{arguments}\t{help}\n")
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
        for verb in verbs::all() {
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
