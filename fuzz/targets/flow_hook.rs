//! Fuzzes `checks/flow_hook.rs`.
#![no_main]

#[path = "../checks/flow_hook.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::run(bytes));
