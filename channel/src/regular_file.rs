//! Reads a file that a user names, without waiting and without taking more than a limit.

use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The largest configuration, key or list of certificates that is read. Debian's bundle of all
/// certificate authorities has 0.2 MiB.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// Reads a regular file. A pipe without a writer would hold its reader for ever, and a device may
/// have no end.
///
/// Errors: the system's, or why the file is not read.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    // Without these, opening waits for a pipe's writer, or makes a terminal this process's own.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    // The file may grow meanwhile, and those in /proc have no size.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let sentence = format!("larger than {} MiB", MAX_FILE_BYTES >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, sentence));
    }
    Ok(bytes)
}

/// Reads a regular file of text. Errors: as [`read_file`], and if it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read_file(path)?).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_a_regular_file_within_the_limit_is_read() {
        let folder = std::env::temp_dir().join(format!("bofuss-files-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let (pipe, plain) = (folder.join("pipe"), folder.join("plain"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).expect("pipes need no rights");
        for other in [
            &*pipe,
            &*folder,
            Path::new("/dev/zero"),
            Path::new("/dev/tty"),
        ] {
            let refused = read_file(other).expect_err("it is no regular file");
            // A process without a terminal cannot open its own.
            let no_terminal = other.ends_with("tty") && refused.raw_os_error().is_some();
            assert!(
                no_terminal || refused.to_string() == "not a regular file",
                "{refused}"
            );
        }
        fs::write(&plain, "text").expect("the folder is writable");
        assert_eq!(read_text(&plain).expect("it is short"), "text");
        let file = OpenOptions::new()
            .write(true)
            .open(&plain)
            .expect("it is ours");
        file.set_len(MAX_FILE_BYTES).expect("holes take no room");
        assert_eq!(
            read_file(&plain).expect("the limit").len() as u64,
            MAX_FILE_BYTES
        );
        for size in [MAX_FILE_BYTES + 1, 200 << 20] {
            file.set_len(size).expect("holes take no room");
            let refused = read_file(&plain).expect_err("it is above the limit");
            assert_eq!(refused.to_string(), "larger than 4 MiB");
        }
        fs::remove_dir_all(folder).expect("it is ours");
    }
}
