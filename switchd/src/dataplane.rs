//! The data-plane thread: owns the switch and its ports, waits in epoll and feeds the switch.

mod command;
mod events;
mod links;
mod loop_counters;
mod reconfigure;
mod scrape;
mod status;
mod trace;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use bofuss_agent::{ConnId, Request, Switch};
use bofuss_channel::{Endpoint, Event, Origin, QueuePlace, Reason};
use bofuss_datapath::Time;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::ErrorMsg;
use bofuss_oflib::{EncodeError, PortNo, Version};
use bofuss_ports::{BATCH_FRAMES, LinkMonitor, PortError};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, info, warn};

use crate::config::Config;
use crate::plane_io::{DataPlaneIo, conn_id};
use crate::port::OpenPort;
use crate::refusal;

use events::Wake;
use trace::PendingTrace;

pub use command::{Answer, Operation, OperatorCommand};
use loop_counters::LoopCounters;
pub use scrape::Scrape;

/// Inputs of the thread other than events of connections.
pub enum Input {
    /// A command of an operator.
    Command(OperatorCommand),
    /// A request for metrics: collect one more slice.
    Scrape(Box<Scrape>, oneshot::Sender<Box<Scrape>>),
    /// Close the switch.
    End,
}

/// Bytes of frames that a switch holds at most: received, queued and buffered.
pub const POOL_BYTES: usize = 64 << 20;
/// How long the thread sleeps at most. A port whose driver is stuck does not wake it.
const LONGEST_SLEEP: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};
/// Tokens of the epoll set that are no ports.
const WAKE: u64 = u64::MAX;
const LINKS: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;

/// The state of the main loop.
pub struct DataPlane {
    switch: Switch,
    io: DataPlaneIo,
    pool: Pool,
    epoll: OwnedFd,
    wake: Arc<Wake>,
    monitor: LinkMonitor,
    events: mpsc::Receiver<Event>,
    /// Events that were taken from the queue and not yet handled.
    taken: VecDeque<Event>,
    /// The queue places of handled messages, released after the last of them.
    served: Option<QueuePlace>,
    inputs: mpsc::Receiver<Input>,
    /// Requests to trace the next matching packet.
    pending_traces: Vec<PendingTrace>,
    /// The configuration, as commands have changed it.
    config: Config,
    /// Messages of connections whose previous reply is not complete.
    backlog: BTreeMap<bofuss_channel::ConnId, VecDeque<Event>>,
    /// The connection of the backlog that was served last.
    last_of_backlog: bofuss_channel::ConnId,
    /// Wakes the loop at the next tick with microsecond precision; epoll's timeout is in
    /// milliseconds.
    timer: OwnedFd,
    /// When the timer expires.
    alarm: Option<Time>,
    epoch: Instant,
    /// When the drivers' counters were last read.
    counted: Time,
    counters: LoopCounters,
}

/// The parameters of [`DataPlane::new`].
pub struct DataPlaneParts {
    /// The switch, without ports.
    pub switch: Switch,
    /// The pool of its frames.
    pub pool: Pool,
    /// Its open ports.
    pub ports: Vec<OpenPort>,
    /// The configuration that the switch was started with.
    pub config: Config,
    /// Events of connections.
    pub events: mpsc::Receiver<Event>,
    /// Commands and scrapes.
    pub inputs: mpsc::Receiver<Input>,
    /// Reports changes of links in the ports' network namespace.
    pub monitor: LinkMonitor,
}

impl DataPlane {
    /// Registers all descriptors with epoll. Errors: a sentence for the user.
    pub fn new(mut parts: DataPlaneParts) -> Result<Self, String> {
        let ports = std::mem::take(&mut parts.ports);
        let mut this = Self::without_ports(parts).map_err(|e| format!("data plane: {e}"))?;
        ports.into_iter().try_for_each(|port| this.add_port(port))?;
        Ok(this)
    }

    /// Starts the configured captures and mirrors. Errors: what is wrong with one.
    pub fn begin_copiers(&mut self) -> Result<(), String> {
        self.io.copiers = self.new_copiers(&self.config, &[])?;
        Ok(())
    }

