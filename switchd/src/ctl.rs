//! `bofuss ctl` and `bofuss reload`: one command to a switch that runs.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::rundir;

/// How long a switch may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends the command `words` to the switch `name`, or to the only one that runs, and gives its
/// answer.
///
/// Errors: which switch is missing, or what the switch says.
pub fn ask(name: Option<&str>, words: &[String]) -> Result<String, String> {
    talk(find(name)?, words)
}

/// Has the switch `name`, or all that run in one process if there is no other, read their file.
///
/// Errors: as [`ask`].
pub fn reload(name: Option<&str>) -> Result<String, String> {
    let all = sockets(name);
    let first = match &all[..] {
        [first, _, ..] if name.is_none() => {
            let names = talk(first.clone(), &["switches".into()])?;
            let is_of_it = |path: &PathBuf| names.lines().any(|name| name == name_of(path));
            all.iter().all(is_of_it).then(|| first.clone())
        }
        _ => None,
    };
    talk(first.map_or_else(|| find(name), Ok)?, &["reload".into()])
}

/// Sends a command to a control socket, and gives the answer.
fn talk(path: PathBuf, words: &[String]) -> Result<String, String> {
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
        Some(_) => Err(answer.trim_start_matches("error ").trim_end().into()),
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
    let mut found = sockets(name);
    match (found.len(), name) {
        (0, Some(name)) => Err(format!(
            "no switch '{name}' runs here, or it is another user's"
        )),
        (0, None) => Err("no switch runs here, or it is another user's".into()),
        (1, _) | (_, Some(_)) => Ok(found.remove(0)),
        (_, None) => {
            let names: Vec<_> = found.iter().map(|path| name_of(path)).collect();
            Err(format!(
                "several switches run: {}; name one",
                names.join(", ")
            ))
        }
    }
}

/// The control sockets of the switch `name`, or of all that answer.
fn sockets(name: Option<&str>) -> Vec<PathBuf> {
    let directories = rundir::candidates().into_iter();
    let entries = directories
        .filter_map(|d| std::fs::read_dir(d).ok())
        .flatten()
        .flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "ctl"))
        .filter(|path| match name {
            Some(name) => name_of(path) == name,
            // One that was killed leaves its socket.
            None => UnixStream::connect(path).is_ok(),
        })
        .collect();
    found.sort();
    found
}

/// The name of the switch that a control socket is of.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}
