//! The command lines: what they say when something is wrong, and the demo.
#![allow(clippy::unwrap_used)]

mod inputs;

use std::ffi::OsString;
use std::process::{Command, Stdio};

use bofuss_tests::{Lab, Process, have, ip, printed, program, run, until};

/// Starts `bofuss run`. Returns its exit code, or 0 once it waits for controllers, and its log.
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
fn too_low_a_limit_and_missing_rights_are_reported_at_once() {
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

/// The interfaces, and the files of running switches.
fn present() -> (String, Vec<OsString>) {
    let files = std::fs::read_dir("/run/bofuss").into_iter().flatten();
    let mut names: Vec<OsString> = files.map(|file| file.unwrap().file_name()).collect();
    names.sort();
    (ip("-brief link"), names)
}

#[test]
fn the_demo_shows_everything_and_leaves_nothing() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let before = present();
    let output = run(Command::new(program("bofuss")).arg("demo"));
    let text = printed(&output);
    assert!(output.status.success(), "{text}");
    let wanted = [
        "h3 10.0.0.3 ----| 3",
        "add-group group_id=1,type=all",
        "table=0,priority=10,arp,actions=goto_table:1",
        "h1 -> h3   no answer",
        "dl_dst=02:00:00:00:00:37, but dl_dst=02:00:00:00:00:33: 1 bit differs (0x4)",
        "del-flows table=1,dl_dst=02:00:00:00:00:37",
        "h3 -> h2",
        "Gbit/s",
        "table=1, n_packets=",
        "What next\n",
        "Cleaned up",
    ];
    let mut rest = text.as_str();
    for part in wanted {
        let found = rest.split_once(part);
        rest = found
            .unwrap_or_else(|| panic!("{part:?}, in this order, in: {text}"))
            .1;
    }
    assert!(!text.contains("extension"), "none acts here: {text}");
    assert!(
        !text.contains('\x1b') && !text.contains('\r'),
        "no colour, no progress off a terminal"
    );
    assert_eq!(present(), before);
}

#[test]
fn a_demo_that_is_interrupted_leaves_nothing() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let before = present();
    let mut command = Command::new(program("bofuss"));
    let mut demo = Process::start(command.args(["demo", "--keep"]).stdout(Stdio::null()));
    // Its socket, that for commands, and a file for each of three interfaces.
    until("the demo is up", || present().1.len() >= before.1.len() + 5);
    demo.terminate();
    assert_eq!(present(), before);
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
    let (code, text) = says(&["trace", "1", packet]);
    assert!(
        code == 0 && text.contains("table 0") && text.contains("port 2"),
        "{text}"
    );
    assert!(
        says(&["dump-flows"]).1.contains("n_packets=0"),
        "a trace counts nothing"
    );
    let wrong = run(Command::new(program("dpctl")).args(["tcp:127.0.0.1:1", "show"]));
    assert_eq!(wrong.status.code(), Some(1));
}

/// Sends a command to a switch. Returns its exit code and what it prints.
fn ctl(lab: &Lab, command: &str) -> (i32, String) {
    let words = command.split(' ');
    let output = run(Command::new(program("bofuss"))
        .args(["ctl", &lab.name])
        .args(words));
    (output.status.code().unwrap(), printed(&output))
}

#[test]
fn a_switch_without_a_command_and_an_unknown_command_are_told_apart() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(1, &[]);
    let name = &lab.name;
    for (word, wanted) in [
        (
            &**name,
            format!("{name} is a switch: add a command, as bofuss ctl {name} ports"),
        ),
        (
            "prots",
            "there is no command 'prots' (bofuss ctl list)".into(),
        ),
    ] {
        let output = run(Command::new(program("bofuss")).args(["ctl", word]));
        assert!(!output.status.success());
        assert!(printed(&output).contains(&wanted), "{}", printed(&output));
    }
    assert_eq!(ctl(&lab, "ports").0, 0);
}

