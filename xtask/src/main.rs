//! The developer's commands: `cargo xtask COMMAND`, one file each.
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod bench;
mod ci;
mod command;
mod cost;
mod dist;
mod docs;
mod e2e;
mod examples;
mod fuzz;
mod licenses;
mod modules;
mod mutants;
mod package;
mod patch;
mod python;
mod reference;
mod rooms;
mod seeds;
mod setup;
mod site;
mod size;
mod source;
mod tidy;
mod tree;
mod unit;
mod wheel;

const USAGE: &str = "usage: cargo xtask COMMAND
  lint              format, tidy, sizes, lints
  check             the same, and unit tests
  ci [--all]        check, documentation, cost, end to end; with --all the long tier too
  step NAME         one step of these, by the name that it has there
  tidy              style, rooms and documents
  size              counts lines and comments of each room; compares the core with its budget
  cost [GUIDE]      tries the tutorials' patches, and compares them with their bars
  cost --check      check, on a copy of the tree that has all of these patches
  mutants [WORD]    plants faults one at a time, which tests have to notice
  reference         writes docs/reference and names for ns-3 from the catalogues
  docs              the site of the documentation, into target/site
  dist [--debug]    packages of the programs, into target/dist; with --debug those for this
                    machine, not optimised, for tests, into target/dist-debug
  e2e [ARGS]        end-to-end tests; ARGS for each program: words of names, --ignored
  python [ARGS]     builds the Python package and runs its tests; ARGS as for unittest
  python --write    writes the package's stubs, README's picture, and the notebooks' outputs
  examples [NAME]   runs the examples, and prints which result each has checked
  fuzz [SECONDS [TARGET]]
  bench [--docs] [ARGS]
                    measures the switch and yardsticks; ARGS as for ofmeter bench;
                    with --docs, writes the figures into docs/performance.md";

fn main() -> ExitCode {
    let Some(xtask) = std::env::var_os("CARGO_MANIFEST_DIR") else {
        return fail("run this as `cargo xtask`");
    };
    let root = Path::new(&xtask).parent().expect("xtask lies in the tree");
    std::env::set_current_dir(root).expect("cargo was here just now");
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let target = root.join(folder);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["lint"] => ci::run(root, &target, ci::Tier::Lint),
        ["check"] => ci::run(root, &target, ci::Tier::Check),
        ["ci"] => ci::run(root, &target, ci::Tier::Test),
        ["step", name] => ci::run_step(root, &target, name),
        ["ci", "--all"] => ci::run(root, &target, ci::Tier::All),
        ["tidy"] => tidy::run(root),
        ["size"] => size::run(root),
        ["cost"] => cost::run(root, &target, ""),
        ["cost", "--check"] => cost::check(root, &target, "check"),
        ["cost", guide] => cost::run(root, &target, guide),
        ["mutants"] => mutants::run(root, &target, ""),
        ["mutants", word] => mutants::run(root, &target, word),
        ["reference"] => reference::run(root, &target, reference::PageAction::Write),
        ["docs"] => site::run(root, &target),
        ["dist"] => dist::run(root, &target, package::BuildKind::Release),
        ["dist", "--debug"] => dist::run(root, &target, package::BuildKind::Debug),
        ["e2e", ..] => e2e::run(root, &target, &arguments[1..], ""),
        ["python", "--write"] => python::write_derived(root, &target),
        ["python", ..] => python::run(root, &target, &arguments[1..]),
        ["examples"] => examples::run(root, &target, ""),
        ["examples", name] => examples::run(root, &target, name),
        ["bench", ..] => bench::run(root, &target, &arguments[1..]),
        ["fuzz", ..] => fuzz::run(root, &target, &arguments[1..]),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    result.map_or_else(|e| fail(&e), |()| ExitCode::SUCCESS)
}

fn fail(error: &str) -> ExitCode {
    eprintln!("{error}");
    ExitCode::FAILURE
}
