//! Builds the wheels of the Python package, one for each machine, for any Python from 3.10 on.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{self, sh};
use crate::package::{BuildKind, HERE, SUMMARY, VERSION, tool};
use crate::tree::{copy, write};
use crate::{licenses, python, setup};

const PACKAGE: &str = "--locked --package bofuss-python";
/// The lowest Python version, as wheels name it: the stable ABI that pyo3's feature selects.
const PYTHON: &str = "cp310-abi3";
/// Modules under the names that they had before there was a package.
const FORMER: [(&str, &str); 2] = [
    ("contrib/bofuss_mininet.py", "bofuss_mininet.py"),
    ("contrib/bofuss_machine.py", "bofuss_machine.py"),
];
/// Files for `mn --custom`.
const DATA: [&str; 2] = ["bofuss_mininet.py", "mininet.py"];

/// The target that the module is compiled for. The C library is glibc, because Python's is.
pub(crate) fn triple(machine: &str) -> String {
    format!("{machine}-unknown-linux-gnu")
}

/// The folder that has cargo's profile folders for a machine, with the module.
pub(crate) fn folder(target: &Path, machine: &str) -> PathBuf {
    if machine == HERE {
        target.into()
    } else {
        target.join(triple(machine))
    }
}

/// Compiles the module for a machine.
///
/// Errors: the command that failed.
pub(crate) fn build(machine: &str, kind: BuildKind) -> Result<(), String> {
    if kind == BuildKind::Debug {
        return command::build_all();
    }
    command::cargo_with(&format!("build --release {PACKAGE}"), |cargo| {
        if machine != HERE {
            let triple = triple(machine);
            let name = triple.replace('-', "_");
            let linker = format!("CARGO_TARGET_{}_LINKER", name.to_uppercase());
            cargo.args(["--target", &triple]);
            cargo.env(linker, tool(machine, "gcc"));
            cargo.env(format!("CC_{name}"), tool(machine, "gcc"));
        }
    })
}

/// Packs the wheel for a machine by PyPI's `wheel`, with the compiled module from `built`.
///
/// Errors: a command that failed, or a file that cannot be read or written.
pub(crate) fn pack(
    root: &Path,
    machine: &str,
    built: &Path,
    stage: &Path,
    out: &Path,
) -> Result<(), String> {
    python::package(root, built, stage)?;
    for (file, name) in FORMER {
        copy(&root.join(file), &stage.join(name))?;
    }
    let data = stage.join(format!("bofuss-{VERSION}.data/data/share/bofuss"));
    for name in DATA {
        copy(&root.join("contrib").join(name), &data.join(name))?;
    }
    let module = "bofuss/_native.abi3.so";
    let strip = tool(machine, "strip -R .comment");
    sh(stage, &format!("{strip} {module}"))?;
    let tag = format!(
        "{PYTHON}-manylinux_2_{}_{machine}",
        glibc(machine, &stage.join(module))?
    );
    describe(&tag, machine, stage)?;
    // Archives begin in 1980.
    let mut pack = Command::new(setup::environment(root, "venv-python")?);
    pack.env("SOURCE_DATE_EPOCH", "315619200");
    pack.args(["-m", "wheel", "pack", "--dest-dir"]).arg(out);
    command::succeed(pack.arg(stage))
}

/// The lowest glibc that has all symbols that a library needs: the N of 2.N.
fn glibc(machine: &str, library: &Path) -> Result<u32, String> {
    let objdump = tool(machine, "objdump");
    let symbols = command::output(Command::new(objdump).arg("-T").arg(library))?;
    let versions = symbols
        .split("GLIBC_2.")
        .skip(1)
        .filter_map(|text| text.split([')', '.', ' ']).next()?.parse().ok());
    versions
        .max()
        .ok_or_else(|| format!("{}: it uses no glibc", library.display()))
}

/// Writes the metadata of a wheel and its license.
fn describe(tag: &str, machine: &str, stage: &Path) -> Result<(), String> {
    let info = format!("bofuss-{VERSION}.dist-info");
    let metadata = format!(
        "Metadata-Version: 2.1\nName: bofuss\nVersion: {VERSION}\nSummary: {SUMMARY}\n\
         License: MIT OR Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.10\n"
    );
    write(&stage.join(&info).join("METADATA"), metadata.as_bytes())?;
    let notice = licenses::notice(PACKAGE, &triple(machine))?;
    write(&stage.join(&info).join("LICENSE"), notice.as_bytes())?;
    let kind =
        format!("Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\nTag: {tag}\n");
    write(&stage.join(&info).join("WHEEL"), kind.as_bytes())
}
