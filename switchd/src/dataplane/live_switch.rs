//! A switch with its ports and connections: what enters it goes through here, so that it is
//! recorded, and the accelerator learns of it.

mod acceleration;
mod division;
mod ports;
mod traces;
mod workers;

use std::thread::sleep;
use std::time::Duration;

use bofuss_agent::{ConnId, Request};
use bofuss_channel::Origin;
use bofuss_datapath::engine::ReviewScope;
use bofuss_datapath::{ReplyPart, Time};
use bofuss_embed::record::{RecordedConnections, RecordedInput};
use bofuss_ext::Switch;
use bofuss_ext::trace::{Trace, parse_packet};
use bofuss_fastpath::Settled;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::ErrorMsg;
use bofuss_oflib::{ExtValue, Message, PortNo};
use bofuss_ports::PortError;
use tokio::sync::oneshot;
use tracing::warn;

use super::dispatch::reads_states;
use super::io::DataPlaneIo;
use super::loop_counters::LoopCounters;
use super::quick_closes::QuickCloses;
use super::thread_clock::ThreadClock;
use crate::error::Result;

use acceleration::{Acceleration, Accelerator};
use traces::{PendingTraces, TraceFormat};
use workers::Workers;

pub(super) use ports::make_queue;
pub(super) use traces::named;

/// A switch with its ports and connections, and what its thread notes about them.
pub struct LiveSwitch {
    switch: Switch,
    /// The ports and connections, to which effects go.
    io: DataPlaneIo,
    /// The accelerator, which forwards frames below the switch.
    acceleration: Acceleration,
    /// Buffers of frames.
    pool: Pool,
    clock: ThreadClock,
    counters: LoopCounters,
    /// Controllers that close their connections quickly.
    quick_closes: QuickCloses,
    traces: PendingTraces,
}

impl LiveSwitch {
    /// Starts with a switch without ports, whose time is `now`, and the pool of its frames.
    pub(super) fn new(now: Time, switch: Switch, pool: Pool, io: DataPlaneIo) -> Self {
        Self {
            switch,
            io,
            acceleration: Acceleration::off("--accelerate off"),
            pool,
            clock: ThreadClock::start(now),
            counters: LoopCounters::default(),
            quick_closes: QuickCloses::default(),
            traces: PendingTraces::default(),
        }
    }

