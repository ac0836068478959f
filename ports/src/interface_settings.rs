//! Settings of an interface that are changed while it is a port, and restored afterwards.
//!
//! The host's stack sees each frame as well as the switch. On an interface without addresses four
//! settings silence it: no IPv6 (which would also send by itself), no ARP replies, and no IPv4
//! packet accepted or forwarded. On every interface, large receive offload is off: it merges frames
//! beyond repair.
//!
//! The original settings are in a file, too, until they are given back. A switch holds a lock on
//! its files: those without belong to a switch that was killed, or that left its interfaces to a
//! successor, and any other one restores them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use rustix::fs::OFlags;

use crate::{Link, link};

/// The prefix of these files' names.
const PREFIX: &str = "interface-";
/// The folder of the files that outlive a switch; none are written before it is known.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Keeps the original settings in files of this folder, which only this user may change. The first
/// folder counts.
pub fn keep_settings_in(folder: PathBuf) {
    let _ = FOLDER.set(folder);
}

/// A setting of an interface.
struct Setting {
    /// Its directory under `/proc/sys/net`; `None` if it is asked for by ethtool.
    family: Option<&'static str>,
    key: &'static str,
    /// The value on a port.
    value: &'static str,
}

/// One row a setting. Strict reverse-path filtering refuses every source, since no route leads to
/// such an interface.
const SETTINGS: [Setting; 5] = [
    sysctl("ipv6", "disable_ipv6", "1"),
    sysctl("ipv4", "arp_ignore", "8"),
    sysctl("ipv4", "rp_filter", "1"),
    sysctl("ipv4", "forwarding", "0"),
    Setting {
        family: None,
        key: "lro",
        value: "0",
    },
];

const fn sysctl(family: &'static str, key: &'static str, value: &'static str) -> Setting {
    Setting {
        family: Some(family),
        key,
        value,
    }
}

impl Setting {
    fn path(&self, family: &str, name: &str) -> String {
        format!("/proc/sys/net/{family}/conf/{name}/{}", self.key)
    }

    fn read(&self, name: &str) -> io::Result<String> {
        match self.family {
            Some(family) => Ok(fs::read_to_string(self.path(family, name))?.trim().into()),
            None => Ok(u8::from(link::has_lro(name)).to_string()),
        }
    }

    fn write(&self, name: &str, value: &str) -> io::Result<()> {
        match self.family {
            Some(family) => fs::write(self.path(family, name), value),
            None => link::set_lro(name, value != self.value),
        }
    }
}

/// The settings of one interface, put back when this is dropped.
pub(crate) struct InterfaceSettings {
    link: Link,
    /// The original value of each setting that was changed.
    old: [Option<String>; SETTINGS.len()],
    /// The file that says so, locked.
    kept: Option<File>,
    complete: bool,
    /// True if they stay as they are, for a successor.
    are_left: bool,
}

impl InterfaceSettings {
    /// Changes the settings of an interface as far as they can be written; those that keep the host
    /// out only if that is wanted.
    pub(crate) fn of(link: &Link, keep_host_out: bool) -> Self {
        let left = left_by_another(link);
        let mut this = Self {
            link: link.clone(),
            old: Default::default(),
            kept: None,
            complete: keep_host_out,
            are_left: false,
        };
        for (setting, old) in SETTINGS.iter().zip(&mut this.old) {
            let now = match setting.read(&link.name) {
                Ok(now) => now,
                // Without IPv6 in the kernel there is nothing to keep out.
                Err(error) => {
                    this.complete &=
                        error.kind() == io::ErrorKind::NotFound && setting.family == Some("ipv6");
                    continue;
                }
            };
            // A switch that was killed has changed it, and nothing else has changed it since.
            let was = match left.get(setting.key) {
                Some(left) if now == setting.value => left.clone(),
                Some(_) | None => now.clone(),
            };
            if keep_host_out || setting.family.is_none() {
                *old = (was != setting.value).then_some(was);
            } else if was != now {
                // A setting that cannot be written now could not be before.
                let _ = setting.write(&link.name, &was);
            }
        }
        this.kept = this.remember();
        for (setting, old) in SETTINGS.iter().zip(&this.old) {
            if old.is_some() && setting.write(&link.name, setting.value).is_err() {
                this.complete &= setting.family.is_none();
            }
        }
        this
    }