    fn without_ports(parts: DataPlaneParts) -> std::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let add = |fd: BorrowedFd<'_>, token| {
            let token = epoll::EventData::new_u64(token);
            epoll::add(&epoll, fd, token, epoll::EventFlags::IN)
        };
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        add(wake.as_fd(), WAKE)?;
        add(parts.monitor.fd(), LINKS)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        add(timer.as_fd(), TIMER)?;
        Ok(Self {
            switch: parts.switch,
            io: DataPlaneIo::new(epoll.try_clone()?, parts.config.lock_down),
            pool: parts.pool,
            epoll,
            wake: Arc::new(Wake(wake)),
            monitor: parts.monitor,
            events: parts.events,
            taken: VecDeque::new(),
            served: None,
            inputs: parts.inputs,
            pending_traces: Vec::new(),
            config: parts.config,
            backlog: BTreeMap::new(),
            last_of_backlog: bofuss_channel::ConnId(0),
            timer,
            alarm: None,
            epoch: Instant::now(),
            counted: Time(0),
            counters: LoopCounters::default(),
        })
    }

    /// Runs until the control thread is gone.
    ///
    /// Errors: the system's, which end the switch.
    pub fn run(mut self) -> std::io::Result<()> {
        let mut ready: Vec<epoll::Event> = Vec::with_capacity(64);
        let mut frames: Vec<Frame> = Vec::with_capacity(BATCH_FRAMES);
        // A queue that was polled empty wakes the thread for its next item, so each wake-up polls
        // the queues until they are empty.
        let mut woken = true;
        loop {
            let timeout = self.timeout()?;
            ready.clear();
            let space = rustix::buffer::spare_capacity(&mut ready);
            match epoll::wait(&self.epoll, space, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let mut now = self.now();
            for event in &ready {
                match event.data.u64() {
                    WAKE => {
                        drain(&self.wake.0);
                        woken = true;
                    }
                    LINKS => {
                        self.follow_links()?;
                        now = self.now();
                    }
                    TIMER => {
                        drain(&self.timer);
                        self.alarm = None;
                    }
                    token => now = self.serve_port(now, PortNo(token as u32), &mut frames),
                }
            }
            for number in self.io.unpolled().to_vec() {
                now = self.serve_port(now, number, &mut frames);
            }
            let is_waited_for = !self.taken.is_empty() || !self.backlog.is_empty();
            if (std::mem::take(&mut woken) || is_waited_for) && !self.take_events(&mut now) {
                return Ok(());
            }
            self.switch.work(now, &mut self.io);
            self.switch.tick(now, &mut self.io);
            self.io.flush_ports();
            self.count(now);
        }
    }

    fn now(&self) -> Time {
        Time(self.epoch.elapsed().as_nanos() as u64)
    }

    /// How long to wait in epoll: not at all if there is work, otherwise until a descriptor is
    /// ready. Sets the timer to the next tick.
    fn timeout(&mut self) -> std::io::Result<Timespec> {
        let busy = self.switch.has_work(&self.io)
            || self
                .backlog
                .keys()
                .any(|id| self.switch.is_ready(conn_id(*id), &self.io))
            || !self.io.unpolled().is_empty()
            || !self.taken.is_empty();
        let next = self.switch.next_tick();
        let nanos = next.map(|at| at.since(self.now()));
        if busy || nanos == Some(0) {
            return Ok(Timespec::default());
        }
        if let Some(nanos) = nanos.filter(|_| self.alarm != next) {
            let tv_sec = (nanos / Time::SEC) as i64;
            let tv_nsec = (nanos % Time::SEC) as i64;
            let alarm = Itimerspec {
                it_interval: Timespec::default(),
                it_value: Timespec { tv_sec, tv_nsec },
            };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &alarm)?;
            self.alarm = next;
        }
        Ok(LONGEST_SLEEP)
    }

    /// Receives one batch from a port and runs it through the switch. Returns the current time.
    fn serve_port(&mut self, now: Time, number: PortNo, frames: &mut Vec<Frame>) -> Time {
        if self.io.send_queued(number) {
            self.switch.port_has_room(now, number, &mut self.io);
        }
        if self.switch.datapath().is_behind(number) {
            return now;
        }
        match self.io.receive(number, &self.pool, frames) {
            Ok(0) => return now,
            Ok(count) => {
                self.answer_pending_traces(number, frames);
                self.switch.receive(now, number, frames, &mut self.io);
                self.io.flush_ports();
                let end = self.now();
                self.counters.batch(count, end.since(now));
                return end;
            }
            Err(PortError::Gone) => self.lose_port(number),
            Err(PortError::Io(error)) => {
                warn!(port = number.0, "receiving: {error}");
            }
        }
        self.now()
    }

    fn handle(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Up {
                conn,
                origin,
                version,
                sender,
            } => {
                if self.connect(now, conn_id(conn), version, &origin) {
                    log_connected(&origin, version);
                    self.io.add_sender(conn_id(conn), sender, origin);
                }
            }
            Event::Message {
                conn,
                xid,
                head,
                message,
                place,
            } => {
                place.join(&mut self.served);
                if self.answers_status(conn_id(conn), xid, &message) {
                    return;
                }
                let name = message.name();
                let request = Request {
                    xid,
                    head: &head,
                    message: Ok(message),
                };
                self.switch
                    .message(now, conn_id(conn), request, &mut self.io);
                self.counters.message(name, self.now().since(now));
            }
            Event::BadMessage {
                conn,
                xid,
                name,
                reply,
                cause,
                place,
            } => {
                place.join(&mut self.served);
                refusal::log(&self.io.peer(conn_id(conn)), name, xid, &cause, "");
                if let Some(error) = reply {
                    self.refuse(now, conn_id(conn), xid, error);
                }
            }
            Event::Unsent {
                conn, name, cause, ..
            } => {
                let peer = self.io.peer(conn_id(conn));
                match cause {
                    EncodeError::TooLong => warn!("{peer}: a {name} was not sent: {cause}"),
                    EncodeError::Unsaid(_) => debug!("{peer}: a {name} was not sent: {cause}"),
                }
            }
            Event::Room { .. } => {}
            Event::TlsFiles(Ok(())) => info!("TLS: new connections use the changed files"),
            Event::TlsFiles(Err(error)) => {
                warn!("TLS: {error}; the previous contents of the files stay in use");
            }
            Event::Down { conn, reason } => {
                self.close_connection(conn_id(conn), &reason.to_string(), is_usual_end(&reason));
            }
            // A peer that connects only to see whether the port is open is logged at debug level.
            Event::Failed {
                origin: origin @ Origin::Passive { .. },
                reason,
            } if is_usual_end(&reason) => debug!("{origin}: {reason}"),
            Event::Failed { origin, reason } => warn!("{origin}: {reason}"),
        }
    }

    /// Answers a message that could not be decoded, in its order.
    fn refuse(&mut self, now: Time, conn: ConnId, xid: u32, error: ErrorMsg) {
        let request = Request {
            xid,
            head: &[],
            message: Err(error),
        };
        self.switch.message(now, conn, request, &mut self.io);
    }

    /// Adds a connection to the switch. Returns false if it is not wanted any more: its controller
    /// was removed while we connected, or its main connection is gone.
    fn connect(&mut self, now: Time, conn: ConnId, version: Version, origin: &Origin) -> bool {
        if !reconfigure::is_wanted(&self.config, origin) {
            return false;
        }
        match origin {
            Origin::Active(_) | Origin::Passive { .. } => {
                let is_controller = matches!(origin, Origin::Active(_));
                self.switch.connected(now, conn, version, is_controller);
                true
            }
            Origin::Auxiliary { main, id, .. } => {
                let datagrams = origin.is_datagrams();
                self.switch
                    .connected_auxiliary(conn_id(*main), conn, *id, datagrams)
            }
        }
    }

    /// Closes a connection, unless it is closed already. The usual end of a local tool's connection
    /// is logged at debug level.
    fn close_connection(&mut self, conn: ConnId, reason: &str, is_usual: bool) {
        if let Some(origin) = self.io.remove_sender(conn) {
            match self.switch.lost_packet_ins(conn) {
                0 if is_usual && is_local_tool(&origin) => {
                    debug!("{origin}: disconnected: {reason}")
                }
                0 => info!("{origin}: disconnected: {reason}"),
                lost => info!("{origin}: disconnected: {reason} ({lost} packet-ins lost)"),
            }
            let now = self.now();
            self.switch.disconnected(now, conn);
        }
    }

    /// Adds a port and its configured queues. Errors: a sentence for the user.
    fn add_port(&mut self, port: OpenPort) -> Result<(), String> {
        let desc = port.desc();
        let name = port.name.clone();
        let capabilities = port.driver.capabilities();
        let number = port.number;
        let added = self.io.add_port(port);
        added.map_err(|error| format!("port {number}: {name}: {error}"))?;
        let now = self.now();
        self.switch
            .port_changed(now, desc, capabilities, &mut self.io);
        let mut queues = self
            .config
            .queues
            .iter()
            .filter(|queue| queue.port == number);
        queues.try_for_each(|queue| reconfigure::make_queue(&mut self.switch, now, queue))
    }

    fn lose_port(&mut self, number: PortNo) {
        if let Some(port) = self.close_port(number) {
            warn!("port {number}: {} is gone", port.name);
        }
    }

    fn close_port(&mut self, number: PortNo) -> Option<OpenPort> {
        let port = self.io.remove_port(number)?;
        let now = self.now();
        self.switch.port_removed(now, number, &mut self.io);
        Some(port)
    }
}

/// Whether the peer is a local tool, such as a call of `dpctl`.
fn is_local_tool(origin: &Origin) -> bool {
    match origin {
        Origin::Passive { listener, .. } => matches!(listener.0, Endpoint::Unix(_)),
        Origin::Active(_) | Origin::Auxiliary { .. } => false,
    }
}

/// Logs a new connection; those of local tools at debug level.
fn log_connected(origin: &Origin, version: Version) {
    if is_local_tool(origin) {
        debug!("{origin}: connected, OpenFlow {version}");
    } else {
        info!("{origin}: connected, OpenFlow {version}");
    }
}

/// Whether the peer just closed the connection.
fn is_usual_end(reason: &Reason) -> bool {
    matches!(reason, Reason::Io(_) | Reason::PeerClosed)
}

fn drain(wake: &OwnedFd) {
    let _ = rustix::io::read(wake, &mut [0u8; 8]);
}
