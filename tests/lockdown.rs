//! A switch that is locked down: without rights in any thread, it goes on working, and reports what
//! it cannot do any more.
#![allow(clippy::unwrap_used)]

mod injected;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use bofuss_tests::folder::Folder;
use bofuss_tests::locked::{give, lock_user};
use bofuss_tests::{Lab, Process, have, have_users, ip, printed, program, python, run, until};

/// Sends a command to a switch. Returns whether it succeeded, and what it prints.
fn ctl(lab: &Lab, command: &str) -> (bool, String) {
    let mut bofuss = Command::new(program("bofuss"));
    let output = run(bofuss.args(["ctl", &lab.name]).args(command.split(' ')));
    (output.status.success(), printed(&output))
}

/// Checks that the switch refuses a command for `reason`.
fn refused(lab: &Lab, command: &str, reason: &str) {
    let (done, said) = ctl(lab, command);
    assert!(!done && said.contains(reason), "{command}: {said}");
}

/// The values of a key in the status of all threads of the switch, by the threads' names.
fn of_threads(lab: &Lab, key: &str) -> Vec<(String, String)> {
    let tasks = fs::read_dir(format!("/proc/{}/task", lab.switch.0.id())).unwrap();
    let values = tasks.map(|task| {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let of = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap().trim().to_string()
        };
        (of("Name:"), of(key))
    });
    values.collect()
}

/// Checks that no thread has capabilities, or can gain any by a program.
fn is_without_rights(lab: &Lab) {
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        for (thread, value) in of_threads(lab, set) {
            assert!(
                value.bytes().all(|digit| digit == b'0'),
                "{thread}: {set} {value}"
            );
        }
    }
    let threads = of_threads(lab, "NoNewPrivs:");
    assert!(threads.iter().all(|(_, value)| value == "1"), "{threads:?}");
    let filtered = of_threads(lab, "Seccomp:");
    assert!(
        filtered.iter().all(|(_, value)| value == "2"),
        "{filtered:?}"
    );
    assert!(
        threads.iter().any(|(name, _)| name == "data-plane"),
        "{threads:?}"
    );
}

#[test]
fn a_locked_switch_has_no_rights_in_any_thread_and_goes_on_working() {
    if !have(&["ip", "ovs-testcontroller"]) {
        return;
    }
    let (home, captures) = (Folder::new("lock-home"), Folder::new("lock-captures"));
    let file = home.file("s.toml");
    let plain = "lock-down = true\nfail-mode = 'standalone'\n";
    fs::write(&file, plain).unwrap();
    give(&captures.file(""));
    let captured = captures.file("web.pcap");
    // Both names are looked up, the second one after the rights are gone.
    let lab = Lab::new(
        2,
        &[
            "--config",
            &file,
            "--capture-folder",
            &captures.file(""),
            "--listen",
            "ptcp:16691:localhost",
            "--metrics",
            "19692",
        ],
    );
    until("it is locked down", || {
        lab.log().contains("locked down: no capabilities")
    });
    is_without_rights(&lab);
    lab.all_ping();
    lab.tcp(1, 2, 64);
    lab.udp(2, 1);
    let mut controller = Command::new("ovs-testcontroller");
    controller
        .arg(format!("--unixctl={}", home.file("controller")))
        .arg("ptcp:16690:127.0.0.1")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _controller = Process::start(&mut controller);
    fs::write(
        &file,
        format!("{plain}controller = ['tcp:localhost:16690']\n"),
    )
    .unwrap();
    assert_eq!(ctl(&lab, "reload"), (true, String::new()));
    until("the controller is there", || {
        ctl(&lab, "controllers").1.contains("tcp:localhost")
    });
    lab.all_ping();
    assert!(
        ctl(&lab, "memory").1.contains(" kB"),
        "it reads its own status"
    );
    // What was declared may still be done, also by threads that start now.
    assert!(ctl(&lab, &format!("capture 1 {captured} icmp")).0);
    is_without_rights(&lab);
    lab.all_ping();
    until("the capture is there", || {
        fs::metadata(&captured).is_ok_and(|file| file.len() > 100)
    });
    // What the configuration names is written to the folder only.
    for place in [home.file("x.pcap"), captures.file("../x.pcap")] {
        fs::write(&file, format!("{plain}capture = ['1 {place}']\n")).unwrap();
        refused(&lab, "reload", "captures may only be written to /");
        assert!(!fs::exists(place).unwrap());
    }
    let socket = lab.address().replace("unix:", "");
    let mut lab = lab;
    assert_eq!(lab.switch.terminate(), Some(0));
    assert!(!fs::exists(socket).unwrap(), "it takes its sockets along");
}

