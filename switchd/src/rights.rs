//! The rights of the running daemon: of root's capabilities those that interfaces need, or none.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use bofuss_channel::Endpoint;
use bofuss_ports::{Access, Landlock, restrict_calls};
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};
use tracing::info;

use crate::config::Config;

/// The capabilities to read and write frames, and to change links.
const NEEDED: CapabilitySet = CapabilitySet::NET_RAW.union(CapabilitySet::NET_ADMIN);
/// Why a locked switch does not open or change an interface.
pub const LOCKED: &str = "the switch is locked down (--lock-down): this needs a restart";
/// What the system's resolver reads to look up the name of a controller.
const RESOLVER: &[&str] = &[
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
    "/lib",
    "/lib64",
    "/run/systemd/resolve",
    "/usr/lib",
    "/usr/lib64",
];
/// Read by the command `memory`.
const STATUS: &str = "/proc/self/status";
/// How long to wait for resolver threads to end.
const LAST_THREADS: Duration = Duration::from_secs(5);

/// The rights that a locked-down switch keeps.
pub struct Lock {
    /// The files that it may open.
    files: Landlock,
    /// The user that it becomes, if it is root and another user has the access that it needs.
    user: Option<(Uid, Gid)>,
}

impl Lock {
    /// Collects the files of `configs` and the folder of their sockets; `None` without
    /// `--lock-down`.
    ///
    /// Errors: a sentence that names what is missing.
    pub fn of(configs: &[Config], sockets: &Path) -> Result<Option<Self>, String> {
        if !configs.iter().any(|config| config.lock_down) {
            return Ok(None);
        }
        let mut landlock = Landlock::new().map_err(|error| {
            if error.kind() == io::ErrorKind::Unsupported {
                "--lock-down: this kernel has no Landlock, or it is turned off (it comes with \
                 Linux 5.13; see lsm=)"
                    .into()
            } else {
                format!("--lock-down: {error}")
            }
        })?;
        let mut allow = |path: &Path, access| {
            landlock
                .allow(path, access)
                .map_err(|error| format!("--lock-down: {}: {error}", path.display()))
        };
        // A file may be a link or be replaced by another: access is given to folders.
        for file in configs.iter().flat_map(|config| &config.files) {
            allow(folder(file), Access::Read)?;
            let meant = fs::canonicalize(file).map_err(|e| format!("{}: {e}", file.display()))?;
            allow(folder(&meant), Access::Read)?;
        }
        allow(Path::new(STATUS), Access::Read)?;
        for file in RESOLVER.iter().map(Path::new).filter(|file| file.exists()) {
            allow(file, Access::Read)?;
        }
        allow(sockets, Access::Sockets)?;
        for address in configs.iter().flat_map(|config| &config.listen) {
            if let Endpoint::Unix(socket) = &address.0 {
                allow(folder(socket), Access::Sockets)?;
            }
        }
        for captures in configs
            .iter()
            .filter_map(|config| config.capture_folder.as_ref())
        {
            allow(captures, Access::Write)?;
        }
        Ok(Some(Self {
            files: landlock,
            user: unprivileged(configs, sockets),
        }))
    }

    /// Waits until no other thread has rights, and then gives up those of this thread.
    ///
    /// Errors: another thread keeps its rights.
    pub fn close(&self) -> Result<(), String> {
        let start = Instant::now();
        while others_have_rights().map_err(|error| format!("--lock-down: {error}"))? {
            if start.elapsed() > LAST_THREADS {
                return Err("--lock-down: a thread keeps its rights".into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        let version = self.confine().map_err(not_given_up)?;
        let user = rustix::process::getuid();
        info!(
            "locked down: no capabilities, user {user}, system calls by seccomp, files and signals \
             by Landlock's version {version}"
        );
        Ok(())
    }

    /// Gives up the rights of the calling thread, and of those that it starts later. Returns the
    /// version of Landlock's ABI.
    fn confine(&self) -> io::Result<i32> {
        let version = self.files.confine()?;
        if let Some((user, group)) = self.user {
            set_thread_groups(&[])?;
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
        }
        keep(CapabilitySet::empty())?;
        restrict_calls()?;
        Ok(version)
    }
}

/// The folder of a file.
fn folder(file: &Path) -> &Path {
    let parent = file.parent().filter(|parent| *parent != Path::new(""));
    parent.unwrap_or(Path::new("."))
}

/// The value of a key in the status of a thread (proc_pid_status(5)).
fn value_of<'a>(status: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = status.lines();
    lines.find_map(|line| line.strip_prefix(key)).map(str::trim)
}

/// Whether another thread of this process has capabilities, or may still gain some.
fn others_have_rights() -> io::Result<bool> {
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    for task in fs::read_dir("/proc/self/task")? {
        let status = fs::read_to_string(task?.path().join("status")).unwrap_or_default();
        // A thread that has ended in the meantime has no status.
        let is_other = value_of(&status, "Pid:").is_some_and(|thread| thread != own);
        let has_none =
            value_of(&status, "CapPrm:").is_some_and(|set| set.bytes().all(|digit| digit == b'0'));
        if is_other && !(has_none && value_of(&status, "NoNewPrivs:") == Some("1")) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The owner of the run-time folder, if this process is root, the owner is not, and the owner has
/// the access to the files of `configs` that the switch needs.
fn unprivileged(configs: &[Config], sockets: &Path) -> Option<(Uid, Gid)> {
    const READ: u32 = 4;
    const WRITE: u32 = 2;
    let owner = fs::metadata(sockets).ok()?;
    if owner.uid() == 0 || !rustix::process::geteuid().is_root() {
        return None;
    }
    let may = |path: &Path, right: u32| {
        let file = fs::metadata(path).ok()?;
        let shift = match (file.uid() == owner.uid(), file.gid() == owner.gid()) {
            (true, _) => 6,
            (false, true) => 3,
            (false, false) => 0,
        };
        (file.mode() >> shift & right != 0).then_some(())
    };
    for config in configs {
        for file in &config.files {
            may(file, READ)?;
        }
        if let Some(captures) = &config.capture_folder {
            may(captures, WRITE)?;
        }
        for address in &config.listen {
            if let Endpoint::Unix(socket) = &address.0 {
                may(folder(socket), WRITE)?;
            }
        }
    }
    Some((Uid::from_raw(owner.uid()), Gid::from_raw(owner.gid())))
}

/// Gives up all capabilities of the calling thread except those that interfaces need. With `lock`,
/// gives up these, too, and access to other files and most system calls. Threads that it starts
/// later inherit this. Files of other users cannot be opened any more, and no program gives rights
/// back.
///
/// Errors: the system's, in a sentence.
pub fn give_up(lock: Option<&Lock>) -> Result<(), String> {
    let done = match lock {
        Some(lock) => lock.confine().map(drop),
        None => rustix::thread::set_no_new_privs(true)
            .map_err(io::Error::from)
            .and_then(|()| keep(NEEDED)),
    };
    done.map_err(not_given_up)
}

fn not_given_up(error: io::Error) -> String {
    format!("giving up rights: {error}")
}

/// Reduces the capabilities of the calling thread to those that are needed.
fn keep(needed: CapabilitySet) -> io::Result<()> {
    let kept = capabilities(None)?.permitted & needed;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}

/// Adds to a sentence that ends in "permission denied" that a locked switch needs a restart for
/// this.
pub fn explain(error: String) -> String {
    let refused = error.contains("(os error 1)") || error.contains("(os error 13)");
    if refused {
        format!("{error}: {LOCKED}")
    } else {
        error
    }
}
