//! Pieces of a text that know their position, so that an error can point at its word.

use alloc::{format, vec::Vec};
use core::str::FromStr;

use super::{find_port, number, parse_value};
use crate::catalogue::Catalogue;
use crate::field::Field;
use crate::parse_error::ParseError;
use crate::types::PortNo;

/// Longer words are not compared with the names that are known.
const LONGEST_NAME_BYTES: usize = 32;

/// Names of ports that differ in more letters are not proposed, nor more names than these.
const NEAR_LETTERS: usize = 2;
const NEAR_NAMES: usize = 4;
/// Nor keys and verbs that differ in more letters.
const MAX_LETTERS: usize = 3;

/// A piece of a text with its place.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// The text that it is a piece of, and the bytes of that before it.
    whole: &'a str,
    at: usize,
}

impl<'a> Word<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            whole: text,
            at: 0,
        }
    }

    /// The error `message` at this word.
    pub(super) fn err(self, message: impl Into<ParseError>) -> ParseError {
        ParseError {
            word: self.text.into(),
            offset: self.at,
            character: 1 + self.whole[..self.at].chars().count(),
            ..message.into()
        }
    }

    /// The error for a name that is none of `known`, with the nearest of them if one is near.
    pub(super) fn unknown<'n>(
        self,
        what: &str,
        known: impl Iterator<Item = &'n str>,
    ) -> ParseError {
        let name = self.text.to_ascii_lowercase();
        let near = known
            .filter(|_| name.len() <= LONGEST_NAME_BYTES)
            .map(|one| (distance(&name, one), one))
            .min_by_key(|(distance, _)| *distance);
        match near.filter(|(distance, one)| *distance <= (one.len() / 3).clamp(1, 2)) {
            Some((_, one)) => self.err(format!("no such {what}; did you mean '{one}'?")),
            None => self.err(format!("no such {what}")),
        }
    }

    /// From byte `from` to byte `to`.
    pub(super) fn part(self, from: usize, to: usize) -> Self {
        Self {
            text: &self.text[from..to],
            at: self.at + from,
            ..self
        }
    }

    /// The place after this.
    pub(super) fn end(self) -> Self {
        self.part(self.text.len(), self.text.len())
    }

    /// From here to the end of `whole`, of which this is a part.
    pub(super) fn up_to_end_of(self, whole: Self) -> Self {
        whole.part(self.at - whole.at, whole.text.len())
    }

    /// Returns the text before and after the first of `separators`.
    pub(super) fn split_at(self, separators: &[char]) -> Option<(Self, Self)> {
        let at = find_unquoted(self.text, separators)?;
        let before = self.part(0, at);
        let after = self.part(at + 1, self.text.len());
        Some((before, after))
    }

    /// The parts between commas or blanks outside of parentheses and quotes; empty parts are left
    /// out.
    pub(super) fn items(self) -> Vec<Self> {
        let mut items = Vec::new();
        let mut from = 0;
        let mut depth = 0usize;
        let mut is_quoted = false;
        for (i, c) in self.text.char_indices() {
            match c {
                '"' => is_quoted = !is_quoted,
                _ if is_quoted => {}
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                c if depth == 0 && (c == ',' || c.is_whitespace()) => {
                    items.push(self.part(from, i));
                    from = i + c.len_utf8();
                }
                _ => {}
            }
        }
        items.push(self.part(from, self.text.len()));
        items.retain(|item| !item.text.is_empty());
        items
    }

    /// `name`, `name:argument`, `name=argument` or `name(argument)`: the two, the argument perhaps
    /// empty.
    pub(super) fn call(self) -> Result<(Self, Self), ParseError> {
        let end = self.text.len();
        let Some(at) = find_unquoted(self.text, &[':', '=', '(']) else {
            return Ok((self, self.end()));
        };
        let name = self.part(0, at);
        if self.text.as_bytes()[at] != b'(' {
            return Ok((name, self.part(at + 1, end)));
        }
        if !self.text.ends_with(')') {
            return Err(self.err("a closing parenthesis is missing"));
        }
        Ok((name, self.part(at + 1, end - 1)))
    }

    /// Returns true if this is `name`, in either case.
    pub(super) fn is(self, name: &str) -> bool {
        self.text.eq_ignore_ascii_case(name)
    }

    /// The rest after `prefix`, in either case.
    pub(super) fn after(self, prefix: &str) -> Option<Self> {
        let head = self.text.get(..prefix.len())?;
        if !head.eq_ignore_ascii_case(prefix) {
            return None;
        }
        Some(self.part(prefix.len(), self.text.len()))
    }

    /// This without `prefix`, where it has it.
    pub(super) fn without(self, prefix: &str) -> Self {
        self.after(prefix).unwrap_or(self)
    }

    /// A number that `T` holds.
    pub(super) fn number<T: TryFrom<u64>>(self) -> Result<T, ParseError> {
        let value = number(self.text).and_then(|n| T::try_from(n).ok());
        let max = u64::MAX >> (64 - 8 * size_of::<T>());
        value.ok_or_else(|| self.err(format!("no number from 0 to {max}")))
    }

    /// A value of a field, in its style.
    pub(super) fn value_of(self, field: &Field, catalogue: &Catalogue) -> Result<u128, ParseError> {
        parse_value(field, self.text, catalogue).map_err(|message| self.err(message))
    }

    /// A port, by its number or name.
    pub(super) fn port(self, catalogue: &Catalogue) -> Result<PortNo, ParseError> {
        find_port(self.text, catalogue).map_err(|message| self.err(message))
    }

    /// A value that has names or another form of its own. Errors: that it is no `what`.
    pub(super) fn parse<T: FromStr>(self, what: &str) -> Result<T, ParseError> {
        let value = self.text.parse();
        value.map_err(|_| self.err(format!("no {what}")))
    }
}