#[test]
fn a_locked_switch_of_root_goes_on_as_another_user_and_cleans_up() {
    if !have_users(&["ip"]) {
        return;
    }
    let (user, group) = lock_user();
    let (home, captures) = (Folder::new("lock-user"), Folder::new("lock-user-captures"));
    give(&captures.file(""));
    let file = home.file("s.toml");
    let plain = "lock-down = true\nfail-mode = 'standalone'\n";
    let listener = captures.file("listener");
    let text = format!("{plain}listen = ['punix:{listener}']\n");
    fs::write(&file, &text).unwrap();
    let folder = captures.file("");
    let arguments = ["--config", &file, "--capture-folder", &folder];
    let mut lab = Lab::new(2, &arguments);
    until("it is locked down", || {
        let line = format!("locked down: no capabilities, user {user},");
        lab.log().contains(&line)
    });
    for (set, wanted) in [("Uid:", user), ("Gid:", group)] {
        for (thread, value) in of_threads(&lab, set) {
            let mut ids = value.split_whitespace();
            assert!(
                ids.all(|id| id == wanted.to_string()),
                "{thread}: {set} {value}"
            );
        }
    }
    let groups = of_threads(&lab, "Groups:");
    assert!(groups.iter().all(|(_, all)| all.is_empty()), "{groups:?}");
    is_without_rights(&lab);
    lab.all_ping();
    let captured = captures.file("a.pcap");
    let listeners = format!("listen = ['punix:{listener}', 'ptcp:16693']");
    let more = format!("{plain}{listeners}\ncapture = ['1 {captured}']\n");
    fs::write(&file, more).unwrap();
    assert_eq!(ctl(&lab, "reload"), (true, String::new()));
    lab.all_ping();
    until("the capture is there", || {
        fs::metadata(&captured).is_ok_and(|file| file.len() > 100)
    });
    assert!(lab.address().contains(&format!("/run/bofuss-{user}/")));
    assert_eq!(lab.switch.terminate(), Some(0));
    let left = fs::read_dir(format!("/run/bofuss-{user}")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    let mine = |file: &&std::ffi::OsString| file.to_string_lossy().starts_with(&lab.name);
    assert_eq!(left.iter().find(mine), None, "it takes its sockets along");
    assert!(!fs::exists(&listener).unwrap(), "and that of its listener");
    drop(lab);
}

#[test]
fn a_locked_switch_does_not_start_where_its_user_lacks_access() {
    if !have_users(&["ip"]) {
        return;
    }
    let home = Folder::new("lock-lacks");
    let (file, inner) = (home.file("s.toml"), home.file("inner"));
    fs::create_dir(&inner).unwrap();
    fs::write(&file, "lock-down = true\n").unwrap();
    fs::write(home.file("inner/s.toml"), "lock-down = true\n").unwrap();
    let (user, _) = lock_user();
    let starts = |words: &[&str], path: &str| {
        let mut bofuss = Command::new(program("bofuss"));
        let output = run(bofuss.args(["run", "--name", "lacks"]).args(words));
        let said = printed(&output);
        let line = format!("--lock-down: {path}: user {user}, as whom the switch goes on, needs");
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&line), "{said}");
        assert!(!said.contains("waiting for"), "{said}");
    };
    let (captures, socket) = (home.file(""), format!("punix:{}", home.file("s")));
    let folder = captures.trim_end_matches('/');
    starts(&["--config", &file, "--capture-folder", folder], folder);
    starts(&["--config", &file, "--listen", &socket], folder);
    // It may not search the folder of this one.
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o700)).unwrap();
    let inner = home.file("inner/s.toml");
    starts(&["--config", &inner], &inner);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    starts(&["--config", &file], &file);
    give(&file);
    let lab = Lab::new(2, &["--config", &file]);
    until("it is locked down", || lab.log().contains("locked down:"));
    assert_eq!(ctl(&lab, "reload"), (true, String::new()));
}

