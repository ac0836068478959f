//! The data-plane thread: owns the switch and its ports, waits in epoll and feeds the switch.

mod acceleration;
mod clock;
mod command;
mod connection_set;
mod events;
mod inbox;
mod io;
mod links;
mod loop_counters;
mod missing_ports;
mod poller;
mod port_set;
mod quick_closes;
mod reconfigure;
mod scrape;
mod status;
#[cfg(test)]
mod tests;
mod trace;

use std::time::Instant;

use bofuss_agent::FailMode;
use bofuss_channel::Event;
use bofuss_datapath::Time;
use bofuss_embed::record::{RecordedConnections, RecordedInput};
use bofuss_ext::Switch;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::PortNo;
use bofuss_oflib::message::PortDesc;
use bofuss_ports::{BATCH_FRAMES, LinkMonitor, PortError};
use rustix::event::epoll;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use crate::config::Config;
use crate::error::{Result, context};
use crate::port::OpenPort;
use crate::record::{RecordWriter, SwitchRecorder};

use acceleration::Acceleration;
use inbox::Inbox;
use io::DataPlaneIo;
use loop_counters::LoopCounters;
use missing_ports::MissingPorts;
use poller::{Poller, Ready};
use quick_closes::QuickCloses;
use trace::PendingTrace;

pub use clock::BundleClock;
pub use command::{Answer, Operation, OperatorCommand};
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

/// Most bytes of frames that a switch holds: received, queued, and buffered for controllers.
pub const POOL_BYTES: usize = 64 << 20;
/// Descriptors that one wait reports at most; the others are reported by the next.
const READY_AT_ONCE: usize = 64;

/// All that the thread has, by who changes it.
pub struct DataPlane {
    /// The switch: changed by the messages of controllers.
    switch: Switch,
    /// The configuration: changed by the commands of operators.
    config: Config,
    /// Where effects go: ports and connections.
    io: DataPlaneIo,
    /// What forwards frames below the switch.
    acceleration: Acceleration,
    /// What other threads sent.
    inbox: Inbox,
    /// What wakes the thread.
    poller: Poller,
    /// Reports changes of links in the ports' network namespace.
    monitor: LinkMonitor,
    /// The fail mode that a reload brought, if it waits for the first controller.
    later_fail_mode: Option<FailMode>,
    lane: Lane,
}

/// What the thread has for itself.
struct Lane {
    /// Buffers of frames.
    pool: Pool,
    /// Time 0 of the switch.
    epoch: Instant,
    /// The time, in a test that sets it.
    #[cfg(test)]
    stopped_at: Option<Time>,
    counters: LoopCounters,
    /// Controllers that close their connections quickly.
    quick_closes: QuickCloses,
    /// Ports that entries name and that do not exist.
    missing_ports: MissingPorts,
    /// When the drivers' counters were last read.
    counted: Time,
    /// Requests to trace the next matching packet.
    pending_traces: Vec<PendingTrace>,
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
    /// What notes the switch's inputs and outputs, if they are recorded.
    pub recorder: Option<SwitchRecorder>,
    /// Events of connections.
    pub events: mpsc::Receiver<Event>,
    /// Commands and scrapes.
    pub inputs: mpsc::Receiver<Input>,
    /// Reports changes of links in the ports' network namespace.
    pub monitor: LinkMonitor,
}

impl DataPlane {
    /// Adds the ports to the switch, and all descriptors to the epoll set. Errors: a sentence for
    /// the user.
    pub fn new(mut parts: DataPlaneParts) -> Result<Self> {
        let ports = std::mem::take(&mut parts.ports);
        let mut this = Self::without_ports(parts).map_err(context("data plane"))?;
        ports.into_iter().try_for_each(|port| this.add_port(port))?;
        Ok(this)
    }

    /// Starts the configured captures and mirrors. Errors: what is wrong with one.
    pub fn begin_copiers(&mut self) -> Result<()> {
        self.io.ports.copiers = self.new_copiers(&self.config, &[])?;
        Ok(())
    }

    /// Starts the thread that writes the record. Errors: the system's.
    pub fn begin_record(&mut self, writer: RecordWriter) -> Result<()> {
        let started = match &mut self.io.recorder {
            Some(recorder) => recorder.start(writer),
            None => Ok(()),
        };
        started.map_err(context("record thread"))
    }

