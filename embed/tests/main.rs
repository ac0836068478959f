//! An embedded switch from outside: bytes and frames, its records, and its saved states.
#![allow(clippy::unwrap_used)]

mod common;

mod hostile;
mod record;
mod record_headers;
mod saved;
mod scenarios;
mod tunnels;
