//! `cargo xtask fuzz --seeds`: writes inputs for the fuzz targets from the vectors.

use std::path::Path;

use crate::tree;

const VECTORS: &str = "testdata/vectors";
const MESSAGES: &str = "fuzz/corpus/message_decode";
const TEXTS: &str = "fuzz/corpus/text_parse";
/// One vector in this many becomes an input, because neighbours take the same path.
const EVERY: usize = 3;
/// The first byte of an input of `text_parse`, if the input is a group.
const GROUP: u8 = 5;

/// Replaces the inputs that were written from vectors; keeps those that fuzzing found.
///
/// Errors: a file that cannot be read, written or removed.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    remove_numbered(&root.join(TEXTS), "buckets")?;
    let mut buckets = 0;
    for place in tree::files(&root.join(VECTORS))? {
        let stem = place.file_stem().unwrap_or_default().to_string_lossy();
        if !tree::is(&place, "txt") || stem == "text" {
            continue;
        }
        let text = tree::read(&root.join(VECTORS).join(&place))?;
        remove_numbered(&root.join(MESSAGES), &stem)?;
        for (number, (title, bytes)) in vectors(&text).enumerate() {
            if number % EVERY == 0 {
                put(&root.join(MESSAGES), &stem, number, &bytes)?;
            }
            if let Some(group) = group(&title).filter(|group| group.contains("bucket_id")) {
                let input = [&[GROUP], group.as_bytes()].concat();
                put(&root.join(TEXTS), "buckets", buckets, &input)?;
                buckets += 1;
            }
        }
    }
    Ok(())
}

/// Text and bytes of each vector.
fn vectors(text: &str) -> impl Iterator<Item = (String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some((_, bytes)) = all.last_mut()
            && line.starts_with("  ")
        {
            let digits: String = line.split_whitespace().collect();
            for at in (0..digits.len()).step_by(2) {
                let byte = digits.get(at..at + 2);
                bytes.extend(byte.and_then(|byte| u8::from_str_radix(byte, 16).ok()));
            }
        } else if !line.is_empty() {
            all.push((line.into(), Vec::new()));
        }
    }
    all.into_iter()
}

/// The text of a group, as `add-group` reads it, if the vector is a group-mod.
fn group(title: &str) -> Option<&str> {
    let (_, group) = title.strip_prefix("OFPT_GROUP_MOD: ")?.split_once(' ')?;
    Some(group)
}

fn put(folder: &Path, stem: &str, number: usize, input: &[u8]) -> Result<(), String> {
    let path = folder.join(format!("{stem}-{number:02}"));
    std::fs::write(&path, input).map_err(|e| format!("{}: {e}", path.display()))
}

/// Removes the inputs called `STEM-NUMBER`.
fn remove_numbered(folder: &Path, stem: &str) -> Result<(), String> {
    for place in tree::files(folder)? {
        let name = place.to_string_lossy();
        let number = name.strip_prefix(stem).and_then(|n| n.strip_prefix('-'));
        if number.is_some_and(|number| number.parse::<u16>().is_ok()) {
            let path = folder.join(&place);
            std::fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}
