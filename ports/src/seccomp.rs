//! seccomp: the system calls that a process may still make, once it says so of itself.

use std::{collections::BTreeMap, env::consts::ARCH, io};

use libc::{ENOSYS, EPERM, c_int, c_long};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};

/// The system calls that threads, memory, clocks, files, sockets and polling need. No program is
/// started, no process is traced, nothing is mounted, loaded or set on the machine, and owners and
/// modes of files stay as they are.
#[rustfmt::skip]
const CALLS: &[c_long] = &[
    // threads and memory
    libc::SYS_brk, libc::SYS_clone3, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_futex,
    libc::SYS_getpid, libc::SYS_getppid, libc::SYS_gettid, libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mremap, libc::SYS_munmap, libc::SYS_prctl,
    libc::SYS_restart_syscall, libc::SYS_rseq, libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn, libc::SYS_sched_getaffinity, libc::SYS_sched_yield,
    libc::SYS_set_robust_list, libc::SYS_sigaltstack,
    // clocks and randomness
    libc::SYS_clock_getres, libc::SYS_clock_gettime, libc::SYS_clock_nanosleep,
    libc::SYS_getrandom, libc::SYS_gettimeofday, libc::SYS_nanosleep, libc::SYS_sysinfo,
    libc::SYS_timerfd_create, libc::SYS_timerfd_gettime, libc::SYS_timerfd_settime,
    libc::SYS_uname,
    // files
    libc::SYS_close, libc::SYS_dup, libc::SYS_dup3, libc::SYS_faccessat, libc::SYS_faccessat2,
    libc::SYS_fallocate, libc::SYS_fcntl, libc::SYS_fdatasync, libc::SYS_flock, libc::SYS_fstat,
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
    libc::SYS_shutdown,
    // polling
    libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2, libc::SYS_pipe2, libc::SYS_ppoll, libc::SYS_pselect6,
];

