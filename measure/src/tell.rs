//! Results, and messages about a run that goes on, whether anybody still reads them or not.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::error::Result;

/// Writes a line to standard output. A reader that stops early, as `head` does, is no error.
///
/// Errors: the system's, as on a full disk.
pub fn say(line: impl Display) -> Result<()> {
    let written = write_to(&mut io::stdout().lock(), &line);
    written.map_err(|error| format!("standard output: {error}").into())
}

fn write_to(out: &mut impl Write, line: &impl Display) -> io::Result<()> {
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a line to standard error as `eprintln!` does. If its reader is gone, as `tee` is after
/// Ctrl-C, the line is lost, and the run goes on to put back what it has removed.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

pub(crate) use tell;

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_reader_that_is_gone_is_no_error_but_a_full_disk_is() {
        let (mut out, reader) = UnixStream::pair().unwrap();
        drop(reader);
        write_to(&mut out, &"a line").unwrap();
        let mut full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = write_to(&mut full, &"a line").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    }
}
