//! `bofuss replay` repeats what a switch recorded under traffic, also after SIGKILL and on a full
//! disk, and reports what differs.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bofuss_tests::{Lab, Process, have, ok, printed, program, python, run, until};

/// A folder that is unmounted and removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let unique = format!("bofuss-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// The name of the record in it.
    fn record(&self) -> String {
        self.0.join("record").display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .stderr(Stdio::null())
            .status();
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns what `bofuss replay` prints, and whether all outputs are as recorded.
fn replay(arguments: &[&str]) -> (String, bool) {
    let output = run(Command::new(program("bofuss"))
        .arg("replay")
        .args(arguments));
    (printed(&output), output.status.success())
}

/// Panics: if an input of these runs has another output than the recorded one.
fn is_done_again(record: &str, runs: &str) {
    let (said, is_same) = replay(&[record]);
    assert!(is_same && said.contains(runs), "{said}");
    assert!(said.contains("outputs as recorded"), "{said}");
}

/// The number and text of the first line that contains `words`.
fn line_with(record: &str, words: &str) -> (usize, String) {
    let text = fs::read_to_string(record).unwrap();
    let mut lines = (1..).zip(text.lines());
    let found = lines.find(|(_, line)| line.contains(words));
    let (number, line) = found.unwrap_or_else(|| panic!("there is no {words}"));
    (number, line.into())
}

#[test]
fn traffic_with_a_learning_controller_is_replayed() {
    if !have(&["ip", "ping", "python3"]) {
        return;
    }
    let folder = Folder::new("record");
    let record = folder.record();
    let mut controller = Command::new(python());
    let folder_of = Path::new(env!("CARGO_MANIFEST_DIR")).join("controllers");
    controller.current_dir(folder_of);
    controller.args(["learning.py", "16656"]);
    let _controller = Process::start(controller.stdout(Stdio::null()).stderr(Stdio::null()));
    let address = ["--controller", "tcp:127.0.0.1:16656"];
    let mut lab = Lab::new(3, &[&["--record", &record], &address[..]].concat());
    lab.all_ping();
    lab.tcp(1, 2, 4);
    lab.udp(2, 3);
    let meter = "meter=1,pktps,bands=type=drop,rate=5";
    lab.dpctl(&["add-meter", meter]);
    lab.dpctl(&[
        "add-flow",
        "priority=9,icmp,idle_timeout=1,actions=meter:1,normal",
    ]);
    for _ in 0..20 {
        lab.pings(1, 3);
    }
    lab.dpctl(&["mod-port", "2", "down"]);
    lab.dpctl(&["mod-port", "2", "up"]);
    lab.dpctl(&["del-flows", "icmp"]);
    lab.dpctl(&["dump-flows"]);
    let captures = ok(Command::new(program("bofuss")).args(["ctl", &lab.name, "captures"]));
    assert!(
        captures.contains(&format!("record {record} inputs=")),
        "{captures}"
    );
    assert!(captures.contains(" lost=0"), "{captures}");
    assert_eq!(lab.switch.terminate(), Some(0));
    let mode = fs::metadata(&record).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "frames are private");
    let text = fs::read_to_string(&record).unwrap();
    for what in [
        " gso=",
        " link ",
        " message ",
        " tick",
        " connect 0 1.3 controller",
    ] {
        let what = what.trim_start();
        assert!(text.contains(what), "{what} is in the record");
    }
    assert!(text.ends_with("\nend\n"));
    is_done_again(&record, "1 run");
}

#[test]
fn another_output_is_reported_and_may_become_the_expected_one() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let folder = Folder::new("replay");
    let record = folder.record();
    let mut lab = Lab::new(2, &["--record", &record]);
    lab.all_ping();
    assert_eq!(lab.switch.terminate(), Some(0));
    let (number, output) = line_with(&record, "> frame 2 0 ");
    let other = output.replace("> frame 2 0 ", "> frame 7 0 ");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replacen(&output, &other, 1)).unwrap();
    let (said, is_same) = replay(&[&record]);
    assert!(
        !is_same && said.contains(&format!("{record}, line {number}: ")),
        "{said}"
    );
    assert!(said.contains("recorded: frame 7 0 ") && said.contains("now:      frame 2 0 "));
    assert!(
        said.contains("1 of ") && said.contains(" inputs have other outputs"),
        "{said}"
    );
    let new = folder.0.join("new").display().to_string();
    assert!(!replay(&[&record, "--write", &new]).1);
    is_done_again(&new, "1 run");
    assert_eq!(fs::read_to_string(&new).unwrap(), text);
    let (said, done) = replay(&[&new, "--write", &new]);
    assert!(!done && said.contains("File exists"), "{said}");
    let (input, _) = line_with(&new, " frames 1 ");
    let (said, done) = replay(&[&new, "--explain", &input.to_string()]);
    assert!(done && said.contains("table 0"), "{said}");
    let (said, done) = replay(&[&new, "--explain", "1"]);
    assert!(
        !done && said.contains("line 1: no frames arrive here"),
        "{said}"
    );
}

