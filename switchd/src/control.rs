//! The control socket: reads a line with a command, and writes a line `ok` and then text, or a line
//! `error SENTENCE`.

use std::fs::{self, File};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bofuss_channel::{Newcomer, Newcomers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::dataplane::Answer;
use crate::error::Result;
use crate::rundir;
use crate::successor::HAND_OVER;

/// The longest command, in bytes with its end of line.
pub const MAX_COMMAND_BYTES: usize = 4096;
/// The time that a peer may take to write its command, and again to read the answer.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);
/// Most commands that are carried out at a time; further ones are not read yet.
const MAX_CONCURRENT_COMMANDS: usize = 16;

/// The command whose connection stays open.
const ATTACH: &str = "attach";
/// The command that waits for a packet, unless its peer leaves.
const TRACE_NEXT: &str = "trace-next";
/// How often such a peer is looked after, and the wait between two tries of [`DETACH`].
const LEAVING_INTERVAL: Duration = Duration::from_millis(500);
/// The line that the switch gets when that connection closes; it is no command that a peer can
/// send.
const DETACH: &str = "detach";
/// How often that is tried, as a switch that another process takes over refuses it: for longer than
/// that takes.
const DETACH_TRIES: usize = 120;

/// Commands: name, arguments, what it does.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("list", "", "these commands"),
    ("switches", "", "the switches of this process"),
    ("ports", "[--json]", "the ports, their links and counters"),
    (
        "add-port",
        "PORT",
        "open a port: [NUMBER=]INTERFACE, tap:NAME, tun:NAME, pcap:IN[,OUT]",
    ),
    (
        "del-port",
        "PORT",
        "close the port of this number or interface",
    ),
    (
        "set-port",
        "PORT NAME=VALUE...",
        "change its rate, ring, discipline, mac-limit, tag, trunks or vlan-mode; a VALUE may be \
         default",
    ),
    (
        "controllers",
        "",
        "the peers, with role and version, and why a controller is not among them",
    ),
    (
        "set-controller",
        "ADDRESS...",
        "connect to these controllers, and no others",
    ),
    (
        "del-controller",
        "[ADDRESS...]",
        "connect to these controllers no longer, or to none",
    ),
    (
        "set-fail-mode",
        "[MODE]",
        "act so without a controller: secure, standalone or arp-path; without MODE the default",
    ),
    (
        "set",
        "KEY = VALUE",
        "change an option, written as in the configuration file",
    ),
    ("unset", "KEY", "give an option its default"),
    (
        "config",
        "",
        "print the configuration as it is now, as a file that would give it again",
    ),
    ("save-config", "FILE", "write the same into FILE"),
    ("counters", "", "packets dropped, by reason"),
    (
        "macs",
        "[--json]",
        "the addresses that NORMAL knows, and the age of those learned",
    ),
    (
        "flush-macs",
        "",
        "forget the addresses that NORMAL has learned",
    ),
    (
        "add-mac",
        "PORT=MAC[,VLAN]",
        "let NORMAL know an address at a port, which does not move",
    ),
    ("del-mac", "MAC[,VLAN]", "let NORMAL learn it again"),
    (
        "paths",
        "[--json] [--most N] [--from N]",
        "the hosts that ARP-Path knows and the ports towards them, 100 or N at a time",
    ),
    (
        "flush-paths",
        "",
        "forget the hosts that ARP-Path knows, except static ones",
    ),
    (
        "add-path",
        "PORT=MAC[,VLAN]",
        "let ARP-Path know a host at a port, which does not move",
    ),
    (
        "del-path",
        "MAC[,VLAN]",
        "let ARP-Path forget a host, also a static one",
    ),
    ("queues", "[--json]", "the ports' queues and counters"),
    (
        "tables",
        "[--json]",
        "the tables, how many entries each has, and its counters",
    ),
    (
        "flows",
        "[--json] [--most N] [--from N] [FLOW]",
        "the entries that match (table=1,ip), 100 or N at a time; each page is sorted by priority",
    ),
    (
        "groups",
        "[--json] [--most N] [--from ID]",
        "the groups with their buckets and counters, 100 or N at a time",
    ),
    (
        "meters",
        "[--json] [--most N] [--from ID]",
        "the meters with their bands and counters, 100 or N at a time",
    ),
    (
        "capture",
        "PORT FILE [FLOW]",
        "copy a port's frames, or with PORT `openflow` messages, into FILE: pcapng, or .pcap",
    ),
    (
        "mirror",
        "PORT TO [FLOW]",
        "also send a port's frames out of the port TO",
    ),
    ("captures", "", "the active captures and mirrors"),
    ("end-capture", "FILE|TO", "end a capture or mirror"),
    (
        "messages",
        "[--json] [--from N]",
        "the last OpenFlow messages, which are kept for a minute after each such command",
    ),
    ("memory", "", "memory in use"),
    (
        "accelerator",
        "[--flows] [--json]",
        "print what the kernel forwards below the switch, and why not more; with the first flows",
    ),
    (
        "exports",
        "[--json]",
        "the collectors of sFlow and IPFIX, and what was sent to each",
    ),
    (
        "workers",
        "[--json]",
        "print how flows are divided among the threads that forward packets, and why",
    ),
    (
        "p4",
        "WORDS",
        "of a P4 program: tables, entries [TABLE [FROM]], counters [NAME], registers [NAME], \
         trace PORT HEX, or a command of simple_switch_CLI, as register_write r 0 1",
    ),
    (
        "trace",
        "[--json] [--names] PACKET",
        "explain what happens to a packet: HEX (port 1), IN_PORT HEX, or in_port=1,tcp,tcp_dst=80",
    ),
    (
        TRACE_NEXT,
        "[--json] [--names] FLOW",
        "the same for the next packet that matches: in_port=1,tcp",
    ),
    (
        "log",
        "LEVEL",
        "change the log level: error, warn, info, debug or trace",
    ),
    (
        "reload",
        "",
        "read the configuration file again and apply it",
    ),
    (
        ATTACH,
        "OPTIONS",
        "add these controllers and listeners while this connection is open (for ofprotocol)",
    ),
    (
        HAND_OVER,
        "",
        "give state and ports to the process that asks (for bofuss run --replace)",
    ),
    (
        "shutdown",
        "",
        "end the switch; the process ends with its last switch",
    ),
];

