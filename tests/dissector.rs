//! Wireshark shows messages of the state tables and of OpenQFlow and frames of ARP-Path with their
//! fields by name.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

use bofuss_tests::{have, run};
use serde_json::Value;

mod pcap;

use pcap::{capture, capture_of};

const SCRIPT: &str = "contrib/wireshark/openstate.lua";
const VECTORS: [&str; 2] = ["openstate.txt", "opp.txt"];
/// Names of numbers in the text of vectors, and the dissector's names for them.
const NUMBERS: &[(&str, &[&str])] = &[
    ("table", &["table", "table32"]),
    ("state", &["state", "value"]),
    ("global_state", &["global_state", "value"]),
    ("hard_timeout", &["hard_timeout"]),
    ("hard_rollback", &["hard_rollback"]),
    ("idle_timeout", &["idle_timeout"]),
    ("idle_rollback", &["idle_rollback"]),
    ("old", &["old"]),
    ("new", &["new"]),
    ("stateful", &["stateful"]),
    ("id", &["id", "template"]),
    ("template", &["template"]),
    ("condition0", &["value"]),
    ("pkt_len", &["value"]),
];
/// The least number of numbers of vectors that are compared.
const MIN_NUMBERS: usize = 50;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text and the bytes of each vector.
fn vectors(names: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut vectors: Vec<(String, Vec<u8>)> = Vec::new();
    for name in names {
        let text = fs::read_to_string(root().join("testdata/extensions").join(name)).unwrap();
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let Some(digits) = line.strip_prefix("  ") else {
                vectors.push((line.into(), Vec::new()));
                continue;
            };
            let digits = digits.replace(' ', "");
            let pairs = (0..digits.len()).step_by(2);
            let bytes = pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap());
            vectors.last_mut().unwrap().1.extend(bytes);
        }
    }
    vectors
}

/// The numbers that a part of tshark's JSON has under a name.
fn numbers(value: &Value, name: &str, found: &mut Vec<u64>) {
    match value {
        Value::Object(pairs) => {
            for (key, value) in pairs {
                let values = value
                    .as_array()
                    .map_or(std::slice::from_ref(value), Vec::as_slice);
                if *key == format!("openstate.{name}") {
                    let texts = values.iter().filter_map(Value::as_str);
                    found.extend(texts.filter_map(|text| text.parse::<u64>().ok()));
                }
                values.iter().for_each(|value| numbers(value, name, found));
            }
        }
        Value::Array(list) => list.iter().for_each(|value| numbers(value, name, found)),
        _ => {}
    }
}

/// Each `name=number` in a text.
fn pairs(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices('=').filter_map(move |(at, _)| {
        let start = text[..at]
            .rfind(|c| !is_name(c))
            .map_or(0, |before| before + 1);
        let rest = &text[at + 1..];
        let end = rest
            .find([',', ')', ']', ';', '}', '/'])
            .unwrap_or(rest.len());
        Some((&text[start..at], rest[..end].parse().ok()?))
    })
}

