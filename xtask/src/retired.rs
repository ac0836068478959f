//! Checks that names do without the words that were retired for clearer ones.

use crate::source::Source;

/// Retired words, each with what to say instead.
const RETIRED: &[(&str, &str)] = &[
    ("also", "what is added"),
    ("bodies", "what they are the bodies of"),
    ("express", "direct"),
    ("fits", "has_room, or what it must not exceed"),
    ("glimpse", "survey"),
    ("grave", "what is kept of what was deleted"),
    ("hand", "what is passed on"),
    ("inlet", "ingress"),
    ("leg", "path"),
    ("nobody", "what is absent"),
    ("outlet", "egress"),
    ("quiet", "idle, or what does not happen"),
    ("refit", "adapt"),
    ("seclusion", "interface settings"),
    ("story", "trace"),
    ("sweep", "expire, or bulk change"),
    ("talks", "sends, or receives"),
    ("told", "reported"),
    ("way", "path"),
];

/// Retired names, each with what to say instead. As parts of other names these words are allowed:
/// `old` for a value before a change, `face` of a font.
const RETIRED_NAMES: &[(&str, &str)] = &[
    ("Face", "what it is for"),
    ("Old", "which version it is of"),
];

/// Names that have a retired word and are usual: the hand of the CLOCK replacement algorithm.
const USUAL: &[&str] = &["clock_hand"];

/// The findings in one file: for each name outside of tests that has a retired word, the line and
/// what to say instead.
pub(crate) fn check(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, code) in source.product_lines() {
        let names = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        for name in names.filter(|name| !USUAL.contains(name)) {
            for (word, instead) in RETIRED {
                if has_word(name, word) {
                    found.push((line, format!("`{name}`: say {instead}, not `{word}`")));
                }
            }
            for (retired, instead) in RETIRED_NAMES {
                if name == *retired {
                    found.push((line, format!("`{name}`: say {instead}")));
                }
            }
        }
    }
    found
}

/// Whether `word` is one of the words of a name, in snake case, camel case or capitals.
fn has_word(name: &str, word: &str) -> bool {
    let mut parts: Vec<String> = Vec::new();
    let mut was_lower = false;
    for part in name.split('_') {
        parts.push(String::new());
        for c in part.chars() {
            if c.is_uppercase() && was_lower {
                parts.push(String::new());
            }
            was_lower = c.is_lowercase();
            let last = parts.last_mut().expect("one was pushed");
            last.extend(c.to_lowercase());
        }
    }
    parts.iter().any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_word_by_word() {
        for name in ["told", "is_told_exact", "ENTRIES_TOLD", "WasTold", "ToldOf"] {
            assert!(has_word(name, "told"), "{name}");
        }
        for name in ["toldest", "untold", "to_ld", ""] {
            assert!(!has_word(name, "told"), "{name}");
        }
    }

    #[test]
    fn a_retired_word_is_refused_outside_of_tests_and_texts() {
        let text = "//! A way.\nfn f() {\n    g(\"way\");\n    let by_way = 1;\n}\n\
                    #[cfg(test)]\nmod tests {\n    fn the_way() {}\n}\n";
        let (source, _) = Source::new("a/src/lib.rs".into(), text.into());
        let expected = (4, "`by_way`: say path, not `way`".to_owned());
        assert_eq!(check(&source), [expected]);
    }

    #[test]
    fn a_retired_name_is_a_good_word_within_others() {
        let text = "struct Old;\nfn f(old: OldVlan) {}\n".to_owned();
        let (source, _) = Source::new("a/src/lib.rs".into(), text);
        let expected = (1, "`Old`: say which version it is of".to_owned());
        assert_eq!(check(&source), [expected]);
    }
}
