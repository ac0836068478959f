//! Fuzzes `checks/packet_parse.rs`.
#![no_main]

#[path = "../checks/packet_parse.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