#[test]
fn local_tools_are_logged_at_debug_level_and_values_as_plain_text() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(1, &["--listen", "ptcp:16718"]);
    assert!(lab.dpctl(&["show"]).status.success());
    let tcp = ["show", "tcp:127.0.0.1:16718"];
    let called = run(Command::new(program("dpctl")).args(tcp));
    assert!(called.status.success(), "{}", printed(&called));
    until("both have gone", || {
        lab.log().matches("disconnected").count() == 2
    });
    let log = lab.log();
    let about = |on: &str| {
        let lines = log.lines().filter(|line| line.contains("connected"));
        let lines = lines.filter(|line| line.contains(on));
        lines
            .map(|line| line.contains(" INFO "))
            .collect::<Vec<_>>()
    };
    assert_eq!(about("on punix:"), [false, false], "{log}");
    assert_eq!(about("on ptcp:"), [true, true], "{log}");
    assert!(log.contains("1 ports, fail mode standalone\n"), "{log}");
    let (code, memory) = ctl(&lab, "memory");
    assert!(
        code == 0 && memory.contains("buffers_in_use 0 bytes\n"),
        "{memory}"
    );
}

#[test]
fn ports_come_and_go_by_command() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(3, &[]);
    lab.all_ping();
    let (code, list) = ctl(&lab, "list");
    assert_eq!(code, 0);
    for line in list.lines() {
        let name = line.split(' ').next().unwrap();
        assert!(
            ["add-port", "del-port", "log", "shutdown"].contains(&name) || ctl(&lab, name).0 < 2
        );
    }
    let second = lab.port(2);
    let removed = format!("port 2: {second} was removed\n");
    assert_eq!(ctl(&lab, "del-port 2"), (0, removed));
    assert!(!lab.pings(1, 2) && lab.pings(1, 3), "the others go on");
    let (_, ports) = ctl(&lab, "ports");
    assert!(
        !ports.contains(&lab.port(2)) && ports.contains(&lab.port(3)),
        "{ports}"
    );
    assert_eq!(
        ctl(&lab, &format!("add-port 9={second}")),
        (0, format!("port 9: {second} was added\n"))
    );
    lab.all_ping();
    assert_eq!(ctl(&lab, &format!("del-port {}", lab.port(2))).0, 0);
    assert_eq!(
        ctl(&lab, &format!("add-port {second}")),
        (0, format!("port 2: {second} was added\n"))
    );
    lab.all_ping();
    for (command, wanted) in [
        ("add-port nosuch0", "no interface named 'nosuch0'"),
        ("add-port 1=tap:tq", "there is a port 1 already"),
        ("add-port vxlan:x", "is no kind of port"),
        ("add-port", "add-port needs PORT"),
        ("del-port 77", "there is no port 77"),
        ("ports now", "there is no option 'now', only --json"),
        ("memory now", "memory takes no argument"),
        ("prots", "no command 'prots'"),
        ("log x=loud", "--log"),
        ("reload", "without --config"),
    ] {
        let (code, said) = ctl(&lab, command);
        assert!(code == 1 && said.contains(wanted), "{command}: {said}");
    }
    let long = "x".repeat(5000);
    assert!(ctl(&lab, &long).1.contains("at most 4096 bytes"));
    assert_eq!(ctl(&lab, "log error").0, 0);
    lab.all_ping();
    assert_eq!(ctl(&lab, "shutdown").0, 0);
    let mut lab = lab;
    until("the switch ends", || {
        lab.switch.0.try_wait().unwrap().is_some()
    });
    assert_eq!(lab.switch.0.wait().unwrap().code(), Some(0));
    assert_eq!(ctl(&lab, "ports").0, 1, "its socket is gone");
}

