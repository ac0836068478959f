//! Tests of what dpctl shows while it happens: connections, packets, rates, messages.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use bofuss_tests::{Lab, PATIENCE, Process, have, ok, printed, program, run, until};

#[test]
fn the_state_of_the_connections_is_printed_for_mininet() {
    if !have(&["ip", "ovs-testcontroller"]) {
        return;
    }
    let mut command = Command::new("ovs-testcontroller");
    let unixctl = std::env::temp_dir().join(format!("dpctl-tc-{}.ctl", std::process::id()));
    command.arg(format!("--unixctl={}", unixctl.display()));
    let _controller = Process::start(
        command
            .args(["-O", "OpenFlow14", "ptcp:16691:127.0.0.1"])
            .stderr(Stdio::null()),
    );
    let lab = Lab::new(
        1,
        &[
            "--controller",
            "tcp:127.0.0.1:16691",
            "--listen",
            "ptcp:16692",
        ],
    );
    until("the controller is connected", || {
        let mut command = Command::new(program("dpctl"));
        let said = printed(&run(command.args(["status", "tcp:127.0.0.1:16692"])));
        said.contains("remote.is-connected=true") && said.contains("local.is-connected=true")
    });
    let said = printed(&lab.dpctl(&["status", "remote"]));
    assert!(
        said.contains("tcp:127.0.0.1:16691") && !said.contains("local"),
        "{said}"
    );
}

/// The first line for which `is_meant` holds that `dpctl monitor` prints while host 1 pings.
fn monitored(lab: &Lab, words: &[&str], is_meant: fn(&str) -> bool) -> String {
    let mut command = Command::new(program("dpctl"));
    let mut monitor = Process::start(command.args(words).stdout(Stdio::piped()));
    let mut lines = BufReader::new(monitor.0.stdout.take().unwrap()).lines();
    let (sender, printed) = mpsc::channel();
    thread::spawn(move || lines.try_for_each(|line| sender.send(line.unwrap())));
    let mut last = String::new();
    while !last.contains("MONITORING") {
        last = printed.recv_timeout(PATIENCE).expect("it begins");
    }
    lab.pings(1, 2);
    while !is_meant(&last) {
        last = printed.recv_timeout(PATIENCE).expect("it prints the line");
    }
    last
}

/// Returns true if a line of a monitor is a packet in hexadecimal.
fn is_packet(line: &str) -> bool {
    line.ends_with(|c: char| c.is_ascii_hexdigit()) && line.len() > 60
}

#[test]
fn a_monitor_subscribes_to_what_an_extension_reports() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    for words in [
        ["state_mod", "table_config,table=0,stateful=1"],
        ["state_mod", "set_lookup_extractor,table=0,fields=eth_src"],
        ["state_mod", "set_update_extractor,table=0,fields=eth_src"],
        ["add-flow", "actions=set_state(state=5)"],
    ] {
        assert!(lab.dpctl(&words).status.success(), "{words:?}");
    }
    let words = [&lab.name, "monitor", "notify_states(wanted=1)"];
    let line = monitored(&lab, &words, |line| line.contains("state_changed("));
    assert!(line.contains("old=0,new=5"), "{line}");
    for wrong in ["notify_stats(wanted=1)", "notify_states(wish=1)"] {
        let refused = lab.dpctl(&["monitor", wrong]);
        assert_eq!(refused.status.code(), Some(2), "{}", printed(&refused));
    }
}

#[test]
fn a_monitored_packet_is_a_line_that_trace_takes_by_number_or_name() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    for flow in ["in_port=1,arp,actions=controller", "actions=drop"] {
        assert!(lab.dpctl(&["add-flow", flow]).status.success());
    }
    let name = format!("\"{}\"", lab.port(1));
    for (option, port) in [("--no-names", "1"), ("--names", &name)] {
        let line = monitored(&lab, &[option, &lab.name, "monitor"], is_packet);
        let (in_port, digits) = line.split_once(' ').unwrap();
        assert_eq!(in_port, port);
        let said = printed(&lab.dpctl(&["trace", in_port, digits]));
        assert!(
            said.contains("in_port=1,dl_dst=ff:ff:ff:ff:ff:ff"),
            "{said}"
        );
        assert!(
            said.contains("won: priority 32768, in_port=1,arp"),
            "{said}"
        );
    }
    let page = std::env::temp_dir().join(format!("{}.html", lab.name));
    let path = page.to_str().unwrap();
    let told = printed(&lab.dpctl(&["--html", path, "trace", "in_port=1,arp"]));
    assert_eq!(told, format!("page={path}\n"));
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    let port = lab.port(1);
    assert!(
        text.contains(&format!("is received on port <b>&quot;{port}&quot;</b>")),
        "{text}"
    );
}

#[test]
fn a_watch_in_a_pipe_is_plain_and_ends_with_its_switch() {
    if !have(&["ip"]) {
        return;
    }
    let mut lab = Lab::new(1, &[]);
    let mut command = Command::new(program("dpctl"));
    command.args(["watch", &lab.address()]);
    let watch = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watch = Process::start(watch);
    let mut line = [0; 8];
    watch
        .0
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut line)
        .unwrap();
    lab.switch.terminate();
    until("the watch ends", || watch.0.try_wait().unwrap().is_some());
    let mut said = String::from_utf8(line.to_vec()).unwrap();
    watch
        .0
        .stdout
        .as_mut()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(
        said.starts_with("unix:") && !said.contains('\x1b'),
        "{said}"
    );
    let mut error = String::new();
    watch
        .0
        .stderr
        .as_mut()
        .unwrap()
        .read_to_string(&mut error)
        .unwrap();
    assert!(
        error.contains("is gone") && error.lines().count() == 1,
        "{error}"
    );
    assert_eq!(watch.0.wait().unwrap().code(), Some(1));
}

