//! Lines about what goes on, whether anybody still reads them or not.

/// Writes a line to standard output as `println!` does. If its reader is gone, the line is lost,
/// and what runs goes on to give back what it changed.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($words)*);
    }};
}

/// Writes a line to standard error as `eprintln!` does. If its reader is gone, the line is lost,
/// and the exit code is still that of the command.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

pub(crate) use {say, tell};
