//! `bofuss ctl` and `bofuss reload`: send one command to a running switch.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bofuss_channel::{RunSocket, permitted, run_sockets};
use bofuss_ports::CaptureFile;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::config::OF_MESSAGES;
use crate::control::COMMANDS;
use crate::error::{Result, context};
use crate::successor::HAND_OVER;

/// The time to wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends what a command line says, `[NAME] COMMAND [ARGUMENT...]`, and returns the answer. A switch
/// with the name of a command is named before the command.
///
/// Errors: as [`ask`].
pub fn command(words: &[String]) -> Result<String> {
    match words {
        [name, rest @ ..] if !is_command(name) || rest.first().is_some_and(is_command) => {
            if rest.is_empty() {
                let error = if find(Some(name)).is_ok() {
                    format!("{name} is a switch: add a command, as bofuss ctl {name} ports")
                } else {
                    format!("there is no command '{name}' (bofuss ctl list)")
                };
                return Err(error.into());
            }
            ask(Some(name), rest)
        }
        words => ask(None, words),
    }
}

fn is_command(word: &String) -> bool {
    COMMANDS.iter().any(|row| row.0 == word)
}

/// Sends the command `words` to the switch `name`, or to the only one that runs, and returns its
/// answer.
///
/// Errors: there is no such switch, or the switch's error.
pub fn ask(name: Option<&str>, words: &[String]) -> Result<String> {
    send_command(find(name)?, words)
}

/// Lets the switch `name` read its configuration file again; without a name, all switches if they
/// run in one process.
///
/// Errors: as [`ask`].
pub fn reload(name: Option<&str>) -> Result<String> {
    let all = sockets(name)?;
    if name.is_none()
        && let [first, _, ..] = &all[..]
    {
        let names = send_command(first.path.clone(), &["switches".into()])?;
        let mut switches = all.iter();
        if switches.all(|socket| names.lines().any(|name| name == socket.name)) {
            return send_command(first.path.clone(), &["reload".into()]);
        }
    }
    send_command(find(name)?, &["reload".into()])
}

/// Sends a command to a control socket, and returns the answer.
pub fn send_command(path: PathBuf, words: &[String]) -> Result<String> {
    let mut stream = UnixStream::connect(&path).map_err(context(path.display()))?;
    stream
        .set_read_timeout(Some(ANSWER_TIMEOUT))
        .map_err(context(path.display()))?;
    let mut words = words.to_vec();
    let target = match &mut words[..] {
        [command, ..] if command == HAND_OVER => {
            return Err("hand-over: use bofuss run --replace, which asks for it".into());
        }
        [command, port, file, ..] if command == "capture" => Some(CaptureTarget::open(port, file)?),
        [command, files @ ..] if command == "save-config" => {
            let [file] = files else {
                let wanted = "save-config needs one FILE, in quotes if its name has blanks";
                return Err(wanted.into());
            };
            let text = send_command(path, &["config".into()])?;
            return save(Path::new(file), &text).map(|()| String::new());
        }
        _ => None,
    };
    let line = words.join(" ").replace('\n', " ") + "\n";
    // A switch that refuses a long line answers before it has read all of it.
    let _ = send_line(&mut stream, line.as_bytes(), target.as_ref());
    let mut answer = String::new();
    // A switch that refuses a long line closes before it has read all of it: the connection is
    // reset after the answer.
    if let Err(error) = stream.read_to_string(&mut answer)
        && answer.is_empty()
    {
        let seconds = ANSWER_TIMEOUT.as_secs();
        let why = if error.kind() == ErrorKind::WouldBlock {
            format!("no answer within {seconds} s")
        } else {
            error.to_string()
        };
        return Err(format!("{}: {why}", path.display()).into());
    }
    match answer.split_once('\n') {
        Some(("ok", text)) => {
            target.into_iter().for_each(CaptureTarget::keep);
            Ok(text.into())
        }
        Some(_) => Err(answer.trim_start_matches("error ").trim_end().into()),
        None => Err(format!("{}: no answer", path.display()).into()),
    }
}

