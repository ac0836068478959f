//! `cargo xtask python`: puts the Python package together and runs its tests, or writes the files
//! that are derived from it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::package::VERSION;
use crate::tree::{copy, write};
use crate::{command, setup, tree};

/// Files of `contrib` that also work without the package, and the names of the modules there.
const MODULES: [(&str, &str); 2] = [
    ("contrib/bofuss_mininet.py", "mininet.py"),
    ("contrib/bofuss_machine.py", "machine.py"),
];
/// What pip builds the package with.
const MATURIN: &str = "maturin==1.16.0";
/// The package's own modules.
const SOURCES: &str = "python/bofuss";
/// The folders of the build folder that have the package: for the examples, and for its tests,
/// which may run at the same time.
const PACKAGE: &str = "python";
const TESTED: &str = "python-tested";
/// Programs that print files of the tree by the package, and these files: its documentation, its
/// stubs, and README's picture of a trace.
const PRINTED: [(&str, &str); 3] = [
    ("python/tools/docs.py", "python/bofuss/_docs.py"),
    ("python/tools/stubs.py", "python/bofuss/oflib.pyi"),
    ("python/tools/picture.py", "docs/trace.svg"),
];
/// The notebooks, whose cells use the package.
const NOTEBOOKS: [&str; 2] = ["docs/lecture.ipynb", "docs/simulator.ipynb"];

/// Builds the package and runs its tests; `arguments` are unittest's.
///
/// Errors: the step that failed.
pub(crate) fn run(root: &Path, target: &Path, arguments: &[String]) -> Result<(), String> {
    let folder = build_in(TESTED, root, target)?;
    let mut tests = interpreter(root, &folder)?;
    tests.env("BOFUSS_PYTHON", setup::environment(root, "venv")?);
    tests.env("BOFUSS_BIN_DIR", target.join("debug"));
    tests.args(["-W", "error::ResourceWarning", "-m", "unittest"]);
    if arguments.is_empty() {
        tests.args(["discover", "-s", "python/tests"]);
    }
    command::succeed(tests.args(arguments))
}

/// Installs the package by pip into an environment of its own, from its source distribution, and
/// runs tests of it there. Needs the network.
///
/// Errors: the step that failed.
pub(crate) fn by_pip(root: &Path, target: &Path) -> Result<(), String> {
    let folder = target.join("pip");
    let _ = fs::remove_dir_all(&folder);
    let mut make = Command::new("python3");
    command::succeed(make.args(["-m", "venv"]).arg(folder.join("venv")))?;
    let python = folder.join("venv/bin/python");
    let pip = |words: &str| {
        let mut pip = Command::new(&python);
        pip.current_dir(root).args(["-m", "pip", "--quiet"]);
        pip.args(words.split(' '));
        pip
    };
    command::succeed(&mut pip(&format!("install {MATURIN}")))?;
    let mut pack = Command::new(folder.join("venv/bin/maturin"));
    command::succeed(pack.current_dir(root).args(["sdist", "-o"]).arg(&folder))?;
    let packed = folder.join(format!("bofuss-{VERSION}.tar.gz"));
    let mut install = pip("install --config-settings=build-args=--profile=dev");
    install.env("CARGO_TARGET_DIR", folder.join("target"));
    command::succeed(install.arg(&packed))?;
    let mut tests = Command::new(&python);
    tests.current_dir(root.join("python/tests"));
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    tests.args(["-m", "unittest", "test_oflib", "test_sim", "test_threads"]);
    command::succeed(&mut tests)
}

/// Writes what the package prints for the tree, and the outputs of the notebooks' cells.
///
/// Errors: the step that failed.
pub(crate) fn write_derived(root: &Path, target: &Path) -> Result<(), String> {
    let folder = build(root, target)?;
    for (program, file) in PRINTED {
        let text = command::output(interpreter(root, &folder)?.arg(program))?;
        write(&root.join(file), text.as_bytes())?;
        // The stubs have the documentation.
        package(root, &target.join("debug"), &folder)?;
    }
    for notebook in NOTEBOOKS {
        let mut run = interpreter(root, &folder)?;
        command::succeed(run.args(["python/tools/notebook.py", notebook, "--write"]))?;
    }
    Ok(())
}

/// Compiles the module and the examples that its tests run, and puts the package together. Returns
/// the folder that has the package.
///
/// Errors: the step that failed.
pub(crate) fn build(root: &Path, target: &Path) -> Result<PathBuf, String> {
    build_in(PACKAGE, root, target)
}

/// The same with the package in a folder of this name.
fn build_in(name: &str, root: &Path, target: &Path) -> Result<PathBuf, String> {
    command::build_all()?;
    let folder = target.join(name);
    let _ = fs::remove_dir_all(&folder);
    package(root, &target.join("debug"), &folder)?;
    Ok(folder)
}

/// Puts the package together in `folder`, with the compiled module from `built`.
///
/// Errors: a file that cannot be read or written.
pub(crate) fn package(root: &Path, built: &Path, folder: &Path) -> Result<(), String> {
    let package = folder.join("bofuss");
    for file in tree::files(&root.join(SOURCES))? {
        copy(&root.join(SOURCES).join(&file), &package.join(&file))?;
    }
    for (file, name) in MODULES {
        copy(&root.join(file), &package.join(name))?;
    }
    let library = built.join("libbofuss_python.so");
    copy(&library, &package.join("_native.abi3.so"))
}

/// The Python of the package's tests, set up to import the package from `folder`.
fn interpreter(root: &Path, folder: &Path) -> Result<Command, String> {
    let mut python = Command::new(setup::environment(root, "venv-python")?);
    python.current_dir(root).env("PYTHONPATH", folder);
    // Compiled files would be in the tree.
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(python)
}
