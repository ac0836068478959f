//! Prints texts to a terminal that obeys nothing in them.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};

use bofuss_oflib::wire::{OneLine, write_escaped};

/// Prints to the standard output. Most of a text was written by the switch, so control characters
/// are escaped. A reader that stops early, as `head` does, is no error.
pub(crate) fn say(text: impl AsRef<str>) {
    say_raw(&without_controls(text.as_ref()));
}

/// Prints one error line, also with control characters escaped. If its reader is gone, it is lost.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "dpctl: {}", OneLine(text));
}

/// A text of many lines in which control characters, but for ends of lines and tabs, are escaped.
/// Strings of the switch must be [`OneLine`] in it.
fn without_controls(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(obeyed) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    write_escaped(&mut escaped, text, obeyed).expect("a string grows");
    escaped.into()
}

/// Prints text of our own, in which control characters are meant. Ends the process if nothing can
/// be written: quietly if the reader has what it wants, else with the error, as on a full disk.
pub(crate) fn say_raw(text: &str) {
    let mut out = std::io::stdout().lock();
    let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) else {
        return;
    };
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    complain(&format!("standard output: {error}"));
    std::process::exit(1);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bofuss_oflib::{Codec, Message, Version};

    use crate::ofctl::wording::Wording;
    use crate::{bofuss, json, ofctl};

    /// The vectors of each version: lines of text, each followed by hexadecimal digits.
    const VECTORS: [(Version, &str); 7] = [
        (
            Version::V1_0,
            include_str!("../../testdata/vectors/openflow10.txt"),
        ),
        (
            Version::V1_1,
            include_str!("../../testdata/vectors/openflow11.txt"),
        ),
        (
            Version::V1_2,
            include_str!("../../testdata/vectors/openflow12.txt"),
        ),
        (
            Version::V1_3,
            include_str!("../../testdata/vectors/messages.txt"),
        ),
        (
            Version::V1_3,
            include_str!("../../testdata/vectors/multiparts.txt"),
        ),
        (
            Version::V1_4,
            include_str!("../../testdata/vectors/openflow14.txt"),
        ),
        (
            Version::V1_5,
            include_str!("../../testdata/vectors/openflow15.txt"),
        ),
    ];

    /// Everything that dpctl may print of a message.
    fn printed(version: Version, message: &Message) -> [String; 4] {
        let wording = Wording::with_numbers(version);
        [
            bofuss::print::text(message),
            bofuss::print::details(message, wording.ports),
            ofctl::show::text(wording, 1, message),
            json::message(message).to_string(),
        ]
    }

    fn bytes_of(digits: &str) -> Vec<u8> {
        let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pairs = digits
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).expect("digits"));
        pairs
            .map(|pair| u8::from_str_radix(pair, 16).expect("digits"))
            .collect()
    }

    /// Replaces a string of a message by ends of lines. Short ones are found by their padding.
    fn with_line_ends(bytes: &[u8], string: &str) -> Vec<u8> {
        let mut pattern = string.as_bytes().to_vec();
        if string.len() < 4 {
            pattern.extend([0; 4]);
        }
        let mut wild = bytes.to_vec();
        for at in 0..=bytes.len().saturating_sub(pattern.len()) {
            if bytes[at..].starts_with(&pattern) {
                wild[at..at + string.len()].fill(b'\n');
            }
        }
        wild
    }

    #[test]
    fn no_string_of_a_message_begins_a_line_of_its_own() {
        let mut strings = 0;
        for (version, text) in VECTORS {
            let codec = Codec::new(version, Arc::new(bofuss_ext::catalogue()));
            for vector in text.split("\n\n") {
                let lines = vector.lines().filter(|line| !line.starts_with('#'));
                let (digits, shown): (Vec<_>, Vec<_>) =
                    lines.partition(|line| line.starts_with(' '));
                let Some(shown) = shown.last() else { continue };
                let bytes = bytes_of(&digits.concat());
                // The strings are between each two quotation marks.
                for string in shown
                    .split('"')
                    .skip(1)
                    .step_by(2)
                    .filter(|one| !one.is_empty())
                {
                    let (_, tame) = codec.decode(&bytes).expect(shown);
                    let wild = with_line_ends(&bytes, string);
                    let (_, wild) = codec.decode(&wild).expect(shown);
                    assert_ne!(tame, wild, "{shown}: {string}");
                    let wanted = printed(version, &tame).map(|text| text.lines().count());
                    let printed = printed(version, &wild);
                    let counts = printed.each_ref().map(|text| text.lines().count());
                    assert_eq!(counts, wanted, "{shown}: {printed:?}");
                    strings += 1;
                }
            }
        }
        assert!(strings >= 40, "{strings} strings");
    }
}
