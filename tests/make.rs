//! The Makefile: what it builds, and how often.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use bofuss_tests::{have, ok, printed};

/// Makes `make build` and `make demo` build what `cargo xtask e2e` built for the tests: other
/// packages would have other features, and be compiled while tests use them.
const AS_BUILT: [&str; 6] = [
    "PROFILE=dev",
    "PACKAGES=--workspace --lib --bins --examples",
    "METER=",
    "LIBRARY=",
    "DEMO=--profile dev --workspace --lib --bins --examples",
    "DEMO_BUILT=$(T)/debug",
];

/// Variables of a shell that decide what cargo finds built already, besides those of profiles.
const OF_THE_BUILD: [&str; 3] = ["CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_INCREMENTAL"];
const OF_A_PROFILE: &str = "CARGO_PROFILE_";

/// Runs make as a shell would. Returns what it prints. Panics: if it fails.
fn make(words: &[&str]) -> String {
    let mut make = Command::new("make");
    make.args(words)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    for (name, _) in std::env::vars() {
        let is_of_this_test = name.starts_with("CARGO_") || name == "CARGO" || name == "MAKEFLAGS";
        let is_of_the_build = OF_THE_BUILD.contains(&&*name) || name.starts_with(OF_A_PROFILE);
        if is_of_this_test && !is_of_the_build {
            make.env_remove(name);
        }
    }
    let output = make.output().unwrap();
    let said = printed(&output);
    assert!(output.status.success(), "make {words:?}: {said}");
    said
}

fn crates_compiled(words: &[&str]) -> usize {
    make(&[&AS_BUILT[..], words].concat())
        .matches("Compiling ")
        .count()
}

#[test]
fn make_demo_plays_what_is_built() {
    if !have(&["make", "ip", "ping"]) {
        return;
    }
    let said = make(&[&AS_BUILT[..], &["demo"]].concat());
    assert!(said.contains("1 bit differs"), "{said}");
}

#[test]
#[ignore = "long: two minutes of the compiler"]
fn make_demo_builds_and_plays_it() {
    if !have(&["make", "ip", "ping"]) {
        return;
    }
    let said = make(&["demo"]);
    assert!(said.contains("1 bit differs"), "{said}");
    assert!(said.contains("  make demo ARGS=--keep "), "{said}");
}

/// The lines of a table of the workspace's manifest.
fn manifest(table: &str) -> Vec<&'static str> {
    let text = include_str!("../Cargo.toml");
    let rest = text.split_once(&format!("\n[{table}]\n")).unwrap().1;
    let lines = rest.lines().take_while(|line| !line.starts_with('['));
    lines.filter(|line| line.contains(" = ")).collect()
}

#[test]
fn a_demo_optimises_nothing_and_what_is_shipped_is_optimised_once() {
    for line in manifest("profile.dev.package") {
        let package = line.split(" = ").next().unwrap();
        let unoptimised = format!("{package} = {{ opt-level = 0 }}");
        assert!(
            manifest("profile.demo.package").contains(&&*unoptimised),
            "{package}"
        );
    }
    let shipped = manifest("profile.release");
    assert!(shipped.contains(&"lto = \"thin\""), "{shipped:?}");
    assert!(
        !shipped.iter().any(|line| line.starts_with("debug")),
        "{shipped:?}"
    );
}

#[test]
fn an_installation_builds_nothing_twice() {
    if !have(&["make", "install"]) {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("install");
    let _ = std::fs::remove_dir_all(&folder);
    let destination = format!("DESTDIR={}", folder.display());
    for target in ["build", "install", "build", "install"] {
        let compiled = crates_compiled(&[target, &destination]);
        assert_eq!(compiled, 0, "make {target}");
    }
    for file in ["man/man8/bofuss.8", "bofuss/prometheus/dashboard.json"] {
        let path = folder.join("usr/local/share").join(file);
        assert!(path.exists(), "{file}");
    }
    if have(&["cc", "pkg-config"]) {
        a_program_in_c_finds_the_library(&folder);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Compiles an example as a user of what is installed below `folder` does, and runs it.
fn a_program_in_c_finds_the_library(folder: &Path) {
    let library = folder.join("usr/local/lib");
    let mut flags = Command::new("pkg-config");
    flags.env("PKG_CONFIG_SYSROOT_DIR", folder);
    flags.env("PKG_CONFIG_PATH", library.join("pkgconfig"));
    let flags = ok(flags.args(["--cflags", "--libs", "bofuss"]));
    let program = folder.join("hub");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/examples/hub.c");
    let mut compile = Command::new("cc");
    compile.arg(source).args(flags.split_whitespace());
    ok(compile.arg("-o").arg(&program));
    let said = ok(Command::new(program).env("LD_LIBRARY_PATH", library));
    assert_eq!(said, "out of port 2: 60 bytes\nout of port 3: 60 bytes\n");
}
