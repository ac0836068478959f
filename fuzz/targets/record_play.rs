//! Fuzzes `checks/record_play.rs`.
#![no_main]

#[path = "../checks/record_play.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