    fn without_ports(parts: DataPlaneParts) -> std::io::Result<Self> {
        let poller = Poller::new(parts.monitor.fd())?;
        let catalogue = parts.switch.datapath().catalogue().clone();
        Ok(Self {
            switch: parts.switch,
            io: DataPlaneIo::new(
                poller.epoll()?,
                parts.config.lock_down,
                catalogue,
                parts.recorder,
            ),
            acceleration: Acceleration::off("--accelerate off"),
            config: parts.config,
            inbox: Inbox::new(parts.inputs, parts.events),
            poller,
            monitor: parts.monitor,
            later_fail_mode: None,
            lane: Lane {
                pool: parts.pool,
                epoch: Instant::now(),
                #[cfg(test)]
                stopped_at: None,
                counters: LoopCounters::default(),
                quick_closes: QuickCloses::default(),
                missing_ports: MissingPorts::default(),
                counted: Time(0),
                pending_traces: Vec::new(),
            },
        })
    }

    /// Runs until the control thread ends the switch or is gone.
    ///
    /// Errors: the system's, which end the switch.
    pub fn run(mut self) -> std::io::Result<()> {
        let mut ready: Vec<epoll::Event> = Vec::with_capacity(READY_AT_ONCE);
        let mut frames: Vec<Frame> = Vec::with_capacity(BATCH_FRAMES);
        // Only a queue that was polled empty wakes the thread for its next item, so each wake-up
        // polls the queues until they are empty.
        let mut woken = true;
        loop {
            let next_tick = self.wait(&mut ready)?;
            let mut now = self.now();
            self.switch.measure_commit(now);
            for event in &ready {
                match Ready::from(event) {
                    Ready::Queues => {
                        self.poller.drain_queues();
                        woken = true;
                    }
                    Ready::Links => {
                        self.follow_links()?;
                        now = self.now();
                    }
                    Ready::Timer => self.poller.drain_timer(),
                    Ready::Clock => self.poller.drain_clock(),
                    Ready::Port(number) => now = self.serve_port(now, number, &mut frames),
                }
            }
            for number in self.io.ports.unpolled().to_vec() {
                now = self.serve_port(now, number, &mut frames);
            }
            let has_inputs = woken || self.inbox.has_waiting();
            woken = false;
            self.follow_clock(has_inputs);
            if has_inputs && !self.take_inputs(&mut now) {
                return Ok(());
            }
            self.complete_turn(now, next_tick);
        }
    }

    /// Does one slice of the work that waits in the switch, and what was due at `next_tick`; sends
    /// all frames.
    fn complete_turn(&mut self, now: Time, next_tick: Option<Time>) {
        if self.switch.has_work(&self.io) {
            self.give(
                now,
                |_| Some(RecordedInput::Work),
                |switch, io| switch.work(now, io),
            );
        }
        // What becomes due in this turn is done in the next one, which does not wait.
        if next_tick.is_some_and(|tick| tick <= now) {
            self.give(
                now,
                |_| Some(RecordedInput::Tick),
                |switch, io| switch.tick(now, io),
            );
        }
        self.io.ports.flush();
        self.follow_copiers();
        self.count(now);
    }

    /// Gives the switch an input by `act`, and records it with the outputs that it causes.
    fn give<R>(
        &mut self,
        now: Time,
        input: impl FnOnce(&RecordedConnections) -> Option<RecordedInput>,
        act: impl FnOnce(&mut Switch, &mut DataPlaneIo) -> R,
    ) -> R {
        if let Some(recorder) = &mut self.io.recorder {
            recorder.begin(now, input);
        }
        let result = act(&mut self.switch, &mut self.io);
        if let Some(recorder) = &mut self.io.recorder {
            recorder.end();
        }
        self.review();
        result
    }

    /// Sets the switch's clock of scheduled commits, if the switch needs it and has another time.
    fn follow_clock(&mut self, has_inputs: bool) {
        #[cfg(test)]
        if self.lane.stopped_at.is_some() {
            return;
        }
        let now = self.now();
        let clock = self.config.bundle_clock;
        let changed = clock::changed_clock(&self.switch, has_inputs, now, || clock.nanos());
        if let Some(nanos_at_0) = changed {
            self.give(
                now,
                |_| Some(RecordedInput::Clock(nanos_at_0)),
                |switch, _| switch.set_clock(nanos_at_0),
            );
        }
    }

