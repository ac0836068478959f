//! The data-plane thread: owns the switch and its ports, waits in epoll and feeds the switch.

mod clock;
mod collection;
mod command;
mod connection_set;
mod copiers;
mod dispatch;
mod driver_losses;
mod events;
mod exports;
mod follower;
mod followers;
mod inbox;
mod io;
mod leaving;
mod links;
mod lists;
mod live_switch;
mod loop_counters;
mod missing_ports;
mod noted_input;
mod page;
mod paths;
mod poller;
mod port_set;
mod quick_closes;
mod reconfigure;
mod running_config;
mod saving;
mod scrape;
mod state_counts;
mod status;
#[cfg(test)]
mod tests;
mod thread_clock;
mod trial_switch;

use std::os::unix::net::UnixStream;

use bofuss_channel::Event;
use bofuss_datapath::Time;
use bofuss_embed::record::RecordedInput;
use bofuss_embed::saved::SavedState;
use bofuss_ext::Switch;
use bofuss_frame::{Frame, Pool};
use bofuss_ports::{BATCH_FRAMES, LinkMonitor};
use rustix::event::epoll;
use tokio::sync::mpsc;

use crate::config::Config;
use crate::error::{Result, context};
use crate::export::Bell;
use crate::port::OpenPort;
use crate::record::{RecordWriter, SwitchRecorder};
use crate::state_dir::{StateFolder, StateWriter};

use copiers::CopierChange;
use driver_losses::DriverLosses;
use follower::Remake;
use inbox::Inbox;
use io::DataPlaneIo;
use live_switch::LiveSwitch;
use missing_ports::MissingPorts;
use running_config::RunningConfig;
use saving::StateSaver;

pub use clock::BundleClock;
pub use collection::{CollectSlice, CollectedSwitch, Collection};
pub use command::{Answer, Operation, OperatorCommand};
pub use copiers::{Copied, NewTarget, end as end_copier};
pub use events::log_tls_files;
pub use exports::Exports;
pub use leaving::SuccessorInput;
pub use page::Page;
pub use poller::{Poller, Ready};
pub use port_set::PortSet;
pub use scrape::Scrape;

/// Inputs of the thread other than events of connections.
pub enum Input {
    /// A command of an operator.
    Command(OperatorCommand),
    /// Collect one more slice.
    Collect(CollectSlice),
    /// Another process takes the switch over.
    Successor(SuccessorInput),
    /// Close the switch.
    End,
}

impl Input {
    /// Returns true if it has to wait, while packets are processed: see [`Operation::waits`].
    fn waits(&self, holds_changes: bool, live: &LiveSwitch) -> bool {
        match self {
            Self::Command(command) => command.operation.waits(holds_changes, live),
            Self::Collect(_) | Self::Successor(_) | Self::End => false,
        }
    }
}

/// Descriptors that one wait reports at most; the others are reported by the next.
const READY_AT_ONCE: usize = 64;

/// All that the thread has, by who changes it.
pub struct DataPlane {
    /// The switch with its ports and connections: changed by frames and by messages.
    live: LiveSwitch,
    /// What saves the state of the switch.
    saver: StateSaver,
    /// What tells collectors of its traffic.
    exports: Exports,
    /// What the drivers of its ports have lost.
    losses: DriverLosses,
    /// The configuration: changed by the commands of operators.
    config: RunningConfig,
    /// The queues from other threads.
    inbox: Inbox,
    /// The descriptors that wake the thread.
    poller: Poller,
    /// Reports changes of links in the ports' network namespace.
    monitor: LinkMonitor,
    /// Ports that entries name and that do not exist.
    missing_ports: MissingPorts,
    /// The connection to the process that takes over when this one ends.
    successor: Option<UnixStream>,
}

