//! Values as text: the form that each has, bytes in hexadecimal, strings in one line.

use core::fmt;

use super::{Bytes, FixedStr};

/// A value with a text form.
pub trait TextForm {
    /// Writes it.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// Shows a value's text form.
pub struct Text<'a, T>(pub &'a T);

impl<T: TextForm> fmt::Display for Text<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(f)
    }
}

impl TextForm for Bytes {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> fmt::Display for FixedStr<N> {
    /// The string in one line, as [`OneLine`] writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        OneLine(&self.0).fmt(f)
    }
}

/// A peer's string in one line: control characters, which would end the line or be obeyed by a
/// terminal (ECMA-48), are escaped as JSON has them.
pub struct OneLine<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, self.0, char::is_control)
    }
}

/// Writes a text with some characters escaped.
pub fn write_escaped(
    f: &mut impl fmt::Write,
    text: &str,
    is_escaped: impl Fn(char) -> bool,
) -> fmt::Result {
    for c in text.chars() {
        if is_escaped(c) {
            write!(f, "\\u{:04x}", u32::from(c))?;
        } else {
            f.write_char(c)?;
        }
    }
    Ok(())
}
