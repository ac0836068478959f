//! Fuzzes `checks/c_entries.rs`.
#![no_main]

#[path = "../checks/c_entries.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