/// The older forms of the same, which newer architectures do not have.
#[rustfmt::skip]
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: &[c_long] = &[
    libc::SYS_access, libc::SYS_arch_prctl, libc::SYS_dup2,
    libc::SYS_epoll_wait, libc::SYS_lstat, libc::SYS_open, libc::SYS_pipe, libc::SYS_poll,
    libc::SYS_readlink, libc::SYS_rename, libc::SYS_select, libc::SYS_stat, libc::SYS_time,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: &[c_long] = &[];

/// The domains of the sockets that a running switch opens: connections, the control socket, and
/// the netlink of routes, by which the C library's resolver reads the machine's addresses.
const DOMAINS: &[c_int] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// Restricts the calling thread, and those that it starts, to the system calls of a
/// running switch, for ever: others fail with EPERM. They gain no rights by executing a program.
///
/// Errors: the system's.
pub fn restrict_calls() -> io::Result<()> {
    let mut allowed = limited_calls().map_err(io::Error::other)?;
    for number in CALLS.iter().chain(OLD_CALLS) {
        allowed.insert(*number, vec![]);
    }
    // A filter cannot see the flags of this one: without it, the C library takes the older one.
    let newer = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let missing = SeccompAction::Errno(ENOSYS as u32);
    apply(newer, SeccompAction::Allow, missing)?;
    let refused = SeccompAction::Errno(EPERM as u32);
    apply(allowed, refused, SeccompAction::Allow)
}

/// The calls whose integers decide whether they are allowed: to start threads, but no process; to
/// act on this process, but no other; to execute what a file has, but nothing that was written to
/// memory.
fn limited_calls() -> Result<BTreeMap<c_long, Vec<SeccompRule>>, BackendError> {
    let mut own = Vec::new();
    for pid in [0, rustix::process::getpid().as_raw_nonzero().get()] {
        own.push(SeccompRule::new(vec![is_equal(0, pid)?])?);
    }
    let mut sockets = Vec::new();
    for domain in DOMAINS {
        sockets.push(SeccompRule::new(vec![is_equal(0, *domain)?])?);
    }
    let routes = vec![
        is_equal(0, libc::AF_NETLINK)?,
        is_equal(2, libc::NETLINK_ROUTE)?,
    ];
    sockets.push(SeccompRule::new(routes)?);
    let pairs = SeccompRule::new(vec![is_equal(0, libc::AF_UNIX)?])?;
    let threads = SeccompRule::new(vec![has(0, libc::CLONE_THREAD, libc::CLONE_THREAD)?])?;
    let data = SeccompRule::new(vec![has(2, libc::PROT_EXEC, 0)?])?;
    // The resolver loads its modules (nsswitch.conf(5)) when a name is looked up.
    let module = SeccompRule::new(vec![
        has(2, libc::PROT_EXEC | libc::PROT_WRITE, libc::PROT_EXEC)?,
        has(3, libc::MAP_ANONYMOUS, 0)?,
    ])?;
    Ok(BTreeMap::from([
        (libc::SYS_clone, vec![threads]),
        (libc::SYS_prlimit64, own.clone()),
        (libc::SYS_tgkill, own),
        (libc::SYS_socket, sockets),
        (libc::SYS_socketpair, vec![pairs]),
        (libc::SYS_mmap, vec![data.clone(), module]),
        (libc::SYS_mprotect, vec![data]),
    ]))
}

/// An argument, a C `int`, has this value.
fn is_equal(argument: u8, value: c_int) -> Result<SeccompCondition, BackendError> {
    let value = u64::from(value.cast_unsigned());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

/// Of the bits in `mask`, an argument has those in `value` and no others.
fn has(argument: u8, mask: c_int, value: c_int) -> Result<SeccompCondition, BackendError> {
    let [mask, value] = [mask, value].map(|bits| u64::from(bits.cast_unsigned()));
    let equal = SeccompCmpOp::MaskedEq(mask);
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, equal, value)
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

    /// Returns true if a raw system call with integers is refused with EPERM.
    fn is_refused(number: c_long, [a, b, c, d, e]: [c_int; 5]) -> bool {
        let [a, b, c, d, e] = [a, b, c, d, e].map(c_long::from);
        // SAFETY: the callers pass integers and null pointers only; what a call maps, nobody uses.
        let result = unsafe { libc::syscall(number, a, b, c, d, e, 0) };
        result == -1 && io::Error::last_os_error().raw_os_error() == Some(EPERM)
    }

    #[test]
    fn a_restricted_thread_reaches_no_other_process_and_executes_no_memory() {
        let parent = rustix::process::getppid().expect("it has one");
        let other = parent.as_raw_nonzero().get();
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let (write, execute) = (libc::PROT_WRITE, libc::PROT_EXEC);
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let stream = libc::SOCK_STREAM;
        let calls = [
            (libc::SYS_prlimit64, [other, 7, 0, 0, 0], true),
            (libc::SYS_prlimit64, [own, 7, 0, 0, 0], false),
            (libc::SYS_prlimit64, [0, 7, 0, 0, 0], false),
            (libc::SYS_tgkill, [other, other, 0, 0, 0], true),
            (libc::SYS_tgkill, [own, own, 0, 0, 0], false),
            (libc::SYS_kill, [other, 0, 0, 0, 0], true),
            (libc::SYS_tkill, [other, 0, 0, 0, 0], true),
            (libc::SYS_socket, [libc::AF_VSOCK, stream, 0, 0, 0], true),
            (
                libc::SYS_socket,
                [libc::AF_PACKET, libc::SOCK_RAW, 0, 0, 0],
                true,
            ),
            (
                libc::SYS_socket,
                [libc::AF_ALG, libc::SOCK_SEQPACKET, 0, 0, 0],
                true,
            ),
            (
                libc::SYS_socket,
                [libc::AF_NETLINK, libc::SOCK_RAW, 12, 0, 0],
                true,
            ),
            (
                libc::SYS_socket,
                [libc::AF_NETLINK, libc::SOCK_RAW, 0, 0, 0],
                false,
            ),
            (libc::SYS_socket, [libc::AF_INET6, stream, 0, 0, 0], false),
            (libc::SYS_socketpair, [libc::AF_INET, stream, 0, 0, 0], true),
            (
                libc::SYS_mmap,
                [0, 4096, write | execute, anonymous, -1],
                true,
            ),
            (libc::SYS_mmap, [0, 4096, execute, anonymous, -1], true),
            (libc::SYS_mmap, [0, 4096, write, anonymous, -1], false),
            (libc::SYS_mprotect, [0, 4096, execute, 0, 0], true),
            (libc::SYS_mprotect, [0, 4096, write, 0, 0], false),
            (libc::SYS_fchmod, [-1, 0o4777, 0, 0, 0], true),
            (libc::SYS_fchmodat, [-1, 0, 0o600, 0, 0], true),
            (libc::SYS_fchown, [-1, 0, 0, 0, 0], true),
        ];
        let attempts = || {
            restrict_calls().expect("every kernel has seccomp");
            for (number, arguments, refused) in calls {
                assert_eq!(
                    is_refused(number, arguments),
                    refused,
                    "{number} {arguments:?}"
                );
            }
        };
        thread::scope(|scope| scope.spawn(attempts).join()).expect("all is as listed");
    }
}
