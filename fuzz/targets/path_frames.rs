//! Fuzzes `checks/path_frames.rs`.
#![no_main]

#[path = "../checks/path_frames.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
