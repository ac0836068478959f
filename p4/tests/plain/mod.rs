//! What random tests share: numbers that repeat, expressions from a grammar, and an interpreter of
//! the JSON that is slow and obvious.
#![allow(dead_code, reason = "each test uses some of it")]

pub mod controls;
pub mod copies;
pub mod expressions;
pub mod externs;
pub mod hashes;
pub mod interpreter;
pub mod parsers;
pub mod parsing;
pub mod primitives;
pub mod profiles;
pub mod programs;
pub mod random;
pub mod tables;
pub mod unions;
