//! Fuzzes `checks/message_decode.rs`.
#![no_main]

#[path = "../checks/message_decode.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
