//! The state of a switch's connections: asked of the switch, or of its control socket.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use bofuss_oflib::Message;
use bofuss_oflib::ext::{ExtKind, ExtRow, ExtValue};
use bofuss_oflib::wire::Bytes;

use crate::Failure;
use crate::find;
use crate::talk::Talk;

/// How long a control socket may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The experimenter under which the original's ofprotocol tells its state.
const NICIRA: u32 = 0x0000_2320;

/// The messages: a request with the beginning of the keys wanted as its data, a reply with lines of
/// `key=value`.
pub(crate) static ROWS: [ExtRow; 2] = [row(0, "status_request"), row(1, "status_reply")];

const fn row(ty: u32, name: &'static str) -> ExtRow {
    ExtRow {
        kind: ExtKind::Message,
        experimenter: NICIRA,
        ty,
        name,
        args: &[],
        data: true,
    }
}

/// The lines. A switch that does not tell of its controllers is asked through its control socket,
/// if its unix socket has one beside it; else only this much is told, that it answers.
pub(crate) async fn ask(talk: &mut Talk) -> Result<String, Failure> {
    let request = Message::Experimenter(ExtValue {
        row: &ROWS[0],
        args: Vec::new(),
        data: Bytes::default(),
    });
    if let Ok(Message::Experimenter(reply)) = talk.client.request(&request).await {
        return Ok(String::from_utf8_lossy(&reply.data.0).into_owned());
    }
    let version = talk.client.version();
    let mut lines = format!("local.is-connected=true\nswitch.openflow={version}\n");
    if let Some(text) = connections(&talk.address) {
        // Connections to controllers are told by the address that they were made to.
        let to = |line: &&str| {
            ["tcp:", "ssl:", "unix:"]
                .iter()
                .any(|kind| line.starts_with(kind))
                && !line.contains(" on ")
        };
        let controllers: Vec<&str> = text.lines().filter(to).collect();
        lines += &format!("remote.is-connected={}\n", !controllers.is_empty());
        for (number, line) in (1..).zip(controllers) {
            lines += &format!("remote.{number}.name={line}\n");
        }
    }
    Ok(lines)
}

/// What the control socket of the switch at `address` tells of its connections: the one beside its
/// unix socket, or that of the switch which listens on this TCP port, as our connection shows.
fn connections(address: &str) -> Option<String> {
    if let Some(path) = address.strip_prefix("unix:") {
        return control(&Path::new(path).with_extension("ctl"), "controllers").ok();
    }
    let (_, port) = address.rsplit_once(':')?;
    let kind = if address.starts_with("ssl:") {
        "pssl"
    } else {
        "ptcp"
    };
    let listener = format!(" on {kind}:{port}:");
    let sockets = find::running()
        .into_iter()
        .map(|(_, path)| path.with_extension("ctl"));
    let mut told = sockets.filter_map(|path| control(&path, "controllers").ok());
    told.find(|text| text.contains(&listener))
}

/// Sends a command to a control socket.
fn control(path: &Path, command: &str) -> Result<String, std::io::Error> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{command}\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let text = answer.strip_prefix("ok\n").map(str::to_string);
    text.ok_or_else(|| std::io::Error::other(answer))
}
