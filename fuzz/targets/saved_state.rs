//! Fuzzes `checks/saved_state.rs`.
#![no_main]

#[path = "../checks/saved_state.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
