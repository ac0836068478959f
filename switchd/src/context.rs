//! Errors as sentences that say first what they are about.

use std::fmt::Display;

/// Turns an error into the sentence `WHAT: ERROR`.
pub fn context<E: Display>(what: impl Display) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error}")
}
