//! A real controller of a simulated network, over TCP, in lock step.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bofuss_datapath::Time;
use bofuss_oflib::HEADER_BYTES;
use bofuss_sim::NodeId;
use bofuss_sim::controller::{Controller, ControllerOutput};

use crate::error::{Result, context};

/// The time that the simulation waits for a controller, by the wall clock.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The time to sleep between looks at sockets that have nothing.
const POLL_PAUSE: Duration = Duration::from_micros(200);
/// The simulated time between two looks at a controller, if time runs with the wall clock.
const POLL_NANOS: u64 = 1_000_000;
/// The number of echo requests that a controller answers in turn before time goes on. One that
/// queues messages inside may answer the first before it has handled all that came earlier; when it
/// answers the second, it has.
const ROUNDS: u32 = 2;
/// The transaction ids of our echo requests begin here.
const FIRST_XID: u32 = 0x7369_6d00;
/// Types of messages. Spec: OpenFlow 1.3.5 section 7.1.
const ECHO_REQUEST: u8 = 2;
const ECHO_REPLY: u8 = 3;

/// The number of messages that controllers sent late.
pub type Lateness = Rc<Cell<u64>>;

/// The socket of one switch's connection.
struct ControllerSocket {
    stream: TcpStream,
    /// The beginning of a message whose end has not come.
    partial: Vec<u8>,
    /// The version of the messages that the controller sends, once it has sent one.
    version: Option<u8>,
    /// The transaction id of the echo request that is not answered yet.
    awaited: Option<u32>,
}

/// A controller at an address. After each event that it is given, the simulation's time stops until
/// it has answered echo requests on all its connections; not so with the wall clock.
pub struct TcpController {
    address: SocketAddr,
    wall_clock: bool,
    sockets: BTreeMap<NodeId, ControllerSocket>,
    /// The bytes that came for each switch in this call. They are passed on as one piece, however
    /// TCP cut it.
    collected: BTreeMap<NodeId, Vec<u8>>,
    next_xid: u32,
    now: Time,
    /// The reason for which a connection was lost; the first, if there are several.
    error: Option<String>,
    lateness: Lateness,
}

impl TcpController {
    /// A controller at `address`, `HOST:PORT` or `tcp:HOST:PORT`. Errors: a sentence.
    pub fn new(address: &str, wall_clock: bool, lateness: Lateness) -> Result<Self> {
        let bare = address.strip_prefix("tcp:").unwrap_or(address);
        let mut resolved = bare.to_socket_addrs().map_err(context(address))?;
        let address = resolved
            .next()
            .ok_or_else(|| format!("{address}: it has no address"))?;
        Ok(Self {
            address,
            wall_clock,
            sockets: BTreeMap::new(),
            collected: BTreeMap::new(),
            next_xid: FIRST_XID,
            now: Time(0),
            error: None,
            lateness,
        })
    }

    /// Gives up a connection, and reports why.
    fn fail(&mut self, switch: NodeId, error: &str) {
        self.sockets.remove(&switch);
        let text = format!("controller {}: {error}", self.address);
        self.error.get_or_insert(text);
    }

    /// Reads what came since the controller last answered, and counts it as late, unless it begins
    /// with the HELLO.
    fn read_late(&mut self) {
        let switches: Vec<NodeId> = self.sockets.keys().copied().collect();
        for switch in switches {
            let has_greeted = self.sockets[&switch].version.is_some();
            if self.read_from(switch) && has_greeted && !self.wall_clock {
                self.lateness.update(|late| late + 1);
            }
        }
    }

    /// Waits until the controller has handled what it was sent.
    fn settle(&mut self) {
        if self.wall_clock {
            self.read_all();
            return;
        }
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        // It says HELLO before anything else.
        while self.sockets.values().any(|socket| socket.version.is_none()) {
            if !self.wait(deadline) {
                return;
            }
        }
        for _ in 0..ROUNDS {
            self.ask();
            while self.sockets.values().any(|socket| socket.awaited.is_some()) {
                if !self.wait(deadline) {
                    return;
                }
            }
        }
    }

    /// Reads what there is, or sleeps. Returns false after the deadline, and gives up connections
    /// without an answer.
    fn wait(&mut self, deadline: Instant) -> bool {
        if !self.read_all() {
            std::thread::sleep(POLL_PAUSE);
        }
        let in_time = Instant::now() < deadline;
        if !in_time {
            let sockets = self.sockets.iter();
            let silent = sockets.filter(|(_, socket)| socket.is_silent());
            for switch in silent.map(|(switch, _)| *switch).collect::<Vec<_>>() {
                self.fail(switch, "no answer within 10 s");
            }
        }
        in_time
    }

