//! Messages about a run that goes on, whether anybody still reads them or not.

/// Writes a line to standard error as `eprintln!` does. If its reader is gone, as `tee` is after
/// Ctrl-C, the line is lost, and the run goes on to put back what it has removed.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

pub(crate) use tell;
