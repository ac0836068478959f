//! Descriptors that a service manager passes to the process that it starts.

use std::env;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{FdFlags, fcntl_setfd};

/// The first of them.
const FIRST: RawFd = 3;
/// The most that are taken: more than a switch has.
const MOST: RawFd = 1024;

/// Takes the descriptors that the service manager (systemd) has passed to this process, each with
/// its name; at most once in a process, and before anything is opened.
///
/// Source: `sd_listen_fds_with_names(3)`, whose variables are `LISTEN_PID`, `LISTEN_FDS` and
/// `LISTEN_FDNAMES`.
pub fn inherited() -> Vec<(String, OwnedFd)> {
    static WERE_TAKEN: AtomicBool = AtomicBool::new(false);
    let number = |name| env::var(name).ok()?.parse::<RawFd>().ok();
    let is_ours = number("LISTEN_PID").is_some_and(|pid| i64::from(pid) == own_pid());
    if !is_ours || WERE_TAKEN.swap(true, Ordering::Relaxed) {
        return Vec::new();
    }
    let count = number("LISTEN_FDS").unwrap_or(0).clamp(0, MOST);
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let mut taken = Vec::new();
    for raw in FIRST..FIRST + count {
        let name = names.next().unwrap_or_default().to_string();
        // SAFETY: asks for the flags of a number, which need not be a descriptor.
        if unsafe { libc::fcntl(raw, libc::F_GETFD) } < 0 {
            continue;
        }
        // SAFETY: it is open, and by the variables it is this process's, which takes it once.
        let descriptor = unsafe { OwnedFd::from_raw_fd(raw) };
        // If that fails, programs that this one starts have it, too.
        let _ = fcntl_setfd(&descriptor, FdFlags::CLOEXEC);
        taken.push((name, descriptor));
    }
    taken
}

fn own_pid() -> i64 {
    std::process::id().into()
}
