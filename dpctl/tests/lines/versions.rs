//! Plays the command lines once more in every version: each verb works there, or reports what the
//! version cannot express.

use std::collections::BTreeMap;

use super::*;

/// The files whose lines are played in every version.
const FILES: [&str; 5] = ["extensions", "flow_mod", "names", "ofctl", "stats"];
/// The words of an error of `dpctl` before the thing that a version cannot express.
const UNSAID: &str = "this OpenFlow version cannot say ";
/// This verb exits with 2 if there are differences, and what a version could not add is one.
const COMPARES: &str = "diff-flows";
/// At least this many lines succeed as they are quoted.
const MIN_PLAYED: usize = 250;

/// The results of a verb's lines in one version.
#[derive(Default)]
struct Outcome {
    succeeded: bool,
    unsaid: Vec<String>,
}

type Outcomes = BTreeMap<String, Outcome>;

/// The name of a version, as `-O` takes it.
fn option(version: Version) -> String {
    format!("OpenFlow{}", version.to_string().replace('.', ""))
}

/// A line without its option `-O`.
fn without_version(line: &str) -> String {
    let mut kept = line.to_string();
    for version in Version::ALL {
        kept = kept.replace(&format!(" -O {}", option(*version)), "");
    }
    kept
}

fn exit_code(said: &[String]) -> Option<&str> {
    said.last().and_then(|line| line.strip_prefix("= "))
}

/// Plays the files in one version. Returns the results of each verb, and how many of the lines that
/// were played succeed as quoted.
fn outcomes(version: Version, verbs: &[String]) -> (Outcomes, usize) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/dpctl");
    let mut outcomes = Outcomes::new();
    let mut played = 0;
    for name in FILES {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp:{}", listener.local_addr().unwrap());
        std::thread::spawn(move || serve(&listener));
        let text = std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
        for example in text.split("\n$ ").skip(1) {
            let line = example.lines().next().unwrap();
            let succeeds_as_quoted = !example.contains("\n= ");
            let command = format!("{} -O {}", without_version(line), option(version));
            let said = play(&command, &address);
            if !succeeds_as_quoted {
                continue;
            }
            played += 1;
            let verb = words(line).into_iter().find(|word| verbs.contains(word));
            let Some(verb) = verb else { continue };
            let outcome: &mut Outcome = outcomes.entry(verb.clone()).or_default();
            let last = said.iter().rev().nth(1).map_or("", String::as_str);
            match (exit_code(&said), last.split_once(UNSAID)) {
                (None, _) => outcome.succeeded = true,
                (Some("1"), Some((_, what))) => outcome.unsaid.push(what.to_string()),
                (Some("2"), _) if verb == COMPARES => {}
                _ => panic!("{command}: {}", said.join("\n")),
            }
        }
    }
    (outcomes, played)
}

/// A list of versions as text.
fn listed(versions: &[Version]) -> String {
    let first = Version::SPOKEN.iter().position(|one| *one == versions[0]);
    let first = first.expect("it is offered");
    let is_run = Version::SPOKEN[first..].starts_with(versions);
    match versions {
        [first, .., last] if is_run => format!("{first} to {last}"),
        _ => {
            let names: Vec<String> = versions.iter().map(Version::to_string).collect();
            names.join(", ")
        }
    }
}

/// The table of the verbs that do not work in every version.
pub(super) fn table(verbs: &[String]) -> String {
    let quoted = Version::SPOKEN.iter().filter(|one| **one <= QUOTED);
    let threads: Vec<_> = quoted
        .map(|version| {
            let verbs = verbs.to_vec();
            (
                *version,
                std::thread::spawn(move || outcomes(*version, &verbs)),
            )
        })
        .collect();
    let mut all = Vec::new();
    for (version, thread) in threads {
        let (outcomes, played) = thread.join().expect("its panic is printed");
        assert!(played >= MIN_PLAYED, "{version}: {played} lines");
        all.push((version, outcomes));
    }
    let mut table = String::from("| verb | versions | else it cannot say |\n|---|---|---|\n");
    for verb in verbs {
        let has_it = |(_, outcomes): &&(Version, Outcomes)| {
            outcomes.get(verb).is_some_and(|outcome| outcome.succeeded)
        };
        let versions: Vec<Version> = all.iter().filter(has_it).map(|one| one.0).collect();
        if versions.is_empty() || versions.len() == all.len() {
            let is_shown = all[0].1.contains_key(verb);
            assert!(!versions.is_empty() || !is_shown, "{verb} never succeeds");
            continue;
        }
        let lacking = all.iter().filter(|one| !has_it(one));
        let mut unsaid: Vec<String> = lacking
            .flat_map(|(_, outcomes)| outcomes[verb].unsaid.clone())
            .map(|what| format!("`{what}`"))
            .collect();
        unsaid.sort();
        unsaid.dedup();
        let versions = listed(&versions);
        table += &format!("| `{verb}` | {versions} | {} |\n", unsaid.join(", "));
    }
    table
}
