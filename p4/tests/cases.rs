//! The cases of `testdata/p4`: a program of P4 for each construct, compiled, and packets for it.

use std::fs;
use std::path::{Path, PathBuf};

use bofuss_p4::{Program, stf};

/// Programs that teach, and how many there are.
const EXAMPLES: (&str, usize) = ("../examples/p4", 5);

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4")
}

/// The program of a case.
fn program(name: &str) -> Program {
    let file = folder().join(name).join(format!("{name}.json"));
    Program::load(&fs::read(file).expect("the file is there")).expect("p4c wrote it")
}

/// Plays the case of each program that a folder has in one of its own; there are as many or more.
fn play_all(folder: &Path, at_least: usize) {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder is there")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| folder.join(name).join(name).with_extension("p4").exists())
        .collect();
    names.sort();
    assert!(names.len() >= at_least, "{names:?}");
    for name in names {
        let files = folder.join(&name).join(&name);
        let program = fs::read(files.with_extension("json")).expect("the file is there");
        let program = Program::load(&program).expect("p4c wrote it");
        let case = fs::read_to_string(files.with_extension("stf"));
        let case = case.expect("each program has a case");
        let outcome = stf::play(program, &case).expect("the case is right");
        assert_eq!(outcome.differences, [], "{name}");
        assert_eq!(outcome.refused, [], "{name}");
    }
}

#[test]
fn every_construct_does_what_its_case_says() {
    play_all(&folder(), 19);
}

#[test]
fn the_examples_do_what_their_cases_say() {
    let (folder, count) = EXAMPLES;
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    play_all(&folder, count);
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
fn what_a_case_says_twice_too_much_or_out_of_range_is_refused() {
    for (case, wanted) in [
        (
            "add exact_t hdr.h.k:1 hdr.h.k:2 set(v:1)",
            "the key hdr.h.k is there twice",
        ),
        (
            "add exact_t hdr.h.k:1 hdr.h.w:2 set(v:1,v:2)",
            "set has v twice",
        ),
        (
            "add lpm_t hdr.h.w:0x1200/-1 set(v:1)",
            "hdr.h.w: a prefix has 0 to 16 bits, and not -1",
        ),
        (
            "add lpm_t hdr.h.w:0x1200/17 set(v:1)",
            "hdr.h.w: a prefix has 0 to 16 bits, and not 17",
        ),
        (
            "add ternary_t -1 hdr.h.k:1 set(v:1)",
            "-1 is no priority: it is 0 or more, in decimal",
        ),
        ("add exact_t hdr.h.k:1 set(v:1) b", "b is too much"),
        ("setdefault exact_t set(v:1) b", "b is too much"),
        ("packet 512 00", "port 512: its number has 9 bits"),
        ("expect 512 00", "port 512: its number has 9 bits"),
        ("packet -1 00", "-1 is not a number from 0 to 4294967295"),
        (
            "mirroring_add 1 2 3",
            "mirroring_add has 2 numbers, and no more",
        ),
    ] {
        let error = stf::play(program("matches"), case).expect_err("the case is wrong");
        assert_eq!(error.what, wanted, "{case}");
    }
    let refused = "mirroring_add 1 512\nmc_node_create 65536 1\nmc_node_create 1 512\n\
                   mc_mgrp_create 1\nmc_node_associate 1 0\nmirroring_add 1 511";
    let outcome = stf::play(program("matches"), refused).expect("bmv2 goes on");
    let wanted = [
        (1, "port 512: its number has 9 bits".into()),
        (2, "an instance has 16 bits".into()),
        (3, "port 512: its number has 9 bits".into()),
        (5, "node 0 is not there".into()),
    ];
    assert_eq!(outcome.refused, wanted);
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
