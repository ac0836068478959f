//! Compares the header with the sources, and runs programs in C with the library under valgrind.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Arc;
use std::{env, fs};

#[path = "../../sim/tests/common/random_inputs.rs"]
mod random_inputs;
#[path = "../../sim/tests/common/random_record.rs"]
mod random_record;

const ROOM: &str = env!("CARGO_MANIFEST_DIR");
/// The system libraries that Rust's standard library needs.
const SYSTEM: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

/// The number of folders that were made: a part of their names.
static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// Returns true if a program is installed; in continuous integration it has to be.
fn has(program: &str) -> bool {
    let works = Command::new(program).arg("--version").output().is_ok();
    assert!(
        works || env::var_os("CI").is_none(),
        "{program} is not here"
    );
    works
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}");
    output
}

/// The folder into which cargo puts the libraries of a test.
fn built() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// The library that a program is linked with.
#[derive(Clone, Copy)]
enum Linkage {
    Static,
    Shared,
}

/// A compiled program in a folder of its own, which is removed with it.
struct Compiled {
    folder: PathBuf,
    program: PathBuf,
}

impl Compiled {
    fn new(source: &str, linkage: Linkage) -> Self {
        let name = Path::new(source).file_stem().unwrap();
        let number = FOLDERS.fetch_add(1, Relaxed);
        let unique = format!("bofuss-c-{}-{number}", std::process::id());
        let folder = env::temp_dir().join(unique);
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join(name);
        let mut compile = Command::new("gcc");
        compile.args(["-D_POSIX_C_SOURCE=200809L", "-std=c11"]);
        compile.args(["-Wall", "-Wextra", "-Werror", "-g", "-I"]);
        compile.arg(format!("{ROOM}/include"));
        compile
            .arg(format!("{ROOM}/{source}"))
            .arg("-o")
            .arg(&program);
        match linkage {
            Linkage::Static => {
                compile.arg(built().join("libbofuss.a")).args(SYSTEM);
            }
            Linkage::Shared => {
                compile.arg(built().join("libbofuss.so"));
                let link = folder.join("libbofuss.so.0.1");
                symlink(built().join("libbofuss.so"), link).unwrap();
            }
        }
        run(&mut compile);
        Self { folder, program }
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The output of a program, which is compiled and run, under valgrind if that is installed.
fn output_of(source: &str, linkage: Linkage) -> String {
    output_with(source, linkage, &[])
}

/// The same with the arguments of the program.
fn output_with(source: &str, linkage: Linkage, arguments: &[&str]) -> String {
    let compiled = Compiled::new(source, linkage);
    let mut command = if has("valgrind") {
        let mut command = Command::new("valgrind");
        command.args(["-q", "--leak-check=full", "--error-exitcode=9"]);
        command.arg(&compiled.program);
        command
    } else {
        Command::new(&compiled.program)
    };
    command.args(arguments);
    let output = run(command.env("LD_LIBRARY_PATH", &compiled.folder));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_header_is_what_cbindgen_writes() {
    if !has("cbindgen") {
        return;
    }
    // By itself, cbindgen asks cargo for the libraries of all targets, not all of which are here.
    let mut describe = Command::new(env!("CARGO"));
    let host = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    describe.args(["metadata", "--offline", "--locked", "--format-version", "1"]);
    describe.args(["--filter-platform", &host]);
    let described = run(describe.current_dir(ROOM));
    let metadata = env::temp_dir().join(format!("bofuss-c-{}.json", std::process::id()));
    fs::write(&metadata, described.stdout).unwrap();
    let mut command = Command::new("cbindgen");
    command.args(["--quiet", "--config", "cbindgen.toml", "--metadata"]);
    let output = run(command.arg(&metadata).arg(".").current_dir(ROOM));
    fs::remove_file(&metadata).unwrap();
    let header = fs::read_to_string(format!("{ROOM}/include/bofuss.h")).unwrap();
    let written = String::from_utf8(output.stdout).unwrap();
    let other = written.lines().zip(header.lines()).find(|(a, b)| a != b);
    assert_eq!(other, None, "see capi/README.md for how it is written");
    assert_eq!(written.len(), header.len());
}

#[test]
fn a_hub_in_forty_lines_sends_to_all_other_ports() {
    let source = fs::read_to_string(format!("{ROOM}/examples/hub.c")).unwrap();
    assert!(source.lines().count() <= 40, "it is short");
    let output = output_of("examples/hub.c", Linkage::Static);
    assert_eq!(output, "out of port 2: 60 bytes\nout of port 3: 60 bytes\n");
}

#[test]
fn a_controller_in_c_learns_addresses() {
    let output = output_of("examples/learning.c", Linkage::Shared);
    let wanted = [
        "host 1 sends to host 2",
        "to host 2 out of port 2",
        "to host 2 out of port 3",
        "host 2 sends to host 1",
        "to host 1 out of port 1",
        "host 1 sends to host 2",
        "to host 2 out of port 2",
        "host 1 sends to host 2",
        "to host 2 out of port 2",
    ];
    assert_eq!(output.lines().collect::<Vec<_>>(), wanted);
}

#[test]
fn a_dump_of_a_table_is_text_and_json() {
    let output = output_of("examples/dump.c", Linkage::Static);
    for part in [
        "OFPT_MULTIPART_REPLY",
        "nw_dst=10.0.0.0/8",
        "\"type\":\"FLOW\"",
        "2 entries, 2 ports",
    ] {
        assert!(output.contains(part), "{part} in {output}");
    }
}

#[test]
fn a_p4_program_forwards_and_counts_in_c() {
    let folder = format!("{ROOM}/../examples/p4/router");
    let files = ["router.json", "entries.json"].map(|name| format!("{folder}/{name}"));
    let arguments = files.each_ref().map(String::as_str);
    let output = output_with("examples/router.c", Linkage::Static, &arguments);
    let left = "out of port 2: 43 bytes, TTL 63\n";
    let wanted = format!("{left}1 refused\nport 2 has room again\n{left}");
    assert_eq!(output, wanted);
}

#[test]
fn wrong_pointers_lengths_and_orders_are_statuses() {
    let output = output_of("tests/hostile.c", Linkage::Static);
    assert_eq!(output, "all refused\n");
}

/// The bytes of hexadecimal digits.
fn bytes_of(digits: &str) -> Vec<u8> {
    bofuss_oflib::text::parse_bytes(digits).unwrap()
}

/// The effects of a script, one per line, as the program that plays scripts prints them.
fn played(program: &Compiled, script: &str) -> String {
    let file = program.folder.join("script");
    fs::write(&file, script).unwrap();
    let output = run(Command::new(&program.program).arg(&file));
    String::from_utf8(output.stdout).unwrap()
}

/// Converts a record to a script.
fn script_of(record: &str) -> String {
    let mut script = format!("switch tables={}\n", random_record::TABLES);
    let mut ports = 0;
    for line in record.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            [at, "port", ..] => {
                ports += 1;
                script += &format!("{at} port {ports} 02bf{ports:08x} 0 0 up\n");
            }
            [at, "connect", conn, _, kind] => {
                script += &format!("{at} connect {conn} {kind}\n");
                script += &format!("{at} feed {conn} 0400000800000000\n");
            }
            [at, "frames", port, frame] => script += &format!("{at} frame {port} {frame}\n"),
            [at, "message", conn, bytes] => script += &format!("{at} feed {conn} {bytes}\n"),
            [_, "tick"] => script += &format!("{line}\n"),
            _ => {}
        }
    }
    script
}

/// Returns true if an effect is a HELLO. The versions in it depend on how the switch was made.
fn is_hello(line: &str) -> bool {
    let digits = line.rsplit(' ').next().unwrap_or_default();
    line.starts_with("> send ") && digits.get(2..4) == Some("00")
}

/// The scenarios that are not played in C, and why.
const NOT_IN_C: [(&str, &str); 7] = [
    ("auxiliary", "a switch in C has main connections only"),
    ("hooks", "it has no hooks but the extensions'"),
    ("ports", "a port in C has no features to advertise"),
    ("ports_fixed", "a port in C has no features to advertise"),
    ("profile", "tables are shaped by TABLE_FEATURES only"),
    ("profile_masks", "tables are shaped by TABLE_FEATURES only"),
    ("reconfigure", "a switch in C keeps its configuration"),
];

#[test]
fn the_scenarios_have_the_effect_in_c_that_they_have_on_an_embedded_switch() {
    // The whole workspace, as for the tests: a package alone would be compiled with other features.
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--workspace"]);
    cargo.args(["--example", "scenario_scripts"]);
    run(cargo.current_dir(ROOM));
    let scripts = run(&mut Command::new(
        built().join("../examples/scenario_scripts"),
    ));
    let scripts = String::from_utf8(scripts.stdout).unwrap();
    let program = Compiled::new("tests/replay.c", Linkage::Static);
    let mut count = 0;
    for scenario in scripts.split("scenario ").skip(1) {
        let (name, script) = scenario.split_once('\n').unwrap();
        // Only tests in Rust can select versions, pass super-frames and configure fields.
        let is_left_out = ["! version", "! set field ", "! super-frame"]
            .iter()
            .any(|what| script.contains(what));
        if is_left_out || NOT_IN_C.iter().any(|row| row.0 == name) {
            continue;
        }
        let strange = script.lines().find(|line| line.starts_with('!'));
        assert_eq!(strange, None, "{name}");
        let wanted: Vec<&str> = script
            .lines()
            .filter(|line| line.starts_with('>'))
            .collect();
        let output = played(&program, script);
        let found: Vec<&str> = output.lines().filter(|line| !is_hello(line)).collect();
        assert_eq!(found, wanted, "{name}");
        count += 1;
    }
    assert!(count > 40, "{count}");
}

#[test]
fn ten_thousand_inputs_have_the_effect_in_c_that_they_have_on_an_embedded_switch() {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let expected = random_record::random_record(&catalogue);
    let compiled = Compiled::new("tests/replay.c", Linkage::Static);
    let output = played(&compiled, &script_of(&expected.text));
    let mut frames = Vec::new();
    let mut messages = Vec::new();
    for line in output.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            [_, "transmit", port, _, digits] => {
                frames.push((port.parse().unwrap(), bytes_of(digits)));
            }
            [_, "send", _, digits] => messages.extend(bytes_of(digits)),
            _ => panic!("{line}"),
        }
    }
    assert!(frames.len() > 3_000);
    assert_eq!(frames, expected.frames);
    // The HELLO comes first. The last messages are replies with all counters.
    let hello = usize::from(messages[3]);
    assert_eq!(messages[hello..], expected.messages);
}
