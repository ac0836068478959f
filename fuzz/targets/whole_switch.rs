//! Fuzzes `checks/whole_switch.rs`.
#![no_main]

#[path = "../checks/whole_switch.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
