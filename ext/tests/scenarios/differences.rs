//! Plays the scenarios of 1.3 in the other versions, and compares the steps that differ with
//! `testdata/versions/differences.txt`.

use super::*;

/// A step with other effects than in 1.3: its scenario, its line there, and the effects.
type Difference = (String, String, Vec<String>);

#[test]
fn scenarios_of_1_3_play_in_1_1() {
    play_in(Version::V1_1);
}

#[test]
fn scenarios_of_1_3_play_in_1_2() {
    play_in(Version::V1_2);
}

#[test]
fn scenarios_of_1_3_play_in_1_4() {
    play_in(Version::V1_4);
}

#[test]
fn scenarios_of_1_3_play_in_1_5() {
    play_in(Version::V1_5);
}

/// Plays the scenarios of 1.3 in another version. Panics: if a step differs and is not listed, or
/// is listed and does not differ.
fn play_in(version: Version) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/scenarios");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // The match of 1.1 has no room for fields of one's own.
        let brings = ["set field ", "experimenter field_map "];
        let brings_field = |line: &str| brings.iter().any(|word| line.starts_with(word));
        let has_fields = text.lines().any(brings_field);
        if text.lines().any(names_a_version) || version == Version::V1_1 && has_fields {
            continue;
        }
        let mut failures = Vec::new();
        play(Engine::Cache, version, &name, &text, &mut failures);
        let steps = failures.into_iter();
        found.extend(steps.map(|failure| (name.clone(), failure.line, failure.did)));
    }
    compare(found, listed(version));
}

/// Returns true if a line of a scenario opens a connection of another version than 1.3.
fn names_a_version(line: &str) -> bool {
    let mut others = Version::ALL.iter().filter(|one| **one != Version::V1_3);
    line.starts_with("connect ") && others.any(|one| line.ends_with(&format!(" {one}")))
}

/// The differences that are listed for a version.
fn listed(version: Version) -> Vec<Difference> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../testdata/versions/differences.txt"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows: Vec<Difference> = Vec::new();
    let mut counts = false;
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(row) = line.strip_prefix("  ") else {
            let (versions, why) = line.split_once(": ").unwrap();
            assert!(why.contains("Spec: OpenFlow 1."), "{why}: which section?");
            counts = versions.split(' ').any(|one| one == version.to_string());
            continue;
        };
        if !counts {
            continue;
        }
        match row.strip_prefix("> ") {
            Some(effect) => rows.last_mut().unwrap().2.push(effect.into()),
            None => {
                let (name, step) = row.split_once(": ").unwrap();
                rows.push((name.into(), step.into(), Vec::new()));
            }
        }
    }
    rows
}

fn compare(found: Vec<Difference>, mut rows: Vec<Difference>) {
    let mut wrong = String::new();
    for difference in found {
        match rows.iter().position(|row| *row == difference) {
            Some(at) => drop(rows.swap_remove(at)),
            None => wrong += &format!("\nnot listed:{}", text_of(&difference)),
        }
    }
    for row in rows {
        wrong += &format!("\nlisted, but no such difference:{}", text_of(&row));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A difference as it is listed.
fn text_of((name, step, did): &Difference) -> String {
    let effects: Vec<String> = did.iter().map(|one| format!("\n  > {one}")).collect();
    format!("\n  {name}: {step}{}", effects.concat())
}
