//! What makes the switch fast, and changes nothing that it does: `pipeline` says what that is.
//! `README.md` here follows a flow through its life.

pub(crate) mod cache;
mod direct;
mod forgotten;
mod key_reader;
mod lookahead;
mod paths;
#[cfg(test)]
mod tests;
