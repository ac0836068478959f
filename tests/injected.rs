//! Calls that an intruder would make, injected into each thread of a locked switch of root.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use libc::c_long;

use bofuss_tests::locked::lock_user;
use bofuss_tests::{Lab, Process, have_users, ok, until};

use crate::{Folder, is_without_rights, of_threads};

/// The answer of a call in one thread: its result and `errno`.
type Answer = (i64, i32);

/// The errors of what is not permitted: `EPERM` and `EACCES`.
const REFUSALS: [i32; 2] = [1, 13];

/// Has a debugger make C calls in each thread of a process. Returns the answers of each.
fn inject(process: u32, calls: &[String]) -> Vec<(String, Vec<Answer>)> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-q", "-batch", "-p", &process.to_string()]);
    gdb.args(["-ex", "set language c"]);
    for (at, call) in calls.iter().enumerate() {
        let error = "*((int*(*)(void))__errno_location)()";
        gdb.arg("-ex").arg(format!(
            r#"thread apply all -q printf "answer {at} %ld %d\n", {call}, {error}"#
        ));
    }
    let said = ok(gdb.stdin(Stdio::null()));
    let mut answers: BTreeMap<usize, Vec<Answer>> = BTreeMap::new();
    for line in said.lines().filter_map(|line| line.strip_prefix("answer ")) {
        let numbers: Vec<i64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        let answer = (numbers[1], numbers[2].try_into().unwrap());
        answers.entry(numbers[0] as usize).or_default().push(answer);
    }
    let calls = calls.iter().enumerate();
    let found = calls.map(|(at, call)| (call.clone(), answers.remove(&at).unwrap_or_default()));
    let found: Vec<_> = found.collect();
    assert!(found.iter().all(|(_, all)| !all.is_empty()), "{said}");
    found
}

/// The C expression of a system call.
fn call(number: c_long, arguments: &str) -> String {
    format!("((long(*)(long,...))syscall)({number}, {arguments})")
}

