//! Shell completions and manual pages, generated from the definitions of the command line.

use std::io::{self, Write};

use clap::{Arg, ArgAction, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::config::OF_ALL;
use crate::control::COMMANDS;
use crate::front::{ofdatapath, ofprotocol};
use crate::reload::{KEYS, ReloadEffect};

/// The texts that can be printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Generate {
    /// Completions for bash.
    Bash,
    /// Completions for zsh.
    Zsh,
    /// Completions for fish.
    Fish,
    /// The manual page bofuss(8).
    Man,
    /// The manual page bofuss.toml(5).
    ManToml,
    /// The manual page ofdatapath(8).
    ManOfdatapath,
    /// The manual page ofprotocol(8).
    ManOfprotocol,
}

/// Prints one of these to `out`; `command` is the whole command line.
pub fn print(what: Generate, mut command: Command, out: &mut dyn Write) -> io::Result<()> {
    let shell = match what {
        Generate::Bash => Shell::Bash,
        Generate::Zsh => Shell::Zsh,
        Generate::Fish => Shell::Fish,
        Generate::Man => return manual(&command, out),
        Generate::ManToml => return toml_manual(&command, out),
        Generate::ManOfdatapath => {
            return Man::new(ofdatapath::OfdatapathCli::command())
                .section("8")
                .render(out);
        }
        Generate::ManOfprotocol => {
            return Man::new(ofprotocol::OfprotocolCli::command())
                .section("8")
                .render(out);
        }
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "bofuss", &mut text);
    out.write_all(&text)
}

fn manual(command: &Command, mut out: &mut dyn Write) -> io::Result<()> {
    let page = Man::new(command.clone()).section("8");
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    page.render_synopsis_section(&mut out)?;
    page.render_description_section(&mut out)?;
    page.render_options_section(&mut out)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(
            out,
            ".SH \"BOFUSS {}\"\n{}",
            sub.get_name().to_uppercase(),
            escaped(&about)
        )?;
        for arg in sub.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let short = arg.get_short().map(|short| format!("-{short}, "));
            let long = arg.get_long().map(|long| format!("--{long} "));
            let name = short.unwrap_or_default() + &long.unwrap_or_default();
            let help = help(arg) + &default(arg);
            entry(out, &name, &values(arg).join(" "), &help)?;
        }
        if sub.get_name() == "ctl" {
            for (name, argument, meaning) in COMMANDS {
                entry(out, &format!("bofuss ctl [NAME] {name}"), argument, meaning)?;
            }
        }
    }
    writeln!(out, ".SH \"SEE ALSO\"\nbofuss.toml(5), dpctl(8)")
}

/// The keys of the configuration file: the options of `bofuss run`, and the log level.
pub fn keys(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let subs = command.get_subcommands();
    let run = subs.filter(|sub| sub.get_name() == "run");
    let own = run.flat_map(Command::get_arguments);
    let log = command.get_arguments().filter(|arg| arg.get_id() == "log");
    let named = own
        .chain(log)
        .filter_map(|arg| Some((arg.get_long()?, arg)));
    named.filter(|(key, arg)| {
        let is_own = !arg.is_global_set() || *key == "log";
        is_own && *key != "help" && !NOT_IN_FILES.contains(key)
    })
}

/// Options of the command line that are no keys of the file.
const NOT_IN_FILES: [&str; 2] = ["config", "replace"];

/// The examples of a configuration file: one switch, and two.
const ONE: &str = r#"name = "s1"
port = ["1=veth1", "2=veth2"]
controller = ["tcp:127.0.0.1:6653"]
"#;
const TWO: &str = r#"controller = ["tcp:127.0.0.1:6653"]

[[switch]]
name = "s1"
port = ["veth1"]

[[switch]]
name = "s2"
port = ["veth2"]
"#;

