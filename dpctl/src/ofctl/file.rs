//! Reads files with a flow, a group or a message on each line, as ovs-ofctl does.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use bofuss_channel::{read_input, read_standard_input};
use bofuss_oflib::text::find_unquoted;

use crate::Failure;

/// Calls `read` for each line of a file, or of the standard input if its name is `-`: with the line
/// and the command that it begins with, or `usual`. Skips comments and empty lines. Errors: the
/// file, the line, and what is wrong there.
pub(crate) fn each_line<K: Copy, T>(
    name: &str,
    commands: &[(&str, K)],
    usual: K,
    read: impl Fn(&str, K) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let got = match name {
        "-" => standard_input(),
        name => read_input(Path::new(name)),
    };
    let text = got.map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    let mut list = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let end = find_unquoted(line, &['#']).unwrap_or(line.len());
        let line = line[..end].trim();
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (kind, line) = match commands.iter().find(|row| row.0 == first) {
            Some((_, kind)) => (*kind, rest),
            None if line.is_empty() => continue,
            None => (usual, line),
        };
        list.push(read(line, kind).map_err(|error| match error {
            Failure::Usage(e) => Failure::Usage(format!("{name}, line {}: {e}", number + 1)),
            other @ (Failure::Misused | Failure::Failed(_) | Failure::Differs) => other,
        })?);
    }
    Ok(list)
}

/// The standard input. It is read once, and kept for arguments that are parsed again.
fn standard_input() -> io::Result<String> {
    static TEXT: OnceLock<String> = OnceLock::new();
    if let Some(text) = TEXT.get() {
        return Ok(text.clone());
    }
    let text = read_standard_input()?;
    Ok(TEXT.get_or_init(|| text).clone())
}
