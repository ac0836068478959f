//! What passes between a switch and the process that takes it over, on a connection to the control
//! socket.
//!
//! ```text
//! successor                        switch
//! hand-over\n              ->
//!                          <-      ok\n
//!                                  a line of JSON (Names), and with it descriptors
//!                                  its state: 8 bytes of length, and the state
//! it receives, too
//! BEGIN                    ->      it receives no more
//!                          <-      STOPPED
//! drops what both received         it sends what it has received, and leaves its ports
//!                          <-      LEFT, the last states of extensions
//! DONE: it forwards        ->      its accelerator has forwarded known flows until now
//!                          <-      its state again, with what happened meanwhile
//! ```
//!
//! Known flows of the accelerator are decided by the switch's program until DONE: it is the filter
//! of the successor's sockets, too.
//!
//! A switch that refuses says `error SENTENCE`. Whoever closes the connection before BEGIN gives
//! up, and the switch goes on.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::{MaybeUninit, take};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bofuss_embed::saved::{MAX_STATE_BYTES, seal};
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, context};

/// The command that begins it.
pub const HAND_OVER: &str = "hand-over";
/// The command by which the thread of a hand-over ends the switch; no peer can send it.
pub const LEAVE: &str = "leave";
/// The time that the successor may take to be ready, while changes wait: a switch with a million
/// entries is made in it, and tools that wait 10 s for their answer get it.
const MOST_HELD: Duration = Duration::from_secs(8);
/// The time that the running switch may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the successor says when it is ready.
const BEGIN: &[u8; 1] = b"b";
/// What the switch says when it receives no more,
pub const STOPPED: &[u8; 1] = b"s";
/// and when it has left its ports.
pub const LEFT: &[u8; 1] = b"l";
/// What the successor says when it forwards.
const DONE: &[u8; 1] = b"d";
/// The time that it may take from [`LEFT`] until then.
const MOST_AWAITED: Duration = Duration::from_secs(2);
/// Why nothing comes any more.
const ENDED: &str = "--replace: the running switch has ended, or waited for this one no longer";
/// How a connection fails that the peer has closed,
const CLOSED: [ErrorKind; 3] = [
    ErrorKind::UnexpectedEof,
    ErrorKind::BrokenPipe,
    ErrorKind::ConnectionReset,
];
/// and one whose time is over.
const LATE: [ErrorKind; 2] = [ErrorKind::WouldBlock, ErrorKind::TimedOut];
/// Most descriptors that are handed over; the kernel passes 253 at once.
const MOST_DESCRIPTORS: usize = 250;
/// The most bytes that the kernel takes as one part.
const WRITTEN_AT_ONCE: usize = 1 << 14;
/// The longest line that is read.
const MAX_LINE_BYTES: usize = 1 << 20;

/// What a switch leaves beside its state.
#[derive(Default)]
pub struct Left {
    /// Its interfaces, and the descriptors with which they go.
    ports: Vec<(String, Option<OwnedFd>)>,
    /// Its listening sockets, by their addresses.
    pub listeners: Vec<(String, OwnedFd)>,
    /// The folder of its states, locked.
    pub state_folder: Option<OwnedFd>,
    /// What its accelerator has.
    pub below: Option<Below>,
}

/// The filter of an accelerator, which knows what the kernel forwards.
pub struct Below {
    pub filter: Arc<OwnedFd>,
    /// The interfaces whose frames it sees.
    pub interfaces: Vec<String>,
}

/// The line with the names of what is left; descriptors come in the order of these fields.
#[derive(Serialize, Deserialize)]
struct Names {
    /// Interfaces, and whether there is a descriptor.
    ports: Vec<(String, bool)>,
    /// The addresses of listening sockets.
    listeners: Vec<String>,
    /// Whether there is a folder of states.
    has_state_folder: bool,
    /// The accelerated interfaces, if there is an accelerator.
    accelerated: Option<Vec<String>>,
}

impl Left {
    /// Adds an interface.
    pub fn add(&mut self, interface: &str, descriptor: Option<OwnedFd>) {
        self.ports.push((interface.into(), descriptor));
    }
}

/// The switch's end of the connection, which fails after a time: a peer that reads slowly may not
/// hold changes for long.
pub struct Successor {
    stream: UnixStream,
    end: Instant,
}

