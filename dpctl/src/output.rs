//! Prints texts to a terminal that obeys nothing in them.

use std::borrow::Cow;
use std::io::Write;

/// Prints to the standard output. Most of a text was written by the switch, so control characters
/// are escaped. A reader that stops early, as `head` does, is no error.
pub(crate) fn say(text: impl AsRef<str>) {
    say_raw(&without_controls(text.as_ref()));
}

/// Prints one error line, also with control characters escaped.
pub(crate) fn complain(text: &str) {
    eprintln!("dpctl: {}", without_controls(text));
}

/// A text in which control characters, but for ends of lines and tabs, are escaped as JSON has
/// them: a terminal would obey them (ECMA-48).
fn without_controls(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(obeyed) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if obeyed(c) {
            escaped += &format!("\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// Prints text of our own, in which control characters are meant.
pub(crate) fn say_raw(text: &str) {
    if std::io::stdout().write_all(text.as_bytes()).is_err() {
        std::process::exit(0);
    }
}
