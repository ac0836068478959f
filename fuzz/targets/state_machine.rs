//! Fuzzes `checks/state_machine.rs`.
#![no_main]

#[path = "../checks/state_machine.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
