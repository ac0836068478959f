//! Fuzzes `checks/text_parse.rs`.
#![no_main]

#[path = "../checks/text_parse.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