/// The list of [`COMMANDS`] as text.
pub fn list() -> String {
    COMMANDS
        .iter()
        .map(|(name, argument, meaning)| {
            format!(
                "{:<25} {meaning}\n",
                format!("{name} {argument}").trim_end()
            )
        })
        .collect()
}

/// A command from a peer.
pub struct CommandRequest {
    /// The switch that it is for.
    pub switch: Arc<str>,
    /// Its name.
    pub name: &'static str,
    /// Its argument; empty if it takes none.
    pub argument: String,
    /// The file that the peer opened for it, or its connection.
    pub file: Option<File>,
    /// Receives the answer.
    pub reply: oneshot::Sender<Answer>,
}

/// A listening unix socket, removed when dropped.
pub struct Socket {
    path: PathBuf,
    task: AbortHandle,
}

impl Socket {
    /// Listens at `path` for its owner alone, and replaces what is there; `accept` serves the
    /// connections.
    ///
    /// Errors: the socket's.
    pub fn open<T: Future<Output = ()> + Send + 'static>(
        path: &Path,
        accept: impl FnOnce(UnixListener) -> T,
    ) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let bound = UnixListener::bind(path).and_then(|listener| {
            rundir::set_access(path, None).map_err(io::Error::other)?;
            Ok(listener)
        });
        // An attempt that fails may have made the file.
        let listener = bound.inspect_err(|_| drop(fs::remove_file(path)))?;
        Ok(Self {
            path: path.into(),
            task: tokio::spawn(accept(listener)).abort_handle(),
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.task.abort();
        // The file may be gone already, together with its directory.
        let _ = fs::remove_file(&self.path);
    }
}

/// Listens at `path` for commands to the switch `name` and puts them into `requests`. Replaces what
/// is there.
///
/// Errors: the socket's.
pub fn listen(
    path: &Path,
    name: &str,
    requests: mpsc::Sender<CommandRequest>,
) -> io::Result<Socket> {
    let queue = (name.into(), requests);
    Socket::open(path, |listener| accept(listener, queue))
}

