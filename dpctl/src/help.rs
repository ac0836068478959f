//! The texts of `--help` and of the verb `help`: all verbs, or one verb with the meaning of its
//! arguments.

use clap::CommandFactory;

use bofuss_oflib::text::nearest;

use crate::verb::{Made, Requests, SECTIONS, TextStyle, Verb, misused};
use crate::{Cli, Failure};

/// The placeholders in the verbs' arguments, and their meaning. One whose syntax differs between
/// BOFUSS's dpctl and ovs-ofctl has a row for each.
const MEANINGS: &[(&str, Option<TextStyle>, &str)] = &[
    (
        "FLOW",
        None,
        "KEY=VALUE and match fields, separated by commas, then actions=ACTION,... as for ovs-ofctl",
    ),
    (
        "FILE",
        None,
        "one a line; # begins a comment; - is the standard input",
    ),
    (
        "SOURCE",
        None,
        "a switch, or a file: a path that begins with / or ., or has no colon and exists",
    ),
    (
        "GROUP",
        Some(TextStyle::Ofctl),
        "group_id=N,type=all|select|indirect|ff,bucket=ACTION,...,bucket=...",
    ),
    (
        "METER",
        Some(TextStyle::Ofctl),
        "meter=N,kbps|pktps,burst,stats,bands=type=drop|dscp_remark,rate=N,burst_size=N",
    ),
    (
        "MATCH",
        None,
        "FIELD=VALUE,... with OpenFlow's names (docs/reference/fields.md); a mask after /",
    ),
    (
        "INSTRUCTION",
        None,
        "meter:N, apply:ACTIONS, clear, write:ACTIONS, meta:VALUE[/MASK] or goto:TABLE",
    ),
    (
        "ACTIONS",
        Some(TextStyle::Bofuss),
        "output=PORT, group=N, queue=N, set_field=FIELD:VALUE and others, separated by commas",
    ),
    (
        "ACTIONS",
        Some(TextStyle::Ofctl),
        "output:PORT, group:N, set_field:VALUE->FIELD and others, separated by commas",
    ),
    (
        "PORT",
        None,
        "a port's number or name, or a reserved one: local, in_port, controller, all, any",
    ),
    (
        "HEX",
        None,
        "a packet's bytes, two digits each; blanks and colons are ignored",
    ),
];

/// Options that only some verbs have, and these verbs.
const OPTIONS: &[(&str, &[&str], &str)] = &[
    (
        "--strict",
        &["flow-mod", "mod-flows", "del-flows"],
        "match priority and all fields exactly",
    ),
    (
        "--sort[=FIELD], --rsort[=FIELD]",
        &["dump-flows", "stats-flow"],
        "sort by FIELD, or by priority",
    ),
    (
        "--bundle",
        &[
            "add-flow",
            "add-flows",
            "mod-flows",
            "del-flows",
            "replace-flows",
            "add-group",
            "add-groups",
            "mod-group",
            "insert-buckets",
            "remove-buckets",
            "del-groups",
            "add-meter",
            "mod-meter",
            "del-meters",
            "packet-out",
            "flow-mod",
            "group-mod",
            "meter-mod",
        ],
        "change all or nothing, for no packet to meet a part (since OpenFlow 1.3)",
    ),
    (
        "--readd",
        &["replace-flows"],
        "add entries even if the switch has them already",
    ),
    (
        "--html=FILE",
        &["trace"],
        "write a page that shows the packet's path",
    ),
];

