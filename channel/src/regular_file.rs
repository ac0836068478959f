//! Reads a file that a user names, without waiting and without taking more than a limit.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// The largest configuration, key or list of certificates that is read. Debian's bundle of all
/// certificate authorities has 0.2 MiB.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// The largest input of a command, such as a list of flows: a million of them have 100 MiB.
const MAX_INPUT_BYTES: u64 = 256 << 20;

/// The most characters of an error about a file, which may quote a line of any length.
const MAX_ERROR_CHARS: usize = 2000;

/// The folder in which a process finds the files that it has open, such as the pipe of a shell's
/// `<(...)`.
const OPEN_FILES: [&str; 3] = ["/dev/fd", "/proc/self/fd", "/dev/stdin"];

/// Reads a regular file. A pipe without a writer would hold its reader for ever, and a device may
/// have no end.
///
/// Errors: the system's, or why the file is not read.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    let file = open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    read_all(file, MAX_FILE_BYTES)
}

/// Opens the input of a command: a regular file, the pipe of a shell's `<(...)`, or `/dev/null`.
///
/// Errors: the system's, or why the file is not read.
pub fn open_input(path: &Path) -> Result<File> {
    let file = open(path)?;
    let kind = file.metadata()?.file_type();
    let is_open = OPEN_FILES.iter().any(|known| path.starts_with(known));
    if kind.is_file() || path == Path::new("/dev/null") {
        return Ok(file);
    }
    if is_open && kind.is_fifo() {
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
        return Ok(file);
    }
    let sentence = "neither a regular file nor a pipe as of <(...)";
    Err(Error::new(ErrorKind::InvalidInput, sentence))
}

/// Reads the input of a command, which is text.
///
/// Errors: as [`open_input`], it is larger than 256 MiB, or not UTF-8.
pub fn read_input(path: &Path) -> Result<String> {
    text(read_all(open_input(path)?, MAX_INPUT_BYTES)?)
}

/// Reads the standard input of a command, which is text. Errors: as [`read_input`].
pub fn read_standard_input() -> Result<String> {
    text(read_all(std::io::stdin().lock(), MAX_INPUT_BYTES)?)
}

/// Cuts an error that is longer than a reader reads.
pub fn shortened(mut error: String) -> String {
    if let Some((end, _)) = error.char_indices().nth(MAX_ERROR_CHARS) {
        error.truncate(end);
        error.push_str("...");
    }
    error
}

/// Opens a file without waiting.
fn open(path: &Path) -> Result<File> {
    // Without these, opening waits for a pipe's writer, or makes a terminal this process's own.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    options.open(path)
}

/// Reads to the end. Errors: the system's, or there are more than `limit` bytes.
fn read_all(file: impl Read, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // The file may grow meanwhile, and those in /proc have no size.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let sentence = format!("larger than {} MiB", limit >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, sentence));
    }
    Ok(bytes)
}

/// Reads a regular file of text. Errors: as [`read_file`], and if it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    text(read_file(path)?)
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let sentence = format!("line {line} is not UTF-8");
        Error::new(ErrorKind::InvalidData, sentence)
    })
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
            let refused = read_input(other).expect_err("it is no pipe of a shell");
            assert!(
                no_terminal || refused.to_string().starts_with("neither a regular file"),
                "{refused}"
            );
        }
        assert_eq!(read_input(Path::new("/dev/null")).expect("it is empty"), "");
        fs::write(&plain, "text").expect("the folder is writable");
        assert_eq!(read_text(&plain).expect("it is short"), "text");
        fs::write(&plain, b"a\nb \xff\n").expect("the folder is writable");
        let refused = read_text(&plain).expect_err("no text has this byte");
        assert_eq!(refused.to_string(), "line 2 is not UTF-8");
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