/// The parameters of [`DataPlane::new`].
pub struct DataPlaneParts {
    /// The switch, without ports.
    pub switch: Switch,
    /// Its time.
    pub now: Time,
    /// The pool of its frames.
    pub pool: Pool,
    /// Its open ports.
    pub ports: Vec<OpenPort>,
    /// The configuration that the switch was started with.
    pub config: Config,
    /// The recorder of the switch's inputs and outputs, if they are recorded.
    pub recorder: Option<SwitchRecorder>,
    /// Events of connections.
    pub events: mpsc::Receiver<Event>,
    /// Commands and collections.
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
        let Self { config, live, .. } = &mut this;
        let mut ports = ports.into_iter();
        ports.try_for_each(|port| config.add_port(live, port))?;
        Ok(this)
    }

    /// Gives the switch an earlier state, or one without the states of extensions. Its tables are
    /// as configured, and it has its ports.
    pub fn restore(&mut self, state: &SavedState<'_>, with_states: bool) {
        saving::restore(&mut self.live, state, with_states);
    }

    /// Saves the state from now on, and at the end. Errors: the system's.
    pub fn begin_saving(&mut self, folder: StateFolder) -> Result<()> {
        self.saver.begin_folder(StateWriter::start(folder)?);
        let interval = self.config.current.state.interval;
        self.saver.set_interval(self.live.now(), interval);
        Ok(())
    }

    /// Lets the time of the switch stand still: nothing in it ends any more by itself.
    pub fn stop_time(&mut self) {
        let now = self.live.now();
        self.live.clock_mut().stop_at(Some(now));
    }

    /// Loads the accelerator as configured. Needs the rights that the switch gives up later.
    ///
    /// Errors: it is to be on, and cannot be.
    pub fn load_accelerator(&mut self) -> Result<()> {
        self.live.accelerator().load(self.config.current.accelerate)
    }

    /// Begins to accelerate, if that was loaded. Needs the same rights.
    pub fn begin_acceleration(&mut self) {
        self.live.accelerator().begin();
    }

    /// Starts the threads of the other workers, which get the rights that are left; `remake` makes
    /// their switches. Errors: the system's.
    pub fn begin_followers(&mut self, remake: Remake) -> Result<()> {
        let waker = self.poller.set().waker();
        let config = &self.config.current;
        let begun = self.live.workers().begin(config, remake, &waker);
        begun.map_err(context("starting workers"))
    }

    /// Starts the configured captures and mirrors. Errors: what is wrong with one.
    pub fn begin_copiers(&mut self) -> Result<()> {
        let copiers = CopierChange::prepare(&self.live, None, &self.config.current)?;
        copiers.make(&mut self.live.io_mut().ports.copiers)
    }

    /// Starts the configured exports. Errors: another worker has ended.
    pub fn begin_exports(&mut self) -> Result<()> {
        let wanted = &self.config.current.exports;
        self.exports.set(&mut self.live, wanted);
        let goes_on = self.live.workers().resume();
        goes_on.map_err(context("starting exports"))
    }

    /// Starts the thread that writes the record. Errors: the system's.
    pub fn begin_record(&mut self, writer: RecordWriter) -> Result<()> {
        let started = match &mut self.live.io_mut().recorder {
            Some(recorder) => recorder.start(writer),
            None => Ok(()),
        };
        started.map_err(context("record thread"))
    }

    fn without_ports(parts: DataPlaneParts) -> std::io::Result<Self> {
        let poller = Poller::new(parts.monitor.fd())?;
        let catalogue = parts.switch.datapath().catalogue().clone();
        let is_locked = parts.config.lock_down;
        let io = DataPlaneIo::new(poller.set().epoll()?, is_locked, catalogue, parts.recorder);
        let bell = Bell::new(poller.set().waker());
        let saver = StateSaver::new(parts.switch.datapath().shape().features());
        let mut live = LiveSwitch::new(parts.now, parts.switch, parts.pool, io);
        live.workers().make(&parts.config);
        Ok(Self {
            live,
            saver,
            exports: Exports::new(bell),
            losses: DriverLosses::default(),
            config: RunningConfig::new(parts.config),
            inbox: Inbox::new(parts.inputs, parts.events),
            poller,
            monitor: parts.monitor,
            missing_ports: MissingPorts::default(),
            successor: None,
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
            let mut now = self.live.now();
            self.live.unrecorded().0.clock_mut().measure(now);
            for event in &ready {
                match Ready::from(event) {
                    Ready::Queues => {
                        self.poller.set().drain_queues();
                        woken = true;
                    }
                    Ready::Links => {
                        self.follow_links()?;
                        now = self.live.now();
                    }
                    Ready::Timer => self.poller.drain_timer(),
                    Ready::Clock => self.poller.drain_clock(),
                    Ready::Port(number) => now = self.live.serve_port(now, number, &mut frames),
                }
            }
            for number in self.live.io().ports.unpolled().to_vec() {
                now = self.live.serve_port(now, number, &mut frames);
            }
            let has_inputs = woken || self.inbox.has_waiting();
            woken = false;
            self.follow_clock(has_inputs);
            if has_inputs && !self.take_inputs(&mut now) {
                self.end();
                return Ok(());
            }
            self.complete_turn(now, next_tick);
            self.live.workers().resume()?;
        }
    }

    /// Does one slice of the work that waits in the switch, and what was due at `next_tick`; sends
    /// all frames.
    fn complete_turn(&mut self, now: Time, next_tick: Option<Time>) {
        self.live.work(now, next_tick);
        let queues = &self.config.current.queues;
        self.saver.save(now, queues, &mut self.live);
        self.live.io_mut().ports.flush();
        self.live.accelerator().follow_copiers();
        self.losses.follow(now, &mut self.live);
        self.exports.serve(&mut self.live);
    }

    /// Sets the switch's clock of scheduled commits, if the switch needs it and has another time.
    fn follow_clock(&mut self, has_inputs: bool) {
        if self.live.clock().is_stopped() {
            return;
        }
        let now = self.live.now();
        let clock = self.config.current.bundle_clock;
        let changed = clock::changed_clock(self.live.switch(), has_inputs, now, || clock.nanos());
        if let Some(nanos_at_0) = changed {
            self.live.give(
                now,
                |_| Some(RecordedInput::Clock(nanos_at_0)),
                |switch, _| switch.clock_mut().set(nanos_at_0),
            );
        }
    }

    /// When something is due next; never if the time stands still.
    fn next_tick(&self) -> Option<Time> {
        if self.live.clock().is_stopped() {
            return None;
        }
        let next_tick = self.live.switch().next_tick().into_iter();
        let others = next_tick.chain(self.saver.next());
        others.chain(self.live.io().followers_tick()).min()
    }

    /// Waits in epoll: not at all if there is work, otherwise until a descriptor is ready or the
    /// next tick is due. Returns when that is.
    fn wait(&mut self, ready: &mut Vec<epoll::Event>) -> std::io::Result<Option<Time>> {
        let next_tick = self.next_tick();
        let mut busy = self.has_work();
        if !busy && let Some(tick) = next_tick {
            let now = self.live.now();
            match clock::alarm(self.live.switch(), tick, now) {
                Some(alarm) => self.poller.set_alarm(now, alarm)?,
                None => busy = true,
            }
        }
        self.poller.set().wait(busy, ready)?;
        Ok(next_tick)
    }

    /// Returns true if something can be done at once.
    fn has_work(&self) -> bool {
        let mut waiting = self.inbox.waiting();
        let command = self.inbox.waiting_input();
        let holds_commands = self.saver.holds_commands();
        self.live.switch().has_work(self.live.io())
            || waiting.any(|(id, event)| self.takes(id, event))
            || !self.live.io().ports.unpolled().is_empty()
            || self.inbox.has_taken()
            || self.saver.is_saving()
            || command.is_some_and(|command| !command.waits(holds_commands, &self.live))
    }
}