/// The name of a switch, and the queue for its commands.
type CommandQueue = (Arc<str>, mpsc::Sender<CommandRequest>);

async fn accept(listener: UnixListener, queue: CommandQueue) {
    let newcomers = Newcomers::default();
    let places = Arc::new(Semaphore::new(MAX_CONCURRENT_COMMANDS));
    loop {
        let (stream, newcomer) = newcomers.accept_user(&listener).await;
        let places = places.clone();
        let queue = queue.clone();
        tokio::spawn(async move {
            // If the peer is gone, nobody reads the error.
            let _ = serve(stream, newcomer, &places, queue).await;
        });
    }
}

async fn serve(
    mut stream: UnixStream,
    newcomer: Newcomer,
    places: &Semaphore,
    queue: CommandQueue,
) -> io::Result<()> {
    let entry = async {
        let line = timeout(PEER_TIMEOUT, CommandLine::read(&stream)).await??;
        Ok::<_, io::Error>((line, places.acquire().await))
    };
    let Some(entered) = newcomer.finish(entry).await else {
        stream.try_write(b"error too many commands wait: try again\n")?;
        return stream.shutdown().await;
    };
    let (line, _place) = entered?;
    let (name, answer) = match parse(&line.bytes) {
        Ok((name, argument)) if name == HAND_OVER => {
            // What follows is no answer of text.
            let connection = OwnedFd::from(stream.into_std()?);
            return ask(&queue, name, argument, Some(connection.into()))
                .await
                .map(drop)
                .map_err(io::Error::other);
        }
        Ok((name, argument)) => {
            let answer = tokio::select! {
                answer = ask(&queue, name, argument, line.file) => answer,
                () = left(&stream), if name == TRACE_NEXT => return Ok(()),
            };
            (name, answer)
        }
        Err(error) => ("", Err(error)),
    };
    let lasts = name == ATTACH && answer.is_ok();
    let text = match answer {
        Ok(text) => format!("ok\n{text}"),
        Err(error) => format!("error {error}\n"),
    };
    let written = timeout(PEER_TIMEOUT, stream.write_all(text.as_bytes())).await;
    if lasts {
        // The peer writes nothing more: the read ends when the connection does.
        let _ = stream.read_u8().await;
        for _ in 0..DETACH_TRIES {
            if ask(&queue, DETACH, String::new(), None).await.is_ok() {
                break;
            }
            sleep(LEAVING_INTERVAL).await;
        }
    }
    written??;
    stream.shutdown().await
}

/// Waits until the peer has closed its connection: one that only writes nothing more is there.
async fn left(stream: &UnixStream) {
    let mut is_there = true;
    while is_there {
        sleep(LEAVING_INTERVAL).await;
        // That it is closed is always reported.
        let mut polled = [PollFd::new(stream, PollFlags::empty())];
        let found = poll(&mut polled, Some(&Timespec::default()));
        is_there = found.is_ok() && !polled[0].revents().contains(PollFlags::HUP);
    }
}

/// A command as it was received.
#[derive(Default)]
struct CommandLine {
    bytes: Vec<u8>,
    file: Option<File>,
}

impl CommandLine {
    /// Reads to the end of a line, but at most [`MAX_COMMAND_BYTES`], and the file descriptor that
    /// is passed with it (SCM_RIGHTS, unix(7)). Errors: the system's.
    async fn read(stream: &UnixStream) -> io::Result<Self> {
        let mut line = Self::default();
        while !line.bytes.ends_with(b"\n") && line.bytes.len() < MAX_COMMAND_BYTES {
            let received = stream.async_io(Interest::READABLE, || line.receive(stream));
            if received.await? == 0 {
                break;
            }
        }
        Ok(line)
    }

    /// Receives what is there, and returns its length. Keeps the bytes up to the end of the line,
    /// and the first descriptor; others are closed.
    fn receive(&mut self, stream: &UnixStream) -> io::Result<usize> {
        let mut bytes = [0; MAX_COMMAND_BYTES];
        let room = &mut bytes[self.bytes.len()..];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received = recvmsg(stream, &mut [IoSliceMut::new(room)], &mut ancillary, flags)?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                for descriptor in descriptors {
                    self.file.get_or_insert(descriptor.into());
                }
            }
        }
        let received = &room[..received.bytes];
        let newline = received.iter().position(|byte| *byte == b'\n');
        let end = newline.map_or(received.len(), |at| at + 1);
        self.bytes.extend(&received[..end]);
        Ok(received.len())
    }
}