#[test]
fn wireshark_names_the_fields_of_each_message() {
    if !have(&["tshark"]) {
        return;
    }
    let mut messages = vectors(&VECTORS);
    let refused = [
        &[0xff, 0xff, 0, 7, 0xbe, 0xba, 0xbe, 0xba][..],
        &messages[0].1,
    ]
    .concat();
    let head = [4, 1, 0, 8 + refused.len() as u8, 0, 0, 0, 9];
    messages.push(("error".into(), [&head[..], &refused].concat()));
    let path = std::env::temp_dir().join(format!("bofuss-dissector-{}.pcap", std::process::id()));
    fs::write(&path, capture(messages.iter().map(|(_, bytes)| bytes))).unwrap();
    let tshark = |words: &[&str]| {
        let mut command = Command::new("tshark");
        let output = run(command.arg("-r").arg(&path).args(words));
        (
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let script = format!("lua_script:{}", root().join(SCRIPT).display());
    let with = ["-X", &script];
    let (text, errors) = tshark(&[&with[..], &["-V"]].concat());
    assert!(!(text.clone() + &errors).contains("Lua"), "{errors}{text}");
    // Wireshark 4.0 reads past the end of experimenters' multipart replies, script or not.
    let malformed = ["-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number"];
    let (without, _) = tshark(&malformed);
    assert_eq!(tshark(&[&with[..], &malformed].concat()).0, without);
    for line in without.lines() {
        let (name, _) = &messages[line.parse::<usize>().unwrap() - 1];
        assert!(
            name.starts_with("OFPT_MULTIPART_REPLY"),
            "{name} is malformed"
        );
    }
    let (json, _) = tshark(&[&with[..], &["-T", "json", "--no-duplicate-keys"]].concat());
    let frames: Vec<Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(frames.len(), messages.len());
    let mut count = 0;
    for ((name, _), frame) in messages.iter().zip(&frames) {
        let layers = &frame["_source"]["layers"];
        assert!(!layers["openstate"].is_null(), "{name}: {layers}");
        for (word, wanted) in pairs(name) {
            let Some((_, names)) = NUMBERS.iter().find(|row| row.0 == word) else {
                continue;
            };
            // The flow-mod's own table is Wireshark's, and 255 and 0 of a request are all.
            if name.contains(&format!("add {word}={wanted}")) {
                continue;
            }
            let mut found = Vec::new();
            names
                .iter()
                .for_each(|name| numbers(&layers["openstate"], name, &mut found));
            assert!(
                found.contains(&wanted),
                "{name}: {word}={wanted}, not {found:?}"
            );
            count += 1;
        }
    }
    let mut codes = Vec::new();
    numbers(
        &frames.last().unwrap()["_source"]["layers"],
        "error",
        &mut codes,
    );
    assert_eq!(codes, iter::once(7).collect::<Vec<_>>());
    assert!(count >= MIN_NUMBERS, "{count} numbers");
    fs::remove_file(path).unwrap();
}

/// The frames of the page of ARP-Path, and the text of each.
fn path_frames() -> Vec<(Vec<u8>, String)> {
    let page = fs::read_to_string(root().join("docs/reference/arp-path.md")).unwrap();
    let blocks = page.split("```hex\n").skip(1);
    let block = |block: &str| {
        let (hex, text) = block
            .split_once("\n```")
            .unwrap()
            .0
            .rsplit_once('\n')
            .unwrap();
        let digits: String = hex.split_whitespace().collect();
        let pairs = (0..digits.len()).step_by(2);
        let bytes = pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap());
        (bytes.collect(), text.to_string())
    };
    blocks.map(block).collect()
}

/// The number in a value of tshark's or of a vector: also in hexadecimal, or as a type or truth.
fn path_number(text: &str) -> Option<u64> {
    match text {
        "HELLO" => Some(1),
        "path-fail" => Some(2),
        "path-request" => Some(3),
        "path-reply" => Some(4),
        "True" => Some(1),
        "False" => Some(0),
        _ => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
    }
}

#[test]
fn wireshark_names_the_fields_of_frames_of_arp_path() {
    if !have(&["tshark"]) {
        return;
    }
    let vectors = path_frames();
    assert_eq!(vectors.len(), 4);
    let frames: Vec<Vec<u8>> = vectors.iter().map(|(bytes, _)| bytes.clone()).collect();
    let path = std::env::temp_dir().join(format!("bofuss-arppath-{}.pcap", std::process::id()));
    fs::write(&path, capture_of(&frames)).unwrap();
    let script = root().join("contrib/wireshark/arppath.lua");
    let script = format!("lua_script:{}", script.display());
    let names: Vec<&str> = vectors[0]
        .1
        .split(',')
        .map(|pair| pair.split_once('=').unwrap().0)
        .collect();
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(&path)
        .args(["-X", &script, "-T", "fields"]);
    for name in &names {
        command.args(["-e", &format!("arppath.{name}")]);
    }
    let output = run(&mut command);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!errors.contains("Lua"), "{errors}");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(shown.lines().count(), vectors.len(), "{shown}");
    for ((_, text), line) in vectors.iter().zip(shown.lines()) {
        for (pair, value) in text.split(',').zip(line.split('\t')) {
            let (name, wanted) = pair.split_once('=').unwrap();
            let same = value == wanted || path_number(value) == path_number(wanted);
            assert!(same && !value.is_empty(), "{name}: {value}, not {wanted}");
        }
    }
    fs::remove_file(path).unwrap();
}

/// Names of numbers in vectors of OpenQFlow that its dissector has, too.
const QFLOW_NUMBERS: [&str; 9] = [
    "sport", "weight", "rate", "cap", "gap_us", "packets", "flows", "offset", "wanted",
];

#[test]
fn wireshark_names_the_fields_of_openqflow() {
    if !have(&["tshark"]) {
        return;
    }
    let messages = vectors(&["openqflow.txt"]);
    let path = std::env::temp_dir().join(format!("bofuss-qflow-{}.pcap", std::process::id()));
    fs::write(&path, capture(messages.iter().map(|(_, bytes)| bytes))).unwrap();
    let script = root().join("contrib/wireshark/openqflow.lua");
    let script = format!("lua_script:{}", script.display());
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(&path)
        .args(["-X", &script, "-T", "fields"]);
    for name in QFLOW_NUMBERS {
        command.args(["-e", &format!("openqflow.{name}")]);
    }
    command.args(["-e", "openqflow.discipline"]);
    let output = run(&mut command);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!errors.contains("Lua"), "{errors}");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(shown.lines().count(), messages.len(), "{shown}");
    assert_eq!(shown.matches("hfair").count(), 1, "{shown}");
    for ((text, _), line) in messages.iter().zip(shown.lines()) {
        let values = QFLOW_NUMBERS.iter().zip(line.split('\t'));
        for (name, found) in values {
            let Some((_, rest)) = text.split_once(&format!("{name}=")) else {
                continue;
            };
            let end = rest.find([',', ')', '/']).unwrap_or(rest.len());
            // A mask of a key stands under the name of its field.
            let wanted = path_number(&rest[..end]);
            let mut numbers = found.split(',').map(path_number);
            assert!(
                numbers.any(|number| number == wanted),
                "{text}: {name}, not {found}"
            );
        }
    }
    fs::remove_file(path).unwrap();
}