impl Successor {
    /// Begins on a connection that has sent [`HAND_OVER`]. Errors: the system's.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        let end = Instant::now() + MOST_HELD;
        Ok(Self { stream, end })
    }

    /// Waits no longer than to the end from now on. Errors: that is over.
    fn limit(&self) -> io::Result<()> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.set_write_timeout(Some(left))
    }

    /// Refuses to hand over.
    pub fn refuse(mut self, why: &Error) {
        // It may be gone.
        let _ = self.write_all(format!("error {why}\n").as_bytes());
    }

    /// Hands over what there is, and waits until the successor is ready. Returns the connection.
    ///
    /// Errors: a sentence: it has given up.
    pub fn prepare(self, left: &Left, state: Vec<u8>) -> Result<UnixStream> {
        self.try_prepare(left, state).map_err(|error| {
            let kind = error.kind();
            if CLOSED.contains(&kind) {
                "it has closed the connection".into()
            } else if LATE.contains(&kind) {
                format!("it was not ready after {} s", MOST_HELD.as_secs()).into()
            } else {
                error.into()
            }
        })
    }

    fn try_prepare(mut self, left: &Left, mut state: Vec<u8>) -> io::Result<UnixStream> {
        let ports = left.ports.iter();
        let names = Names {
            ports: ports
                .map(|port| (port.0.clone(), port.1.is_some()))
                .collect(),
            listeners: left
                .listeners
                .iter()
                .map(|socket| socket.0.clone())
                .collect(),
            has_state_folder: left.state_folder.is_some(),
            accelerated: left.below.as_ref().map(|below| below.interfaces.clone()),
        };
        let line = format!("ok\n{}\n", serde_json::to_string(&names)?);
        let made = left.ports.iter().filter_map(|port| port.1.as_ref());
        let listeners = left.listeners.iter().map(|socket| &socket.1);
        let filter = left.below.iter().map(|below| &*below.filter);
        let all = made
            .chain(listeners)
            .chain(&left.state_folder)
            .chain(filter);
        let descriptors: Vec<_> = all.map(AsFd::as_fd).collect();
        if descriptors.len() > MOST_DESCRIPTORS {
            return Err(io::Error::other(
                "it has too many TAP and TUN ports, and listeners",
            ));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        let slices = [IoSlice::new(line.as_bytes())];
        self.limit()?;
        let sent = sendmsg(&self.stream, &slices, &mut ancillary, SendFlags::NOSIGNAL)?;
        self.write_all(&line.as_bytes()[sent..])?;
        seal(&mut state);
        send_state(&mut self, &state)?;
        let mut begin = [0; BEGIN.len()];
        self.limit()?;
        self.stream.read_exact(&mut begin)?;
        if begin != *BEGIN {
            return Err(io::Error::other("it said something else"));
        }
        self.stream.set_write_timeout(Some(MOST_HELD))?;
        // For `await_done`.
        self.stream.set_read_timeout(Some(MOST_AWAITED))?;
        Ok(self.stream)
    }
}