    /// Returns true if every setting that keeps the host out holds.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// The settings of an interface that another switch has changed, as they are; they are put back
    /// only after [`Self::take_over`]. `keep_host_out` as of [`Self::of`].
    pub(crate) fn left(link: &Link, keep_host_out: bool) -> Self {
        let left = left_by_another(link);
        let holds = |setting: &Setting| match setting.read(&link.name) {
            Ok(now) => now == setting.value,
            Err(error) => error.kind() == io::ErrorKind::NotFound && setting.family == Some("ipv6"),
        };
        let mut sysctls = SETTINGS.iter().filter(|setting| setting.family.is_some());
        Self {
            link: link.clone(),
            old: SETTINGS.map(|setting| left.get(setting.key).cloned()),
            kept: None,
            complete: keep_host_out && sysctls.all(holds),
            are_left: true,
        }
    }

    /// Puts the settings back in the end, as the switch that had changed them has left them.
    pub(crate) fn take_over(&mut self) {
        self.are_left = false;
        // If there is none, nothing was changed.
        let kept = file(&self.link).and_then(|file| File::open(file).ok());
        self.kept = kept.filter(|file| file.try_lock().is_ok());
    }

    /// Leaves the settings as they are, and their file, as a switch that is killed does: to a
    /// successor, which puts them back in the end.
    pub(crate) fn leave(&mut self) {
        self.are_left = true;
        self.kept = None;
    }

    /// Writes down what the settings were, for the next switch if this switch is killed.
    fn remember(&self) -> Option<File> {
        let file = file(&self.link)?;
        if self.old.iter().all(Option::is_none) {
            // There is none, as a rule.
            let _ = fs::remove_file(file);
            return None;
        }
        let mut text = identity(&self.link) + "\n";
        for (setting, old) in SETTINGS.iter().zip(&self.old) {
            if let Some(old) = old {
                writeln!(text, "{} {old}", setting.key).expect("a string takes everything");
            }
        }
        // If nothing can be written, nothing is left to the next switch.
        replace(&file, &text).ok()
    }
}

impl Drop for InterfaceSettings {
    fn drop(&mut self) {
        if self.are_left {
            return;
        }
        let mut is_done = true;
        match Link::all() {
            Ok(links) => {
                // It may have another name by now, and another interface its name.
                for link in links.iter().filter(|link| link.index == self.link.index) {
                    for (setting, old) in SETTINGS.iter().zip(&self.old) {
                        if let Some(old) = old {
                            is_done &= setting.write(&link.name, old).is_ok();
                        }
                    }
                }
            }
            Err(_) => is_done = false,
        }
        // A locked switch may not write: the next one does.
        if let Some(file) = file(&self.link).filter(|_| is_done) {
            let _ = fs::remove_file(file);
        }
    }
}

/// Restores the settings that killed switches had changed, and removes their files, as far as this
/// network namespace and this user may. To be called in the thread of a switch once it has its
/// ports, whose settings then stay as they are.
///
/// Errors: the system's, about the folder or the list of interfaces.
pub fn restore_settings_left() -> io::Result<()> {
    let Some(folder) = FOLDER.get() else {
        return Ok(());
    };
    let _lock = lock(folder)?;
    let links = Link::all()?;
    let mut used = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(numbers) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let Some(text) = text_left(&entry.path()) else {
            continue;
        };
        // A file that was still being written when its switch was killed is about no change.
        let link = link_of(&text, &links).filter(|link| file(link) == Some(entry.path()));
        let is_done = match link {
            Some(link) => restore(link, &parse(&text, link)),
            // The interface is gone, or it may be in another namespace.
            None => match whose(numbers) {
                Some(other) if Some(other) != namespace() => {
                    let used = used.get_or_insert_with(used_namespaces);
                    used.as_ref().is_ok_and(|used| !used.contains(&other))
                }
                Some(_) | None => true,
            },
        };
        if is_done {
            // A file that cannot be removed is there for the next switch.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// The namespace in the name of a file that was written wholly.
fn whose(numbers: &str) -> Option<u64> {
    let (namespace, index) = numbers.split_once('-')?;
    index.parse::<u32>().ok().and(namespace.parse().ok())
}

/// The text of a file of ours that no running switch has.
fn text_left(path: &Path) -> Option<String> {
    let mut options = fs::OpenOptions::new();
    options
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    let mut file = options.open(path).ok()?;
    let found = file.metadata().ok()?;
    let own = rustix::process::geteuid().as_raw();
    // In a folder of another user somebody else may have written it; removed files are done.
    if !found.is_file() || found.uid() != own || found.nlink() == 0 || file.try_lock().is_err() {
        return None;
    }
    io::read_to_string(&mut file).ok()
}

/// The interface that a file is about.
fn link_of<'a>(text: &str, links: &'a [Link]) -> Option<&'a Link> {
    let first = text.lines().next()?;
    links.iter().find(|link| identity(link) == first)
}