fn toml_manual(command: &Command, mut out: &mut dyn Write) -> io::Result<()> {
    let name = "bofuss.toml";
    let described = Command::new(name).about("the configuration of a bofuss switch");
    let page = Man::new(described).title("BOFUSS.TOML").section("5");
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    let about = "A file of TOML, read by bofuss run --config FILE and again by bofuss reload. Each \
        key is an option of bofuss run; options of the command line count before it. The last \
        line of a key says what reload does when it has changed; reload applies all of the file, \
        or nothing.";
    let of_all = OF_ALL.join(", ");
    let several = format!(
        "A file may have several switches, which run in one process: each table [[switch]] has \
         the keys of one, and keys before the first are for all. Each has a name, ports, \
         connections and a thread of its own. Keys of the process, which must be before the \
         first, are {of_all}. \
         Reload starts new switches and ends those that were removed."
    );
    let text = [escaped(about), escaped(&several)].join("\n.PP\n");
    writeln!(out, ".SH DESCRIPTION\n{text}\n.SH KEYS")?;
    for (key, arg) in keys(command) {
        let action = arg.get_action();
        let kind = if matches!(action, ArgAction::Append) {
            format!("= [\"{}\", ...]", values(arg).join(" "))
        } else if matches!(action, ArgAction::SetTrue) {
            "= true".into()
        } else {
            format!("= {}", values(arg).join(" "))
        };
        // The brackets of a list say already that it may have more values.
        entry(out, key, &kind, &help(arg).replace(". Repeat for more", ""))?;
        let row = KEYS.iter().find(|row| row.0 == key);
        match row.expect("each key has a row").1 {
            ReloadEffect::Follows(how) => writeln!(out, ".br\n{}", escaped(how))?,
            ReloadEffect::Refuses(why) => writeln!(out, ".br\nReload refuses a change: {why}.")?,
        }
    }
    writeln!(
        out,
        ".SH EXAMPLE\n.nf\n{ONE}.fi\n.PP\nTwo switches:\n.PP\n.nf\n{TWO}.fi"
    )?;
    writeln!(out, ".SH \"SEE ALSO\"\nbofuss(8), dpctl(8)")
}

/// The names of an option's values.
fn values(arg: &Arg) -> Vec<String> {
    let names = arg.get_value_names().unwrap_or_default();
    if !arg.get_action().takes_values() {
        return Vec::new();
    }
    if names.is_empty() {
        return vec![arg.get_id().as_str().to_uppercase()];
    }
    names.iter().map(ToString::to_string).collect()
}

fn help(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    help.map(ToString::to_string).unwrap_or_default()
}

fn default(arg: &Arg) -> String {
    let value = arg
        .get_default_values()
        .first()
        .filter(|_| arg.get_action().takes_values());
    value.map_or(String::new(), |value| {
        format!(" [default: {}]", value.display())
    })
}

fn entry(out: &mut dyn Write, name: &str, values: &str, help: &str) -> io::Result<()> {
    let name = escaped(name);
    let values = escaped(values);
    writeln!(out, ".TP\n\\fB{name}\\fR {values}\n{}", escaped(help))
}

/// Escapes what roff would interpret.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    text.replace("\n.", "\n\\&.").replace("\n'", "\n\\&'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_name_every_option_and_key() {
        let print = |what| {
            let mut page = Vec::new();
            print(what, crate::Cli::command(), &mut page).expect("a vector takes everything");
            String::from_utf8(page)
                .expect("it is text")
                .replace('\\', "")
        };
        let (man, toml) = (print(Generate::Man), print(Generate::ManToml));
        let command = crate::Cli::command();
        let run = command.find_subcommand("run").expect("there is one");
        for long in run.get_arguments().filter_map(Arg::get_long) {
            assert!(man.contains(&format!("--{long}")), "{long}");
            assert!(
                NOT_IN_FILES.contains(&long) || toml.contains(&format!("fB{long}fR")),
                "{long}"
            );
        }
        assert!(print(Generate::Bash).contains("--fail-mode"));
    }
}
