//! A folder of a test for its files.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

/// A folder that is removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Makes it, with a name that no other process uses.
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("bofuss-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