/// Queues a command and waits for its answer.
async fn ask(
    (switch, requests): &CommandQueue,
    name: &'static str,
    argument: String,
    file: Option<File>,
) -> Result<String> {
    let (reply, answered) = oneshot::channel();
    let request = CommandRequest {
        switch: Arc::clone(switch),
        name,
        argument,
        file,
        reply,
    };
    let _ = requests.send(request).await;
    answered
        .await
        .unwrap_or_else(|_| Err("the switch is ending".into()))
}

/// Parses a line: a command of the list, and its argument. Errors: a sentence for the peer.
fn parse(line: &[u8]) -> Result<(&'static str, String)> {
    if line.last() != Some(&b'\n') {
        return Err(format!("a command is one line of at most {MAX_COMMAND_BYTES} bytes").into());
    }
    let line = std::str::from_utf8(line).map_err(|_| "a command is text in UTF-8".to_string())?;
    let (word, argument) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let Some((name, takes, _)) = COMMANDS.iter().find(|row| row.0 == word) else {
        return Err(format!("there is no command '{word}' ('list' shows them)").into());
    };
    let is_optional = takes.starts_with('[') && takes.ends_with(']');
    match (argument.trim(), *takes) {
        ("", wanted) if wanted.is_empty() || is_optional => Ok((name, String::new())),
        ("", wanted) => Err(format!("{name} needs {wanted}").into()),
        (extra, "") => Err(format!("{name} takes no argument, but '{extra}' was given").into()),
        (argument, _) => Ok((name, argument.into())),
    }
}

#[cfg(test)]
mod tests {
    use bofuss_channel::MAX_NEWCOMERS;

    use super::*;

    #[test]
    fn lines_that_are_no_commands_are_refused_with_a_reason() {
        let refusal = |line: &[u8]| parse(line).expect_err("it is wrong");
        assert!(refusal(b"ports").text.contains("one line"));
        assert!(refusal(b"\n").text.contains("no command ''"));
        assert!(refusal(b"port\n").text.contains("'list' shows them"));
        assert!(
            refusal(b"counters now\n")
                .text
                .contains("takes no argument")
        );
        assert!(refusal(b"add-port \n").text.contains("needs PORT"));
        assert!(refusal(b"log \xff\n").text.contains("UTF-8"));
        assert_eq!(parse(b" log  debug\r\n"), Ok(("log", "debug".into())));
    }

    #[tokio::test]
    async fn silent_peers_keep_no_command_waiting() {
        let path = std::env::temp_dir().join(format!("bofuss-peers-{}", std::process::id()));
        let (to, mut requests) = mpsc::channel::<CommandRequest>(1);
        let _socket = listen(&path, "s1", to).expect("it can be made");
        tokio::spawn(async move {
            while let Some(request) = requests.recv().await {
                let _ = request.reply.send(Ok(String::new()));
            }
        });
        let connect = async || UnixStream::connect(&path).await.expect("it listens");
        let mut silent = Vec::new();
        for _ in 0..2 * MAX_NEWCOMERS {
            silent.push(connect().await);
        }
        let ask = async |mut peer: UnixStream| {
            peer.write_all(b"list\n").await.expect("it is open");
            let mut said = String::new();
            let read = timeout(Duration::from_millis(500), peer.read_to_string(&mut said)).await;
            read.is_ok() && said == "ok\n"
        };
        assert!(ask(connect().await).await);
        // The oldest gave way.
        let mut said = String::new();
        let read = silent[0].read_to_string(&mut said).await;
        assert!(read.is_ok() && said.starts_with("error too many commands wait"));
    }

    #[test]
    fn the_list_names_each_command_once() {
        let lines = list();
        for (name, ..) in COMMANDS {
            let named = lines
                .lines()
                .filter(|line| line.split(' ').next() == Some(name));
            assert_eq!(named.count(), 1, "{name}");
        }
    }
}
