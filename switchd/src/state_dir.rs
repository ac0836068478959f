//! The folder of a switch's state: the file is replaced as a whole, or stays as it was.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bofuss_embed::saved::{MAX_STATE_BYTES, seal};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, fsync, openat};
use rustix::fs::{CWD, RenameFlags, renameat_with, unlinkat};
use rustix::io::Errno;
use tracing::warn;

use crate::error::{Error, Result, context};

/// The file, the next one while it is written, and one that was refused.
const STATE: &str = "state";
const NEW_STATE: &str = "state.new";
const REFUSED_STATE: &str = "state.refused";
/// Only its owner may read a state.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// The time between two attempts to lock the folder, while a predecessor ends.
const RETRY: Duration = Duration::from_millis(10);

/// An open folder that no other switch uses.
pub struct StateFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl StateFolder {
    /// Opens a folder and waits until `end` for a switch that uses it; `left` is the folder of a
    /// predecessor, whose lock counts if it is the same. Nothing is written there then.
    ///
    /// Errors: a sentence: it is no folder that can be written to, or another switch uses it.
    pub fn open(path: &Path, end: Instant, left: Option<OwnedFd>) -> Result<Self> {
        let named = context(format!("--state-dir {}", path.display()));
        Self::try_open(path, end, left).map_err(named)
    }

    fn try_open(path: &Path, end: Instant, left: Option<OwnedFd>) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let mut folder = openat(CWD, path, flags, Mode::empty())?;
        let meant = fstat(&folder)?;
        let is_same = |left: &OwnedFd| {
            fstat(left)
                .is_ok_and(|found| (found.st_dev, found.st_ino) == (meant.st_dev, meant.st_ino))
        };
        let left = left.filter(is_same);
        // The predecessor writes there, and may do so again if this process gives up.
        let is_in_use = left.is_some();
        if let Some(left) = left {
            folder = left;
        }
        while let Err(error) = flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            if error != Errno::WOULDBLOCK {
                return Err(error.into());
            }
            if Instant::now() >= end {
                return Err(io::Error::other("another switch uses it"));
            }
            thread::sleep(RETRY);
        }
        let this = Self {
            folder,
            path: path.into(),
        };
        if !is_in_use {
            this.check()?;
        }
        Ok(this)
    }

    /// Checks that files can be made. Errors: the system's.
    fn check(&self) -> io::Result<()> {
        drop(self.create()?);
        self.remove(NEW_STATE)
    }

    /// Reads the state, if there is one. Errors: why it is no file of a state.
    pub fn read(&self) -> io::Result<Option<Vec<u8>>> {
        // To open a named pipe would block otherwise.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.folder, STATE, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(io::Error::other("it is a symbolic link")),
            opened => opened?,
        };
        let found = fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is no file"));
        }
        if found.st_size as u64 > MAX_STATE_BYTES as u64 {
            let most = MAX_STATE_BYTES >> 20;
            return Err(io::Error::other(format!("it is larger than {most} MiB")));
        }
        let mut bytes = Vec::new();
        let most = MAX_STATE_BYTES as u64 + 1;
        File::from(file).take(most).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Sets a refused state aside, so that the next start does not meet it, and says so.
    ///
    /// Errors: why it is refused, and why it cannot be renamed.
    pub fn set_aside(&self, why: &dyn std::fmt::Display) -> Result<()> {
        let path = self.path.display();
        let refused = format!("{path}/{STATE} is refused: {why}");
        self.rename(STATE, REFUSED_STATE).map_err(|error| {
            let cannot = format!("and cannot be renamed to {REFUSED_STATE}: {error}");
            format!("--state-dir: {refused}; {cannot}")
        })?;
        warn!("state: {refused}; it is {REFUSED_STATE} now, and the switch starts empty");
        Ok(())
    }

    /// Makes the new file, without following what is in its place.
    fn create(&self) -> io::Result<File> {
        self.remove(NEW_STATE)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.folder, NEW_STATE, flags | OFlags::NOFOLLOW, MODE)?;
        Ok(file.into())
    }

    /// Renames a file, which takes the place of another one. A locked-down switch may call this.
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let flags = RenameFlags::empty();
        Ok(renameat_with(&self.folder, from, &self.folder, to, flags)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(io::Error::other(format!("{name}: {error}"))),
        }
    }

    /// Replaces the state. Whenever it is interrupted, the old or the new one is there as a whole.
    ///
    /// Errors: the system's; the old one stays.
    fn replace(&self, state: &[u8]) -> io::Result<()> {
        let mut file = self.create()?;
        let written = file.write_all(state).and_then(|()| file.sync_all());
        if let Err(error) = written {
            // A full disk has room again.
            let _ = self.remove(NEW_STATE);
            return Err(error);
        }
        self.rename(NEW_STATE, STATE)?;
        Ok(fsync(&self.folder)?)
    }
}

