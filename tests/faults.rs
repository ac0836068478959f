//! System calls that fail: the n-th of each kind in every thread, for each n until none fails.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Child, Command, Stdio};

use bofuss_tests::folder::Folder;
use bofuss_tests::{Lab, Process, have, ip, ok, printed, program, run, until};

/// A kind of call, and an error that the kernel may answer it with.
type Fault = (&'static str, &'static str);

const TOOLS: &[&str] = &["ip", "strace"];
/// The calls of a switch from its start to its end.
const AT_THE_START: &[Fault] = &[
    ("openat", "EMFILE"),
    ("socket", "EMFILE"),
    ("bind", "ENOMEM"),
    ("listen", "EADDRINUSE"),
    ("setsockopt", "ENOMEM"),
    ("getsockopt", "ENOMEM"),
    ("ioctl", "ENOMEM"),
    ("eventfd2", "EMFILE"),
    ("epoll_create1", "EMFILE"),
    ("epoll_ctl", "ENOMEM"),
    ("timerfd_create", "EMFILE"),
    ("clone3", "EAGAIN"),
    ("fchmodat", "EPERM"),
    ("chmod", "EPERM"),
    ("capset", "EPERM"),
    ("prctl", "EINVAL"),
    ("rename", "ENOSPC"),
    ("flock", "ENOLCK"),
    ("getdents64", "EIO"),
    ("epoll_wait", "EINTR"),
];
/// The calls of a switch that is told to do something.
const RUNNING: &[Fault] = &[
    ("openat", "EMFILE"),
    ("clone3", "EAGAIN"),
    ("ftruncate", "EIO"),
    ("accept4", "EMFILE"),
];
/// The same where each takes many calls.
const RUNNING_LONG: &[Fault] = &[
    ("socket", "EMFILE"),
    ("bind", "ENOMEM"),
    ("setsockopt", "ENOMEM"),
    ("ioctl", "ENOMEM"),
    ("flock", "ENOLCK"),
    ("recvmsg", "ENOBUFS"),
    ("sendmmsg", "ENOBUFS"),
    ("writev", "EIO"),
    ("readv", "EIO"),
    ("epoll_wait", "EINTR"),
];
/// A setting of an interface while it is a port, and otherwise.
const SETTING: &str = "/proc/sys/net/ipv4/conf/fault1/arp_ignore";

/// strace that lets the call number `at` of each thread fail; it writes these calls to `trace`.
fn strace((call, error): Fault, at: u32, trace: &str) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", trace, "-e", &format!("trace={call}")]);
    strace.args(["-e", &format!("inject={call}:error={error}:when={at}")]);
    strace
}

/// The calls that failed.
fn injected(trace: &str) -> Vec<String> {
    let text = fs::read_to_string(trace).unwrap();
    let lines = text.lines().filter(|line| line.contains("INJECTED"));
    lines.map(String::from).collect()
}

fn bofuss(words: &[&str]) -> (bool, String) {
    let output = run(Command::new(program("bofuss")).args(words));
    (output.status.success(), printed(&output))
}

/// The files of the run-time directory that are about `name`.
fn left(name: &str) -> Vec<String> {
    let files = fs::read_dir("/run/bofuss").into_iter().flatten().flatten();
    let mut found = Vec::new();
    for file in files {
        let is_about = fs::read_to_string(file.path()).unwrap_or_default();
        let file = file.file_name().into_string().unwrap();
        if file.starts_with(&format!("{name}.")) || is_about.starts_with(&format!("{name} ")) {
            found.push(file);
        }
    }
    found
}

/// Starts a switch, and ends it if it starts. Returns what it printed, and its exit code.
fn start_and_end(mut command: Command, folder: &Folder) -> (String, i32) {
    let log = folder.file("log");
    command.args(["run", "--config", &folder.file("s.toml")]);
    command
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap());
    let mut switch = Process::start(&mut command);
    let said = || fs::read_to_string(&log).unwrap();
    let mut code = None;
    let mut ended = |child: &mut Child| {
        code = child.try_wait().unwrap().and_then(|status| status.code());
        code.is_some()
    };
    until("it runs or ends", || {
        said().contains("metrics: ") || ended(&mut switch.0)
    });
    // A command may be the one that is not accepted.
    until("it ends", || {
        bofuss(&["ctl", "fault", "shutdown"]);
        ended(&mut switch.0)
    });
    (said(), code.unwrap())
}

#[test]
fn a_switch_of_which_a_call_fails_starts_or_says_why_not_and_leaves_nothing() {
    starts_or_says_why_not(2);
}