/// Writes a file with the caller's rights: all of it, or the old one stays, whose owner and
/// mode the new one gets. Links are followed.
///
/// Errors: the file's, with its name; it is there and no regular file, or a link that leads
/// nowhere.
fn save(path: &Path, text: &str) -> Result<()> {
    let failed = context(path.display());
    let before = match fs::metadata(path) {
        Ok(before) if !before.is_file() => {
            let why = "it is no regular file: 'bofuss ctl config' prints the configuration";
            return Err(format!("{}: {why}", path.display()).into());
        }
        Err(_) if path.is_symlink() => {
            return Err(format!("{}: the link leads nowhere", path.display()).into());
        }
        before => before.ok(),
    };
    let target = match &before {
        Some(_) => {
            // To replace a file needs a right to its folder only.
            let may_write = OpenOptions::new().append(true).open(path);
            may_write
                .and_then(|_| fs::canonicalize(path))
                .map_err(&failed)?
        }
        None => path.into(),
    };
    let part = target.with_added_extension(format!("{}.part", std::process::id()));
    let mut file = File::create_new(&part).map_err(&failed)?;
    let mut write = || {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if let Some(before) = &before {
            // Only root may give a file away.
            let _ = chown(&part, Some(before.uid()), Some(before.gid()));
            fs::set_permissions(&part, before.permissions())?;
        }
        fs::rename(&part, &target)
    };
    let written = write().map_err(&failed);
    if written.is_err() {
        // Nothing is left to say if this fails, too.
        let _ = fs::remove_file(&part);
    }
    written
}

/// The file of a capture. It is opened with the caller's rights, because a switch that is locked
/// down, or another user's, may have none there. Unless it is kept, a new file is removed.
struct CaptureTarget {
    file: File,
    new: Option<PathBuf>,
}

impl CaptureTarget {
    /// Opens the file of this name, for frames of a port or OpenFlow messages, and makes the name
    /// an absolute path. Errors: the file's, with its name, or that it has blanks.
    fn open(port: &str, name: &mut String) -> Result<Self> {
        let path = std::path::absolute(&name).map_err(context(&name))?;
        if port != OF_MESSAGES && path.to_string_lossy().contains(' ') {
            let path = path.display();
            return Err(format!("{path}: a FILE has no blanks, as a FLOW comes after one").into());
        }
        let exists = path.symlink_metadata().is_ok();
        let file = CaptureFile::open(&path).map_err(context(&name))?;
        *name = path.to_string_lossy().into_owned();
        let new = (!exists).then_some(path);
        Ok(Self { file, new })
    }

    /// Keeps the file.
    fn keep(mut self) {
        self.new = None;
    }
}

impl Drop for CaptureTarget {
    fn drop(&mut self) {
        if let Some(path) = &self.new {
            // Somebody else may have removed it.
            let _ = fs::remove_file(path);
        }
    }
}

/// Sends a line, and passes a file descriptor with it (SCM_RIGHTS, unix(7)).
fn send_line(
    stream: &mut UnixStream,
    line: &[u8],
    target: Option<&CaptureTarget>,
) -> io::Result<()> {
    let descriptors: Vec<_> = target.iter().map(|target| target.file.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let slices = [IoSlice::new(line)];
    let sent = sendmsg(&*stream, &slices, &mut ancillary, SendFlags::NOSIGNAL)?;
    stream.write_all(&line[sent..])
}

/// The name and the control socket of the switch `name`, or of the only switch that runs; `None` if
/// none does.
///
/// Errors: several run, or it is another user's.
pub fn running(name: Option<&str>) -> Result<Option<(String, PathBuf)>> {
    let found = sockets(name)?;
    if found.is_empty() {
        return Ok(None);
    }
    let path = find(name)?;
    let meant = found.into_iter().find(|socket| socket.path == path);
    Ok(meant.map(|socket| (socket.name, path)))
}

/// The control socket of the switch `name`, or of the only switch that runs.
pub fn find(name: Option<&str>) -> Result<PathBuf> {
    let mut found = sockets(name)?;
    match (found.len(), name) {
        (0, Some(name)) => Err(format!(
            "no switch '{name}' runs here, or it belongs to another user (use sudo)"
        )
        .into()),
        (0, None) => Err("no switch runs here, or it belongs to another user (use sudo)".into()),
        (1, _) | (_, Some(_)) => Ok(found.remove(0).path),
        (_, None) => {
            let names: Vec<_> = found.into_iter().map(|socket| socket.name).collect();
            Err(format!(
                "several switches run: {}; give the name of one",
                names.join(", ")
            )
            .into())
        }
    }
}

/// The control socket of a switch in this network namespace whose name is `name`, or `name` with a
/// number after it. Errors: there is none.
pub fn find_near(name: &str) -> Result<PathBuf> {
    for socket in sockets(None)? {
        let rest = socket.name.strip_prefix(name);
        if socket.is_near && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) {
            return Ok(socket.path);
        }
    }
    Err(format!("no switch '{name}' runs in this network namespace").into())
}

/// The control sockets of the switch `name`, or of all switches that answer.
fn sockets(name: Option<&str>) -> Result<Vec<RunSocket>> {
    permitted(run_sockets("ctl", name)).map_err(|refusal| format!("{refusal}: use sudo").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_of_frames_goes_to_no_file_with_blanks() {
        let mut name = "/nowhere/my file.pcap".to_string();
        let refused = CaptureTarget::open("1", &mut name);
        assert!(refused.is_err_and(|error| error.text.contains("a FILE has no blanks")));
    }
}
