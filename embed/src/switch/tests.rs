//! I10, and more than messages: every kind of refused input is given to a switch in use, and
//! changes nothing in it.
//!
//! Left out are the errors for which the specification itself asks for a change: those that discard
//! a bundle, for example BAD_FLAGS.

use alloc::{boxed::Box, collections::BTreeSet, format, string::String, vec};

use super::*;

/// Names the variants of an error. Each has one row, which gives the name and must be seen: the
/// `match` has no wildcard, so a new variant does not compile until it has a row, and a row fails
/// its test until it has a case.
macro_rules! variants {
    ($name:ident, $ALL:ident: $Type:ty { $($pattern:pat => $text:literal,)* }) => {
        fn $name(error: &$Type) -> &'static str {
            match error {
                $($pattern => $text,)*
            }
        }
        const $ALL: &[&str] = &[$($text),*];
    };
}

/// Checks that each of these names was seen, and no other.
fn assert_all_seen(seen: &BTreeSet<&str>, all: &[&'static str]) {
    let all: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(*seen, all);
}

mod calls;
mod connections;
mod messages;
mod used;