#[test]
#[ignore = "long: each call, and not every other one"]
fn a_switch_of_which_any_call_fails_starts_or_says_why_not_and_leaves_nothing() {
    starts_or_says_why_not(1);
}

/// Lets the first call of each kind fail at the start, then the one that comes `step` later, and so
/// on.
fn starts_or_says_why_not(step: usize) {
    if !have(TOOLS) {
        return;
    }
    let folder = Folder::new("faults-start");
    ip("link add fault1 type veth peer name fault2");
    let text = format!(
        "name = 'fault'\nport = ['fault1', 'tap:fault3']\nlisten = ['ptcp:16695']\n\
         metrics = '16696'\nrecord = '{}'\ncapture = ['openflow {}']\n",
        folder.file("record"),
        folder.file("messages.pcapng")
    );
    fs::write(folder.file("s.toml"), text).unwrap();
    let before = fs::read_to_string(SETTING).unwrap();
    let trace = folder.file("trace");
    for fault in AT_THE_START {
        for at in (1..).step_by(step) {
            let _ = fs::remove_file(folder.file("record"));
            let mut command = strace(*fault, at, &trace);
            command.arg("--seccomp-bpf").arg(program("bofuss"));
            let (said, code) = start_and_end(command, &folder);
            let calls = injected(&trace);
            let last = said.lines().last().unwrap_or_default();
            assert!(!said.contains("panicked"), "{calls:?}: {said}");
            // Before main, the dynamic linker reads libraries.
            let is_clear = code == 0 || last.contains("bofuss: ") || last.contains("loading");
            assert!(
                is_clear && [0, 1, 2, 127].contains(&code),
                "{calls:?}: {code} {said}"
            );
            assert_eq!(left("fault"), [""; 0], "{calls:?}");
            let is_restored = fs::read_to_string(SETTING).unwrap() == before;
            assert!(is_restored || left("fault1").len() == 1, "{calls:?}");
            if calls.is_empty() {
                assert_eq!(code, 0, "{said}");
                assert!(at > 1 || fault.0 != "openat", "nothing failed");
                break;
            }
        }
    }
    let (said, code) = start_and_end(Command::new(program("bofuss")), &folder);
    assert_eq!((code, left("fault1").len()), (0, 0), "{said}");
    assert_eq!(fs::read_to_string(SETTING).unwrap(), before);
    ip("link del fault1");
}

/// A switch that is told to do things while calls fail.
struct Told {
    lab: Lab,
    folder: Folder,
}

impl Told {
    fn new() -> Self {
        let folder = Folder::new("faults-run");
        let file = folder.file("s.toml");
        fs::write(&file, "fail-mode = 'standalone'\n").unwrap();
        ip("link add told1 type veth peer name told2");
        let record = folder.file("record");
        let words = ["--config", &file, "--record", &record, "--metrics", "16697"];
        let lab = Lab::new(2, &words);
        Self { lab, folder }
    }

    fn ctl(&self, words: &[&str]) -> (bool, String) {
        bofuss(&[&["ctl", &self.lab.name], words].concat())
    }

    /// Does what opens, makes, reads and writes something. Returns what failed.
    fn act(&self) -> Vec<String> {
        let capture = self.folder.file("a.pcap");
        let file = self.folder.file("s.toml");
        let mut failed = Vec::new();
        let mut note = |what: &str, (done, said): (bool, String)| {
            assert!(!said.contains("panicked"), "{what}: {said}");
            if !done {
                failed.push(format!("{what}: {said}"));
            }
        };
        note("capture", self.ctl(&["capture", "1", &capture]));
        self.lab.pings(1, 2);
        note("end-capture", self.ctl(&["end-capture", &capture]));
        note("add-port", self.ctl(&["add-port", "tap:told3"]));
        note("del-port", self.ctl(&["del-port", "told3"]));
        let plain = "fail-mode = 'standalone'\n";
        fs::write(&file, format!("{plain}port = ['7=told1']\n")).unwrap();
        note("reload", self.ctl(&["reload"]));
        fs::write(&file, plain).unwrap();
        note("reload", self.ctl(&["reload"]));
        let show = self.lab.dpctl(&["show"]);
        note("show", (show.status.success(), printed(&show)));
        failed
    }

    /// Lets the call number `at` of each thread fail while the switch acts. Returns which did.
    fn fail(&self, fault: Fault, at: u32) -> Vec<String> {
        let trace = self.folder.file("trace");
        let mut tracer = attach(&mut strace(fault, at, &trace), &self.lab);
        let failed = self.act();
        ok(Command::new("kill").args(["-INT", &tracer.0.id().to_string()]));
        until("it detaches", || tracer.0.try_wait().unwrap().is_some());
        let calls = injected(&trace);
        assert!(failed.is_empty() || !calls.is_empty(), "{failed:?}");
        calls
    }

