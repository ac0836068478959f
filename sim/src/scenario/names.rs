//! Names of nodes, and patterns of names.

/// Returns true if a text can be a name: letters, digits, `-` and `_`, at most 64 of them.
pub(super) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(is_name_letter)
}

fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_".contains(letter)
}

/// Returns true if a name matches a pattern in which each `*` stands for any characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, wanted) in [
            ("s1", "s1", true),
            ("s1", "s11", false),
            ("s*", "s11", true),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*1", "s1", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn names_have_no_dots_or_blanks() {
        assert!(is_name("leaf-1_a"));
        assert!(!is_name("") && !is_name("a.b") && !is_name("a b") && !is_name(&"a".repeat(65)));
    }
}
