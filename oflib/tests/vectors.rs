//! Every vector of `testdata/vectors` reads, prints and writes as it says, and every error that the
//! decoder gives has one.

use std::collections::BTreeSet;

use crate::common::{Vector, codec, codec_of, digits, from_root, vectors_of};
use bofuss_oflib::error::ERRORS;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::text::{
    ParseError, parse_actions, parse_flow, parse_group, parse_instructions, parse_match,
    parse_meter,
};
use bofuss_oflib::{Match, Version};

#[test]
fn vectors_read_print_and_write_as_they_say() {
    for version in Version::ALL {
        check_vectors(*version);
    }
}

fn check_vectors(version: Version) {
    let codec = codec_of(version);
    for Vector { text, bytes, place } in vectors_of(version) {
        match (codec.decode(&bytes), text.strip_prefix("error ")) {
            (Ok((xid, message)), None) => {
                assert_eq!(message.to_string(), text, "{place}");
                let mut again = Vec::new();
                codec
                    .encode(xid, &message, &mut again)
                    .expect("it was short enough");
                assert_eq!(digits(&again), digits(&bytes), "{place}");
            }
            (Err(e), Some(wanted)) => {
                let row = e.error.row().expect("a decoder's error has a row");
                let name = format!("{}/{}", row.type_name, row.code_name);
                let given = format!("{name} at {} in {}", e.offset, e.field);
                assert_eq!(given, wanted, "{place}");
            }
            (given, _) => panic!("{place}: {given:?}"),
        }
    }
}

/// Fails if something of `all` is not among `seen`.
fn covered<T: Ord + std::fmt::Debug>(
    what: &str,
    all: impl IntoIterator<Item = T>,
    seen: &BTreeSet<T>,
) {
    let missing: Vec<T> = all.into_iter().filter(|one| !seen.contains(one)).collect();
    assert!(missing.is_empty(), "no vector for {what} {missing:?}");
}

#[test]
fn every_error_that_the_decoder_gives_has_a_vector() {
    let vectors = Version::ALL.iter().flat_map(|v| vectors_of(*v));
    let vectors: Vec<Vector> = vectors.collect();
    let mut given: BTreeSet<(String, String)> = vectors
        .iter()
        .filter_map(|v| {
            v.text
                .strip_prefix("error ")?
                .split_once(" at ")?
                .0
                .split_once('/')
        })
        .map(|(ty, code)| (ty.replace('_', "").to_ascii_lowercase(), code.into()))
        .collect();
    // Only a body with actions in it can have it: tests/typed.rs.
    given.insert(("badaction".into(), "TOO_MANY".into()));
    let mut sources = String::new();
    let mut folders = vec![from_root("oflib/src")];
    while let Some(path) = folders.pop() {
        // Some name every error that a switch can send, of which the decoder gives some; the others
        // are about several messages, where a vector is one.
        let others = [
            "v1_0/error.rs",
            "v1_1/error.rs",
            "v1_3/onf.rs",
            "v1_3/error.rs",
            "assemble.rs",
            "handshake.rs",
        ];
        if others.iter().any(|other| path.ends_with(other)) {
            continue;
        }
        if path.is_dir() {
            folders.extend(
                std::fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            sources += &std::fs::read_to_string(path).expect("a source is text");
        }
    }
    let named = |ty: &str, code: &str| {
        let in_source = format!("::{code}");
        sources.match_indices(&in_source).any(|(at, _)| {
            let name = sources[..at].rsplit(|c: char| !c.is_alphanumeric()).next();
            let ends = !sources[at + in_source.len()..]
                .starts_with(|c: char| c.is_alphanumeric() || c == '_');
            ends && name.is_some_and(|name| name.to_ascii_lowercase() == ty)
        })
    };
    let all = ERRORS.iter().map(|row| {
        (
            row.type_name.replace('_', "").to_ascii_lowercase(),
            row.code_name.to_string(),
        )
    });
    covered("error", all.filter(|(ty, code)| named(ty, code)), &given);
}

/// Returns what a line of `text.txt` gives: the canonical text, or the error.
fn read(kind: &str, text: &str) -> Result<String, ParseError> {
    let codec = codec();
    let catalogue = &codec.catalogue;
    match kind {
        "match" => parse_match(text, catalogue).map(|one| one.to_string()),
        "actions" => parse_actions(text, &Match::ANY, catalogue)
            .map(|list| bofuss_oflib::text::Actions(&list).to_string()),
        "instructions" => {
            parse_instructions(text, &Match::ANY, catalogue).map(|one| one.to_string())
        }
        "flow" => parse_flow(text, FlowModCommand::ADD, catalogue).map(|one| one.to_string()),
        "delete" => parse_flow(text, FlowModCommand::DELETE, catalogue).map(|one| one.to_string()),
        "group" => parse_group(text, GroupModCommand::ADD, catalogue).map(|one| one.to_string()),
        "meter" => parse_meter(text, MeterModCommand::ADD).map(|one| one.to_string()),
        other => panic!("no reader for '{other}'"),
    }
}

#[test]
fn texts_read_as_their_vectors_say() {
    let vectors = std::fs::read_to_string(from_root("testdata/vectors/text.txt")).unwrap();
    let lines = vectors
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut input, mut wrong) = (None, String::new());
    for line in lines {
        let Some(wanted) = line.strip_prefix("  ") else {
            assert!(input.is_none(), "no result behind {input:?}");
            input = Some(
                line.split_once(": ")
                    .unwrap_or((line.trim_end_matches(':'), "")),
            );
            continue;
        };
        let (kind, text): (&str, &str) = input.take().expect("a result follows a text");
        let given = match read(kind, text) {
            Ok(given) => {
                assert_eq!(read(kind, &given), Ok(given.clone()), "{kind} {text}");
                given
            }
            Err(error) => {
                let at = error.offset..error.offset + error.word.len();
                assert_eq!(text[at], error.word, "{kind} {text}");
                format!("error {error}")
            }
        };
        if given != wanted {
            wrong += &format!("{kind}: {text}\n  {given}\n  {wanted}\n");
        }
    }
    assert!(
        wrong.is_empty(),
        "text, what it gives, what it should give:\n{wrong}"
    );
}