    fn now(&self) -> Time {
        #[cfg(test)]
        if let Some(at) = self.lane.stopped_at {
            return at;
        }
        Time(self.lane.epoch.elapsed().as_nanos() as u64)
    }

    /// Waits in epoll: not at all if there is work, otherwise until a descriptor is ready or the
    /// next tick is due. Returns when that is.
    fn wait(&mut self, ready: &mut Vec<epoll::Event>) -> std::io::Result<Option<Time>> {
        let next_tick = self.switch.next_tick();
        let mut busy = self.has_work();
        if !busy && let Some(tick) = next_tick {
            let now = self.now();
            match clock::alarm(&self.switch, tick, now) {
                Some(alarm) => self.poller.set_alarm(now, alarm)?,
                None => busy = true,
            }
        }
        self.poller.wait(busy, ready)?;
        Ok(next_tick)
    }

    /// Whether something can be done at once.
    fn has_work(&self) -> bool {
        let mut waiting = self.inbox.waiting();
        self.switch.has_work(&self.io)
            || waiting.any(|(id, event)| self.takes(id, event))
            || !self.io.ports.unpolled().is_empty()
            || self.inbox.has_taken()
    }

    /// Sends what waits for a port. Then receives one batch and runs it through the switch, unless
    /// earlier frames of the port are still unprocessed. Returns the current time.
    fn serve_port(&mut self, now: Time, number: PortNo, frames: &mut Vec<Frame>) -> Time {
        if self.io.ports.send_queued(number) {
            self.give(
                now,
                |_| Some(RecordedInput::PortRoom(number)),
                |switch, io| switch.port_has_room(now, number, io),
            );
        }
        if self.switch.datapath().is_behind(number) {
            return now;
        }
        match self.io.ports.receive(number, &self.lane.pool, frames) {
            Ok(0) => return now,
            Ok(count) => {
                self.answer_pending_traces(number, frames);
                if let Some(recorder) = &mut self.io.recorder {
                    recorder.begin(now, |known| Some(known.frames(number, frames)));
                }
                self.switch.receive(now, number, frames, &mut self.io);
                if let Some(recorder) = &mut self.io.recorder {
                    recorder.end();
                }
                self.io.ports.flush();
                self.note_drained(number, count);
                let end = self.now();
                self.lane.counters.batch(count, end.since(now));
                return end;
            }
            Err(PortError::Gone) => self.lose_port(number),
            Err(PortError::Io(error)) => {
                warn!("port {number}: receiving: {error}");
            }
        }
        self.now()
    }

    /// Adds a port and its configured queues. Errors: a sentence for the user.
    fn add_port(&mut self, port: OpenPort) -> Result<()> {
        let name = port.name.clone();
        let number = port.number;
        let added = self.io.ports.add(port);
        added.map_err(context(format_args!("port {number}: {name}")))?;
        let now = self.now();
        self.describe_port(now, number);
        if let Some(opposite) = self.io.ports.opposite(number) {
            self.describe_port(now, opposite);
        }
        let mut queues = self.config.queues.clone();
        queues.retain(|queue| queue.port == number);
        queues
            .iter()
            .try_for_each(|queue| self.make_queue(now, queue))
    }

    /// Passes the current description of a port to the switch.
    fn describe_port(&mut self, now: Time, number: PortNo) {
        if let Some((desc, capabilities)) = self.io.ports.describe(number) {
            self.port_changed(now, desc, capabilities);
        }
    }

    fn port_changed(&mut self, now: Time, desc: PortDesc, capabilities: OffloadCapabilities) {
        let noted = desc.clone();
        self.give(
            now,
            |_| Some(RecordedInput::Port(Box::new(noted), capabilities)),
            |switch, io| switch.port_changed(now, desc, capabilities, io),
        );
        self.accelerate_ports();
    }

    fn lose_port(&mut self, number: PortNo) {
        if let Some(port) = self.close_port(number) {
            warn!("port {number}: {} is gone", port.name);
        }
    }

    fn close_port(&mut self, number: PortNo) -> Option<OpenPort> {
        let opposite = self.io.ports.opposite(number);
        let port = self.io.ports.remove(number)?;
        let now = self.now();
        self.give(
            now,
            |_| Some(RecordedInput::PortGone(number)),
            |switch, io| switch.port_removed(now, number, io),
        );
        self.accelerate_ports();
        if let Some(opposite) = opposite {
            self.describe_port(now, opposite);
        }
        Some(port)
    }
}
