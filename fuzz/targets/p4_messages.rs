//! Fuzzes `checks/p4_messages.rs`.
#![no_main]

#[path = "../checks/p4_messages.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
