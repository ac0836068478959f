//! Landlock: which files a process may still open, once it says so of itself.

use std::{
    ffi::{c_int, c_long, c_void},
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::fs::OpenOptionsExt,
    },
    path::Path,
    ptr,
};

/// The rights that each version of the interface knows, from the first on; later ones know the
/// last. A right that the kernel knows and no rule gives is refused.
const KNOWN: [u64; 5] = [0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff];
/// Asks for the interface's version instead of a set.
const ASK_VERSION: u32 = 1;
/// The kind of a rule about what lies beneath a path.
const PATH_BENEATH: c_int = 1;

/// What may be done with a file, or with all that lie beneath a folder. Bits are those of
/// `LANDLOCK_ACCESS_FS_*` in `linux/landlock.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Files are read.
    Read = 1 << 2,
    /// Files are made, written and cut.
    Write = 1 << 1 | 1 << 8 | 1 << 14,
    /// Unix sockets are made, and removed as other files.
    Sockets = 1 << 5 | 1 << 10,
}

/// The files that a thread may open once it is confined: at first none.
#[derive(Debug)]
pub struct Landlock {
    set: OwnedFd,
    version: usize,
    /// What the rules name. A rule is of a file and not of its name, and that of a process's own
    /// folder in `/proc` would be another when the system has forgotten it in between.
    named: Vec<File>,
}

impl Landlock {
    /// Errors: the system's; `Unsupported` if it has no Landlock.
    pub fn new() -> io::Result<Self> {
        // SAFETY: with this flag the kernel takes no pointer.
        let version = unsafe { create(ptr::null(), 0, ASK_VERSION) };
        let version = checked(version).map_err(|error| match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EOPNOTSUPP) => io::ErrorKind::Unsupported.into(),
            _ => error,
        })?;
        let version = usize::try_from(version).expect("it is no error");
        let handled = KNOWN[version.clamp(1, KNOWN.len()) - 1];
        // SAFETY: the kernel reads the one number that is pointed to, which is the whole of the
        // first version's structure.
        let set = unsafe { create(&raw const handled, size_of_val(&handled), 0) };
        let set = c_int::try_from(checked(set)?).expect("a descriptor");
        Ok(Self {
            // SAFETY: the descriptor is new and nobody else's.
            set: unsafe { OwnedFd::from_raw_fd(set) },
            version,
            named: Vec::new(),
        })
    }

    /// The version of the kernel's interface: before 3, files that are there may be cut off.
    pub fn version(&self) -> usize {
        self.version
    }

    /// Has a file, or what lies beneath a folder, stay open to `access`.
    ///
    /// Errors: the system's, as `NotFound`.
    pub fn allow(&mut self, path: &Path, access: Access) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_PATH).open(path)?;
        let known = KNOWN[self.version.clamp(1, KNOWN.len()) - 1];
        let mut rule = [0; size_of::<u64>() + size_of::<c_int>()];
        rule[..8].copy_from_slice(&(access as u64 & known).to_ne_bytes());
        rule[8..].copy_from_slice(&file.as_raw_fd().to_ne_bytes());
        // SAFETY: the kernel reads a number of eight bytes and one of four, packed, which is what
        // is pointed to; both descriptors are open.
        checked(unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.set.as_raw_fd(),
                PATH_BENEATH,
                rule.as_ptr().cast::<c_void>(),
                0u32,
            )
        })?;
        self.named.push(file);
        Ok(())
    }

    /// Confines the calling thread, and those that it starts, for ever. What is open stays so.
    ///
    /// Errors: the system's; `PermissionDenied` if the thread may still gain rights by a program.
    pub fn confine(&self) -> io::Result<()> {
        let set = self.set.as_raw_fd();
        // SAFETY: takes integers only.
        checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, set, 0u32) }).map(drop)
    }
}

/// SAFETY: `rights` is a number of `size` bytes, or null with a size of 0.
unsafe fn create(rights: *const u64, size: usize, flags: u32) -> c_long {
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, rights, size, flags) }
}

fn checked(result: c_long) -> io::Result<c_long> {
    match result {
        ..0 => Err(io::Error::last_os_error()),
        right => Ok(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, thread};

    #[test]
    fn a_confined_thread_opens_what_was_declared_and_nothing_else() {
        let Ok(mut landlock) = Landlock::new() else {
            assert!(
                std::env::var_os("CI").is_none(),
                "this kernel has no Landlock"
            );
            return;
        };
        assert!(landlock.version() >= 1);
        let home = std::env::temp_dir().join(format!("bofuss-landlock-{}", std::process::id()));
        let at = |name: &str| home.join(name);
        for folder in ["read", "write", "sockets", "other"] {
            fs::create_dir_all(at(folder)).expect("it can be made");
            fs::write(at(folder).join("file"), "x").expect("it can be written");
        }
        let missing = landlock.allow(&at("missing"), Access::Read);
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
        for (folder, access) in [
            ("read", Access::Read),
            ("write", Access::Write),
            ("sockets", Access::Sockets),
        ] {
            landlock.allow(&at(folder), access).expect("it is there");
        }
        landlock
            .allow(Path::new("/proc/self/status"), Access::Read)
            .expect("it is there");
        let work = || {
            rustix::thread::set_no_new_privs(true).expect("everybody may");
            landlock.confine().expect("a thread may confine itself");
            for (folder, reads, writes, removes) in [
                ("read", true, false, false),
                ("write", false, true, false),
                ("sockets", false, false, true),
                ("other", false, false, false),
            ] {
                let file = at(folder).join("file");
                assert_eq!(fs::read(&file).is_ok(), reads, "{folder}");
                assert_eq!(
                    fs::write(at(folder).join("new"), "y").is_ok(),
                    writes,
                    "{folder}"
                );
                assert_eq!(fs::remove_file(&file).is_ok(), removes, "{folder}");
            }
            assert!(fs::read_to_string("/proc/self/status").is_ok());
            assert!(fs::read_to_string("/proc/self/cmdline").is_err());
        };
        // Only this thread is confined.
        thread::scope(|scope| scope.spawn(work).join()).expect("all is as declared");
        fs::remove_dir_all(home).expect("it is there");
    }
}
