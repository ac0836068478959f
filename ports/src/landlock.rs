//! Landlock: which files a process may still open, and whom it may signal, once it says so of
//! itself.

use std::{io, path::Path};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope, make_bitflags,
};

/// The rights to a file, or to all that lie beneath a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Files are read.
    Read,
    /// Files are made, written and cut.
    Write,
    /// The same, and files take the place of others.
    Replace,
    /// Unix sockets are made, and removed as other files.
    Sockets,
}

impl Access {
    fn rights(self) -> BitFlags<AccessFs> {
        match self {
            Self::Read => AccessFs::ReadFile.into(),
            Self::Write => make_bitflags!(AccessFs::{WriteFile | MakeReg | Truncate}),
            Self::Replace => Self::Write.rights() | AccessFs::RemoveFile,
            Self::Sockets => make_bitflags!(AccessFs::{RemoveFile | MakeSock}),
        }
    }
}

/// The files that a thread may open once it is confined: at first none.
#[derive(Debug)]
pub struct Landlock(RulesetCreated);

impl Landlock {
    /// Files, signals to others and their abstract sockets, as far as the kernel knows how to
    /// refuse them; the first version, which is about files, is needed.
    ///
    /// Errors: `Unsupported` if the kernel has no Landlock, or the system's.
    pub fn new() -> io::Result<Self> {
        let files = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1))
            .map_err(|_| io::ErrorKind::Unsupported)?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V5));
        let all = files.and_then(|set| set.scope(Scope::from_all(ABI::V6)));
        let set = all.and_then(Ruleset::create).map_err(io::Error::other)?;
        Ok(Self(set))
    }

    /// Keeps `access` to a file, or to what lies beneath a folder.
    ///
    /// Errors: the system's, as `NotFound`.
    pub fn allow(&mut self, path: &Path, access: Access) -> io::Result<()> {
        // A file that cannot be opened is reported in the system's words.
        path.metadata()?;
        let file = PathFd::new(path).map_err(io::Error::other)?;
        let rule = PathBeneath::new(file, access.rights());
        (&mut self.0).add_rule(rule).map_err(io::Error::other)?;
        Ok(())
    }

    /// Confines the calling thread, and those that it starts, for ever; it gains no rights by a
    /// program. What is open stays so. Returns the version of the interface: before 3, files that
    /// are there may be cut off; before 6, others may be signalled.
    ///
    /// Errors: the system's.
    pub fn confine(&self) -> io::Result<i32> {
        let done = self.0.try_clone()?.restrict_self();
        match done.map_err(io::Error::other)?.landlock {
            LandlockStatus::Available { effective_abi, .. } => Ok(effective_abi as i32),
            LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => {
                Err(io::ErrorKind::Unsupported.into())
            }
        }
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
        let home = std::env::temp_dir().join(format!("bofuss-landlock-{}", std::process::id()));
        let at = |name: &str| home.join(name);
        for folder in ["read", "write", "replace", "sockets", "other"] {
            fs::create_dir_all(at(folder)).expect("it can be made");
            fs::write(at(folder).join("file"), "x").expect("it can be written");
        }
        let missing = landlock.allow(&at("missing"), Access::Read);
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
        for (folder, access) in [
            ("read", Access::Read),
            ("write", Access::Write),
            ("replace", Access::Replace),
            ("sockets", Access::Sockets),
        ] {
            landlock.allow(&at(folder), access).expect("it is there");
        }
        landlock
            .allow(Path::new("/proc/self/status"), Access::Read)
            .expect("it is there");
        let work = || {
            let version = landlock.confine().expect("a thread may confine itself");
            assert!(version >= 1);
            let parent = rustix::process::getppid().expect("it has one");
            let signalled = rustix::process::test_kill_process(parent);
            assert_eq!(signalled.is_err(), version >= 6, "no signal leaves");
            for (folder, reads, writes, removes) in [
                ("read", true, false, false),
                ("write", false, true, false),
                ("replace", false, true, true),
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