#[test]
fn a_killed_switch_leaves_a_record_and_the_next_run_goes_on_in_it() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let folder = Folder::new("killed");
    let record = folder.record();
    let mut lab = Lab::new(2, &["--record", &record]);
    lab.all_ping();
    lab.switch.0.kill().unwrap();
    drop(lab);
    is_done_again(&record, "1 run");
    // As if the last write had not been completed.
    let file = fs::OpenOptions::new().write(true).open(&record).unwrap();
    let bytes = file.metadata().unwrap().len();
    file.set_len(bytes - 20).unwrap();
    let (said, is_same) = replay(&[&record]);
    assert!(
        is_same && said.contains("the line is cut off, and left out"),
        "{said}"
    );
    let mut lab = Lab::new(2, &["--record", &record]);
    lab.all_ping();
    assert_eq!(lab.switch.terminate(), Some(0));
    is_done_again(&record, "2 runs");
}

#[test]
fn a_locked_switch_records_headers_of_real_traffic_and_no_payload() {
    if !have(&["ip", "ping", "python3"]) {
        return;
    }
    // `ping` sends this.
    let payload = "18191a1b1c1d1e1f20212223";
    let folder = Folder::new("record-headers");
    let mut lengths = Vec::new();
    for detail in ["whole", "headers"] {
        let record = folder.0.join(detail).display().to_string();
        let options = [
            "--lock-down",
            "--record",
            &record,
            "--record-frames",
            detail,
        ];
        let mut lab = Lab::new(2, &options);
        until("it is locked down", || lab.log().contains("locked down: "));
        lab.dpctl(&["add-flow", "priority=9,icmp,actions=controller,normal"]);
        lab.all_ping();
        lab.tcp(1, 2, 2);
        lab.udp(1, 2);
        assert_eq!(lab.switch.terminate(), Some(0));
        let text = fs::read_to_string(&record).unwrap();
        assert_eq!(text.contains(payload), detail == "whole", "{detail}");
        assert_eq!(text.contains(",omitted="), detail == "headers", "{detail}");
        assert!(text.contains(",gso=tcp4:"), "there are super-frames");
        is_done_again(&record, "1 run");
        let lines = text.lines().filter(|line| line.starts_with("> frame "));
        let (count, bytes) = lines.fold((0, 0), |(n, bytes), line| (n + 1, bytes + line.len()));
        lengths.push(bytes / count);
    }
    assert!(lengths[0] > 4 * lengths[1], "{lengths:?}");
    let mut wrong = Command::new(program("bofuss"));
    let said = printed(&run(wrong.args(["run", "--record-frames", "none"])));
    assert!(
        said.contains("--record-frames none: it is whole or headers"),
        "{said}"
    );
}

#[test]
fn a_full_disk_ends_the_record_and_not_the_switch() {
    if !have(&["ip", "ping", "mount"]) {
        return;
    }
    let folder = Folder::new("full");
    let mount = ["-t", "tmpfs", "-o", "size=64k", "record"];
    ok(Command::new("mount").args(mount).arg(&folder.0));
    let record = folder.record();
    let mut lab = Lab::new(2, &["--record", &record]);
    lab.tcp(1, 2, 4);
    until("the disk is full", || lab.log().contains("No space left"));
    lab.all_ping();
    assert_eq!(lab.switch.terminate(), Some(0));
    is_done_again(&record, "1 run");
}

#[test]
fn a_locked_switch_records_what_it_may_not_do() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let folder = Folder::new("locked");
    let record = folder.record();
    let mut lab = Lab::new(2, &["--lock-down", "--record", &record]);
    until("it is locked down", || lab.log().contains("locked down: "));
    lab.all_ping();
    let refused = printed(&lab.dpctl(&["mod-port", "2", "down"]));
    assert!(refused.contains("EPERM"), "{refused}");
    assert_eq!(lab.switch.terminate(), Some(0));
    let text = fs::read_to_string(&record).unwrap();
    assert!(text.contains("\n? "), "a question was denied");
    is_done_again(&record, "1 run");
}

#[test]
fn a_file_that_cannot_be_a_record_is_refused_at_the_start() {
    let folder = Folder::new("no-record");
    let pipe = folder.0.join("pipe").display().to_string();
    ok(Command::new("mkfifo").arg(&pipe));
    let link = folder.0.join("link").display().to_string();
    std::os::unix::fs::symlink("/etc/hostname", &link).unwrap();
    for (file, told) in [
        (pipe.as_str(), "it is no file"),
        (&link, "Too many levels of symbolic links"),
        ("/nonexistent/record", "No such file"),
    ] {
        let name = format!("no-record-{}", std::process::id());
        let mut command = Command::new(program("bofuss"));
        command.args(["run", "--name", &name, "--record", file]);
        let output = run(&mut command);
        let said = printed(&output);
        assert!(!output.status.success(), "{said}");
        assert!(
            said.contains(&format!("--record {file}: ")) && said.contains(told),
            "{said}"
        );
    }
    let (said, done) = replay(&["/etc/hostname"]);
    assert!(
        !done && said.contains("/etc/hostname, line 1: a record begins with"),
        "{said}"
    );
}
