//! `bofuss ctl` and `bofuss reload`: send one command to a running switch.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use bofuss_channel::{RunSocket, permitted, run_sockets};

/// How long to wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends the command `words` to the switch `name`, or to the only one that runs, and returns its
/// answer.
///
/// Errors: there is no such switch, or the switch's error.
pub fn ask(name: Option<&str>, words: &[String]) -> Result<String, String> {
    talk(find(name)?, words)
}

/// Lets the switch `name` read its configuration file again; without a name, all switches if they
/// run in one process.
///
/// Errors: as [`ask`].
pub fn reload(name: Option<&str>) -> Result<String, String> {
    let all = sockets(name)?;
    let first = match &all[..] {
        [first, _, ..] if name.is_none() => {
            let names = talk(first.path.clone(), &["switches".into()])?;
            let is_of_it = |socket: &RunSocket| names.lines().any(|name| name == socket.name);
            all.iter().all(is_of_it).then(|| first.path.clone())
        }
        _ => None,
    };
    talk(first.map_or_else(|| find(name), Ok)?, &["reload".into()])
}

/// Sends a command to a control socket, and returns the answer.
fn talk(path: PathBuf, words: &[String]) -> Result<String, String> {
    let named = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut stream = UnixStream::connect(&path).map_err(named)?;
    stream
        .set_read_timeout(Some(ANSWER_TIMEOUT))
        .map_err(named)?;
    let line = with_absolute_path(words).join(" ").replace('\n', " ") + "\n";
    // A switch that refuses a long line answers before it has read all of it.
    let _ = stream.write_all(line.as_bytes());
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(named)?;
    match answer.split_once('\n') {
        Some(("ok", text)) => Ok(text.into()),
        Some(_) => Err(answer.trim_start_matches("error ").trim_end().into()),
        None => Err(format!("{}: no answer", path.display())),
    }
}

/// The words of a command; the file of a capture becomes an absolute path.
fn with_absolute_path(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    if let [command, _, file, ..] = &mut words[..]
        && command == "capture"
        && let Ok(path) = std::path::absolute(&file)
    {
        *file = path.to_string_lossy().into_owned();
    }
    words
}

/// The control socket of the switch `name`, or of the only switch that runs.
pub fn find(name: Option<&str>) -> Result<PathBuf, String> {
    let mut found = sockets(name)?;
    match (found.len(), name) {
        (0, Some(name)) => Err(format!(
            "no switch '{name}' runs here, or it belongs to another user (use sudo)"
        )),
        (0, None) => Err("no switch runs here, or it belongs to another user (use sudo)".into()),
        (1, _) | (_, Some(_)) => Ok(found.remove(0).path),
        (_, None) => {
            let names: Vec<_> = found.into_iter().map(|socket| socket.name).collect();
            Err(format!(
                "several switches run: {}; give the name of one",
                names.join(", ")
            ))
        }
    }
}

/// The control socket of a switch in this network namespace whose name is `name`, or `name` with a
/// number after it. Errors: there is none.
pub fn find_near(name: &str) -> Result<PathBuf, String> {
    for socket in sockets(None)? {
        let rest = socket.name.strip_prefix(name);
        if socket.is_near && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) {
            return Ok(socket.path);
        }
    }
    Err(format!("no switch '{name}' runs in this network namespace"))
}

/// The control sockets of the switch `name`, or of all switches that answer.
fn sockets(name: Option<&str>) -> Result<Vec<RunSocket>, String> {
    permitted(run_sockets("ctl", name)).map_err(|refusal| format!("{refusal}: use sudo"))
}
