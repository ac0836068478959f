//! `bofuss ctl` and `bofuss reload`: one command to a switch that runs.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::rundir;

/// How long a switch may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends the command `words` to the switch `name`, or to the only one that runs, and gives its
/// answer.
///
/// Errors: which switch is missing, or what the switch says.
pub fn ask(name: Option<&str>, words: &[String]) -> Result<String, String> {
    let path = find(name)?;
    let named = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut stream = UnixStream::connect(&path).map_err(named)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(named)?;
    let line = named_from_root(words).join(" ").replace('\n', " ") + "\n";
    // A switch that refuses a long line answers before it has read it all.
    let _ = stream.write_all(line.as_bytes());
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(named)?;
    match answer.split_once('\n') {
        Some(("ok", text)) => Ok(text.into()),
        Some((first, _)) => Err(first.trim_start_matches("error ").into()),
        None => Err(format!("{}: no answer", path.display())),
    }
}

/// The words of a command, the file of a capture named from / on.
fn named_from_root(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    if let [command, _, file, ..] = &mut words[..]
        && command == "capture"
        && let Ok(path) = std::path::absolute(&file)
    {
        *file = path.to_string_lossy().into_owned();
    }
    words
}

/// The control socket of the switch `name`, or of the only one.
pub fn find(name: Option<&str>) -> Result<PathBuf, String> {
    let directories = rundir::candidates().into_iter();
    let entries = directories
        .filter_map(|d| std::fs::read_dir(d).ok())
        .flatten()
        .flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "ctl"))
        .filter(|path| name.is_none_or(|name| path.file_stem().is_some_and(|s| s == name)))
        .collect();
    found.sort();
    let names = || {
        let stems = found.iter().filter_map(|path| path.file_stem());
        stems
            .map(|stem| stem.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (found.len(), name) {
        (0, Some(name)) => Err(format!(
            "no switch '{name}' runs here, or it is another user's"
        )),
        (0, None) => Err("no switch runs here, or it is another user's".into()),
        (1, _) | (_, Some(_)) => Ok(found.remove(0)),
        (_, None) => Err(format!("several switches run: {}; name one", names())),
    }
}
