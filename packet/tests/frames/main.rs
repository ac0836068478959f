//! Frames built, edited and cut here and by an independent library, compared byte for byte.

#![allow(clippy::unwrap_used, reason = "a failing test is the message")]

mod added;
mod edits;
mod extraction;
mod headers;
mod segments;
mod spec;
