//! The user as whom a locked switch goes on.

/// The user and the group where no other has the name.
pub const NOBODY: u32 = 65534;

/// As whom a switch goes on that root locks down: the user and group of the package, or nobody.
pub fn lock_user() -> (u32, u32) {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let row = users.lines().find(|line| line.starts_with("bofuss:"));
    row.map_or((NOBODY, NOBODY), |row| {
        let mut numbers = row.split(':').skip(2).map(|word| word.parse().unwrap());
        (numbers.next().unwrap(), numbers.next().unwrap())
    })
}

/// Gives a file or folder to the user as whom a locked switch goes on.
pub fn give(path: &str) {
    let (user, group) = lock_user();
    // In a plain user's namespace there is no such user, and the switch stays who it is.
    let given = std::os::unix::fs::chown(path, Some(user), Some(group));
    let is_missing = |error: std::io::Error| error.kind() == std::io::ErrorKind::InvalidInput;
    assert!(given.is_ok() || given.is_err_and(is_missing), "{path}");
}
