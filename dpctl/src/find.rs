//! Which switch is meant: an address, a name, or the only one that runs.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use bofuss_channel::{ActiveAddress, Endpoint, run_directories};

use crate::Failure;

/// Running switches: name and socket, those that answer.
pub(crate) fn running() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for directory in run_directories() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_socket = path.extension().is_some_and(|e| e == "sock");
            if let (true, Some(name)) = (is_socket, path.file_stem())
                && UnixStream::connect(&path).is_ok()
            {
                found.push((name.to_string_lossy().into_owned(), path));
            }
        }
    }
    found.sort();
    found
}

/// The address that a word names: one with its kind in front, or the name of a running switch.
pub(crate) fn address(word: &str) -> Option<Result<ActiveAddress, Failure>> {
    if word.starts_with("tcp:") || word.starts_with("unix:") || word.starts_with("ssl:") {
        return Some(
            word.parse()
                .map_err(|error| Failure::Usage(format!("{error}"))),
        );
    }
    if word.contains(['/', '=', ':', ',']) {
        return None;
    }
    let mut paths = run_directories()
        .into_iter()
        .map(|directory| directory.join(format!("{word}.sock")));
    let path = paths.find(|path| UnixStream::connect(path).is_ok())?;
    Some(Ok(ActiveAddress(Endpoint::Unix(path))))
}

/// The only switch that runs.
pub(crate) fn only() -> Result<ActiveAddress, Failure> {
    let mut running = running();
    match running.len() {
        1 => Ok(ActiveAddress(Endpoint::Unix(running.remove(0).1))),
        0 => Err(Failure::Usage(
            "no switch runs here; start one (bofuss run --port IF --port IF) or name its address, \
             as in dpctl tcp:127.0.0.1:6653 show"
                .into(),
        )),
        _ => {
            let names: Vec<_> = running.into_iter().map(|(name, _)| name).collect();
            let names = names.join(", ");
            Err(Failure::Usage(format!(
                "several switches run: {names}; name one before the verb"
            )))
        }
    }
}