    /// Lets each call of these kinds fail, one after the other; the switch then does the same
    /// without an error.
    fn survive(&mut self, faults: &[Fault]) {
        for fault in faults {
            for at in 1.. {
                let calls = self.fail(*fault, at);
                assert!(self.lab.switch.0.try_wait().unwrap().is_none(), "{calls:?}");
                let failed = self.act();
                assert!(failed.is_empty(), "{calls:?}: {failed:?}");
                assert!(!self.lab.log().contains("panicked"), "{calls:?}");
                if calls.is_empty() {
                    break;
                }
            }
        }
        self.lab.all_ping();
        assert_eq!(self.lab.switch.terminate(), Some(0));
        assert_eq!(left(&self.lab.name), [""; 0]);
        assert_eq!(left("told1"), [""; 0]);
        ip("link del told1");
    }
}

#[test]
fn a_running_switch_of_which_a_call_fails_goes_on() {
    if have(TOOLS) {
        Told::new().survive(RUNNING);
    }
}

#[test]
#[ignore = "takes half a minute"]
fn a_running_switch_of_which_any_call_fails_goes_on() {
    if have(TOOLS) {
        Told::new().survive(RUNNING_LONG);
    }
}

#[test]
fn a_capture_on_a_full_disk_ends_and_says_why() {
    if !have(&["ip", "mount"]) {
        return;
    }
    let folder = Folder::new("faults-full");
    let mount = ["-t", "tmpfs", "-o", "size=64k", "full"];
    ok(Command::new("mount").args(mount).arg(&folder.0));
    let mut lab = Lab::new(2, &[]);
    let capture = folder.file("a.pcap");
    assert!(bofuss(&["ctl", &lab.name, "capture", "1", &capture]).0);
    lab.tcp(1, 2, 4);
    until("the disk is full", || {
        let line = format!("capture {capture}: No space left on device");
        lab.log().contains(&line)
    });
    lab.all_ping();
    assert_eq!(lab.switch.terminate(), Some(0));
    ok(Command::new("umount").arg(&folder.0));
}

/// Starts strace on a switch, and waits until it traces all threads.
fn attach(strace: &mut Command, lab: &Lab) -> Process {
    let process = lab.switch.0.id().to_string();
    let tracer = Process::start(strace.args(["-p", &process]).stderr(Stdio::null()));
    until("all threads are traced", || {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
        tasks.into_iter().all(|task| {
            let status = fs::read_to_string(task.unwrap().path().join("status"));
            status.is_ok_and(|text| !text.contains("TracerPid:\t0\n"))
        })
    });
    tracer
}

#[test]
fn a_slow_file_system_delays_a_reload_and_nothing_else() {
    if !have(TOOLS) {
        return;
    }
    let folder = Folder::new("slow-files");
    let file = folder.file("s.toml");
    fs::write(&file, "fail-mode = 'standalone'\n").unwrap();
    let mut lab = Lab::new(2, &["--config", &file]);
    let trace = folder.file("trace");
    let slow = |seconds: u32| {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", &trace, "-P", &file]);
        let inject = format!("inject=openat:delay_enter={seconds}000000");
        strace.args(["-e", "trace=openat", "-e", &inject]);
        strace
    };
    let reload = |lab: &Lab| {
        let mut command = Command::new(program("bofuss"));
        let reload = Process::start(command.args(["ctl", &lab.name, "reload"]));
        until("the reload is in progress", || {
            fs::read_to_string(&trace).unwrap().contains(&file)
        });
        let busy = "the files of another change are still being read";
        let (done, said) = bofuss(&["ctl", &lab.name, "reload"]);
        assert!(!done && said.contains(busy), "{said}");
        reload
    };
    let tracer = attach(&mut slow(5), &lab);
    let mut first = reload(&lab);
    lab.all_ping();
    assert!(lab.dpctl(&["show"]).status.success());
    assert!(bofuss(&["ctl", &lab.name, "ports"]).0);
    assert!(first.0.try_wait().unwrap().is_none(), "others did not wait");
    assert!(first.0.wait().unwrap().success());
    drop(tracer);
    let tracer = attach(&mut slow(3600), &lab);
    let _second = reload(&lab);
    let process = lab.switch.0.id().to_string();
    ok(Command::new("kill").arg(&process));
    // It is seen to end only once strace lets go of its thread.
    until("it ends", || {
        let status = fs::read_to_string(format!("/proc/{process}/status"));
        status.unwrap().contains("State:\tZ")
    });
    drop(tracer);
    assert_eq!(lab.switch.0.wait().unwrap().code(), Some(0));
}
