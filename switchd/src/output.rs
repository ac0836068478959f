//! Text for the standard output, whose disk may be full, and whose reader may be gone.

use std::io::{self, ErrorKind, Write};

use crate::error::{Result, context};

/// Prints a text. A reader that stops early, as `head` does, is no error. Errors: the system's.
pub fn print(text: &str) -> Result<()> {
    write_to(&mut io::stdout().lock(), text).map_err(context("standard output"))
}

fn write_to(out: &mut impl Write, text: &str) -> io::Result<()> {
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_reader_that_is_gone_is_no_error_but_a_full_disk_is() {
        let (mut out, reader) = UnixStream::pair().unwrap();
        drop(reader);
        write_to(&mut out, "a line\n").unwrap();
        let mut full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = write_to(&mut full, "a line\n").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    }
}
