//! The helpers that several extensions use: arguments of texts, names, OXM headers, BEBA's errors,
//! saved states, lists of values, maps for trials.

pub(crate) mod args;
pub mod beba;
pub mod list;
pub(crate) mod oxm;
pub mod saved;
pub mod trial_map;
pub(crate) mod words;
