//! The run-time directory with the sockets of running switches, and who may use them.

use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::{fs, io};

use bofuss_channel::{SYSTEM_RUN_DIRECTORY, is_own, user_run_directory};
use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, access, chownat, fstat, open};
use rustix::io::Errno;
use rustix::process::{Gid, Uid, geteuid};
use tracing::warn;

use crate::account::Account;
use crate::error::{Result, context};

/// The longest name of a switch in bytes: the path of a unix socket is limited to 107.
const MAX_NAME_BYTES: usize = 32;
/// Permissions of the run-time directory: its owner only.
const OWNER_MODE: u32 = 0o700;
/// Permissions of one that root gives to another user: our group, root's, may change it, too,
/// because the switch gives up root's right to change everything.
const GIVEN_MODE: u32 = 0o770;
/// Permissions of the directory that members of a socket's group need to reach the socket.
const SEARCH_MODE: u32 = 0o011;
/// Permissions of a socket: for its owner, or also for its group.
const SOCKET_MODE: u32 = 0o600;
const GROUP_SOCKET_MODE: u32 = 0o660;
/// The file that lists groups.
const GROUPS: &str = "/etc/group";

/// Refuses names that cannot be part of a file name.
pub fn check_name(name: &str) -> Result<()> {
    let right = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.starts_with('.');
    if right
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    {
        return Ok(());
    }
    Err(format!(
        "--name '{name}': it is 1 to {MAX_NAME_BYTES} letters, digits, '-', '_' or '.', as in s1"
    )
    .into())
}

/// The number of a group, by its name or number. Errors: there is no such group.
pub fn group(name: &str) -> Result<u32> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let groups = fs::read_to_string(GROUPS).unwrap_or_default();
    for line in groups.lines() {
        let mut fields = line.split(':');
        if fields.next() == Some(name)
            && let Some(number) = fields.nth(1).and_then(|field| field.parse().ok())
        {
            return Ok(number);
        }
    }
    Err(
        format!("--socket-group {name}: {GROUPS} has no such group (a number is accepted, too)")
            .into(),
    )
}

/// Creates the directory for our sockets: that of `account`, the system's, or otherwise the user's.
///
/// Errors: that of the last directory tried; with `account` and no other, why it cannot be its own.
pub fn directory(account: Option<&Account>) -> io::Result<PathBuf> {
    let Some(account) = account else {
        return own_directory();
    };
    let number = account.user.as_raw();
    let given = PathBuf::from(format!("{SYSTEM_RUN_DIRECTORY}-{number}"));
    make(&given)?;
    give(&given, account.user)?;
    Ok(given)
}

/// Creates the directory for files that a switch leaves to the next one, whoever called sudo: the
/// system's, or otherwise the user's.
///
/// Errors: that of the last directory tried.
pub fn own_directory() -> io::Result<PathBuf> {
    let system = PathBuf::from(SYSTEM_RUN_DIRECTORY);
    if make(&system).is_ok() {
        return Ok(system);
    }
    let own = user_run_directory();
    make(&own)?;
    if is_own(&own) {
        Ok(own)
    } else {
        Err(io::Error::other(format!(
            "{} belongs to another user",
            own.display()
        )))
    }
}

/// Creates a directory and checks that it is writable. Errors: the system's, after its path.
fn make(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(OWNER_MODE).create(directory);
    let writable = || Ok(access(directory, Access::WRITE_OK | Access::EXEC_OK)?);
    made.and_then(|()| writable()).map_err(|error| {
        let text = format!("{}: {error}", directory.display());
        io::Error::new(error.kind(), text)
    })
}

/// Gives a directory to another user and our group.
fn give(directory: &Path, owner: Uid) -> io::Result<()> {
    if fs::metadata(directory)?.uid() != owner.as_raw() {
        fs::set_permissions(directory, fs::Permissions::from_mode(GIVEN_MODE))?;
        chown(directory, Some(owner.as_raw()), None)?;
    }
    Ok(())
}