#[test]
fn a_changed_file_is_followed_without_losing_what_it_leaves() {
    if !have(&["ip"]) {
        return;
    }
    let file = std::env::temp_dir().join(format!("bofuss-reload-{}.toml", std::process::id()));
    std::fs::write(&file, "fail-mode = 'secure'\n").unwrap();
    let path = file.display().to_string();
    let lab = Lab::with_file(3, &["--config", &path]);
    let says = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let output = run(Command::new(program("bofuss")).args(["reload", &lab.name]));
        (output.status.code().unwrap(), printed(&output))
    };
    let ports = |list: &[String]| format!("port = {list:?}\n");
    let all = [1, 2, 3].map(|i| format!("{i}={}", lab.port(i)));
    assert!(!lab.pings(1, 2), "it is secure and empty");
    assert_eq!(
        says(&format!("{}fail-mode = 'secure'\n", ports(&all))),
        (0, String::new())
    );
    lab.dpctl(&["add-flow", "priority=5,cookie=7,actions=NORMAL"]);
    lab.all_ping();
    // Pings go on over two ports while the third goes, by SIGHUP.
    std::fs::write(&file, format!("{}fail-mode = 'secure'\n", ports(&all[..2]))).unwrap();
    std::thread::scope(|scope| {
        let pings = scope.spawn(|| lab.lost_pings(40, "0.02"));
        let pid = lab.switch.0.id().to_string();
        run(Command::new("kill").args(["-HUP", &pid]));
        until("the file is read", || {
            lab.log().matches("is in effect").count() == 2
        });
        assert_eq!(pings.join().unwrap(), [0; 0], "{}", lab.log());
    });
    assert!(!lab.pings(1, 3), "port 3 is gone");
    let flows = printed(&lab.dpctl(&["dump-flows"]));
    assert!(flows.contains("cookie=0x7"), "{flows}");
    for (text, wanted) in [
        (
            "port = [\n  'nosuch0',\n]\n".to_string(),
            "no interface named 'nosuch0'",
        ),
        (
            ports(&["0=x".into()]),
            ", line 1: port 0=x: a port number is",
        ),
        ("\nports = []\n".into(), "line 2"),
        (
            format!("{}\nlock-down = true\n", ports(&[])),
            "line 3: lock-down: a change needs a restart",
        ),
        (
            format!("{}listen = ['ptcp:1:192.0.2.1']\n", ports(&[])),
            ", line 2: listen",
        ),
    ] {
        let (code, said) = says(&text);
        assert!(code == 1 && said.contains(wanted), "{text}: {said}");
        assert!(lab.pings(1, 2), "nothing was changed by {text}");
    }
    let port = 20_000 + std::process::id() % 20_000;
    let text = format!("{}listen = ['ptcp:{port}']\n", ports(&all));
    assert_eq!(
        says(&text),
        (0, String::new()),
        "standalone, and a listener"
    );
    lab.all_ping();
    let mut tcp = Command::new(program("dpctl"));
    assert!(
        run(tcp.args([&format!("tcp:127.0.0.1:{port}"), "show"]))
            .status
            .success()
    );
    assert_eq!(says(&ports(&all)).0, 0);
    assert!(
        !run(tcp.args(["show"])).status.success(),
        "the listener is gone"
    );
    let _ = std::fs::remove_file(&file);
}

#[test]
fn a_running_switch_keeps_the_rights_that_interfaces_need_and_no_others() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    lab.all_ping();
    let tasks = format!("/proc/{}/task", lab.switch.0.id());
    for task in std::fs::read_dir(tasks).unwrap() {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        for set in ["CapPrm", "CapEff"] {
            // CAP_NET_ADMIN and CAP_NET_RAW, which are 12 and 13.
            assert!(
                status.contains(&format!("{set}:\t0000000000003000\n")),
                "{status}"
            );
        }
    }
    // They are enough to open a port, and to put one down and up again.
    ip("link add w7 type veth peer name w8");
    let ctl = |words: &[&str]| run(Command::new(program("bofuss")).arg("ctl").args(words));
    assert!(ctl(&[&lab.name, "add-port", "7=w7"]).status.success());
    assert!(ctl(&[&lab.name, "del-port", "7"]).status.success());
    ip("link del w7");
}
