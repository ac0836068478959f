//! The rights of the running daemon: of root's capabilities those that interfaces need, or none.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use bofuss_channel::Endpoint;
use bofuss_ports::{Access, Landlock, restrict_calls};
use rustix::fs::{Access as Right, access};
use rustix::process::getuid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use tracing::{info, warn};

use crate::account::Account;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result, context};

/// The capabilities to read and write frames, and to change links.
const NEEDED: CapabilitySet = CapabilitySet::NET_RAW.union(CapabilitySet::NET_ADMIN);
/// The reason for which a locked switch does not open or change an interface.
pub const LOCKED: &str = "the switch is locked down (--lock-down): this needs a restart";
/// The files that the system's resolver reads to look up the name of a controller.
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
/// The time to wait for resolver threads, which still have rights, to end.
const LAST_THREADS: Duration = Duration::from_secs(5);

/// The rights that a locked-down switch keeps.
pub struct Lock {
    /// The files that it may open.
    files: Landlock,
    /// The user that it becomes, if it is root.
    account: Option<Account>,
}

impl Lock {
    /// Collects the files of `configs` and the folder of their sockets; `None` without
    /// `--lock-down`.
    ///
    /// Errors: a sentence that names what is missing, or what `account` may not use.
    pub fn of(
        configs: &[Config],
        sockets: &Path,
        account: Option<Account>,
    ) -> Result<Option<Self>> {
        if !configs.iter().any(|config| config.lock_down) {
            return Ok(None);
        }
        let mut files = Landlock::new().map_err(|error| {
            if error.kind() == io::ErrorKind::Unsupported {
                "--lock-down: this kernel has no Landlock, or it is turned off (it comes with \
                 Linux 5.13; see lsm=)"
                    .into()
            } else {
                context("--lock-down")(error)
            }
        })?;
        // A file may be a link or be replaced by another: access is given to folders.
        for file in configs.iter().flat_map(|config| &config.files) {
            allow(&mut files, folder(file), Access::Read)?;
            let meant = fs::canonicalize(file).map_err(context(file.display()))?;
            allow(&mut files, folder(&meant), Access::Read)?;
        }
        allow(&mut files, Path::new(STATUS), Access::Read)?;
        for file in RESOLVER.iter().map(Path::new).filter(|file| file.exists()) {
            allow(&mut files, file, Access::Read)?;
        }
        allow(&mut files, sockets, Access::Sockets)?;
        for address in configs.iter().flat_map(|config| &config.listen) {
            if let Endpoint::Unix(socket) = &address.0 {
                allow(&mut files, folder(socket), Access::Sockets)?;
            }
        }
        for captures in configs
            .iter()
            .filter_map(|config| config.capture_folder.as_ref())
        {
            allow(&mut files, captures, Access::Write)?;
        }
        for folder in configs
            .iter()
            .filter_map(|config| config.state.folder.as_ref())
        {
            allow(&mut files, folder, Access::Replace)?;
        }
        if let Some(account) = &account {
            check_access(account, configs)?;
        }
        Ok(Some(Self { files, account }))
    }

    /// Waits until no other thread has rights, and then gives up those of this thread.
    ///
    /// Errors: another thread keeps its rights.
    pub fn close(&self) -> Result<()> {
        let start = Instant::now();
        while others_have_rights().map_err(context("--lock-down"))? {
            if start.elapsed() > LAST_THREADS {
                return Err("--lock-down: a thread keeps its rights".into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        let version = self.confine().map_err(not_given_up)?;
        let user = getuid();
        info!(
            "locked down: no capabilities, user {user}, system calls limited by seccomp, files and \
             signals by Landlock (ABI version {version})"
        );
        Ok(())
    }

    /// Gives up the rights of the calling thread, and of those that it starts later. Returns the
    /// version of Landlock's ABI.
    fn confine(&self) -> io::Result<i32> {
        let version = self.files.confine()?;
        if let Some(account) = &self.account {
            account.enter()?;
        }
        keep(CapabilitySet::empty())?;
        restrict_calls()?;
        Ok(version)
    }
}

/// Adds a file or folder to those that a locked-down switch may open. Errors: the system's, in a
/// sentence.
fn allow(files: &mut Landlock, path: &Path, access: Access) -> Result<()> {
    let allowed = files.allow(path, access);
    allowed.map_err(context(format_args!("--lock-down: {}", path.display())))
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

/// Returns true if another thread of this process has capabilities, or may still gain some.
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

/// Checks that a user has the access to files and folders that the switches need once they are
/// locked down.
///
/// Errors: a sentence that names the first without.
fn check_access(account: &Account, configs: &[Config]) -> Result<()> {
    let as_user = || {
        account.enter().map_err(not_given_up)?;
        configs.iter().try_for_each(has_access)
    };
    // Only this thread becomes that user.
    let checked = thread::scope(|scope| scope.spawn(as_user).join());
    checked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns true if the calling thread may read the files of a switch again, and make and remove
/// files where the switch does. Errors: a sentence.
fn has_access(config: &Config) -> Result<()> {
    let files = config.files.iter();
    let mut needed: Vec<_> = files.map(|file| (&**file, Right::READ_OK)).collect();
    let change = Right::WRITE_OK | Right::EXEC_OK;
    let folders = config.capture_folder.iter().chain(&config.state.folder);
    needed.extend(folders.map(|path| (&**path, change)));
    for address in &config.listen {
        if let Endpoint::Unix(socket) = &address.0 {
            needed.push((folder(socket), change));
        }
    }
    for (path, right) in needed {
        let may = access(path, right).map_err(io::Error::from);
        may.map_err(context(format_args!(
            "--lock-down: {}: user {}, as whom the switch goes on, needs access",
            path.display(),
            getuid()
        )))?;
    }
    Ok(())
}

/// Gives up all capabilities of the calling thread except those that interfaces need. With `lock`,
/// gives up these, too, and access to other files and most system calls. Threads that it starts
/// later inherit this. Files of other users cannot be opened any more, and no program gives rights
/// back.
///
/// Errors: the system's, in a sentence.
pub fn give_up(lock: Option<&Lock>) -> Result<()> {
    let done = match lock {
        Some(lock) => lock.confine().map(drop),
        None => rustix::thread::set_no_new_privs(true)
            .map_err(io::Error::from)
            .and_then(|()| keep(NEEDED)),
    };
    done.map_err(not_given_up)
}

/// Gives up all that a program does not need which only asks a control socket and serves what is
/// open: capabilities, files and most system calls. Root becomes the user whose socket it is.
///
/// Errors: the system's, in a sentence.
pub fn only_ask(socket: &Path) -> Result<()> {
    let asks = || {
        let account = Account::of_owner(socket)?;
        match Landlock::new().and_then(|files| files.confine()) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                warn!("this kernel has no Landlock: files are not confined");
            }
            confined => drop(confined?),
        }
        if let Some(account) = account {
            account.enter()?;
        }
        keep(CapabilitySet::empty())?;
        restrict_calls()
    };
    asks().map_err(not_given_up)
}

fn not_given_up(error: io::Error) -> Error {
    context("giving up rights")(error)
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

/// Adds to the system's denial that a locked-down switch needs a restart for this.
pub fn explain(error: Error) -> Error {
    match error.kind {
        ErrorKind::NoPermission => error.map(|text| format!("{text}: {LOCKED}")),
        ErrorKind::Usage | ErrorKind::Failed => error,
    }
}
