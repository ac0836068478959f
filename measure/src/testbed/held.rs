//! Programs that end with this one, however it ends, and folders that the next start removes.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::error::Result;
use crate::testbed::net::context;

/// The beginning of the names of scratch folders, and the file in each that its owner has locked.
const PREFIX: &str = "ofmeter-scratch-";
const OWNER: &str = "owner";

/// A command that runs a program which the kernel kills when the thread that starts it has ended:
/// this program sets that for itself (see [`hold`]), and becomes the other one.
pub fn held(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg("hold").arg(std::process::id().to_string());
    command.arg("--").arg(program);
    command
}

/// Becomes a program that ends with its parent, which has to be `parent`.
///
/// Errors: the parent has ended already, or the program does not start.
pub fn hold(parent: u32, words: &[OsString]) -> Result<Infallible> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(context("a death signal"))?;
    // The parent may have ended before the signal was set.
    if getppid().map(Pid::as_raw_nonzero).map(|id| id.get()) != i32::try_from(parent).ok() {
        return Err("the program that started this one has ended".into());
    }
    let (program, arguments) = words.split_first().ok_or("no program to hold")?;
    let failed = Command::new(program).args(arguments).exec();
    Err(format!("{}: {failed}", program.display()).into())
}

/// A folder that is removed when dropped, and at the next start if its owner was killed.
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
    /// Locked as long as the folder is in use.
    _owner: File,
}

impl ScratchFolder {
    /// Makes a folder, and removes those whose owners have ended.
    ///
    /// Errors: the system's.
    pub fn new() -> Result<Self> {
        let parent = std::env::temp_dir();
        remove_ownerless(&parent);
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let path = parent.join(format!("{PREFIX}{now}"));
        let at = path.display().to_string();
        let failed = context(at.as_str());
        fs::create_dir(&path).map_err(failed)?;
        let owner = File::create(path.join(OWNER)).map_err(failed)?;
        owner.lock().map_err(failed)?;
        Ok(Self {
            path,
            _owner: owner,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the scratch folders of programs that were killed: nobody holds their locks.
fn remove_ownerless(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // One that was just made has no such file yet.
        let owner = File::open(entry.path().join(OWNER));
        if owner.is_ok_and(|owner| owner.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_without_owner_are_removed_and_others_stay() {
        let parent = std::env::temp_dir().join(format!("held-test-{}", std::process::id()));
        for name in ["used", "left", "new"] {
            fs::create_dir_all(parent.join(format!("{PREFIX}{name}"))).unwrap();
        }
        let at = |name: &str| parent.join(format!("{PREFIX}{name}"));
        let used = File::create(at("used").join(OWNER)).unwrap();
        used.lock().unwrap();
        File::create(at("left").join(OWNER)).unwrap();
        remove_ownerless(&parent);
        assert!(at("used").exists() && at("new").exists() && !at("left").exists());
        fs::remove_dir_all(&parent).unwrap();
    }
}
