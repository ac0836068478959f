//! `cargo xtask python`: the package for Python in a folder, its tests, and what is written of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{ci, e2e, tree};

/// Modules that `contrib` has as files that also work alone, and their names in the package.
const MODULES: [(&str, &str); 2] = [
    ("contrib/bofuss_mininet.py", "mininet.py"),
    ("contrib/bofuss_machine.py", "machine.py"),
];
/// The package's own modules, and its stubs.
const SOURCES: &str = "python/bofuss";
const STUBS: &str = "python/bofuss/oflib.pyi";
/// The notebook whose cells use the package.
const LECTURE: &str = "docs/lecture.ipynb";

/// Builds the package and runs its tests, with `arguments` for unittest.
///
/// Errors: the step that failed.
pub(crate) fn run(root: &Path, target: &Path, arguments: &[String]) -> Result<(), String> {
    let folder = build(root, target)?;
    let mut tests = interpreter(root, &folder)?;
    tests.env("BOFUSS_PYTHON", e2e::python(root)?);
    tests.env("BOFUSS_BIN_DIR", target.join("debug"));
    tests.args(["-W", "error::ResourceWarning", "-m", "unittest"]);
    if arguments.is_empty() {
        tests.args(["discover", "-s", "python/tests"]);
    }
    ci::succeed(tests.args(arguments))
}

/// Writes the stubs, as the rows of the package's classes have them, and what the cells of the
/// lecture show.
///
/// Errors: the step that failed.
pub(crate) fn write(root: &Path, target: &Path) -> Result<(), String> {
    let folder = build(root, target)?;
    let text = ci::output(interpreter(root, &folder)?.arg("python/tools/stubs.py"))?;
    fs::write(root.join(STUBS), text).map_err(|e| format!("{STUBS}: {e}"))?;
    let mut notebook = interpreter(root, &folder)?;
    ci::succeed(notebook.args(["python/tools/notebook.py", LECTURE, "--write"]))
}

/// Compiles the module, and the examples that its tests run, and puts the package together; gives
/// the folder that has it.
///
/// Errors: the step that failed.
pub(crate) fn build(root: &Path, target: &Path) -> Result<PathBuf, String> {
    // The whole workspace, as the unit tests are built: a package alone asks other features of its
    // libraries, and they would be compiled anew.
    ci::cargo(
        "build --locked --workspace --lib --example replay --example random_record \
         --example scenario_scripts",
        |_| {},
    )?;
    let folder = target.join("python");
    let _ = fs::remove_dir_all(&folder);
    package(root, &target.join("debug"), &folder)?;
    Ok(folder)
}

/// Puts the package together, with the module compiled into `built`.
///
/// Errors: a file that cannot be read or written.
pub(crate) fn package(root: &Path, built: &Path, folder: &Path) -> Result<(), String> {
    let package = folder.join("bofuss");
    let copy = |from: &Path, name: &Path| -> Result<(), String> {
        let to = package.join(name);
        let parent = to.parent().expect("a file is in the package");
        fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
        let copied = fs::copy(from, &to);
        copied
            .map(drop)
            .map_err(|e| format!("{}: {e}", from.display()))
    };
    for file in tree::files(&root.join(SOURCES))? {
        copy(&root.join(SOURCES).join(&file), &file)?;
    }
    for (file, name) in MODULES {
        copy(&root.join(file), Path::new(name))?;
    }
    let library = built.join("libbofuss_python.so");
    copy(&library, Path::new("_native.abi3.so"))
}

/// The Python of the package's tests, which finds the package.
fn interpreter(root: &Path, folder: &Path) -> Result<Command, String> {
    let mut python = Command::new(e2e::environment(root, "venv-python")?);
    python.current_dir(root).env("PYTHONPATH", folder);
    // What it compiles would be files of the tree.
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(python)
}
