//! Shell completion: lists the words that may replace the last word of a command line.

use bofuss_oflib::text::{KEYWORDS, PROPERTIES, action_names, match_names, parse_instructions};
use bofuss_oflib::wire::OneLine;
use bofuss_oflib::{Catalogue, Match};
use clap::{CommandFactory, Parser};

use crate::verb::{Command, Verb};
use crate::verbs::named;
use crate::{Cli, find, verbs};

/// The time to wait for the ports of a switch, in seconds. It is short because a user is waiting.
const PORTS_SECONDS: &str = "1";
/// Words in a verb's usage that stand for a flow or a part of one.
const FLOWS: &[&str] = &["FLOW", "MATCH", "GROUP", "ACTIONS", "PACKET"];
/// Keys and actions whose value is a port.
const PORT_KEYS: &[&str] = &[
    "in_port",
    "in_phy_port",
    "out_port",
    "watch_port",
    "output",
    "enqueue",
];
/// Keys after which actions follow.
const ACTION_KEYS: &[&str] = &["actions=", "action=", "instructions=", "bucket="];

/// A word that may be completed to, and its meaning.
struct Candidate {
    word: String,
    /// True if the word ends here, so that the shell adds a blank.
    is_whole: bool,
    help: String,
}

impl Candidate {
    fn whole(word: &str, help: &str) -> Self {
        Self {
            word: word.into(),
            is_whole: true,
            help: help.into(),
        }
    }

    fn part(word: String) -> Self {
        Self {
            word,
            is_whole: false,
            help: String::new(),
        }
    }
}

/// The candidates for the last word of a command line, which ends at the cursor: one per line,
/// `WORD<Tab>HELP`, with a blank after WORD if the word is complete. `tail` is the part that the
/// shell will replace: for bash a word begins after each `=` and `:`.
pub(crate) async fn lines(line: &str, tail: Option<&str>) -> String {
    let words = words(line);
    let (word, before) = words.split_last().expect("there is one, perhaps empty");
    let mut candidates = candidates(before, word).await;
    candidates.retain(|one| one.word.starts_with(word));
    candidates.sort_by(|a, b| a.word.cmp(&b.word));
    candidates.dedup_by(|a, b| a.word == b.word);
    let tail = tail.unwrap_or(word);
    if !word.ends_with(tail) {
        // The user escaped characters outside of quotes, so the shell's text is not ours.
        return String::new();
    }
    let skipped = word.len() - tail.len();
    let mut text = String::new();
    for one in candidates {
        let blank = if one.is_whole { " " } else { "" };
        text += &format!("{}{blank}\t{}\n", &one.word[skipped..], one.help);
    }
    text
}

/// The words of a line after the program's name, without their quotes; the last may be empty.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '\\') => {}
            (None, ' ') if words.last().is_some_and(String::is_empty) => {}
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().expect("it has the first").push(c),
        }
    }
    words.remove(0);
    if words.is_empty() {
        words.push(String::new());
    }
    words
}

async fn candidates(before: &[String], word: &str) -> Vec<Candidate> {
    if word.starts_with('-') {
        return options();
    }
    let Some(verb) = before.iter().find_map(|word| named(word)) else {
        return verbs().chain(switches()).collect();
    };
    let catalogue = bofuss_ext::catalogue();
    if takes(verb, &["VERB"]) {
        return verbs().collect();
    }
    if takes(verb, FLOWS) {
        let is_actions = verb.name == "packet-out";
        let (stem, part) = parts(word, is_actions);
        let names = match part {
            Part::Port => ports(verb, before, catalogue).await,
            Part::Field => match_names(&catalogue).map(String::from).collect(),
            Part::Key => keys(&catalogue),
            Part::Action => actions(&catalogue),
            Part::Value => Vec::new(),
        };
        let whole = names
            .iter()
            .map(|name| Candidate::part(format!("{stem}{name}")));
        return whole.collect();
    }
    let mut found = Vec::new();
    if takes(verb, &["PORT"]) {
        let ports = ports(verb, before, catalogue).await;
        found.extend(ports.iter().map(|name| Candidate::whole(name, "port")));
    }
    if !before.iter().any(|word| find::address(word).is_some()) {
        found.extend(switches());
    }
    found
}

fn options() -> Vec<Candidate> {
    let command = Cli::command();
    let shown = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    shown
        .filter_map(|option| {
            let help = option.get_help().map(ToString::to_string);
            let name = format!("--{}", option.get_long()?);
            Some(Candidate::whole(&name, &help.unwrap_or_default()))
        })
        .collect()
}

fn verbs() -> impl Iterator<Item = Candidate> {
    verbs::all().map(|verb| Candidate::whole(verb.name, verb.help))
}

fn switches() -> impl Iterator<Item = Candidate> {
    let running = find::running().into_iter();
    running.map(|socket| Candidate::whole(&socket.name, "switch"))
}

