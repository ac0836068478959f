//! The vectors of `testdata/extensions` are decoded, printed and encoded as they say.

use std::path::Path;
use std::sync::Arc;

use bofuss_oflib::text::parse_instructions;
use bofuss_oflib::{Codec, Match, Message, Version};

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .bytes()
        .filter(|c| !c.is_ascii_whitespace())
        .collect();
    let pair = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("it is ASCII");
        u8::from_str_radix(pair, 16).expect("it is hexadecimal")
    };
    digits.chunks(2).map(pair).collect()
}

/// Each vector's text and bytes.
pub fn vectors() -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = ["openstate.txt", "opp.txt", "openqflow.txt"].map(|name| {
        let path = root.join("testdata/extensions").join(name);
        std::fs::read_to_string(path).expect("the vectors are there")
    });
    let mut vectors: Vec<(String, Vec<u8>)> = Vec::new();
    let lines = files
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        match line.strip_prefix("  ") {
            Some(digits) => {
                let last = vectors.last_mut().expect("a text is before the bytes");
                last.1.extend(bytes_of(digits));
            }
            None => vectors.push((line.into(), Vec::new())),
        }
    }
    vectors
}

#[test]
fn vectors_read_print_and_write_as_they_say() {
    let codec = Codec::new(Version::V1_3, Arc::new(bofuss_ext::catalogue()));
    let mut wrong = String::new();
    for (text, bytes) in vectors() {
        let (xid, message) = match codec.decode(&bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                wrong += &format!("{text}\n  {error}\n");
                continue;
            }
        };
        if message.to_string() != text {
            wrong += &format!("{text}\n{message}\n");
        }
        let mut again = Vec::new();
        codec
            .encode(xid, &message, &mut again)
            .expect("it is short enough");
        if again != bytes {
            wrong += &format!("{text}\n  {}\n", hexadecimal(&again));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn texts_of_actions_and_messages_read_back() {
    let catalogue = bofuss_ext::catalogue();
    for (text, bytes) in vectors() {
        let codec = Codec::new(Version::V1_3, Arc::new(catalogue.clone()));
        let (_, message) = codec.decode(&bytes).expect("it is a vector");
        if let Message::Experimenter(value) = &message {
            let shown = value.to_string();
            let inner = shown.split_once('(').and_then(|(_, t)| t.strip_suffix(')'));
            let again =
                bofuss_oflib::ExtValue::parse(value.row, inner.expect("name(...)"), &catalogue);
            if value.row.name.ends_with("_mod") {
                assert_eq!(again.as_ref(), Ok(value), "{text}");
            }
        }
        if let Message::FlowMod(flow) = &message {
            let text = flow.instructions.to_string();
            let text = text.trim_start_matches("actions=");
            let again = parse_instructions(text, &Match::ANY, &catalogue);
            assert_eq!(again.as_ref(), Ok(&flow.instructions), "{text}");
        }
    }
}

#[test]
fn a_match_reads_in_the_order_in_which_a_controller_writes_it() {
    let codec = Codec::new(Version::V1_3, Arc::new(bofuss_ext::catalogue()));
    let is_wanted = |text: &str| text.contains("global_state=1/3,state=4/12");
    let vector = vectors().into_iter().find(|(text, _)| is_wanted(text));
    let (text, mut bytes) = vector.expect("it is in the file");
    // Both fields have 16 bytes, after the header of the match.
    bytes[52..84].rotate_left(16);
    let written =
        "00010024 ffff030c bebabeba 00000004 0000000c ffff010c bebabeba 00000001 00000003";
    assert_eq!(bytes[48..84], bytes_of(written));
    let (_, message) = codec.decode(&bytes).expect("the order is free");
    assert_eq!(message.to_string(), text);
}
