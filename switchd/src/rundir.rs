//! Where a running switch has its socket, so that tools find it by name.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The longest name of a switch, in bytes: a unix socket's path is short.
const MAX_NAME_BYTES: usize = 32;

/// Refuses names that are no file names.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let right = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.starts_with('.');
    if right && name.bytes().all(plain) {
        return Ok(());
    }
    Err(format!(
        "--name '{name}': it is 1 to {MAX_NAME_BYTES} letters, digits, '-', '_' or '.', as in s1"
    ))
}

/// The directories where sockets may be: that of the system, then the user's.
pub fn candidates() -> Vec<PathBuf> {
    bofuss_channel::run_directories()
}

/// Makes the first directory that can be written, and gives the socket's path in it.
///
/// Errors: that of the last directory tried.
pub fn socket(name: &str) -> io::Result<PathBuf> {
    Ok(directory()?.join(format!("{name}.sock")))
}

/// Makes the first directory that can be written.
///
/// Errors: that of the last directory tried.
pub fn directory() -> io::Result<PathBuf> {
    let mut failed = io::Error::other("there is no run-time directory");
    for directory in candidates() {
        match make(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn make(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let probe = directory.join(format!(".probe-{}", std::process::id()));
    fs::write(&probe, b"")?;
    fs::remove_file(probe)
}
