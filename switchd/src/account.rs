//! The user to whom a switch that root starts gives its sockets, and as whom it goes on once it is
//! locked down.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{env, fs, io};

use bofuss_channel::is_user;
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// The environment variable in which sudo names its caller.
const CALLER: &str = "SUDO_UID";
/// The user of `contrib/bofuss@.service`, which its package creates.
const SERVICE: &str = "bofuss";
/// The user who owns nothing, where there is no such user: `nobody` and `nogroup`.
const NOBODY: u32 = 65534;
/// The file that lists users.
const USERS: &str = "/etc/passwd";

/// A user other than root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub user: Uid,
    group: Gid,
}

impl Account {
    /// The user who called sudo to start us; with `--lock-down`, otherwise the service's user.
    /// `None` if we are not root, or if there is no such user in our user namespace.
    pub fn instead_of_root(locks_down: bool) -> Option<Self> {
        if !geteuid().is_root() {
            return None;
        }
        let users = fs::read_to_string(USERS).unwrap_or_default();
        let caller = env::var(CALLER).ok().and_then(|user| user.parse().ok());
        let account = match caller.filter(|user| *user != 0) {
            Some(user) => Self::numbered(user, &users),
            None if locks_down => Self::of_service(&users),
            None => return None,
        };
        is_user(account.user.as_raw()).then_some(account)
    }

    /// The user who owns a file. `None` if we are not root, or if that is root's.
    pub fn of_owner(file: &Path) -> io::Result<Option<Self>> {
        let owner = fs::metadata(file)?.uid();
        if !geteuid().is_root() || owner == 0 {
            return Ok(None);
        }
        let users = fs::read_to_string(USERS).unwrap_or_default();
        Ok(Some(Self::numbered(owner, &users)))
    }

    fn of_service(users: &str) -> Self {
        let service = rows(users).find(|(name, user, _)| *name == SERVICE && *user != 0);
        match service {
            Some((_, user, group)) => Self::new(user, group),
            None => Self::new(NOBODY, NOBODY),
        }
    }

    /// A user by number, with the primary group.
    fn numbered(user: u32, users: &str) -> Self {
        let row = rows(users).find(|row| row.1 == user);
        Self::new(user, row.map_or(NOBODY, |row| row.2))
    }

    /// Root's group may do nearly as much as root: nobody gets it.
    fn new(user: u32, group: u32) -> Self {
        let group = if group == 0 { NOBODY } else { group };
        Self {
            user: Uid::from_raw(user),
            group: Gid::from_raw(group),
        }
    }

    /// Makes the calling thread this user's, for ever; it keeps no capabilities.
    ///
    /// Errors: the system's.
    pub fn enter(&self) -> io::Result<()> {
        set_thread_groups(&[])?;
        set_thread_res_gid(self.group, self.group, self.group)?;
        Ok(set_thread_res_uid(self.user, self.user, self.user)?)
    }
}

/// The users of a text as `/etc/passwd`: name, number and primary group.
fn rows(users: &str) -> impl Iterator<Item = (&str, u32, u32)> {
    users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let user = fields.nth(1)?.parse().ok()?;
        Some((name, user, fields.next()?.parse().ok()?))
    })
}