/// The subject of an error of the run-time directory.
pub const RUN_FOLDER: &str = "run-time directory";

/// Gives one of our sockets to the owner of its directory and to `group`, and to nobody else.
///
/// Errors: the system's, in a sentence.
pub fn set_access(socket: &Path, group: Option<u32>) -> Result<()> {
    restrict(socket, group)
        .and_then(|()| match group {
            Some(_) => make_searchable(socket.parent().unwrap_or(socket)),
            None => Ok(()),
        })
        .map_err(context(socket.display()))
}

/// Lets everybody reach what is in a directory, but not list it.
fn make_searchable(directory: &Path) -> io::Result<()> {
    let mode = fs::metadata(directory)?.permissions().mode();
    if mode & SEARCH_MODE != SEARCH_MODE {
        fs::set_permissions(directory, fs::Permissions::from_mode(mode | SEARCH_MODE))?;
    }
    Ok(())
}

fn restrict(socket: &Path, group: Option<u32>) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = open(socket, flags, Mode::empty())?;
    let found = fstat(&handle)?;
    // Somebody who may write to the directory may have replaced the file.
    let is_socket = FileType::from_raw_mode(found.st_mode) == FileType::Socket;
    if !is_socket || found.st_nlink != 1 || found.st_uid != geteuid().as_raw() {
        return Err(io::Error::other("another file has replaced it"));
    }
    let mode = group.map_or(SOCKET_MODE, |_| GROUP_SOCKET_MODE);
    let this = format!("/proc/self/fd/{}", handle.as_raw_fd());
    fs::set_permissions(this, fs::Permissions::from_mode(mode))?;
    if let Some(group) = group.map(Gid::from_raw) {
        chownat(&handle, c"", None, Some(group), AtFlags::EMPTY_PATH)?;
    }
    let folder = fs::metadata(socket.parent().unwrap_or(socket))?;
    let owner = Uid::from_raw(folder.uid());
    match chownat(&handle, c"", Some(owner), None, AtFlags::EMPTY_PATH) {
        // A switch that a reload adds is started after rights were given up.
        Err(Errno::PERM) => warn!("{}: it belongs to root until a restart", socket.display()),
        done => done?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_is_its_owner_s_alone_unless_it_has_a_group() {
        let directory = std::env::temp_dir().join(format!("bofuss-rundir-{}", std::process::id()));
        make(&directory).expect("it can be made");
        let socket = directory.join("s0.sock");
        let _listener = UnixListener::bind(&socket).expect("it can be bound");
        let mode = |path: &Path| {
            let found = fs::metadata(path).expect("it is there");
            found.permissions().mode() & 0o777
        };
        let error = make(&socket).expect_err("it is no directory").to_string();
        let path = socket.display().to_string();
        assert!(
            error.starts_with(&path) && error.len() > path.len() + 2,
            "{error}"
        );
        set_access(&socket, None).expect("it is ours");
        assert_eq!((mode(&directory), mode(&socket)), (0o700, 0o600));
        let own = fs::metadata(&socket).expect("it is there").gid();
        set_access(&socket, Some(own)).expect("it is ours");
        assert_eq!((mode(&directory), mode(&socket)), (0o711, 0o660));
        let link = directory.join("s1.sock");
        std::os::unix::fs::symlink("s0.sock", &link).expect("it can be made");
        assert!(
            set_access(&link, None).is_err(),
            "what is behind a link is another's"
        );
        fs::remove_file(&link).expect("it is there");
        fs::hard_link(&socket, &link).expect("it can be made");
        assert!(
            set_access(&link, None).is_err(),
            "a second name is another's"
        );
        fs::remove_dir_all(&directory).expect("it is there");
    }

    #[test]
    fn a_group_is_named_or_numbered() {
        assert_eq!(group("root"), Ok(0));
        assert_eq!(group("4242"), Ok(4242));
        let error = group("no-such-group").expect_err("it is not there");
        assert!(
            error.text.starts_with("--socket-group no-such-group: "),
            "{error}"
        );
    }
}