/// The thread that writes states, one at a time.
pub struct StateWriter {
    /// Its folder.
    folder: OwnedFd,
    to: SyncSender<Vec<u8>>,
    thread: JoinHandle<()>,
    is_busy: Arc<AtomicBool>,
}

impl StateWriter {
    /// Starts the thread, once rights were given up. Errors: the folder cannot be written to any
    /// more, or the system's.
    pub fn start(folder: StateFolder) -> Result<Self> {
        let named = context(format!("--state-dir {}", folder.path.display()));
        folder
            .check()
            .and_then(|()| Self::try_start(folder))
            .map_err(named)
    }

    fn try_start(folder: StateFolder) -> io::Result<Self> {
        let (to, states) = sync_channel(1);
        let is_busy = Arc::new(AtomicBool::new(false));
        let busy = is_busy.clone();
        let descriptor = folder.folder.try_clone()?;
        let thread = thread::Builder::new()
            .name("state".into())
            .spawn(move || write_all(&folder, &states, &busy))?;
        Ok(Self {
            folder: descriptor,
            to,
            thread,
            is_busy,
        })
    }

    /// A copy of the folder's descriptor, which keeps its lock. Errors: the system's.
    pub fn folder(&self) -> io::Result<OwnedFd> {
        self.folder.try_clone()
    }

    /// Returns true if the last state has been written.
    pub fn is_free(&self) -> bool {
        !self.is_busy.load(Ordering::Acquire)
    }

    /// Writes a state; waits for the last one, if the writer is not free.
    pub fn write(&self, state: Vec<u8>) {
        self.is_busy.store(true, Ordering::Release);
        // The thread ends only after this.
        let _ = self.to.send(state);
    }

    /// Waits until everything is written.
    pub fn end(self) {
        drop(self.to);
        let _ = self.thread.join();
    }
}

fn write_all(folder: &StateFolder, states: &Receiver<Vec<u8>>, is_busy: &AtomicBool) {
    let mut last: Option<Error> = None;
    for mut state in states {
        seal(&mut state);
        let written = folder.replace(&state);
        let named = context(format!("state: {}", folder.path.display()));
        let error = written.map_err(named).err();
        if error != last
            && let Some(error) = &error
        {
            warn!("{error}; the last state stays");
        }
        last = error;
        is_busy.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_successor_leaves_the_files_of_the_switch_that_runs_alone() {
        let name = format!("bofuss-state-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        let running = StateFolder::open(&path, Instant::now(), None).unwrap();
        let mut file = running.create().unwrap();
        let refused = StateFolder::open(&path, Instant::now(), None);
        assert!(refused.is_err_and(|error| error.text.ends_with("another switch uses it")));
        let left = running.folder.try_clone().unwrap();
        StateFolder::open(&path, Instant::now(), Some(left)).unwrap();
        file.write_all(b"a state").unwrap();
        running.rename(NEW_STATE, STATE).unwrap();
        assert_eq!(running.read().unwrap().as_deref(), Some(&b"a state"[..]));
        fs::remove_dir_all(&path).unwrap();
    }
}