    /// Its part that works in step with the other workers.
    pub(super) fn workers(&mut self) -> Workers<'_> {
        Workers {
            switch: &mut self.switch,
            io: &mut self.io,
            clock: &self.clock,
            pool: &self.pool,
            counters: &mut self.counters,
            traces: &mut self.traces,
        }
    }

    /// The switch, to be read.
    pub(super) fn switch(&self) -> &Switch {
        &self.switch
    }

    /// The part of an extension's answer that begins at `from`. Errors: the extension's.
    pub(super) fn extension_part(&mut self, request: &ExtValue, from: u64) -> Result<ReplyPart> {
        let now = self.now();
        let part = self.switch.extension_part(now, request, from);
        let catalogue = self.switch.datapath().catalogue();
        part.map_err(|error| catalogue.error_text(error).into())
    }

    /// The switch with all counters up to date.
    pub(super) fn settled(&mut self) -> Settled<'_> {
        self.switch.settled()
    }

    /// Its ports and connections.
    pub(super) fn io(&self) -> &DataPlaneIo {
        &self.io
    }

    /// Its ports and connections, to be changed.
    pub(super) fn io_mut(&mut self) -> &mut DataPlaneIo {
        &mut self.io
    }

    /// The buffers of its frames.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The counters of the thread.
    pub(super) fn counters(&self) -> &LoopCounters {
        &self.counters
    }

    /// What the accelerator does, to be read.
    pub(super) fn acceleration(&self) -> &Acceleration {
        &self.acceleration
    }

    /// The accelerator, to follow what has changed in the switch.
    pub(super) fn accelerator(&mut self) -> Accelerator<'_> {
        Accelerator {
            acceleration: &mut self.acceleration,
            switch: &mut self.switch,
            io: &mut self.io,
            traces: &self.traces,
            clock: &self.clock,
        }
    }

    /// The clock of its thread.
    pub(super) fn clock(&self) -> &ThreadClock {
        &self.clock
    }

    /// The clock of its thread, to be stopped.
    pub(super) fn clock_mut(&mut self) -> &mut ThreadClock {
        &mut self.clock
    }

    /// The switch with its ports and connections, for what is no input: a measurement, a check, the
    /// questions of a state that is being saved. An input would miss in the record.
    pub(super) fn unrecorded(&mut self) -> (&mut Switch, &mut DataPlaneIo) {
        (&mut self.switch, &mut self.io)
    }

    /// The time of the switch.
    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Gives the switch an input by `act`, and records it with the outputs that it causes.
    pub(super) fn give<R>(
        &mut self,
        now: Time,
        input: impl FnOnce(&RecordedConnections) -> Option<RecordedInput>,
        act: impl FnOnce(&mut Switch, &mut DataPlaneIo) -> R,
    ) -> R {
        self.workers().begin_input(now, input);
        let result = act(&mut self.switch, &mut self.io);
        self.workers().end_input();
        self.accelerator().review(ReviewScope::All);
        result
    }

    /// Gives the switch a message and counts how long it took; `head` are its first bytes.
    pub(super) fn message(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        head: &[u8],
        message: Message,
    ) {
        let name = message.name();
        self.workers().gather_states_for(&message);
        let reads_states = reads_states(&message);
        self.workers().begin_message(now, conn, xid, head, &message);
        let request = Request {
            xid,
            head,
            message: Ok(message),
        };
        self.switch.message(now, conn, request, &mut self.io);
        self.workers().end_input();
        self.workers().note_reader(conn, reads_states);
        self.accelerator().review(ReviewScope::All);
        self.counters.message(name, self.now().since(now));
    }

    /// Answers a message that could not be decoded, in its order.
    pub(super) fn refuse(&mut self, now: Time, conn: ConnId, xid: u32, error: ErrorMsg) {
        let noted = error.clone();
        let request = Request {
            xid,
            head: &[],
            message: Err(error),
        };
        self.give(
            now,
            |known| known.wrong(conn, xid, &noted),
            |switch, io| switch.message(now, conn, request, io),
        );
    }

    /// Does one slice of the work that waits in the switch, and what was due at `next_tick`.
    pub(super) fn work(&mut self, now: Time, next_tick: Option<Time>) {
        if self.switch.has_work(&self.io) {
            self.work_slice(now);
        }
        // What becomes due in this turn is done in the next one, which does not wait.
        if next_tick.is_some_and(|tick| tick <= now) {
            self.give(
                now,
                |_| Some(RecordedInput::Tick),
                |switch, io| switch.tick(now, io),
            );
        }
    }

    fn work_slice(&mut self, now: Time) {
        self.give(
            now,
            |_| Some(RecordedInput::Work),
            |switch, io| switch.work(now, io),
        );
    }

    /// Completes a change in progress; the check of a configuration would do so without a record.
    /// A scheduled commit that is prepared waits for its time, some milliseconds at most.
    pub(super) fn complete_changes(&mut self) {
        while self.switch.is_changing() {
            if let Some(due) = self.switch.waits_until() {
                sleep(Duration::from_nanos(due.since(self.now())));
            }
            let now = self.now();
            self.work_slice(now);
        }
    }

    /// Sends what waits for a port. Then receives one batch and runs it through the switch, unless
    /// earlier frames of the port are still unprocessed. Returns the current time.
    pub(super) fn serve_port(
        &mut self,
        now: Time,
        number: PortNo,
        frames: &mut Vec<Frame>,
    ) -> Time {
        if self.io.ports.send_queued(number) {
            self.give(
                now,
                |_| Some(RecordedInput::PortRoom(number)),
                |switch, io| switch.ports(now, io, |ports| ports.has_room(number)),
            );
        }
        if self.switch.datapath().lane().backlog.has(number) {
            return now;
        }
        match self.io.ports.receive(number, &self.pool, frames) {
            Ok(0) => return now,
            Ok(count) => {
                let arrived = (number, &frames[..]);
                let Self { clock, switch, .. } = self;
                self.traces.answer(clock, switch, &self.pool, arrived);
                self.workers().hand_over(number, frames);
                // A worker counts the frames that it was handed.
                let kept = frames.len();
                if let Some(recorder) = &mut self.io.recorder {
                    recorder.look_for(self.switch.datapath().catalogue().additions());
                    recorder.begin(now, |known| Some(known.frames(number, frames)));
                }
                self.switch.receive(now, number, frames, &mut self.io);
                if let Some(recorder) = &mut self.io.recorder {
                    recorder.end();
                }
                self.io.ports.flush();
                let mut accelerator = self.accelerator();
                accelerator.review(ReviewScope::Hooks);
                accelerator.note_drained(number, count);
                let end = self.now();
                self.counters.batch(kept, end.since(now));
                return end;
            }
            Err(PortError::Gone) => self.lose_port(number),
            Err(PortError::Io(error)) => {
                warn!("port {number}: receiving: {error}");
            }
        }
        self.now()
    }

    /// Reports what the switch would do with a packet.
    pub(super) fn trace_packet(&mut self, argument: &str) -> Result<String> {
        let (format, packet) = TraceFormat::read(argument);
        let (in_port, frame) = parse_packet(packet, &named(&self.switch))?;
        self.workers().gather_states();
        let now = self.now();
        let mut trace = Trace::of(&mut self.switch, now, in_port, 0, &frame)?;
        trace.forwarded = self.acceleration.place(now, &self.switch, in_port, &frame);
        format.print(&self.switch, trace)
    }

    /// Registers a request to trace the next packet that matches.
    pub(super) fn trace_next_packet(
        &mut self,
        argument: &str,
        reply: oneshot::Sender<Result<String>>,
    ) {
        self.traces.request(&self.switch, argument, reply);
    }

    /// Forgets requests to trace a packet whose requesters are gone.
    pub(super) fn forget_traces(&mut self) {
        self.traces.forget();
    }

    /// Closes the connections that are meant.
    pub(super) fn close_connections(&mut self, are_meant: impl Fn(&Origin) -> bool, reason: &str) {
        for conn in self.io.connections.select(are_meant) {
            self.close_connection(conn, reason, false);
        }
    }

    /// Closes a connection, unless it is closed already. The usual end of a local tool's connection
    /// is logged at debug level.
    pub(super) fn close_connection(&mut self, conn: ConnId, reason: &str, is_usual: bool) {
        if let Some(peer) = self.io.connections.remove(conn) {
            let now = self.now();
            let lost = self.switch.lost(conn).packet_ins;
            self.quick_closes
                .log_end(now, &peer, lost, reason, is_usual);
            self.give(
                now,
                |_| Some(RecordedInput::Disconnect(conn)),
                |switch, _| switch.disconnected(now, conn),
            );
        }
    }
}
