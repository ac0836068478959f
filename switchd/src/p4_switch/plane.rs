//! The data-plane thread of a P4 switch: gives frames of ports to the program, and between bursts
//! does what other threads ask.

use std::collections::BTreeMap;
use std::io;
use std::task::{Context, Poll};
use std::time::Instant;

use bofuss_datapath::Time;
use bofuss_datapath::egress::Pace;
use bofuss_embed::p4::{Loss, on_the_wire};
use bofuss_embed::record::{P4Input, P4Output, RecordedInput, RecordedOutput};
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::PortNo;
use bofuss_p4::{Commands, Count, Switch};
use bofuss_p4runtime::{Change, Job as ControllerJob};
use bofuss_ports::{BATCH_FRAMES, Link, LinkEvent, LinkMonitor};
use rustix::event::epoll;
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::disciplines::Disciplines;
use super::exports::ports_seen;
use super::outlet::Outlet;
use crate::config::p4::LoadedSwitch;
use crate::config::{Config, is_of_messages};
use crate::dataplane::{Answer, Copied, Exports, NewTarget, Poller, PortSet, Ready};
use crate::error::{Result, context};
use crate::export::Bell;
use crate::port::{self, OpenPort};
use crate::run::datapath_id;

/// Descriptors that one wait reports at most; the others are reported by the next.
const READY_AT_ONCE: usize = 64;
/// The most jobs between two bursts.
const JOBS_AT_ONCE: usize = 16;

/// What another thread asks of this one.
pub type Job = Box<dyn FnOnce(&mut P4Plane) + Send>;

/// An input of the thread other than frames.
pub enum Input {
    /// To do this between two bursts.
    Job(Job),
    /// To close the ports, and end.
    End,
}

/// A P4 switch with its ports.
pub struct P4Plane {
    /// The program with its entries, counters and registers.
    pub switch: Switch,
    /// The ports, where what leaves the program goes.
    pub outlet: Outlet,
    /// What each port has received, super-frames by the frames in them.
    pub received: BTreeMap<PortNo, Count>,
    /// The configuration of its start.
    pub config: Config,
    /// What sees the frames that ports receive.
    pub exports: Exports,
    commands: Commands,
    pool: Pool,
    started: Instant,
    inputs: mpsc::Receiver<Input>,
    poller: Poller,
    monitor: LinkMonitor,
}

impl P4Plane {
    /// A switch without ports; `pool` has the buffers of its frames. Errors: the system's; a queue
    /// that its discipline cannot have.
    pub fn new(
        switch: Switch,
        pool: Pool,
        monitor: LinkMonitor,
        inputs: mpsc::Receiver<Input>,
        config: Config,
    ) -> Result<Self> {
        let poller = Poller::new(monitor.fd()).map_err(context("data plane"))?;
        let epoll = poller.set().epoll().map_err(context("data plane"))?;
        let disciplines = Disciplines::new(&config)?;
        let mut outlet = Outlet::new(PortSet::new(epoll), disciplines, pool.clone());
        for spec in &config.ports {
            if outlet.disciplines.has(spec.number) {
                continue;
            }
            let mut pace = Pace::default();
            pace.set(Time(0), spec.rate_kbps.unwrap_or(0));
            if pace.kbps > 0 {
                outlet.paces.insert(spec.number, pace);
            }
        }
        Ok(Self {
            switch,
            outlet,
            received: BTreeMap::new(),
            config,
            exports: Exports::new(Bell::new(poller.set().waker())),
            commands: Commands::default(),
            pool,
            started: Instant::now(),
            inputs,
            poller,
            monitor,
        })
    }

    /// Adds an open port. Errors: the system's.
    pub fn add_port(&mut self, port: OpenPort) -> Result<()> {
        let what = context(format!("port {}", port.name));
        let number = port.number;
        self.received.entry(number).or_default();
        self.outlet.ports.add(port).map_err(what)?;
        if let Some((desc, offloads)) = self.outlet.ports.describe(number) {
            self.begin_port(desc, offloads);
        }
        Ok(())
    }

    /// Lets another switch run from now on.
    pub fn replace(&mut self, loaded: LoadedSwitch) {
        let waiting = self.switch.waiting();
        self.outlet.counts.lose_all(waiting, Loss::OldProgram);
        let mut switch = loaded.switch;
        switch.take_links(&self.switch);
        self.switch = switch;
        self.commands = Commands::default();
        self.note_all(loaded.inputs);
    }

