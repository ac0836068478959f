//! The folders in which running switches have their sockets, so that tools find them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The run-time directory of root's switches. Those that a user starts with sudo, or that go on as
/// another user once they are locked down, are in the directory of the same name with `-UID` after
/// it, which belongs to that user.
pub const SYSTEM_RUN_DIRECTORY: &str = "/run/bofuss";
/// Every socket of this network namespace, one a line; the last word is its path.
const SOCKETS: &str = "/proc/net/unix";

/// A socket of a running switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSocket {
    /// The switch's name.
    pub name: String,
    /// The path of the socket.
    pub path: PathBuf,
    /// True if the switch is in the network namespace of this process.
    pub is_near: bool,
    /// True if this user may connect.
    pub is_permitted: bool,
}

/// The directory for the switches of a user who is not root, which may not exist.
pub fn user_run_directory() -> PathBuf {
    match env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir).join("bofuss"),
        None => env::temp_dir().join(format!("bofuss-{}", user().unwrap_or_default())),
    }
}

/// The directories where a switch may have its sockets, to be tried in this order: those of the
/// system, then the user's.
pub fn run_directories() -> Vec<PathBuf> {
    let system = Path::new(SYSTEM_RUN_DIRECTORY);
    let mut directories = vec![system.to_path_buf()];
    let run = system.parent().unwrap_or(system);
    for entry in fs::read_dir(run).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("bofuss-") {
            directories.push(entry.path());
        }
    }
    let own = user_run_directory();
    if is_own(&own) {
        directories.push(own);
    }
    directories
}

/// Returns true if a directory belongs to the user of this process: another may have made one of
/// the same name in the folder for temporary files.
pub fn is_own(directory: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(directory) else {
        return false;
    };
    let Ok(process) = fs::metadata("/proc/self") else {
        return false;
    };
    found.is_dir() && process.uid() == found.uid()
}

/// The sockets with the extension `kind` of running switches, of all or of those with the name
/// `name`: first those of the network namespace of this process.
pub fn run_sockets(kind: &str, name: Option<&str>) -> Vec<RunSocket> {
    // The last word of a line is the path, of a socket that has one.
    let sockets = fs::read_to_string(SOCKETS).unwrap_or_default();
    let near: BTreeSet<&Path> = sockets
        .lines()
        .filter_map(|line| line.split_whitespace().last().map(Path::new))
        .collect();
    let mut found = Vec::new();
    for directory in run_directories() {
        // A directory may be searched and yet not be listed.
        let mut known: BTreeSet<PathBuf> = near
            .iter()
            .filter(|path| path.parent() == Some(&directory))
            .map(|path| path.to_path_buf())
            .collect();
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            known.insert(entry.path());
        }
        let mut paths = known.clone();
        paths.extend(name.map(|name| directory.join(format!("{name}.{kind}"))));
        for path in paths {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_meant = name.is_none_or(|name| name == stem);
            if !is_meant || path.extension() != Some(OsStr::new(kind)) {
                continue;
            }
            let is_permitted = match UnixStream::connect(&path) {
                Ok(_) => true,
                Err(error) => {
                    let is_refused = error.kind() == io::ErrorKind::PermissionDenied;
                    // A switch that was killed leaves its socket file without a listener.
                    if !is_refused || !known.contains(&path) {
                        continue;
                    }
                    false
                }
            };
            found.push(RunSocket {
                name: stem.into_owned(),
                is_near: near.contains(&*path),
                is_permitted,
                path,
            });
        }
    }
    found.sort_by(|a, b| (!a.is_near, &a.name).cmp(&(!b.is_near, &b.name)));
    found
}

/// A switch whose socket this user may not open.
#[derive(Clone, Debug, thiserror::Error)]
#[error("switch {} ({}) is another user's", .0.name, .0.path.display())]
pub struct NotPermitted(pub RunSocket);

/// Of these sockets, those that this user may open: in this network namespace, or else in all.
///
/// Errors: the first of them, if there are some and this user may open none; the caller adds what
/// helps.
pub fn permitted(mut sockets: Vec<RunSocket>) -> Result<Vec<RunSocket>, NotPermitted> {
    let first = sockets.first().cloned();
    sockets.retain(|socket| socket.is_permitted);
    if sockets.iter().any(|socket| socket.is_near) {
        sockets.retain(|socket| socket.is_near);
    }
    match first {
        Some(first) if sockets.is_empty() => Err(NotPermitted(first)),
        Some(_) | None => Ok(sockets),
    }
}

/// Returns who the user of this process is outside of its user namespace.
fn user() -> Option<u32> {
    let process = fs::metadata("/proc/self").ok()?;
    Some(outside(process.uid(), &user_map()).unwrap_or(process.uid()))
}

/// Returns true if this user namespace has a user of this number.
pub fn is_user(number: u32) -> bool {
    outside(number, &user_map()).is_some()
}

/// The users of this user namespace: ranges of numbers here and outside.
fn user_map() -> String {
    fs::read_to_string("/proc/self/uid_map").unwrap_or_default()
}

/// Returns who a user of this user namespace is outside of it, where its root is not everybody's;
/// `None` if there is no such user.
fn outside(user: u32, map: &str) -> Option<u32> {
    let ranges = map.lines().filter_map(|line| {
        let numbers = line.split_whitespace().map(|word| word.parse().ok());
        numbers.collect::<Option<Vec<u32>>>()
    });
    ranges.into_iter().find_map(|range| match range[..] {
        [first, outside, count] if (first..first.saturating_add(count)).contains(&user) => {
            Some(outside.saturating_add(user - first))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::outside;

    #[test]
    fn a_user_is_who_it_is_outside_of_its_namespace() {
        let everybody = "         0          0 4294967295\n";
        assert_eq!(outside(1000, everybody), Some(1000));
        assert_eq!(outside(0, "         0       1000          1\n"), Some(1000));
        assert_eq!(outside(7, "0 1000 1\n1 100000 65536\n"), Some(100_006));
        assert_eq!(outside(7, "0 1000 1\n"), None);
        assert_eq!(outside(7, "what"), None);
    }
}
