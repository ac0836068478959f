//! The program `dpctl`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    bofuss_dpctl::main()
}
