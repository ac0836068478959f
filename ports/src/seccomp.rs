//! seccomp: the system calls that a process may still make, once it says so of itself.

use std::{collections::BTreeMap, env::consts::ARCH, io};

use libc::{ENOSYS, EPERM, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// What threads, memory, clocks, files, sockets and polling need. No program is started, no process
/// is traced, and nothing is mounted, loaded or set on the machine.
#[rustfmt::skip]
const CALLS: &[c_long] = &[
    // threads and memory
    libc::SYS_brk, libc::SYS_clone3, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_futex,
    libc::SYS_getpid, libc::SYS_getppid, libc::SYS_gettid, libc::SYS_madvise,
    libc::SYS_membarrier, libc::SYS_mmap,
    libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_munmap, libc::SYS_prctl, libc::SYS_prlimit64,
    libc::SYS_restart_syscall, libc::SYS_rseq, libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn, libc::SYS_sched_getaffinity, libc::SYS_sched_yield,
    libc::SYS_set_robust_list, libc::SYS_sigaltstack, libc::SYS_tgkill,
    // clocks and randomness
    libc::SYS_clock_getres, libc::SYS_clock_gettime, libc::SYS_clock_nanosleep,
    libc::SYS_getrandom, libc::SYS_gettimeofday, libc::SYS_nanosleep, libc::SYS_sysinfo,
    libc::SYS_timerfd_create, libc::SYS_timerfd_gettime, libc::SYS_timerfd_settime,
    libc::SYS_uname,
    // files
    libc::SYS_close, libc::SYS_dup, libc::SYS_dup3, libc::SYS_faccessat, libc::SYS_faccessat2,
    libc::SYS_fallocate, libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchown,
    libc::SYS_fchownat, libc::SYS_fcntl, libc::SYS_fdatasync, libc::SYS_flock, libc::SYS_fstat,
    libc::SYS_fstatfs, libc::SYS_fsync, libc::SYS_ftruncate, libc::SYS_getcwd,
    libc::SYS_getdents64, libc::SYS_getegid, libc::SYS_geteuid, libc::SYS_getgid,
    libc::SYS_getuid, libc::SYS_lseek, libc::SYS_newfstatat, libc::SYS_openat, libc::SYS_pread64,
    libc::SYS_pwrite64, libc::SYS_read, libc::SYS_readlinkat, libc::SYS_readv,
    libc::SYS_renameat2, libc::SYS_statfs, libc::SYS_statx, libc::SYS_umask, libc::SYS_unlinkat,
    libc::SYS_write, libc::SYS_writev,
    // sockets, and interfaces by their ioctls
    libc::SYS_accept, libc::SYS_accept4, libc::SYS_bind, libc::SYS_connect,
    libc::SYS_getpeername, libc::SYS_getsockname, libc::SYS_getsockopt, libc::SYS_ioctl,
    libc::SYS_listen, libc::SYS_recvfrom, libc::SYS_recvmmsg, libc::SYS_recvmsg,
    libc::SYS_sendmmsg, libc::SYS_sendmsg, libc::SYS_sendto, libc::SYS_setsockopt,
    libc::SYS_shutdown, libc::SYS_socket, libc::SYS_socketpair,
    // polling
    libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2, libc::SYS_pipe2, libc::SYS_ppoll, libc::SYS_pselect6,
];

/// The older forms of the same, which newer architectures do not have.
#[rustfmt::skip]
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: &[c_long] = &[
    libc::SYS_access, libc::SYS_arch_prctl, libc::SYS_chmod, libc::SYS_chown, libc::SYS_dup2,
    libc::SYS_epoll_wait, libc::SYS_lstat, libc::SYS_open, libc::SYS_pipe, libc::SYS_poll,
    libc::SYS_readlink, libc::SYS_rename, libc::SYS_select, libc::SYS_stat, libc::SYS_time,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: &[c_long] = &[];

/// Restricts the calling thread, and those that it starts, to the system calls of a
/// running switch, for ever: others fail with EPERM. They gain no rights by executing a program.
///
/// Errors: the system's.
pub fn restrict_calls() -> io::Result<()> {
    let starts_thread = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64),
        libc::CLONE_THREAD as u64,
    )
    .map_err(io::Error::other)?;
    let clone_thread = SeccompRule::new(vec![starts_thread]).map_err(io::Error::other)?;
    let mut allowed = BTreeMap::new();
    for number in CALLS.iter().chain(OLD_CALLS) {
        allowed.insert(*number, vec![]);
    }
    allowed.insert(libc::SYS_clone, vec![clone_thread]);
    // A filter cannot see the flags of this one: without it, the C library takes the older one.
    let newer = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let missing = SeccompAction::Errno(ENOSYS as u32);
    apply(newer, SeccompAction::Allow, missing)?;
    let refused = SeccompAction::Errno(EPERM as u32);
    apply(allowed, refused, SeccompAction::Allow)
}

fn apply(
    rules: BTreeMap<c_long, Vec<SeccompRule>>,
    others: SeccompAction,
    listed: SeccompAction,
) -> io::Result<()> {
    let arch = ARCH.try_into().map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, others, listed, arch).map_err(io::Error::other)?;
    let program: BpfProgram = filter.try_into().map_err(io::Error::other)?;
    apply_filter(&program).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, process::Command, thread};

    #[test]
    fn a_restricted_thread_works_and_starts_no_program_and_no_process() {
        let work = || {
            restrict_calls().expect("every kernel has seccomp");
            assert!(fs::read("/proc/self/status").is_ok());
            assert!(std::net::TcpListener::bind("127.0.0.1:0").is_ok());
            thread::spawn(|| ()).join().expect("threads are started");
            let refused = |error: io::Error| error.raw_os_error() == Some(EPERM);
            assert!(Command::new("true").status().is_err_and(refused));
            assert!(fs::create_dir("/tmp/bofuss-seccomp").is_err_and(refused));
            let parent = rustix::process::getppid().expect("it has one");
            assert!(rustix::process::test_kill_process(parent).is_err());
        };
        // Only this thread is restricted.
        thread::scope(|scope| scope.spawn(work).join()).expect("all is as listed");
        assert!(Command::new("true").status().is_ok());
    }
}