    /// Carries out a command that changes the switch. Returns what it says. Errors: why it is
    /// refused; then nothing has changed.
    pub fn command(&mut self, line: &str) -> Answer {
        if self.outlet.controllers.is_some() {
            return Err("controllers of P4Runtime write the entries of this switch".into());
        }
        let now = self.now();
        let said = self.commands.run(&mut self.switch, line, now)?;
        self.note_at(now, RecordedInput::P4(P4Input::Command(line.into())));
        Ok(said)
    }

    /// Records what made the switch.
    pub fn note_all(&mut self, inputs: Vec<P4Input>) {
        for input in inputs {
            self.note(RecordedInput::P4(input));
        }
    }

    /// Does what a controller wants.
    pub fn control(&mut self, job: ControllerJob) {
        let now = self.now();
        if let Some(recorder) = &mut self.outlet.recorder
            && let Some(input) = recorded(&job, now)
        {
            recorder.begin(time(now), |_| Some(RecordedInput::P4(input)));
        }
        self.outlet.now = self.time();
        let before = self.switch.waiting();
        let refused = job.run(&mut self.switch, now, &mut self.outlet);
        // Only another program has fewer than before.
        let lost = before.saturating_sub(self.switch.waiting());
        self.outlet.counts.lose_all(lost, Loss::OldProgram);
        if let Some(recorder) = &mut self.outlet.recorder {
            for (number, code) in refused {
                recorder.output(RecordedOutput::P4(P4Output::Refused(number, code)));
            }
            recorder.end();
        }
    }

    /// Records an input that has no outputs.
    pub(super) fn note(&mut self, input: RecordedInput) {
        self.note_at(self.now(), input);
    }

    /// The same for one that was given at this time.
    fn note_at(&mut self, now: u64, input: RecordedInput) {
        if let Some(recorder) = &mut self.outlet.recorder {
            recorder.begin(time(now), |_| Some(input));
            recorder.end();
        }
    }

    /// Starts the configured captures and mirrors. Errors: what is wrong with one.
    pub fn begin_copiers(&mut self) -> Result<()> {
        for at in 0..self.config.copiers.len() {
            let copier = self.copied().configured(&self.config.copiers[at])?;
            copier.begin()?;
            self.outlet.ports.copiers.push(copier);
        }
        Ok(())
    }

    /// Starts the configured exports, which tell the switch from others by its first port.
    pub fn begin_exports(&mut self) {
        let mac = self.outlet.ports.all().find_map(OpenPort::mac);
        let id = datapath_id(&self.config, mac);
        let wanted = &self.config.exports;
        self.exports
            .set_of_ports(&mut self.outlet.ports, wanted, id as u32);
    }

    /// Starts a capture or mirror: `PORT FILE-OR-PORT [FLOW]`. Errors: what is wrong with it.
    pub fn copy(&mut self, words: &str, target: NewTarget) -> Result<String> {
        if is_of_messages(words) {
            return Err("a switch with a P4 program has no OpenFlow messages".into());
        }
        let copier = self.copied().copier(words, target)?;
        copier.begin()?;
        self.outlet.ports.copiers.push(copier);
        Ok(String::new())
    }

