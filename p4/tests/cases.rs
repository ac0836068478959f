//! The cases of `testdata/p4`: a program of P4 for each construct, compiled, and packets for it.

use std::fs;
use std::path::PathBuf;

use bofuss_p4::{Program, stf};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4")
}

/// The program of a case.
fn program(name: &str) -> Program {
    let file = folder().join(name).join(format!("{name}.json"));
    Program::load(&fs::read(file).expect("the file is there")).expect("p4c wrote it")
}

#[test]
fn every_construct_does_what_its_case_says() {
    let mut names: Vec<String> = fs::read_dir(folder())
        .expect("the folder is there")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| folder().join(name).is_dir())
        .collect();
    names.sort();
    assert!(names.len() >= 15, "{names:?}");
    for name in names {
        let case = folder().join(&name).join(format!("{name}.stf"));
        let case = fs::read_to_string(case).expect("each program has a case");
        let outcome = stf::play(program(&name), &case).expect("the case is right");
        assert_eq!(outcome.differences, [], "{name}");
        assert_eq!(outcome.refused, [], "{name}");
    }
}

#[test]
fn a_case_that_is_wrong_says_where() {
    let wrong = |case: &str| {
        let error = stf::play(program("state"), case).expect_err("the case is wrong");
        error.to_string()
    };
    assert_eq!(
        wrong("\nadd nothing x:1 y()"),
        "line 2: there is no table nothing"
    );
    assert_eq!(
        wrong("packet 0 0"),
        "line 1: a packet is whole bytes in hexadecimal"
    );
    assert_eq!(wrong("fly 1"), "line 1: fly is no command");
    assert_eq!(wrong("add t x:1 seen()"), "line 1: there is no key x");
    assert_eq!(
        wrong("add t n:1 seen(a:1)"),
        "line 1: seen has no parameter a"
    );
}

#[test]
fn packets_that_differ_are_shown_with_their_lines() {
    let case = "packet 0 00000000\nexpect 1 00000001\nexpect 1 00\npacket 0 00000000 ff\n\
                expect 1 0000****$\nexpect 2\nno_packet\ncheck_register r(0) == 1";
    let outcome = stf::play(program("state"), case).expect("the case is right");
    let lines: Vec<_> = outcome.differences.iter().map(|found| found.line).collect();
    assert_eq!(lines, [Some(7), Some(8), Some(2), Some(5)]);
    let first = &outcome.differences[2].what;
    assert_eq!(
        first,
        "port 1: byte 3 differs\n  expected 00000001\n  got      00000000"
    );
}
