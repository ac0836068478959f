//! The command lines: what they say when something is wrong, and the demo.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};

use bofuss_tests::{Lab, Process, have, ip, printed, program, run, until};

/// Starts `bofuss run` and gives its exit code and what it said; 0 once it waits for controllers.
fn attempt(arguments: &str) -> (i32, String) {
    let log = std::env::temp_dir().join(format!("bofuss-cli-{}", std::process::id()));
    let mut command = Command::new(program("bofuss"));
    command
        .args(["run"])
        .args(arguments.split(' ').filter(|word| !word.is_empty()));
    command
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap());
    let mut process = Process::start(&mut command);
    let said = || std::fs::read_to_string(&log).unwrap();
    let mut code = None;
    until("it runs or says why not", || {
        code = process
            .0
            .try_wait()
            .unwrap()
            .map(|status| status.code().unwrap());
        code.is_some() || said().contains("waiting for controllers")
    });
    (code.unwrap_or(0), said())
}

#[test]
fn every_error_of_the_list_says_what_why_and_what_to_type() {
    if !have(&["ip"]) {
        return;
    }
    for name in ["v1", "v2", "v3"] {
        ip(&format!("link add {name} type veth peer name {name}x"));
        ip(&format!("link set {name} up"));
    }
    ip("address add 10.99.0.1/24 dev v2");
    ip("link add br9 type bridge");
    ip("link set v3 master br9");
    let list = include_str!("../testdata/cli-errors.txt");
    for line in list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (asked, wanted) = line.split_once(" => ").unwrap();
        let (code, arguments) = asked.split_once(' ').unwrap();
        let (exited, said) = attempt(arguments);
        assert!(
            said.contains(wanted),
            "bofuss run {arguments}: {wanted:?} in: {said}"
        );
        assert_eq!(
            exited,
            code.parse::<i32>().unwrap(),
            "bofuss run {arguments}: {said}"
        );
    }
    for name in ["v1", "v2", "v3", "br9"] {
        ip(&format!("link del {name}"));
    }
}

#[test]
fn an_interface_has_one_switch_only() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(1, &[]);
    let (code, said) = attempt(&format!("--name other --port {}", lab.port(1)));
    assert_eq!(code, 1);
    assert!(said.contains("already opened by another switch"), "{said}");
    let (code, said) = attempt(&format!("--name {}", lab.name));
    assert_eq!(code, 1, "a name has one switch, too: {said}");
}

#[test]
fn too_low_a_limit_and_missing_rights_are_told_at_once() {
    if !have(&["ip", "setpriv"]) {
        return;
    }
    let bofuss = program("bofuss").display().to_string();
    let shell = |script: &str| run(Command::new("sh").args(["-c", script]));
    let low = shell(&format!("ulimit -n 20; {bofuss} run"));
    assert_eq!(low.status.code(), Some(1));
    assert!(
        printed(&low).contains("type: ulimit -n 1024"),
        "{}",
        printed(&low)
    );
    ip("link add w1 type veth peer name w2");
    let plain = shell(&format!(
        "setpriv --bounding-set -all --inh-caps -all {bofuss} run --port w1"
    ));
    ip("link del w1");
    assert_eq!(plain.status.code(), Some(1));
    assert!(
        printed(&plain).contains("no permission to open 'w1'"),
        "{}",
        printed(&plain)
    );
}

#[test]
fn the_demo_shows_everything_and_leaves_nothing() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let before = ip("-brief link");
    let output = run(Command::new(program("bofuss")).arg("demo"));
    let text = printed(&output);
    assert!(output.status.success(), "{text}");
    let wanted = [
        "h3 -> h2",
        "Gbit/s",
        "actions=NORMAL",
        "rx packets",
        "leave",
        "Cleaned up",
    ];
    wanted
        .iter()
        .for_each(|part| assert!(text.contains(part), "{part:?} in: {text}"));
    assert!(
        !text.contains('\x1b') && !text.contains('\r'),
        "no colour, no progress off a terminal"
    );
    assert_eq!(ip("-brief link"), before);
}

#[test]
fn a_demo_that_is_interrupted_leaves_nothing() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let before = ip("-brief link");
    let mut command = Command::new(program("bofuss"));
    let mut demo = Process::start(command.args(["demo", "--keep"]).stdout(Stdio::null()));
    let sockets = || {
        let entries = std::fs::read_dir("/run/bofuss")
            .into_iter()
            .flatten()
            .flatten();
        entries
            .filter(|e| e.file_name().to_string_lossy().starts_with("demo-"))
            .count()
    };
    until("the demo is up", || sockets() == 1);
    demo.terminate();
    assert_eq!(sockets(), 0);
    assert_eq!(ip("-brief link"), before);
}

#[test]
fn dpctl_finds_the_switch_and_points_at_wrong_words() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    let says = |arguments: &[&str]| {
        let output = lab.dpctl(arguments);
        (output.status.code().unwrap(), printed(&output))
    };
    assert_eq!(
        says(&["add-flow", "priority=5,in_port=1,actions=output:2"]).0,
        0
    );
    let (code, flows) = says(&["dump-flows"]);
    assert!(
        code == 0 && flows.contains("priority=5,in_port=1 actions=output:2"),
        "{flows}"
    );
    let (code, error) = says(&["add-flow", "in_prt=1,actions=output:2"]);
    assert!(
        code == 2 && error.contains("did you mean 'in_port'"),
        "{error}"
    );
    let (code, error) = says(&["add-flow", "in_port=1,actions=goto_table:0"]);
    assert!(
        code == 1 && error.contains("BAD_INSTRUCTION/BAD_TABLE_ID"),
        "{error}"
    );
    let packet = "ffffffffffff0200000000010800";
    let (code, story) = says(&["trace", "1", packet]);
    assert!(
        code == 0 && story.contains("table 0") && story.contains("port 2"),
        "{story}"
    );
    assert!(
        says(&["dump-flows"]).1.contains("n_packets=0"),
        "a trace counts nothing"
    );
    let wrong = run(Command::new(program("dpctl")).args(["tcp:127.0.0.1:1", "show"]));
    assert_eq!(wrong.status.code(), Some(1));
}