    fn copied(&self) -> Copied<'_> {
        Copied {
            others: self.outlet.ports.copiers.len(),
            catalogue: &self.config.catalogue,
            switch: &self.config.name,
            ports: &self.config.ports,
        }
    }

    /// The time of the program: microseconds since the start.
    pub fn now(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    /// The time since the start.
    pub(super) fn time(&self) -> Time {
        Time(self.started.elapsed().as_nanos() as u64)
    }

    /// The buffers of its frames.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Runs until it is asked to end, or nobody can ask it any more. Errors: the system's.
    pub fn run(mut self) -> io::Result<()> {
        let mut ready: Vec<epoll::Event> = Vec::with_capacity(READY_AT_ONCE);
        let mut frames: Vec<Frame> = Vec::with_capacity(BATCH_FRAMES);
        // Only a queue that was polled empty wakes the thread for its next item.
        let mut has_jobs = true;
        loop {
            let busy = has_jobs || !self.outlet.ports.unpolled().is_empty();
            self.set_alarm()?;
            self.poller.set().wait(busy, &mut ready)?;
            if !busy && ready.is_empty() {
                // A port whose ring is stuck is noticed here.
                drop(self.outlet.ports.driver_counters());
            }
            for event in &ready {
                match Ready::from(event) {
                    Ready::Queues => {
                        self.poller.set().drain_queues();
                        has_jobs = true;
                    }
                    Ready::Links => self.follow_links()?,
                    Ready::Port(number) => self.serve_port(number, &mut frames),
                    Ready::Timer => self.poller.drain_timer(),
                    Ready::Clock => self.poller.drain_clock(),
                }
            }
            self.release_due();
            for number in self.outlet.ports.unpolled().to_vec() {
                self.serve_port(number, &mut frames);
            }
            if has_jobs {
                match self.do_jobs() {
                    Some(more) => has_jobs = more,
                    None => {
                        self.exports.end_of_ports(&mut self.outlet.ports);
                        return Ok(());
                    }
                }
            }
            // After the jobs, of which a packet-out sends, too.
            self.flush();
            let Self {
                exports,
                outlet,
                received,
                ..
            } = &mut self;
            exports.serve_ports(&mut outlet.ports, |ports| ports_seen(ports, received));
        }
    }

    /// Does some of the jobs that wait. Returns true if there may be more; `None` at the end.
    fn do_jobs(&mut self) -> Option<bool> {
        let waker = self.poller.set().waker();
        for _ in 0..JOBS_AT_ONCE {
            match self.inputs.poll_recv(&mut Context::from_waker(&waker)) {
                Poll::Pending => return Some(false),
                Poll::Ready(Some(Input::Job(job))) => job(self),
                Poll::Ready(Some(Input::End) | None) => return None,
            }
        }
        Some(true)
    }

    /// Sends frames to ports. For those that have no room, packets wait from now on.
    fn flush(&mut self) {
        let mut held = Vec::new();
        let now = self.time();
        let outlet = &mut self.outlet;
        outlet.disciplines.send_due(now, &mut outlet.ports);
        outlet.ports.flush_and_tell(|number| {
            if !outlet.disciplines.has(number) && self.switch.hold(number.0) {
                held.push(number.0);
            }
        });
        for (number, pace) in &self.outlet.paces {
            if pace.due > self.outlet.now && self.switch.hold(number.0) {
                held.push(number.0);
            }
        }
        for number in held {
            self.note(P4Input::Hold(number).into());
        }
    }

    /// Lets packets leave that wait for a port, as long as it has room.
    fn release(&mut self, number: PortNo) {
        let is_paced = self.outlet.paces.contains_key(&number);
        let most = if is_paced { 1 } else { BATCH_FRAMES };
        loop {
            self.outlet.now = self.time();
            if !self.switch.holds(number.0) || !self.outlet.has_room(number) {
                return;
            }
            let now = self.now();
            if let Some(recorder) = &mut self.outlet.recorder {
                let input = P4Input::Leave(number.0, most);
                recorder.begin(time(now), |_| Some(input.into()));
            }
            self.outlet.have_waited = true;
            self.switch.leave(number.0, most, now, &mut self.outlet);
            self.outlet.have_waited = false;
            if let Some(recorder) = &mut self.outlet.recorder {
                recorder.end();
            }
            self.outlet.ports.send_queued(number);
        }
    }

    /// The same for all ports that have a rate.
    fn release_due(&mut self) {
        if !self.outlet.paces.is_empty() {
            let numbers: Vec<PortNo> = self.outlet.paces.keys().copied().collect();
            numbers.into_iter().for_each(|number| self.release(number));
            self.flush();
        }
    }

    /// Has the thread woken when the next packet is due that waits for a port with a rate or with
    /// queues.
    fn set_alarm(&mut self) -> io::Result<()> {
        let paces = self.outlet.paces.iter();
        let waiting = paces.filter(|(number, _)| {
            self.switch.holds(number.0) && self.outlet.ports.takes_frames(**number)
        });
        let paced = waiting.map(|(_, pace)| pace.due);
        let queued = self.outlet.disciplines.next_due(&self.outlet.ports);
        let Some(due) = paced.chain(queued).min() else {
            return Ok(());
        };
        let now = self.time();
        // 0 would be no alarm.
        self.poller.set_alarm(now, due.max(now.after(1)))
    }

    /// Sends what waits for a port, receives a burst from it, and gives that to the program.
    fn serve_port(&mut self, number: PortNo, frames: &mut Vec<Frame>) {
        self.outlet.ports.send_queued(number);
        self.release(number);
        let received = self.outlet.ports.receive(number, &self.pool, frames);
        if self.outlet.paces.is_empty() {
            self.process_all(number, frames);
        } else {
            // Between two frames, a port may have used up its rate.
            let mut one = Vec::with_capacity(1);
            for frame in frames.drain(..) {
                one.push(frame);
                self.process_all(number, &mut one);
            }
        }
        if received.is_err() {
            self.lose_port(number);
        }
    }

    /// Gives frames to the program, and sends what leaves.
    fn process_all(&mut self, number: PortNo, frames: &mut Vec<Frame>) {
        let now = self.now();
        self.outlet.now = self.time();
        if !frames.is_empty()
            && let Some(recorder) = &mut self.outlet.recorder
        {
            recorder.begin(time(now), |known| Some(known.frames(number, frames)));
        }
        for frame in frames.drain(..) {
            self.unfold(number, frame, now);
        }
        if let Some(recorder) = &mut self.outlet.recorder {
            recorder.end();
        }
        self.flush();
    }

    /// Gives a frame to the program; a super-frame as the frames that it would be on a wire, all
    /// with their checksums.
    fn unfold(&mut self, number: PortNo, frame: Frame, now: u64) {
        let is_whole = on_the_wire(frame, |piece| self.process(number, piece, now));
        if !is_whole {
            self.outlet.counts.lose(Loss::Offload);
        }
    }

    fn process(&mut self, number: PortNo, frame: &Frame, now: u64) {
        self.received.entry(number).or_default().add(frame.len());
        let bytes = frame.bytes();
        self.switch.receive(number.0, bytes, now, &mut self.outlet);
    }

    /// Applies the kernel's link events to the ports.
    fn follow_links(&mut self) -> io::Result<()> {
        for event in self.monitor.poll()? {
            match event {
                LinkEvent::New(link) | LinkEvent::Changed(link) => self.follow_link(&link),
                LinkEvent::Address { .. } => {}
                LinkEvent::Gone(link) => {
                    if let Some(number) = self.outlet.ports.with_index(link.index) {
                        self.lose_port(number);
                    }
                }
            }
        }
        Ok(())
    }

    fn follow_link(&mut self, link: &Link) {
        if let Some((desc, offloads)) = self.outlet.ports.update_link(link) {
            return self.follow_port(desc, offloads);
        }
        let mut specs = self.config.ports.iter();
        let named = specs.find(|spec| spec.kind.interface() == Some(&link.name));
        let Some(spec) = named.filter(|spec| !self.outlet.ports.contains(spec.number)) else {
            return;
        };
        if self.config.lock_down {
            let locked = crate::rights::LOCKED;
            return warn!("{} is back: {locked}", link.name);
        }
        let opened = port::open(spec, 1);
        let number = spec.number;
        match opened.and_then(|port| self.add_port(port)) {
            Ok(()) => info!("port {number}: {} is back", link.name),
            Err(error) => debug!("{error}"),
        }
    }

    fn lose_port(&mut self, number: PortNo) {
        if let Some(port) = self.outlet.ports.remove(number) {
            warn!("port {number}: {} is gone", port.name);
            self.switch.set_link(number.0, false);
            let behind = self.outlet.disciplines.lose(number);
            let waited = self.switch.discard(number.0) + behind;
            self.outlet.counts.lose_all(waited, Loss::NoPort);
            self.note(RecordedInput::PortGone(number));
        }
    }
}

/// The time of an input in a record, in nanoseconds; `now` is in microseconds.
fn time(now: u64) -> Time {
    Time(now * 1_000)
}

/// The input that a job of a controller is at this time; `None` if it only reads.
fn recorded(job: &ControllerJob, now: u64) -> Option<P4Input> {
    match job {
        ControllerJob::Control(_, change) => match change.as_ref()? {
            Change::Pipeline { config, keeps } => Some(P4Input::Program {
                seed: now,
                keeps: *keeps,
                p4info: config.p4info.clone(),
                json: config.p4_device_config.clone(),
            }),
            Change::Write(updates) => Some(P4Input::Write(Change::encoded(updates))),
        },
        ControllerJob::Packet { port, frame } => Some(P4Input::PacketOut(*port, frame.clone())),
    }
}
