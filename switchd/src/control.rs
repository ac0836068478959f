//! The control socket: a line with a command in, `ok` or `error SENTENCE` and then text out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use bofuss_channel::{Newcomer, Newcomers, Source};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::dataplane::Answer;
use crate::rundir;

/// The longest command, in bytes with its end of line.
pub const MAX_COMMAND_BYTES: u64 = 4096;
/// How long a peer may take to write its command, and then to read the answer.
const PEER_PATIENCE: Duration = Duration::from_secs(10);
/// Commands that are carried out at a time; more wait, among those that are not read yet.
const MAX_PEERS: usize = 16;
/// The wait after a peer could not be accepted, which is for want of descriptors.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The command whose connection lasts; its end is another, which nobody can type.
const ATTACH: &str = "attach";
const DETACH: &str = "detach";

/// Commands: name, argument, what it does.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("list", "", "these commands"),
    ("switches", "", "the switches of this process"),
    ("ports", "", "the ports, their links and counters"),
    (
        "add-port",
        "PORT",
        "open a port: [NUMBER=]INTERFACE, tap:NAME, pcap:IN[,OUT]",
    ),
    (
        "del-port",
        "PORT",
        "close the port of this number or interface",
    ),
    ("controllers", "", "the connections that are up"),
    ("counters", "", "packets dropped, by reason"),
    ("queues", "", "the ports' queues and counters"),
    (
        "capture",
        "PORT FILE [FLOW]",
        "copy a port's frames, or with PORT `openflow` messages, into FILE: pcapng, or .pcap",
    ),
    (
        "mirror",
        "PORT TO [FLOW]",
        "send copies of a port's frames out of the port TO as well",
    ),
    ("captures", "", "the captures and mirrors that go on"),
    ("end-capture", "FILE|TO", "end a capture or mirror"),
    ("memory", "", "memory in use"),
    (
        "trace",
        "[--json] PACKET",
        "tell the way of a packet: HEX, IN_PORT HEX, or in_port=1,tcp,tcp_dst=80",
    ),
    (
        "trace-next",
        "[--json] FLOW",
        "the same of the next packet that matches: in_port=1,tcp",
    ),
    (
        "log",
        "LEVEL",
        "log from now on: error, warn, info, debug or trace",
    ),
    (
        "reload",
        "",
        "read the configuration file again and become what it says",
    ),
    (
        ATTACH,
        "OPTIONS",
        "have these controllers and listeners too while the connection lasts, for ofprotocol",
    ),
    (
        "shutdown",
        "",
        "end the switch; the process ends with its last",
    ),
];

/// What [`COMMANDS`] says, for people.
pub fn list() -> String {
    let line = |(name, argument, meaning): &(&str, &str, &str)| {
        format!(
            "{:<25} {meaning}\n",
            format!("{name} {argument}").trim_end()
        )
    };
    COMMANDS.iter().map(line).collect()
}

/// A command from a peer.
pub struct Request {
    /// The switch that it is for.
    pub switch: Arc<str>,
    /// Its name.
    pub name: &'static str,
    /// Its argument; empty if it takes none.
    pub argument: String,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Answer>,
}

/// The socket; it goes when dropped.
pub struct Socket {
    path: PathBuf,
    task: AbortHandle,
}

