//! Reads a P4Info in the text form that p4c writes, to its encoded form.

mod fields;
mod kind;

use prost::encoding::{WireType, encode_key, encode_varint};

use crate::error::{Refusal, Result};
use kind::Kind;

/// The deepest message within others.
const MAX_DEPTH: usize = 32;

/// Encodes a P4Info that is given as text. Errors: what is no text form, or no field of a P4Info,
/// with its line.
pub fn encode(text: &str) -> Result<Vec<u8>> {
    let mut reader = Reader { text, at: 0 };
    let mut bytes = Vec::new();
    reader.message("P4Info", 0, &mut bytes)?;
    match reader.peek() {
        None => Ok(bytes),
        Some(other) => reader.refuse(format!("{other} is no name of a field")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn refuse<T>(&self, what: impl std::fmt::Display) -> Result<T> {
        let line = self.text[..self.at].matches('\n').count() + 1;
        Err(Refusal::invalid(format!("P4Info, line {line}: {what}")))
    }

    /// The next character that is no space and in no comment.
    fn peek(&mut self) -> Option<char> {
        loop {
            let rest = &self.text[self.at..];
            let next = rest.chars().next()?;
            if next == '#' {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if next.is_whitespace() || next == ';' || next == ',' {
                self.at += next.len_utf8();
            } else {
                return Some(next);
            }
        }
    }

    fn takes(&mut self, wanted: char) -> bool {
        let takes = self.peek() == Some(wanted);
        if takes {
            self.at += wanted.len_utf8();
        }
        takes
    }

    /// A name or number.
    fn word(&mut self) -> Result<&'a str> {
        self.peek();
        let rest = &self.text[self.at..];
        let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '+');
        let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        if word.is_empty() {
            return self.refuse("a name or number is missing");
        }
        self.at += word.len();
        Ok(word)
    }

    /// The fields of a message, to its end or that of the text.
    fn message(&mut self, name: &str, depth: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let found = fields::MESSAGES.iter().find(|(other, _)| *other == name);
        let Some((_, fields)) = found.filter(|_| depth < MAX_DEPTH) else {
            return self.refuse("the messages are too deep");
        };
        while self.peek().is_some_and(|c| c.is_ascii_alphabetic()) {
            let field = self.word()?;
            let Some((_, number, kind)) = fields.iter().find(|(other, ..)| *other == field) else {
                return self.refuse(format!("{name} has no field {field}"));
            };
            let colon = self.takes(':');
            if self.takes('[') {
                while !self.takes(']') {
                    self.value(*number, *kind, depth, bytes)?;
                }
            } else if colon || matches!(kind, Kind::Message(_)) {
                self.value(*number, *kind, depth, bytes)?;
            } else {
                return self.refuse(format!("{field} has no value"));
            }
        }
        Ok(())
    }

    fn value(&mut self, number: u32, kind: Kind, depth: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let value = match kind {
            Kind::Message(name) => {
                if !self.takes('{') {
                    return self.refuse("a { is missing");
                }
                let mut inner = Vec::new();
                self.message(name, depth + 1, &mut inner)?;
                if !self.takes('}') {
                    return self.refuse("a } is missing");
                }
                put(number, &inner, bytes);
                return Ok(());
            }
            Kind::Text => {
                let text = self.string()?;
                put(number, &text, bytes);
                return Ok(());
            }
            Kind::Enum(name) => {
                let word = self.word()?;
                let values = fields::ENUMS.iter().find(|(other, _)| *other == name);
                let values = values.map_or(&[][..], |(_, values)| values);
                match values.iter().find(|(other, _)| *other == word) {
                    Some((_, value)) => *value,
                    None => return self.refuse(format!("{word} is no {name}")),
                }
            }
            Kind::Truth => match self.word()? {
                "true" => 1,
                "false" => 0,
                other => return self.refuse(format!("{other} is neither true nor false")),
            },
            Kind::Number => {
                let word = self.word()?;
                let number = match word.strip_prefix("0x") {
                    Some(digits) => u64::from_str_radix(digits, 16).ok(),
                    None => word.parse::<i64>().ok().map(|number| number as u64),
                };
                match number {
                    Some(number) => number,
                    None => return self.refuse(format!("{word} is no number")),
                }
            }
        };
        encode_key(number, WireType::Varint, bytes);
        encode_varint(value, bytes);
        Ok(())
    }

    /// Strings in quotes, one after the other, as their bytes.
    fn string(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if !matches!(self.peek(), Some('"' | '\'')) {
            return self.refuse("a string is missing");
        }
        while let Some(quote @ ('"' | '\'')) = self.peek() {
            self.at += 1;
            loop {
                let Some(next) = self.text[self.at..].chars().next() else {
                    return self.refuse("a string does not end");
                };
                self.at += next.len_utf8();
                match next {
                    '\\' => bytes.push(self.escape()?),
                    '\n' => return self.refuse("a string does not end in its line"),
                    other if other == quote => break,
                    other => bytes.extend(other.encode_utf8(&mut [0; 4]).bytes()),
                }
            }
        }
        Ok(bytes)
    }

    /// The byte after a backslash.
    fn escape(&mut self) -> Result<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let number = |digits: &[u8], radix| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, radix).ok()
        };
        let run = |skip: usize, most: usize, radix: u32| {
            let digits = rest.iter().skip(skip).take(most);
            digits
                .take_while(|byte| char::from(**byte).is_digit(radix))
                .count()
        };
        let (length, byte) = match rest.first() {
            Some(b'n') => (1, Some(b'\n')),
            Some(b't') => (1, Some(b'\t')),
            Some(b'r') => (1, Some(b'\r')),
            Some(b'0'..=b'7') => {
                let length = run(0, 3, 8);
                (length, number(&rest[..length], 8))
            }
            Some(b'x') => {
                let length = run(1, 2, 16);
                (1 + length, number(&rest[1..1 + length], 16))
            }
            Some(byte @ (b'"' | b'\'' | b'\\')) => (1, Some(*byte)),
            _ => (0, None),
        };
        let Some(byte) = byte else {
            return self.refuse("a backslash has no meaning here");
        };
        self.at += length;
        Ok(byte)
    }
}

/// Appends a field that has bytes.
fn put(number: u32, value: &[u8], bytes: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, bytes);
    encode_varint(value.len() as u64, bytes);
    bytes.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_as_its_messages() {
        let text = "# p4c\npkg_info { arch: \"v1\" 'm\\x6f\\144el' }\ntables: { size: -1 \
            direct_resource_ids: [1, 2] is_const_table: true match_fields { match_type: LPM } }";
        let info = [10, 9, 42, 7, 118, 49, 109, 111, 100, 101, 108];
        let bytes = encode(text).expect("it is right");
        // Field 5 of field 1, then field 2.
        assert_eq!(bytes[..info.len()], info);
        assert_eq!(bytes[info.len()], 18);
        assert_eq!(bytes[bytes.len() - 4..], [18, 2, 40, 3]);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, message) in [
            ("\ntable { }", "P4Info, line 2: P4Info has no field table"),
            ("tables {\n", "P4Info, line 2: a } is missing"),
            ("tables { size: x }", "P4Info, line 1: x is no number"),
            (
                "pkg_info { arch: \"",
                "P4Info, line 1: a string does not end",
            ),
            ("}", "P4Info, line 1: } is no name of a field"),
        ] {
            assert_eq!(encode(text).expect_err("it is wrong").message, message);
        }
    }
}
