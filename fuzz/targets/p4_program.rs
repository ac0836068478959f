//! Fuzzes `checks/p4_program.rs`.
#![no_main]

#[path = "../checks/p4_program.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