    /// Sends an echo request on each connection.
    fn ask(&mut self) {
        let mut lost = Vec::new();
        for (&switch, socket) in &mut self.sockets {
            let xid = self.next_xid;
            self.next_xid = self.next_xid.wrapping_add(1).max(FIRST_XID);
            let version = socket.version.unwrap_or(1);
            let mut request = vec![version, ECHO_REQUEST, 0, HEADER_BYTES as u8];
            request.extend(xid.to_be_bytes());
            socket.awaited = Some(xid);
            if let Err(error) = socket.write(&request) {
                lost.push((switch, error.to_string()));
            }
        }
        for (switch, error) in lost {
            self.fail(switch, &error);
        }
    }

    /// Reads what the controller has sent. Returns true if there was anything.
    fn read_all(&mut self) -> bool {
        let switches: Vec<NodeId> = self.sockets.keys().copied().collect();
        let mut any = false;
        for switch in switches {
            any |= self.read_from(switch);
        }
        any
    }

    /// The same for one connection.
    fn read_from(&mut self, switch: NodeId) -> bool {
        let Some(socket) = self.sockets.get_mut(&switch) else {
            return false;
        };
        match socket.read() {
            Ok(bytes) if bytes.is_empty() => false,
            Ok(bytes) => {
                let messages = socket.whole_messages(&bytes);
                self.collected.entry(switch).or_default().extend(messages);
                true
            }
            Err(error) => {
                self.fail(switch, &error.to_string());
                false
            }
        }
    }

    /// Passes on what was read, and ends the run if a connection was lost.
    fn pass_on(&mut self, out: &mut ControllerOutput) {
        for (switch, bytes) in std::mem::take(&mut self.collected) {
            if !bytes.is_empty() {
                out.send_bytes(switch, bytes);
            }
        }
        if let Some(error) = self.error.take() {
            out.fail(error);
        }
    }
}

impl ControllerSocket {
    /// Returns true if the controller's HELLO or its answer to an echo request has not come.
    fn is_silent(&self) -> bool {
        self.version.is_none() || self.awaited.is_some()
    }

    /// Writes all, and waits for room if there is none.
    fn write(&mut self, mut bytes: &[u8]) -> std::io::Result<()> {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if Instant::now() > deadline {
                        return Err(ErrorKind::TimedOut.into());
                    }
                    std::thread::sleep(POLL_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads the bytes that have come, if any. Errors: the system's, UnexpectedEof at the end.
    fn read(&mut self) -> std::io::Result<Vec<u8>> {
        let mut buffer = vec![0; 65_536];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buffer.truncate(count);
                Ok(buffer)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The messages that are whole now, without replies to our own echo requests.
    fn whole_messages(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.partial.extend(bytes);
        let mut whole = Vec::new();
        while self.partial.len() >= HEADER_BYTES {
            let says = usize::from(u16::from_be_bytes([self.partial[2], self.partial[3]]));
            // A length that cannot be is for the switch to refuse.
            let length = says.max(HEADER_BYTES);
            if self.partial.len() < length {
                break;
            }
            let rest = self.partial.split_off(length);
            let message = std::mem::replace(&mut self.partial, rest);
            self.version = Some(message[0].min(self.version.unwrap_or(u8::MAX)));
            let xid = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
            if message[1] == ECHO_REPLY && self.awaited == Some(xid) {
                self.awaited = None;
            } else {
                whole.extend(message);
            }
        }
        whole
    }
}

impl Controller for TcpController {
    fn takes_bytes(&self) -> bool {
        true
    }

    fn connected(&mut self, now: Time, switch: NodeId, out: &mut ControllerOutput) {
        self.now = now;
        let opened = TcpStream::connect_timeout(&self.address, ANSWER_TIMEOUT);
        let prepared = opened.and_then(|stream| {
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        });
        match prepared {
            Ok(stream) => {
                let socket = ControllerSocket {
                    stream,
                    partial: Vec::new(),
                    version: None,
                    awaited: None,
                };
                self.sockets.insert(switch, socket);
            }
            Err(error) => self.fail(switch, &error.to_string()),
        }
        self.pass_on(out);
    }

    fn disconnected(&mut self, _: Time, switch: NodeId, _: &mut ControllerOutput) {
        self.sockets.remove(&switch);
    }

    fn bytes(&mut self, now: Time, switch: NodeId, bytes: &[u8], out: &mut ControllerOutput) {
        self.now = now;
        self.read_late();
        let Some(socket) = self.sockets.get_mut(&switch) else {
            return self.pass_on(out);
        };
        if let Some(version) = bytes.first() {
            // A controller answers in the lower of the two versions.
            let own = socket.version.unwrap_or(*version);
            socket.version = socket.version.map(|_| own.min(*version));
        }
        if let Err(error) = socket.write(bytes) {
            self.fail(switch, &error.to_string());
        }
        self.settle();
        self.pass_on(out);
    }

    fn tick(&mut self, now: Time, out: &mut ControllerOutput) {
        self.now = now;
        self.read_all();
        self.pass_on(out);
    }

    fn next_tick(&self) -> Option<Time> {
        let polls = self.wall_clock && !self.sockets.is_empty();
        polls.then(|| self.now.after(POLL_NANOS))
    }
}
