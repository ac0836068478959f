//! Fuzzes `checks/ebpf_program.rs`.
#![no_main]

#[path = "../checks/ebpf_program.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::run(bytes);
});
