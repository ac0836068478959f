//! Builds the wheels of the Python package, one for each machine, for any Python from 3.10 on.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{self, sh};
use toml::Value;

use crate::package::{BuildKind, HERE, VERSION, tool};
use crate::tree::{copy, read, write};
use crate::{licenses, python, rooms, setup};

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
    describe(root, &tag, machine, stage)?;
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

/// The metadata of the package, as `pyproject.toml` has it. Errors: a file that is wrong.
fn metadata(root: &Path) -> Result<String, String> {
    let table = rooms::table(&root.join("pyproject.toml"))?;
    let project = table.get("project").ok_or("pyproject.toml: no project")?;
    let text = |key: &str| {
        let value = project.get(key).and_then(Value::as_str);
        value.ok_or(format!("pyproject.toml: no {key}"))
    };
    let mut lines = format!(
        "Metadata-Version: 2.4\nName: bofuss\nVersion: {VERSION}\nSummary: {}\n\
         License-Expression: {}\nLicense-File: LICENSE\nRequires-Python: {}\nKeywords: {}\n",
        text("description")?,
        text("license")?,
        text("requires-python")?,
        rooms::names(project.get("keywords")).join(","),
    );
    for classifier in rooms::names(project.get("classifiers")) {
        lines += &format!("Classifier: {classifier}\n");
    }
    let readme = read(&root.join(text("readme")?))?;
    lines += &format!("Description-Content-Type: text/markdown\n\n{readme}");
    Ok(lines)
}

/// Writes the metadata of a wheel and its license.
fn describe(root: &Path, tag: &str, machine: &str, stage: &Path) -> Result<(), String> {
    let info = format!("bofuss-{VERSION}.dist-info");
    let metadata = metadata(root)?;
    write(&stage.join(&info).join("METADATA"), metadata.as_bytes())?;
    let notice = licenses::notice(PACKAGE, &triple(machine))?;
    write(
        &stage.join(&info).join("licenses/LICENSE"),
        notice.as_bytes(),
    )?;
    let kind =
        format!("Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\nTag: {tag}\n");
    write(&stage.join(&info).join("WHEEL"), kind.as_bytes())
}
