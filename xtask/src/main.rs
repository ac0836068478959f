//! The developer's commands: `cargo xtask COMMAND`, one file each.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod api;
mod bench;
mod ci;
mod circles;
mod cost;
mod dist;
mod docs;
mod e2e;
mod evidence;
mod examples;
mod folders;
mod fuzz;
mod idiom;
mod licenses;
mod mutants;
mod names;
mod patch;
mod pictures;
mod python;
mod reference;
mod retired;
mod rooms;
mod size;
mod source;
mod tidy;
mod tree;
mod wheel;

const USAGE: &str = "usage: cargo xtask COMMAND
  lint              format, tidy, sizes, lints
  check             the same, and unit tests
  ci [--all]        check, documentation, cost, end to end; with --all the long tier too
  tidy              style, rooms and documents
  size              tokens of each room against its budget; lines, comments, idiom
  idiom PATH        each place under PATH that counts against the bars of idiom
  cost [GUIDE]      the tutorials' patches against their bars, each on its own
  cost --check      check, on a copy of the tree that has all of them
  mutants [WORD]    faults that tests have to notice, planted one at a time
  reference         prints docs/reference from the catalogues, and oflib/API.txt
  dist [--debug]    packages of the programs, into target/dist; with --debug those of this kind
                    of machine, not optimised, for tests, into target/dist-debug
  e2e [ARGS]        end-to-end tests; ARGS for each program: words of names, --ignored
  python [ARGS]     the package for Python, with its tests; ARGS as for unittest
  python --write    writes the package's stubs from its classes, and what the lecture's cells show
  examples [NAME]   the examples, with what each shows
  fuzz [SECONDS [TARGET]]
  bench [--docs] [ARGS]
                    measures the switch beside yardsticks; ARGS as for ofmeter bench;
                    with --docs the figures go into docs/performance.md";

fn main() -> ExitCode {
    let Some(xtask) = std::env::var_os("CARGO_MANIFEST_DIR") else {
        return fail("run this as `cargo xtask`");
    };
    let root = Path::new(&xtask).parent().expect("xtask lies in the tree");
    std::env::set_current_dir(root).expect("cargo was here just now");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let target = root.join(target);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["lint"] => ci::run(root, &target, ci::Tier::Lint),
        ["check"] => ci::run(root, &target, ci::Tier::Check),
        ["ci"] => ci::run(root, &target, ci::Tier::Test),
        ["ci", "--all"] => ci::run(root, &target, ci::Tier::All),
        ["tidy"] => tidy::run(root),
        ["size"] => size::run(root),
        ["idiom", path] => idiom::list(root, path),
        ["cost"] => cost::run(root, &target, ""),
        ["cost", "--check"] => cost::check(root, &target, "check"),
        ["cost", guide] => cost::run(root, &target, guide),
        ["mutants"] => mutants::run(root, &target, ""),
        ["mutants", word] => mutants::run(root, &target, word),
        ["reference"] => reference::run(root, false),
        ["dist"] => dist::run(root, &target, false),
        ["dist", "--debug"] => dist::run(root, &target, true),
        ["e2e", ..] => e2e::run(root, &target, &arguments[1..]),
        ["python", "--write"] => python::write(root, &target),
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