/// The parts of a text between commas or blanks, outside of parentheses and quotes; empty parts are
/// left out.
pub fn items(text: &str) -> impl Iterator<Item = &str> {
    Word::new(text).items().into_iter().map(|item| item.text)
}

/// The byte at which the first of `separators` outside of double quotes stands, between which a
/// port's name may have any.
pub fn find_unquoted(text: &str, separators: &[char]) -> Option<usize> {
    let mut is_quoted = false;
    for (i, c) in text.char_indices() {
        if c == '"' {
            is_quoted = !is_quoted;
        } else if !is_quoted && separators.contains(&c) {
            return Some(i);
        }
    }
    None
}

/// The names that are nearest to `name`, if they are near: as many as are equally so.
pub(super) fn near_names<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut near: Vec<&str> = Vec::new();
    let mut least = NEAR_LETTERS;
    for one in known.filter(|one| one.len().max(name.len()) <= LONGEST_NAME_BYTES) {
        let distance = distance(name, one);
        if distance < least {
            near.clear();
            least = distance;
        }
        if distance == least && near.len() < NEAR_NAMES {
            near.push(one);
        }
    }
    near
}

/// The name of `known` that `word` is nearest to: at most 3 letters differ, or half of the name's.
pub fn nearest<'n>(word: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = known
        .filter(|_| word.len() <= LONGEST_NAME_BYTES)
        .map(|name| (distance(word, name), name))
        .min_by_key(|(letters, _)| *letters);
    let near = near.filter(|(letters, name)| *letters <= MAX_LETTERS.min(name.len() / 2));
    near.map(|(_, name)| name)
}

/// Returns how many letters must be inserted, removed, replaced or swapped with the next to make
/// `b` of `a`: the restricted Damerau-Levenshtein distance, of which three rows are kept.
fn distance(a: &str, b: &str) -> usize {
    let a = a.as_bytes();
    let b = b.as_bytes();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = Vec::from([i]);
        for j in 1..=b.len() {
            let replaced = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            next.push(best);
        }
        before = core::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn near_names_are_proposed_and_far_ones_are_not() {
        let known = || ["nw_dst", "nw_src", "ip"].into_iter();
        let near = Word::new("nw_dts").unknown("field", known()).to_string();
        assert_eq!(
            near,
            "'nw_dts' (at character 1): no such field; did you mean 'nw_dst'?"
        );
        let far = Word::new("banana").unknown("field", known());
        assert_eq!(far.message, "no such field");
    }

    #[test]
    fn an_error_counts_characters_and_not_bytes() {
        let items = Word::new("in_port=\"é\",\u{a0}frog").items();
        let error = items[1].err("no such field");
        assert_eq!(error.to_string(), "'frog' (at character 14): no such field");
        assert_eq!(error.offset, 15);
    }

    #[test]
    fn a_port_has_a_number_a_reserved_name_or_a_name_of_its_own() {
        let names = [
            ("s1-eth1", 1),
            ("s1-eth2", 2),
            ("flood", 3),
            ("7", 4),
            ("x", 5),
            ("x", 6),
            ("a,b (c:d)", 7),
        ];
        let ports = names.map(|(name, number)| (name.to_string(), PortNo(number)));
        let catalogue = Catalogue::default().with_ports(ports.into());
        for (text, port) in [
            ("s1-eth2", PortNo(2)),
            ("7", PortNo(7)),
            ("\"7\"", PortNo(4)),
            ("flood", PortNo::FLOOD),
            ("\"flood\"", PortNo(3)),
            ("\"a,b (c:d)\"", PortNo(7)),
        ] {
            assert_eq!(find_port(text, &catalogue), Ok(port), "{text}");
        }
        for (text, near) in [
            ("s1-eht1", "did you mean 's1-eth1'?"),
            ("s1-eth7", "did you mean 's1-eth1' or 's1-eth2'?"),
            ("contoller", "did you mean 'controller'?"),
            ("\"1\"", "no port of the switch"),
            ("x", "no port of the switch"),
        ] {
            let error = find_port(text, &catalogue).expect_err(text);
            assert!(error.message.contains(near), "{text}: {error}");
        }
    }

    #[test]
    fn a_name_between_quotes_may_have_what_separates() {
        let items = Word::new("in_port=\"a, b\",enqueue:\"c:d\":3").items();
        let texts: Vec<_> = items.iter().map(|item| item.text).collect();
        assert_eq!(texts, ["in_port=\"a, b\"", "enqueue:\"c:d\":3"]);
        let (name, argument) = items[1].call().expect("it has both");
        let (port, queue) = argument.split_at(&[':']).expect("it has both");
        assert_eq!(
            (name.text, port.text, queue.text),
            ("enqueue", "\"c:d\"", "3")
        );
    }

    #[test]
    fn items_end_at_commas_and_blanks_outside_of_parentheses() {
        let items = Word::new(" a=1, f(b,c d)  ,e").items();
        let texts: Vec<&str> = items.iter().map(|item| item.text).collect();
        assert_eq!(texts, ["a=1", "f(b,c d)", "e"]);
        assert_eq!(items[1].at, 6);
    }
}
