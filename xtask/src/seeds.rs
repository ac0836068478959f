//! Writes the vectors as inputs for the fuzz target that reads messages.

use std::path::Path;

use crate::tree::{self, write};

const VECTORS: &str = "testdata/vectors";
/// The fuzz target that reads messages.
pub(crate) const TARGET: &str = "message_decode";

/// Writes each vector of a message into `folder`.
///
/// Errors: a file that cannot be read or written.
pub(crate) fn write_all(root: &Path, folder: &Path) -> Result<(), String> {
    for place in tree::files(&root.join(VECTORS))? {
        let stem = place.file_stem().unwrap_or_default().to_string_lossy();
        if !tree::is(&place, "txt") || stem == "text" {
            continue;
        }
        let text = tree::read(&root.join(VECTORS).join(&place))?;
        for (number, bytes) in vectors(&text).into_iter().enumerate() {
            write(&folder.join(format!("{stem}-{number:02}")), &bytes)?;
        }
    }
    Ok(())
}

/// The bytes of each vector: lines of hexadecimal digits, indented by two blanks.
fn vectors(text: &str) -> Vec<Vec<u8>> {
    let mut vectors = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let digits: String = line.split_whitespace().collect();
        match vectors.last_mut() {
            Some(bytes) if line.starts_with("  ") => {
                let pairs = (0..digits.len())
                    .step_by(2)
                    .map(|at| digits.get(at..at + 2));
                let read = |pair| u8::from_str_radix(pair, 16).ok();
                Vec::extend(bytes, pairs.flatten().filter_map(read));
            }
            _ => vectors.push(Vec::new()),
        }
    }
    vectors.retain(|bytes| !bytes.is_empty());
    vectors
}
