//! Fuzzes `checks/scenario_parse.rs`.
#![no_main]

#[path = "../checks/scenario_parse.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
