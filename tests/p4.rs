//! `bofuss p4`: exit codes, what differs, entries and a trace.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use bofuss_tests::program;

/// A file of a case of `testdata/p4`.
fn file(name: &str, ending: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4");
    let file = root.join(name).join(name).with_extension(ending);
    file.display().to_string()
}

/// Runs `bofuss p4`. Returns its exit code, and all that it prints.
fn p4(words: &[&str]) -> (i32, String) {
    let output = Command::new(program("bofuss"))
        .arg("p4")
        .args(words)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(said).unwrap(),
    )
}

#[test]
fn cases_pass_fail_or_cannot_be_read_by_exit_code() {
    let (json, stf) = (file("exits", "json"), file("exits", "stf"));
    let (code, said) = p4(&["stf", &json, &stf]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.ends_with("exits.stf: passes (10 packets in, 8 out)\n"),
        "{said}"
    );
    let folder = std::env::temp_dir().join(format!("bofuss-p4-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let case = folder.join("case.stf").display().to_string();
    fs::write(&case, "packet 0 00 01 0000\nexpect 1 ff 01 0011$\n").unwrap();
    let (code, said) = p4(&["stf", &json, &stf, &case]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("case.stf, line 2: port 1: byte 3 differs"),
        "{said}"
    );
    assert!(said.ends_with("bofuss: 1 of 2 cases failed\n"), "{said}");
    fs::write(&case, "add x\n").unwrap();
    let (code, said) = p4(&["stf", &json, &case]);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.ends_with("case.stf: line 1: has no action\n"),
        "{said}"
    );
    let (code, said) = p4(&["stf", &case, &stf]);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("case.stf: /: expected value at line 1 column 1"),
        "{said}"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn entries_of_a_file_are_listed_and_decide_in_a_trace() {
    let json = file("matches", "json");
    let folder = std::env::temp_dir().join(format!("bofuss-p4-e{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let entries = folder.join("runtime.json").display().to_string();
    let text = r#"{"table_entries": [{"table": "MyIngress.lpm_t", "match": {"hdr.h.w": [4608, 8]},
        "action_name": "MyIngress.set", "action_params": {"v": 33}}]}"#;
    fs::write(&entries, text).unwrap();
    let (code, said) = p4(&["entries", &json, "--entries", &entries]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("  0: hdr.h.w=0x1200/8 MyIngress.set(v=0x21) packets=0\n"),
        "{said}"
    );
    let (code, said) = p4(&[
        "trace",
        &json,
        "--entries",
        &entries,
        "0",
        "01 00",
        "1299 00",
    ]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("hdr.h.w=0x1299 hits entry 0: MyIngress.set(v=0x21)\n"),
        "{said}"
    );
    assert!(
        said.ends_with("5 bytes leave at port 1\n  0100129921\n"),
        "{said}"
    );
    let (code, said) = p4(&["trace", &json, "--entries", &entries, "0", "0100139900"]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("nearest: entry 0, which wants hdr.h.w=0x1200/8\n"),
        "{said}"
    );
    let long = format!("0100129900{}", "ab".repeat(60));
    let (_, said) = p4(&["trace", &json, "--entries", &entries, "0", &long]);
    let lines: Vec<&str> = said.lines().rev().take(4).collect();
    assert_eq!(lines[0], "  ab");
    assert_eq!(lines[1], format!("  {}", "ab".repeat(32)));
    assert_eq!(lines[2], format!("  0100129921{}", "ab".repeat(27)));
    assert_eq!(lines[3], "65 bytes leave at port 1");
    let (code, said) = p4(&["trace", &json, "0", "0"]);
    assert_eq!(code, 2, "{said}");
    fs::remove_dir_all(folder).unwrap();
}