/// Calls on other processes, the machine, memory and sockets.
fn attacks_on_others(other: u32) -> Vec<String> {
    let calls = [
        // NOFILE, and no new limits.
        (libc::SYS_prlimit64, format!("{other}, 7, 0, 0")),
        (libc::SYS_tgkill, format!("{other}, {other}, 0")),
        (libc::SYS_kill, format!("{other}, 0")),
        // PTRACE_ATTACH
        (libc::SYS_ptrace, format!("16, {other}, 0, 0")),
        (
            libc::SYS_process_vm_readv,
            format!("{other}, 0, 0, 0, 0, 0"),
        ),
        // AF_VSOCK, AF_ALG, raw AF_PACKET, raw IP, and generic netlink
        (libc::SYS_socket, "40, 1, 0".into()),
        (libc::SYS_socket, "38, 5, 0".into()),
        (libc::SYS_socket, "17, 3, 0".into()),
        (libc::SYS_socket, "2, 3, 1".into()),
        (libc::SYS_socket, "16, 3, 16".into()),
        // A map of memory, and a change of some, to what is written and executed.
        (libc::SYS_mmap, "0L, 4096L, 7, 0x22, -1, 0L".into()),
        (libc::SYS_mprotect, "0L, 4096L, 7".into()),
        (libc::SYS_setuid, "0".into()),
        (libc::SYS_setgid, "0".into()),
        (libc::SYS_setgroups, "0, 0L".into()),
        (libc::SYS_execve, r#""/bin/true", 0L, 0L"#.into()),
        (libc::SYS_clone, "17, 0L, 0L, 0L, 0L".into()),
        (libc::SYS_mount, r#""none", "/mnt", "tmpfs", 0L, 0L"#.into()),
        (libc::SYS_unshare, "0x40000000".into()),
        (libc::SYS_sethostname, r#""x", 1L"#.into()),
        (libc::SYS_bpf, "0, 0L, 0".into()),
        (libc::SYS_io_uring_setup, "8, 0L".into()),
    ];
    calls.map(|(number, words)| call(number, &words)).into()
}

/// Calls on a file of root that others may read, on one that they may not, and on a socket of root.
fn attacks_on_files(open: &str, secret: &str, socket: &str) -> Vec<String> {
    // AF_UNIX and a path, as an array of bytes.
    let address = format!(r#""\001\000{socket}", {}"#, socket.len() + 2);
    let connection = call(libc::SYS_socket, "1, 1, 0");
    // -100 is the current folder.
    let calls = [
        (libc::SYS_fchmodat, format!(r#"-100, "{open}", 04777"#)),
        (libc::SYS_fchmodat, format!(r#"-100, "{open}", 0666"#)),
        (
            libc::SYS_fchownat,
            format!(r#"-100, "{open}", 65534, 65534, 0"#),
        ),
        (libc::SYS_openat, r#"-100, "/etc/shadow", 0"#.into()),
        (libc::SYS_openat, format!(r#"-100, "{secret}", 0"#)),
        (libc::SYS_openat, format!(r#"-100, "{open}", 1"#)),
        (libc::SYS_truncate, format!(r#""{open}", 0L"#)),
        (libc::SYS_unlinkat, format!(r#"-100, "{open}", 0"#)),
        (
            libc::SYS_renameat2,
            format!(r#"-100, "{open}", -100, "{open}2", 0"#),
        ),
        (
            libc::SYS_linkat,
            format!(r#"-100, "{open}", -100, "{open}2", 0"#),
        ),
        (libc::SYS_symlinkat, format!(r#""{open}", -100, "{open}2""#)),
        (libc::SYS_mkdirat, format!(r#"-100, "{open}2", 0755"#)),
        (libc::SYS_connect, format!("{connection}, {address}")),
    ];
    calls.map(|(number, words)| call(number, &words)).into()
}

#[test]
fn what_an_intruder_calls_in_a_locked_switch_of_root_is_refused() {
    if !have_users(&["ip", "gdb", "sleep"]) {
        return;
    }
    let home = Folder::new("injected");
    let (open, secret, socket) = (home.file("open"), home.file("secret"), home.file("socket"));
    for (file, mode) in [(&open, 0o644), (&secret, 0o600)] {
        fs::write(file, "root's").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }
    let _listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).unwrap();
    let other = Process::start(Command::new("sleep").arg("600"));
    // Landlock lets the switch read what lies next to its configuration.
    let file = home.file("s.toml");
    fs::write(&file, "lock-down = true\nfail-mode = 'standalone'\n").unwrap();
    let lab = Lab::new(2, &["--config", &file]);
    until("it is locked down", || lab.log().contains("locked down: "));
    let switch = lab.switch.0.id();
    let threads = of_threads(&lab, "Name:").len();
    let mut attacks = attacks_on_others(other.0.id());
    attacks.extend(attacks_on_files(&open, &secret, &socket));
    for (attack, answers) in inject(switch, &attacks) {
        assert_eq!(answers.len(), threads, "{attack}");
        for (result, error) in answers {
            assert!(
                result == -1 && REFUSALS.contains(&error),
                "{attack}: {result} {error}"
            );
        }
    }
    // What a running switch needs is done: the refusals are no faults of the injection.
    let needed = [
        call(libc::SYS_openat, &format!(r#"-100, "{file}", 0"#)),
        call(libc::SYS_socket, "1, 1, 0"),
        call(libc::SYS_prlimit64, &format!("{switch}, 7, 0L, 0L")),
        call(libc::SYS_tgkill, &format!("{switch}, {switch}, 0")),
        call(libc::SYS_mprotect, "0L, 0L, 3"),
    ];
    for (need, answers) in inject(switch, &needed) {
        assert!(
            answers.iter().all(|(result, _)| *result >= 0),
            "{need}: {answers:?}"
        );
    }
    let found = fs::metadata(&open).unwrap();
    assert_eq!(
        (found.mode() & 0o7777, found.uid(), found.len()),
        (0o644, 0, 6)
    );
    is_without_rights(&lab);
    lab.all_ping();
}

#[test]
fn another_process_of_the_same_user_does_not_reach_into_a_locked_switch() {
    if !have_users(&["ip", "setpriv"]) {
        return;
    }
    let lab = Lab::new(1, &["--lock-down"]);
    until("it is locked down", || lab.log().contains("locked down: "));
    let (user, group) = lock_user();
    let mut same = Command::new("setpriv");
    same.args(["--reuid", &user.to_string(), "--regid", &group.to_string()]);
    same.args(["--clear-groups", "head", "-c1"]);
    let memory = format!("/proc/{}/mem", lab.switch.0.id());
    assert!(!same.arg(memory).status().unwrap().success());
}