#[test]
fn a_locked_switch_writes_captures_into_files_that_the_caller_opens() {
    if !have(&["ip", "tshark"]) {
        return;
    }
    let elsewhere = Folder::new("lock-elsewhere");
    let lab = Lab::new(2, &["--lock-down"]);
    until("it is locked down", || {
        lab.log().contains("locked down: no capabilities")
    });
    let file = elsewhere.file("a.pcapng");
    for port in ["1", "2", "openflow"] {
        assert_eq!(
            ctl(&lab, &format!("capture {port} {file}")),
            (true, String::new())
        );
    }
    lab.all_ping();
    assert!(ctl(&lab, &format!("end-capture {file}")).0);
    until("both ports' frames are there", || {
        let mut tshark = Command::new("tshark");
        let read = run(tshark.args(["-r", &file, "-Y", "icmp"]));
        String::from_utf8_lossy(&read.stdout).lines().count() == 8
    });
    // A name alone opens nothing.
    let socket = lab.address().replace("unix:", "").replace(".sock", ".ctl");
    let mut peer = UnixStream::connect(socket).unwrap();
    let named = elsewhere.file("b.pcapng");
    peer.write_all(format!("capture 1 {named}\n").as_bytes())
        .unwrap();
    let mut said = String::new();
    peer.read_to_string(&mut said).unwrap();
    assert!(
        said.starts_with("error PORT and FILE are required, and FILE open"),
        "{said}"
    );
    assert!(!fs::exists(named).unwrap());
}

#[test]
fn a_capture_does_not_follow_a_link() {
    if !have(&["ip"]) {
        return;
    }
    let captures = Folder::new("lock-link");
    let (link, target) = (captures.file("link"), captures.file("target"));
    fs::write(&target, "kept").unwrap();
    symlink(&target, &link).unwrap();
    let lab = Lab::new(1, &["--capture-folder", &captures.file("")]);
    refused(&lab, &format!("capture 1 {link}"), "(os error 40)");
    refused(&lab, &format!("capture openflow {link}"), "(os error 40)");
    assert_eq!(fs::read_to_string(target).unwrap(), "kept");
}

#[test]
fn the_unit_exposes_the_machine_by_at_most_2() {
    if !have(&["systemd-analyze"]) {
        return;
    }
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../contrib/bofuss@.service");
    let mut analyze = Command::new("systemd-analyze");
    analyze.args([
        "security",
        "--offline=true",
        "--no-pager",
        "--threshold=20",
        unit,
    ]);
    let output = run(&mut analyze);
    assert!(output.status.success(), "{}", printed(&output));
}

#[test]
fn a_locked_switch_names_the_lock_where_it_refuses_and_changes_nothing() {
    if !have(&["ip"]) {
        return;
    }
    let home = Folder::new("lock-refuses");
    let file = home.file("s.toml");
    let plain = "lock-down = true\n";
    fs::write(&file, plain).unwrap();
    let lab = Lab::new(2, &["--config", &file]);
    until("it is locked down", || {
        lab.log().contains("locked down: no capabilities")
    });
    lab.all_ping();
    let before = ctl(&lab, "ports").1.lines().count();
    ip("link add lock0 type veth peer name lock1");
    for port in ["lock0", "tap:lock2", "pcap:/etc/hosts"] {
        refused(
            &lab,
            &format!("add-port {port}"),
            "the switch is locked down",
        );
    }
    ip("link del lock0");
    let capture = format!("{plain}capture = ['1 {}']\n", home.file("a.pcap"));
    fs::write(&file, capture).unwrap();
    refused(
        &lab,
        "reload",
        "Permission denied (os error 13): the switch is locked down",
    );
    fs::write(&file, plain).unwrap();
    assert!(!fs::exists(home.file("a.pcap")).unwrap());
    // A file that is not declared is not read, though root may.
    let foreign = Folder::new("lock-foreign");
    fs::write(foreign.file("key"), "a secret").unwrap();
    let key = format!(
        "private-key = '{0}'\ncertificate = '{0}'\n",
        foreign.file("key")
    );
    for (text, reason) in [
        (
            format!("{key}ca-cert = '{}'\n", foreign.file("key")),
            "os error 13",
        ),
        (
            format!("listen = ['punix:{}']\n", foreign.file("s")),
            "os error 13",
        ),
        ("listen = ['ptcp:1']\n".into(), "os error 13"),
    ] {
        fs::write(&file, format!("{plain}{text}")).unwrap();
        refused(&lab, "reload", reason);
        assert!(ctl(&lab, "reload").1.contains("locked down"), "{text}");
        assert!(lab.log().contains("the configuration was not changed"));
    }
    fs::write(&file, "fail-mode = 'secure'\n").unwrap();
    refused(&lab, "reload", "lock-down: a change needs a restart");
    let down = printed(&lab.dpctl(&["mod-port", "1", "down"]));
    assert!(down.contains("PORT_MOD_FAILED/EPERM"), "{down}");
    assert!(ip(&format!("link show {}", lab.port(1))).contains(",UP"));
    let flood = ["-O", "OpenFlow10", "mod-port", "1", "no-flood"];
    assert!(lab.dpctl(&flood).status.success());
    assert_eq!(ctl(&lab, "ports").1.lines().count(), before);
    lab.all_ping();
    // Rights that were given up do not come back.
    let port = lab.port(2);
    ip(&format!("link del {port}"));
    until("the port is gone", || ctl(&lab, "ports").1.contains("gone"));
    ip(&format!("link add {port} type veth peer name lock1"));
    let back = format!("{port} is back: port {port}: the switch is locked down");
    until("the log says why", || lab.log().contains(&back));
    assert!(ctl(&lab, "ports").1.contains("gone"));
    assert!(ctl(&lab, "del-port 2").0);
    is_without_rights(&lab);
}

