//! Fuzzes `checks/p4_service.rs`.
#![no_main]

#[path = "../checks/p4_service.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