impl Socket {
    /// Listens at `path`, in place of what is there, for its owner alone; `accept` takes who comes.
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
        let listener = UnixListener::bind(path)?;
        rundir::close(path, None).map_err(io::Error::other)?;
        Ok(Self {
            path: path.into(),
            task: tokio::spawn(accept(listener)).abort_handle(),
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.task.abort();
        // It may be gone already, with its directory.
        let _ = fs::remove_file(&self.path);
    }
}

/// Listens for the switch `name` at `path`, in place of what is there, and puts commands into
/// `requests`.
///
/// Errors: the socket's.
pub fn listen(path: &Path, name: &str, requests: mpsc::Sender<Request>) -> io::Result<Socket> {
    let operator = (name.into(), requests);
    Socket::open(path, |listener| accept(listener, operator))
}

/// A switch, and who obeys for it.
type Operator = (Arc<str>, mpsc::Sender<Request>);

async fn accept(listener: UnixListener, operator: Operator) {
    let newcomers = Newcomers::default();
    let places = Arc::new(Semaphore::new(MAX_PEERS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let user = stream.peer_cred().ok().map(|cred| cred.uid());
        let newcomer = newcomers.admit(Source::User(user));
        let (places, operator) = (places.clone(), operator.clone());
        tokio::spawn(async move {
            // A peer that goes away has nobody to be told.
            let _ = serve(stream, newcomer, &places, operator).await;
        });
    }
}

async fn serve(
    stream: UnixStream,
    newcomer: Newcomer,
    places: &Semaphore,
    operator: Operator,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    let mut limited = (&mut stream).take(MAX_COMMAND_BYTES);
    let entry = async {
        timeout(PEER_PATIENCE, limited.read_until(b'\n', &mut line)).await??;
        Ok::<_, io::Error>(places.acquire().await)
    };
    let Some(entered) = newcomer.finish(entry).await else {
        return Ok(());
    };
    let _place = entered?;
    let (name, answer) = match parse(&line) {
        Ok((name, argument)) => (name, ask(&operator, name, argument).await),
        Err(error) => ("", Err(error)),
    };
    let lasts = name == ATTACH && answer.is_ok();
    let text = match answer {
        Ok(text) => format!("ok\n{text}"),
        Err(error) => format!("error {error}\n"),
    };
    let written = timeout(PEER_PATIENCE, stream.write_all(text.as_bytes())).await;
    if lasts {
        // The peer says nothing more, and its end is told however it comes.
        let _ = stream.read_u8().await;
        let _ = ask(&operator, DETACH, String::new()).await;
    }
    written??;
    stream.shutdown().await
}

/// Has a command done.
async fn ask(
    (switch, requests): &Operator,
    name: &'static str,
    argument: String,
) -> Result<String, String> {
    let (reply, answered) = oneshot::channel();
    let request = Request {
        switch: Arc::clone(switch),
        name,
        argument,
        reply,
    };
    let _ = requests.send(request).await;
    answered
        .await
        .unwrap_or_else(|_| Err("the switch is ending".into()))
}

/// Takes a line apart: a command of the list, and its argument.
fn parse(line: &[u8]) -> Result<(&'static str, String), String> {
    if line.last() != Some(&b'\n') {
        return Err(format!(
            "a command is one line of at most {MAX_COMMAND_BYTES} bytes"
        ));
    }
    let line = std::str::from_utf8(line).map_err(|_| "a command is text in UTF-8".to_string())?;
    let (word, argument) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let Some((name, takes, _)) = COMMANDS.iter().find(|row| row.0 == word) else {
        return Err(format!("there is no command '{word}' ('list' shows them)"));
    };
    match (argument.trim(), *takes) {
        ("", "") => Ok((name, String::new())),
        ("", wanted) => Err(format!("{name} wants its {wanted}")),
        (extra, "") => Err(format!("{name} takes nothing, and here is '{extra}'")),
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
        assert!(refusal(b"ports").contains("one line"));
        assert!(refusal(b"\n").contains("no command ''"));
        assert!(refusal(b"port\n").contains("'list' shows them"));
        assert!(refusal(b"ports now\n").contains("takes nothing"));
        assert!(refusal(b"add-port \n").contains("wants its PORT"));
        assert!(refusal(b"log \xff\n").contains("UTF-8"));
        assert_eq!(parse(b" log  debug\r\n"), Ok(("log", "debug".into())));
    }

    #[tokio::test]
    async fn silent_peers_keep_no_command_waiting() {
        let path = std::env::temp_dir().join(format!("bofuss-peers-{}", std::process::id()));
        let (to, mut requests) = mpsc::channel::<Request>(1);
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
        let read = silent[0].read(&mut [0]).await;
        assert!(matches!(read, Ok(0) | Err(_)));
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
