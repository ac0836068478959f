//! Finds a key that an object of a JSON document has twice, of which readers see only the last.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use hashbrown::HashSet;

/// A list or an object that is being read.
enum Level<'a> {
    /// The place of the element.
    List(usize),
    /// The keys so far, the last of them, and whether one is next.
    Object(HashSet<Cow<'a, str>>, Cow<'a, str>, bool),
}

/// The place of the first key that is there twice in its object, as `/table_entries/0/match`.
/// `bytes` are a JSON document.
pub fn key_twice(bytes: &[u8]) -> Option<String> {
    let mut levels: Vec<Level<'_>> = Vec::new();
    let mut rest = bytes;
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (first, levels.last_mut()) {
            (b'[', _) => levels.push(Level::List(0)),
            (b'{', _) => levels.push(Level::Object(HashSet::new(), Cow::default(), true)),
            (b']' | b'}', _) => drop(levels.pop()),
            (b',', Some(Level::List(place))) => *place += 1,
            (b',', Some(Level::Object(_, _, is_next))) => *is_next = true,
            (b'"', level) => {
                let text;
                (text, rest) = behind.split_at(end_of_text(behind));
                if let Some(Level::Object(keys, last, is_next @ true)) = level {
                    *last = decoded(text);
                    *is_next = false;
                    if !keys.insert(last.clone()) {
                        return Some(levels.iter().map(step).collect());
                    }
                }
                rest = rest.get(1..).unwrap_or_default();
            }
            _ => {}
        }
    }
    None
}

/// Where a text ends that begins before `bytes`.
fn end_of_text(bytes: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = bytes.iter().position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(bytes.len())
}

/// A text without its escapes.
fn decoded(text: &[u8]) -> Cow<'_, str> {
    let plain = String::from_utf8_lossy(text);
    if !plain.contains('\\') {
        return plain;
    }
    serde_json::from_str(&format!("\"{plain}\"")).map_or(plain, Cow::Owned)
}

/// The step from a value to the one within it that is being read.
fn step(level: &Level<'_>) -> String {
    match level {
        Level::List(place) => format!("/{place}"),
        Level::Object(_, key, _) => format!("/{key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_twice_in_one_object_only() {
        for (text, wanted) in [
            (
                r#"{"a": 1, "b": [{"a": "b"}, {"a": 2, "\\\"": "a"}], "c": "b"}"#,
                None,
            ),
            (r#"{"a": {"a": {}}, "b": 1, "a": 2}"#, Some("/a")),
            (
                r#"[1, "x", {"b": [[], {"c": 1, "\u0063": 2}]}]"#,
                Some("/2/b/1/c"),
            ),
            (r#"{"\"": ",{", "\"": 1}"#, Some("/\"")),
            (r#"{"": 1, "": 1}"#, Some("/")),
            (r#""a""#, None),
        ] {
            assert_eq!(key_twice(text.as_bytes()).as_deref(), wanted, "{text}");
        }
    }
}
