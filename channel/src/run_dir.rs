//! Where running switches have their control sockets, so that tools find them.

use std::os::unix::fs::MetadataExt;
use std::{env, fs, path::PathBuf};

/// The directories where a switch may have its control socket, to be tried in this order: the
/// system's, then the user's.
pub fn run_directories() -> Vec<PathBuf> {
    let mut directories = vec![PathBuf::from("/run/bofuss")];
    if let Some(user) = env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        directories.push(PathBuf::from(user).join("bofuss"));
    } else if let Ok(process) = fs::metadata("/proc/self") {
        directories.push(env::temp_dir().join(format!("bofuss-{}", process.uid())));
    }
    directories
}