/// A process whose output and errors go to a file.
fn snooping(command: &mut Command, file: &Path) -> Process {
    let file = std::fs::File::create(file).unwrap();
    command.stdout(file.try_clone().unwrap()).stderr(file);
    Process::start(command)
}

#[test]
fn snoop_repeats_what_controllers_say_and_a_slow_reader_loses_alone() {
    if !have(&["ovs-ofctl"]) {
        return;
    }
    let lab = Lab::new(1, &["--listen", "ptcp:16677"]);
    let socket = bofuss_channel::run_sockets("snoop", Some(&lab.name));
    let socket = socket.first().unwrap().path.clone();
    let readers = || {
        let captures = ok(Command::new(program("bofuss")).args(["ctl", &lab.name, "captures"]));
        let lines = captures.lines().map(String::from);
        lines.collect::<Vec<String>>()
    };
    let files = ["ours", "theirs"]
        .map(|who| std::env::temp_dir().join(format!("bofuss-snoop-{who}-{}", lab.name)));
    let _ours = snooping(
        Command::new(program("dpctl")).args(["snoop", &lab.name]),
        &files[0],
    );
    until("dpctl snoops", || readers().len() == 1);
    let _theirs = snooping(
        Command::new("ovs-ofctl")
            .args(["snoop", &format!("unix:{}", socket.display())])
            .env("OVS_RUNDIR", std::env::temp_dir()),
        &files[1],
    );
    until("ovs-ofctl snoops", || readers().len() == 2);
    let mut slow = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    slow.write_all(&[4, 0, 0, 8, 0, 0, 0, 0]).unwrap();
    until("the slow reader is there", || readers().len() == 3);
    // A tool's messages are not a controller's.
    assert!(
        lab.dpctl(&["add-flow", "priority=9,actions=drop"])
            .status
            .success()
    );
    assert!(readers()[0].contains("bytes=0 "));
    let controller = |words: &[&str]| {
        ok(Command::new(program("dpctl"))
            .arg("tcp:127.0.0.1:16677")
            .args(words))
    };
    controller(&["add-flow", "priority=5,ip,actions=output:1"]);
    controller(&["-O", "OpenFlow10", "dump-flows"]);
    // 200 kB each: what does not fit in a reader's queue of 1 MB and in the socket is lost. The
    // next comes when those who read have printed this one's request, as slow as they may be.
    for count in 1..=30 {
        controller(&["dump-table-features"]);
        until("those who read go on", || {
            files.iter().all(|file| {
                let text = std::fs::read_to_string(file).unwrap();
                text.matches("OFPST_TABLE_FEATURES request").count() == count
            })
        });
    }
    until("the others have all", || {
        let list = readers();
        let lost = |line: &String| !line.ends_with(" lost=0");
        assert!(!lost(&list[0]) && !lost(&list[1]), "{list:?}");
        lost(&list[2])
    });
    drop(slow);
    until("the slow reader is forgotten", || readers().len() == 2);
    let flow_mods = ["add table=0,", "ADD "]
        .map(|begin| format!("OFPT_FLOW_MOD (OF1.5) (xid=0x2): {begin}priority=5,ip"));
    for (file, flow_mod) in files.iter().zip(flow_mods) {
        until("all is printed", || {
            let text = std::fs::read_to_string(file).unwrap();
            let parts = [
                &*flow_mod,
                "OFPT_BARRIER_REPLY (OF1.5) (xid=0x",
                "OFPST_FLOW request (xid=0x2):",
                "OFPST_FLOW reply (xid=0x2):\n",
                "OFPST_TABLE_FEATURES request (OF1.5) (xid=0x2):",
            ];
            parts.iter().all(|part| text.contains(part))
        });
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn an_object_of_clang_becomes_a_program_and_a_damaged_one_changes_nothing() {
    if !have(&["ip", "ping", "clang"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    lab.asks(&["add-flow", "actions=ebpf:count,normal"]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/bpfabric/count.c");
    let object = std::env::temp_dir().join(format!("count-{}.o", std::process::id()));
    let options = "-O2 -g -target bpf -mcpu=v3 -c -o".split(' ');
    ok(Command::new("clang").args(options).arg(&object).arg(source));
    let words = format!("add,name=count,object={}", object.display());
    lab.asks(&["program_mod", &words]);
    let programs = lab.asks(&["programs"]);
    assert!(
        programs.starts_with("add,name=count,map0=(name=counts,type=array,"),
        "{programs}"
    );
    lab.pings(1, 2);
    let counts = lab.asks(&["map_entries", "program=count,map=counts"]);
    let empty = format!("key=01000000,data={}", "0".repeat(32));
    assert!(
        counts.contains("key=01000000") && !counts.contains(&empty),
        "{counts}"
    );
    let whole = std::fs::read(&object).unwrap();
    for (bytes, wanted) in [
        (&whole[..whole.len() / 2], "no ELF file"),
        (&[0; 64][..], "no ELF file"),
        (&[][..], "no ELF file"),
    ] {
        std::fs::write(&object, bytes).unwrap();
        let refused = lab.dpctl(&["program_mod", &words]);
        let said = printed(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
    std::fs::remove_file(&object).unwrap();
    assert_eq!(lab.asks(&["programs"]), programs);
}