/// Gives an interface the settings that are left, where nothing else has changed them since.
/// Returns whether all could be written.
fn restore(link: &Link, left: &BTreeMap<String, String>) -> bool {
    let mut is_done = true;
    for setting in &SETTINGS {
        if let Some(old) = left.get(setting.key)
            && setting
                .read(&link.name)
                .is_ok_and(|now| now == setting.value)
        {
            is_done &= setting.write(&link.name, old).is_ok();
        }
    }
    is_done
}

/// The network namespaces in which a thread runs, or that are open or mounted.
///
/// Errors: this user may not see all of them.
fn used_namespaces() -> io::Result<BTreeSet<u64>> {
    let mut used = BTreeSet::new();
    for process in fs::read_dir("/proc")? {
        let process = process?.path();
        let mut links = Vec::new();
        let tasks = seen(fs::read_dir(process.join("task")))?.into_iter();
        links.extend(
            tasks
                .flatten()
                .flatten()
                .map(|task| task.path().join("ns/net")),
        );
        let files = seen(fs::read_dir(process.join("fd")))?.into_iter();
        links.extend(files.flatten().flatten().map(|file| file.path()));
        for link in links {
            let name = seen(fs::read_link(link))?.unwrap_or_default();
            used.extend(numbered(&name.to_string_lossy()));
        }
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let roots = mounts.lines().filter_map(|line| line.split(' ').nth(3));
    used.extend(roots.filter_map(numbered));
    Ok(used)
}

/// Returns what was read of a process; `None` of one that has ended. Errors: this user may not see
/// it.
fn seen<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        read => Ok(read.ok()),
    }
}

/// The number of a network namespace, as links and mounts have it: `net:[4026531840]`.
fn numbered(name: &str) -> Option<u64> {
    let number = name.strip_prefix("net:[")?.strip_suffix(']')?;
    number.parse().ok()
}

/// Waits until no other switch changes files of the folder.
fn lock(folder: &Path) -> io::Result<File> {
    let opened = File::open(folder)?;
    opened.lock()?;
    Ok(opened)
}

/// The number of the network namespace of this thread.
fn namespace() -> Option<u64> {
    Some(fs::metadata("/proc/thread-self/ns/net").ok()?.ino())
}

/// The file of an interface: by its network namespace and its number there.
fn file(link: &Link) -> Option<PathBuf> {
    let name = format!("{PREFIX}{}-{}", namespace()?, link.index);
    Some(FOLDER.get()?.join(name))
}

/// Distinguishes interfaces, because index numbers are reused after a network namespace is gone.
fn identity(link: &Link) -> String {
    format!("{} {:02x?}", link.name, link.mac)
}

/// Returns the settings of an interface before a switch that was killed changed them.
fn left_by_another(link: &Link) -> BTreeMap<String, String> {
    let text = file(link).and_then(|file| fs::read_to_string(file).ok());
    parse(&text.unwrap_or_default(), link)
}

/// Reads the file of an interface; nothing of it counts if it is about another.
fn parse(text: &str, link: &Link) -> BTreeMap<String, String> {
    let mut lines = text.lines();
    if lines.next() != Some(&identity(link)) {
        return BTreeMap::new();
    }
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs
        .map(|(key, value)| (key.into(), value.into()))
        .collect()
}

/// Writes a file that is whole at any time, and our own whatever was there. Returns it locked.
fn replace(file: &Path, text: &str) -> io::Result<File> {
    let _lock = lock(file.parent().unwrap_or(file))?;
    let new = file.with_extension("new");
    let _ = fs::remove_file(&new);
    let mut options = fs::OpenOptions::new();
    let mut opened = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    opened.lock()?;
    io::Write::write_all(&mut opened, text.as_bytes())?;
    fs::rename(new, file)?;
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_counts_for_the_same_interface_only() {
        let mut link = Link::by_name("lo").expect("every namespace has it");
        let text = format!("{}\narp_ignore 2\nlro 1\nrubbish\n", identity(&link));
        let left = parse(&text, &link);
        assert_eq!(left.get("arp_ignore").map(String::as_str), Some("2"));
        assert_eq!(
            (left.get("lro").map(String::as_str), left.len()),
            (Some("1"), 2)
        );
        link.mac[5] ^= 1;
        assert!(parse(&text, &link).is_empty());
        assert!(parse("", &link).is_empty());
    }
}