impl Write for Successor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.limit()?;
        // The kernel's limit is for each part of a long write.
        self.stream
            .write(&bytes[..bytes.len().min(WRITTEN_AT_ONCE)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn send_state(stream: &mut impl Write, state: &[u8]) -> io::Result<()> {
    stream.write_all(&(state.len() as u64).to_be_bytes())?;
    stream.write_all(state)
}

/// Waits until the successor forwards. Errors: the system's, also that this takes too long.
pub fn await_done(stream: &mut UnixStream) -> io::Result<()> {
    let mut done = [0; DONE.len()];
    stream.read_exact(&mut done)
}

/// Sends the state of a switch that has left its ports; nothing if it cannot be written.
///
/// Errors: the system's.
pub fn send_last_state(stream: &mut UnixStream, state: Result<Vec<u8>>) -> io::Result<()> {
    let mut state = state.map_err(io::Error::other)?;
    seal(&mut state);
    send_state(stream, &state)
}

/// A running switch that is taken over.
pub struct Predecessor {
    stream: UnixStream,
    left: Left,
    /// Its state.
    pub state: Vec<u8>,
}

impl Predecessor {
    /// Asks the switch at this control socket to hand over. Errors: it refuses, or does not answer.
    pub fn ask(path: &Path) -> Result<Self> {
        Self::try_ask(path).map_err(context(format_args!("--replace: {}", path.display())))
    }

    fn try_ask(path: &Path) -> Result<Self> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{HAND_OVER}\n").as_bytes())?;
        let mut descriptors = Vec::new();
        let first = read_line(&stream, &mut descriptors)?;
        if first != "ok" {
            return Err(first.trim_start_matches("error ").into());
        }
        let names = read_line(&stream, &mut descriptors)?;
        let left = of_names(&names, descriptors).ok_or("it sent something else")?;
        let state = read_state(&mut stream)?;
        Ok(Self {
            stream,
            left,
            state,
        })
    }

    /// What it has left of a port, if the port is its own: a descriptor, if the interface goes with
    /// it.
    pub fn port(&mut self, interface: &str) -> Option<Option<OwnedFd>> {
        let mut ports = self.left.ports.iter_mut();
        let (_, descriptor) = ports.find(|port| port.0 == interface)?;
        Some(take(descriptor))
    }

    /// Its listening sockets, by their addresses.
    pub fn take_listeners(&mut self) -> Vec<(String, OwnedFd)> {
        take(&mut self.left.listeners)
    }

    /// The folder of its states, which is locked.
    pub fn take_state_folder(&mut self) -> Option<OwnedFd> {
        self.left.state_folder.take()
    }

    /// What its accelerator has.
    pub fn below(&self) -> Option<&Below> {
        self.left.below.as_ref()
    }

    /// Tells it that this switch forwards. Errors: it is gone.
    pub fn done(&mut self) -> Result<()> {
        self.stream.write_all(DONE).map_err(context(ENDED))
    }

    /// Lets it begin to leave its ports, and waits until it receives no more. Errors: it is gone,
    /// or does not answer.
    pub fn begin(&mut self) -> Result<()> {
        self.stream.write_all(BEGIN).map_err(context(ENDED))?;
        self.hear(STOPPED)
    }

    /// Waits until it has left its ports. Errors: as [`Self::begin`].
    pub fn wait(&mut self) -> Result<()> {
        self.hear(LEFT)
    }

    fn hear(&mut self, wanted: &[u8; 1]) -> Result<()> {
        let mut heard = [0];
        self.stream.read_exact(&mut heard).map_err(context(ENDED))?;
        if heard != *wanted {
            return Err("--replace: the running switch says something else".into());
        }
        Ok(())
    }

    /// Its state when it had left. Errors: it is gone, or it could not be written.
    pub fn last_state(&mut self) -> Result<Vec<u8>> {
        read_state(&mut self.stream).map_err(context("--replace: the last state"))
    }
}

fn of_names(line: &str, descriptors: Vec<OwnedFd>) -> Option<Left> {
    let names: Names = serde_json::from_str(line).ok()?;
    let mut descriptors = descriptors.into_iter();
    let mut left = Left::default();
    for (name, is_made) in names.ports {
        let descriptor = if is_made {
            Some(descriptors.next()?)
        } else {
            None
        };
        left.ports.push((name, descriptor));
    }
    for address in names.listeners {
        left.listeners.push((address, descriptors.next()?));
    }
    if names.has_state_folder {
        left.state_folder = Some(descriptors.next()?);
    }
    if let Some(interfaces) = names.accelerated {
        let filter = Arc::new(descriptors.next()?);
        left.below = Some(Below { filter, interfaces });
    }
    Some(left)
}

/// Reads a line, byte by byte, as the state comes after it, and the descriptors that come with it.
fn read_line(stream: &UnixStream, descriptors: &mut Vec<OwnedFd>) -> io::Result<String> {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = retry_on_intr(|| {
            let place = &mut [IoSliceMut::new(&mut byte)];
            recvmsg(stream, place, &mut ancillary, flags)
        })?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(passed) = message {
                descriptors.extend(passed);
            }
        }
        if received.bytes == 0 || line.len() == MAX_LINE_BYTES {
            return Err(io::Error::other("it does not answer"));
        }
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).trim_end().into())
}

fn read_state(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    stream.read_exact(&mut length)?;
    let length = u64::from_be_bytes(length);
    if length > MAX_STATE_BYTES as u64 {
        return Err(io::Error::other("it is too large"));
    }
    let mut state = Vec::new();
    stream.take(length).read_to_end(&mut state)?;
    Ok(state)
}
