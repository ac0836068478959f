//! Compiles the program of the kernel, if there is a clang; without one, the crate has none.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src/accel.c");
    println!("cargo::rerun-if-changed=src/frame.h");
    println!("cargo::rerun-if-changed=src/meter.h");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    let folder = env::var("OUT_DIR").expect("cargo sets it");
    let object = Path::new(&folder).join("accel.o");
    // Types of the kernel's headers are in a folder of the machine's, or of its cross compiler.
    let machine = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let done = Command::new("clang")
        .args([
            "-O2",
            "-Wall",
            "-Werror",
            "-target",
            "bpf",
            "-mcpu=v3",
            "-idirafter",
        ])
        .arg(format!("/usr/include/{machine}-linux-gnu"))
        .arg("-idirafter")
        .arg(format!("/usr/{machine}-linux-gnu/include"))
        .args(["-c", "src/accel.c", "-o"])
        .arg(&object)
        .status();
    // Once what was missing is installed, the next build has an accelerator.
    match done {
        Ok(status) if status.success() => return,
        Ok(_) => {
            println!("cargo::warning=no accelerator: clang cannot compile accel.c");
            println!("cargo::rerun-if-changed=/usr/include");
        }
        Err(_) => {
            println!("cargo::warning=no accelerator: there is no clang");
            let path = env::var_os("PATH").unwrap_or_default();
            for folder in env::split_paths(&path).filter(|folder| folder.is_dir()) {
                println!("cargo::rerun-if-changed={}", folder.display());
            }
        }
    }
    fs::write(&object, []).expect("cargo's folder can be written");
}