/// `help [VERB]`.
pub(crate) fn make(verbs: &[&'static Verb], arguments: &[&str]) -> Made {
    match arguments {
        [] => Ok(Requests::Text(Cli::command().render_help().to_string())),
        [name] => match verbs.iter().find(|verb| verb.name == *name) {
            Some(verb) => Ok(Requests::Text(of_verb(verb))),
            None => Err(Failure::Usage(format!(
                "'{name}' is no verb{} (dpctl --help lists them)",
                nearest_verb(verbs, name)
            ))),
        },
        _ => misused(),
    }
}

/// A suggestion for a word that is no verb, to be appended to an error; empty if none is close.
pub(crate) fn nearest_verb(verbs: &[&'static Verb], word: &str) -> String {
    let near = nearest(word, verbs.iter().map(|verb| verb.name));
    near.map_or(String::new(), |name| format!("; did you mean '{name}'?"))
}

/// The words of the command line; `--help` with a verb becomes `help VERB`, and the verb that the
/// dpctl of the OpenState switch has for states becomes ours.
pub(crate) fn asked(verbs: &[&'static Verb], words: Vec<String>) -> Vec<String> {
    let words = of_openstate(words);
    let asks = words.iter().any(|word| word == "--help" || word == "-h");
    let mut rest = words.iter().skip(1);
    match rest.find(|word| verbs.iter().any(|verb| verb.name == **word)) {
        Some(verb) if asks => vec![words[0].clone(), "help".into(), verb.clone()],
        _ => words,
    }
}

/// Replaces `stats-state -c` by `state_stats`; `-c` is for colours, which ours has none of.
fn of_openstate(mut words: Vec<String>) -> Vec<String> {
    let Some(verb) = words.iter().position(|word| word == "stats-state") else {
        return words;
    };
    words[verb] = "state_stats".into();
    for colours in [verb + 1, words.len() - 1] {
        if colours > verb && words.get(colours).is_some_and(|word| word == "-c") {
            words.remove(colours);
        }
    }
    words
}

/// The list of verbs for `--help`.
pub(crate) fn list(verbs: &[&'static Verb]) -> String {
    let mut text = String::new();
    for (style, title) in SECTIONS {
        text += &format!("{title}:\n");
        for verb in verbs.iter().filter(|verb| verb.style == *style) {
            let call = format!("{} {}", verb.name, verb.arguments);
            text += &match call.len() {
                0..34 => format!("  {call:<34} {}\n", verb.help),
                _ => format!("  {call}\n  {:<34} {}\n", "", verb.help),
            };
        }
        text += "\n";
    }
    text + "dpctl help VERB describes one; docs/dpctl.md has an example of each."
}

/// One verb: its call, what it does, its arguments and its options.
fn of_verb(verb: &Verb) -> String {
    let call = format!("{} {}", verb.name, verb.arguments);
    let usage = call.trim_end();
    let mut text = format!("dpctl [OPTION...] [ADDRESS] {usage}\n\n{}\n", verb.help);
    let words: Vec<&str> = verb
        .arguments
        .split(|c: char| !c.is_ascii_uppercase() && c != '_')
        .collect();
    let meanings = MEANINGS.iter().filter(|(word, style, _)| {
        words.contains(word) && style.is_none_or(|style| style == verb.style)
    });
    text += &section(meanings.map(|(word, _, meaning)| format!("{word:<12} {meaning}")));
    let options = OPTIONS.iter().filter(|row| row.1.contains(&verb.name));
    text += &section(options.map(|(option, _, meaning)| format!("{option}  {meaning}")));
    text + "\ndpctl --help lists the other options and verbs.\n"
}

/// Indented lines after an empty one; nothing without lines.
fn section(lines: impl Iterator<Item = String>) -> String {
    let text: String = lines.map(|line| format!("  {line}\n")).collect();
    if text.is_empty() {
        return text;
    }
    format!("\n{text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs;

    #[test]
    fn help_of_a_verb_is_of_that_verb_alone() {
        for verb in verbs::all() {
            let text = of_verb(verb);
            assert!(text.contains(verb.name) && text.contains(verb.help));
            assert!(text.lines().count() < 16, "{text}");
        }
        let text = of_verb(verbs::named("flow-mod").expect("it is a verb"));
        for part in ["MATCH ", "INSTRUCTION ", "--strict"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn help_is_asked_for_by_option_or_verb() {
        let words = |line: &str| line.split(' ').map(str::to_string).collect::<Vec<_>>();
        for line in [
            "dpctl show --help",
            "dpctl -h s1 show",
            "dpctl show -O OpenFlow13 -h",
        ] {
            assert_eq!(
                asked(&verbs::list(), words(line)),
                words("dpctl help show"),
                "{line}"
            );
        }
        for line in ["dpctl --help", "dpctl show", "dpctl help show"] {
            assert_eq!(asked(&verbs::list(), words(line)), words(line));
        }
    }

    #[test]
    fn each_row_is_used() {
        for (word, style, _) in MEANINGS {
            let uses = |verb: &&Verb| {
                let is_style = style.is_none_or(|style| style == verb.style);
                is_style && verb.arguments.contains(word)
            };
            assert!(verbs::all().any(|verb| uses(&verb)), "{word}");
        }
        for (option, of, _) in OPTIONS {
            assert!(
                of.iter().all(|name| verbs::named(name).is_some()),
                "{option}"
            );
        }
    }
}
