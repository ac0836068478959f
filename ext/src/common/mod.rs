//! The helpers that several extensions use: arguments of texts, names, OXM headers, BEBA's errors.

pub(crate) mod args;
pub mod beba;
pub(crate) mod oxm;
pub(crate) mod words;
