//! Fuzzes `checks/driver_line.rs`.
#![no_main]

#[path = "../checks/driver_line.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::run(bytes);
});