#[test]
fn a_locked_switch_opens_no_port_that_a_file_names_later() {
    if !have(&["ip"]) {
        return;
    }
    let home = Folder::new("lock-ports");
    let file = home.file("s.toml");
    fs::write(&file, "lock-down = true\n").unwrap();
    let lab = Lab::with_file(1, &["--config", &file]);
    let port = lab.port(1);
    fs::write(&file, format!("lock-down = true\nport = ['{port}']\n")).unwrap();
    refused(
        &lab,
        "reload",
        &format!("port {port}: the switch is locked down"),
    );
    assert_eq!(ctl(&lab, "ports"), (true, String::new()));
}

#[test]
fn a_locked_switch_reads_no_pipe_no_folder_and_no_endless_line() {
    if !have(&["ip", "mkfifo"]) {
        return;
    }
    let home = Folder::new("lock-kinds");
    let (file, kept) = (home.file("s.toml"), home.file("kept.toml"));
    fs::write(&file, "lock-down = true\nfail-mode = 'standalone'\n").unwrap();
    let lab = Lab::new(2, &["--config", &file]);
    until("it is locked down", || lab.log().contains("locked down:"));
    let before = lab.log().len();
    fs::rename(&file, &kept).unwrap();
    assert!(run(Command::new("mkfifo").arg(&file)).status.success());
    refused(&lab, "reload", "not a regular file");
    fs::remove_file(&file).unwrap();
    // Landlock lets it read files only, below the folder of the configuration.
    fs::create_dir(&file).unwrap();
    refused(&lab, "reload", "os error 13");
    fs::remove_dir(&file).unwrap();
    symlink("/dev/zero", &file).unwrap();
    refused(&lab, "reload", "os error 13");
    fs::remove_file(&file).unwrap();
    let long = fs::File::create(&file).unwrap();
    long.set_len(200 << 20).unwrap();
    refused(&lab, "reload", "larger than 4 MiB");
    // An error of TOML names its place; one of a value quotes it, cut.
    for (text, reason) in [
        ("x".repeat(3 << 20), "line 1, column 3145729"),
        (format!("listen = ['{}']", "y".repeat(3 << 20)), "..."),
    ] {
        fs::write(&file, text).unwrap();
        refused(&lab, "reload", reason);
    }
    assert!(lab.log().len() - before < 50_000, "errors are cut");
    fs::remove_file(&file).unwrap();
    fs::rename(&kept, &file).unwrap();
    assert_eq!(ctl(&lab, "reload"), (true, String::new()));
    lab.all_ping();
}

#[test]
fn a_locked_switch_that_cannot_be_confined_does_not_start() {
    if !have(&["ip"]) {
        return;
    }
    // As on a kernel without Landlock: the first system call of it does not exist.
    let without = "import ctypes, os, struct, sys\n\
        code = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (6, 0, 0, 0x50026), (6, 0, 0, 0x7fff0000)]\n\
        code = b''.join(struct.pack('HBBI', *one) for one in code)\n\
        room = ctypes.create_string_buffer(code)\n\
        program = struct.pack('HxxxxxxP', 4, ctypes.addressof(room))\n\
        libc = ctypes.CDLL(None)\n\
        assert libc.prctl(38, 1, 0, 0, 0) == 0\n\
        assert libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0\n\
        os.execv(sys.argv[1], sys.argv[1:])\n";
    let mut command = Command::new(python());
    command.args(["-c", without]).arg(program("bofuss"));
    let output = run(command.args(["run", "--name", "lock-none", "--lock-down"]));
    let said = printed(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("--lock-down: this kernel has no Landlock"),
        "{said}"
    );
}