/// The kind of word at the end of an unfinished flow.
#[derive(Debug, PartialEq)]
enum Part {
    /// A field, keyword or property.
    Key,
    /// An action or instruction.
    Action,
    /// A field that an action sets.
    Field,
    /// A port.
    Port,
    /// A value that is not completed.
    Value,
}

/// Returns true if the verb's usage has one of these words.
fn takes(verb: &Verb, words: &[&str]) -> bool {
    words.iter().any(|word| verb.arguments.contains(word))
}

/// Splits an unfinished flow into the text that stays and the kind of its last part. `is_actions`:
/// the word is a list of actions, not a flow.
fn parts(word: &str, is_actions: bool) -> (&str, Part) {
    let first_action = ACTION_KEYS
        .iter()
        .find_map(|key| word.find(key).map(|at| at + key.len()));
    let is_actions = is_actions || first_action.is_some();
    let begins = word
        .rfind([',', '(', ' '])
        .map_or(0, |at| at + 1)
        .max(first_action.unwrap_or(0));
    let part = &word[begins..];
    if let Some(at) = part.rfind("->") {
        return (&word[..begins + at + 2], Part::Field);
    }
    match part.split_once(['=', ':']) {
        Some((key, value)) if PORT_KEYS.contains(&key) => {
            (&word[..word.len() - value.len()], Part::Port)
        }
        Some(_) => (word, Part::Value),
        None if is_actions => (&word[..begins], Part::Action),
        None => (&word[..begins], Part::Key),
    }
}

/// Match fields and properties, each followed by `=`, and keywords, which take no value.
fn keys(catalogue: &Catalogue) -> Vec<String> {
    let names = match_names(catalogue).chain(PROPERTIES.iter().copied());
    names
        .map(|name| {
            if KEYWORDS.iter().any(|keyword| keyword.name == name) {
                String::from(name)
            } else {
                format!("{name}=")
            }
        })
        .collect()
}

/// Actions and instructions; those that take an argument are followed by `:` or `(`.
fn actions(catalogue: &Catalogue) -> Vec<String> {
    action_names(catalogue)
        .map(|name| match name {
            "apply_actions" | "write_actions" => format!("{name}("),
            name if parse_instructions(name, &Match::ANY, catalogue).is_ok() => name.into(),
            name => format!("{name}:"),
        })
        .collect()
}

/// The names of the switch's ports; none if it does not answer.
async fn ports(verb: &'static Verb, before: &[String], catalogue: Catalogue) -> Vec<String> {
    let cli = Cli::parse_from(["dpctl", "--timeout", PORTS_SECONDS, verb.name]);
    let named = before.iter().find_map(|word| find::address(word)?.ok());
    let address = named.or_else(|| find::only().ok());
    let command = Command {
        strict: false,
        html: None,
        reads_files: false,
        catalogue: catalogue.into(),
    };
    let names = crate::names::of_switch(&cli, &command, verb, address)
        .await
        .unwrap_or_default()
        .into_iter();
    // A line is a candidate.
    names.map(|(name, _)| OneLine(&name).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_flow_tells_what_may_stand_there() {
        for (word, stem, part) in [
            ("nw_d", "", Part::Key),
            ("in_port=1,nw_d", "in_port=1,", Part::Key),
            ("in_port=s", "in_port=", Part::Port),
            ("tcp_dst=8", "tcp_dst=8", Part::Value),
            ("ip,actio", "ip,", Part::Key),
            ("ip,actions=", "ip,actions=", Part::Action),
            (
                "ip,actions=output:1,pu",
                "ip,actions=output:1,",
                Part::Action,
            ),
            ("actions=output:", "actions=output:", Part::Port),
            (
                "actions=write_actions(out",
                "actions=write_actions(",
                Part::Action,
            ),
            (
                "actions=set_field:1->tc",
                "actions=set_field:1->",
                Part::Field,
            ),
            ("group_id=1,bucket=ou", "group_id=1,bucket=", Part::Action),
            ("bucket=watch_port:s", "bucket=watch_port:", Part::Port),
        ] {
            assert_eq!(parts(word, false), (stem, part), "{word}");
        }
        assert_eq!(parts("out", true), ("", Part::Action));
    }

    #[test]
    fn a_line_is_taken_apart_as_a_shell_does() {
        let apart = |line| words(line).join("|");
        assert_eq!(apart("dpctl"), "");
        assert_eq!(apart("dpctl "), "");
        assert_eq!(apart("dpctl  add-flow  'ip, tc"), "add-flow|ip, tc");
        assert_eq!(apart("dpctl add-flow \"ip\" "), "add-flow|ip|");
        assert_eq!(
            apart("dpctl add-flow actions=a\\(x"),
            "add-flow|actions=a(x"
        );
    }
}
