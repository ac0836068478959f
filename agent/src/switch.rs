//! The whole switch: a datapath and its connections. Inputs are method calls, and outputs go
//! through a [`SwitchIo`].

use alloc::vec::Vec;

use bofuss_datapath::engine::{FrameEngine, PlainEngine, ReviewScope};
use bofuss_datapath::{Datapath, PortControl, Settled, Time};
use bofuss_frame::Frame;
use bofuss_oflib::message::ControllerRole;
use bofuss_oflib::message::controller_status::ControllerStatusReason;
#[cfg(feature = "text")]
use bofuss_oflib::{ErrorCode, ExtValue};
use bofuss_oflib::{Message, PortNo, Version};

use crate::bundles::{Bundles, begin_due_commit};
use crate::change::Change;
use crate::connection::Lost;
use crate::connections::Connections;
use crate::controllers::{self, ended_status, note_change, note_status};
use crate::deliver::{DiscardSink, SwitchSink, report_tables};
use crate::fail_mode::{FailMode, StandIn};
use crate::features::Identity;
use crate::handle::{go_on, handle, hurry};
use crate::io::SwitchIo;
use crate::monitors::{follow_monitored, report_late_entries, report_news};
use crate::parts::Parts;
use crate::replies::continue_late_dump;
use crate::request::{ConnId, Request};
#[cfg(feature = "text")]
use crate::trace;

#[cfg(any(
    feature = "bundles",
    feature = "operators",
    feature = "queues",
    feature = "replicas",
    feature = "restore"
))]
mod optional;
#[cfg(feature = "reconfigure")]
mod reconfigure;

/// An OpenFlow switch: everything but threads, sockets, clocks and files.
///
/// ```
/// use std::sync::Arc;
///
/// use bofuss_agent::{ConnId, FailMode, Identity, Request, Switch, SwitchIo};
/// use bofuss_datapath::{Config, Datapath, Time};
/// use bofuss_frame::{Frame, Pool};
/// use bofuss_oflib::message::Empty;
/// use bofuss_oflib::types::QueueId;
/// use bofuss_oflib::{Catalogue, Message, PortNo, Version};
///
/// /// Keeps the messages of the switch; it has no ports.
/// struct Sent(Vec<(ConnId, u32, Message)>);
///
/// impl SwitchIo for Sent {
///     fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
///     fn flush(&mut self) {}
///     fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
///         self.0.push((conn, xid, message));
///     }
///     fn has_room(&self, _: ConnId) -> bool {
///         true
///     }
///     fn set_link(&mut self, _: PortNo, _: bool) {}
/// }
///
/// let pool = Pool::new(1 << 20);
/// let datapath: Datapath = Datapath::new(Config::default(), Arc::new(Catalogue::default()), pool);
/// let mut switch = Switch::new(Time(0), datapath, Identity::default(), FailMode::Secure);
/// let (controller, mut sent) = (ConnId(1), Sent(Vec::new()));
/// switch.connected(Time(0), controller, Version::V1_3, true);
/// let request = Request { xid: 7, head: &[], message: Ok(Message::BarrierRequest(Empty)) };
/// switch.message(Time(1_000), controller, request, &mut sent);
/// assert_eq!(sent.0, [(controller, 7, Message::BarrierReply(Empty))]);
/// ```
pub struct Switch<E: FrameEngine = PlainEngine> {
    datapath: Datapath<E>,
    identity: Identity,
    connections: Connections,
    bundles: Bundles,
    change: Change,
    stand_in: StandIn,
}

impl<E: FrameEngine> Switch<E> {
    /// Makes a switch from a datapath. Except in [`FailMode::Secure`] it forwards packets at once.
    pub fn new(now: Time, datapath: Datapath<E>, identity: Identity, fail_mode: FailMode) -> Self {
        let mut this = Self {
            datapath,
            identity,
            connections: Connections::default(),
            bundles: Bundles::default(),
            change: Change::default(),
            stand_in: StandIn::new(fail_mode),
        };
        this.follow_fail_mode(now);
        this
    }

    fn parts<'a, I>(&'a mut self, now: Time, io: &'a mut I) -> Parts<'a, E, I> {
        Parts {
            datapath: &mut self.datapath,
            identity: &mut self.identity,
            bundles: &mut self.bundles,
            change: &mut self.change,
            stand_in: &mut self.stand_in,
            sink: SwitchSink {
                now,
                connections: &mut self.connections,
                io,
            },
        }
    }

    fn follow_fail_mode(&mut self, now: Time) {
        let stand_in = &mut self.stand_in;
        stand_in.follow(now, &mut self.datapath, &self.connections, &self.change);
    }

    /// The datapath, read-only.
    pub fn datapath(&self) -> &Datapath<E> {
        &self.datapath
    }

    /// What its engine knows.
    pub fn engine_mut(&mut self) -> &mut E::State {
        self.datapath.engine_mut()
    }

    /// Lets what forwards frames outside the switch learn of changes: see [`Datapath::review`].
    pub fn review(&mut self, now: Time, scope: ReviewScope) {
        self.datapath.review(now, scope);
    }

    /// The datapath with settled counters.
    pub fn settled(&mut self) -> Settled<'_, E> {
        self.datapath.settled()
    }

    /// Its identity.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Handles frames that arrived on a port; leaves `frames` empty. Some may wait for
    /// [`Switch::work`]: see [`Datapath::receive`].
    pub fn receive<I: SwitchIo>(
        &mut self,
        now: Time,
        port: PortNo,
        frames: &mut Vec<Frame>,
        io: &mut I,
    ) {
        let parts = &mut self.parts(now, io);
        parts.datapath.receive(now, port, frames, &mut parts.sink);
    }

    /// Changes ports and their queues, or tells what happened to them, as `change` does.
    pub fn ports<I: SwitchIo, R>(
        &mut self,
        now: Time,
        io: &mut I,
        change: impl FnOnce(&mut PortControl<'_, SwitchSink<'_, I>, E>) -> R,
    ) -> R {
        let parts = &mut self.parts(now, io);
        change(&mut parts.datapath.port_control(now, &mut parts.sink))
    }

    /// Adds a connection that speaks `version`; `is_controller` says whether its peer is a
    /// configured controller.
    pub fn connected(&mut self, now: Time, conn: ConnId, version: Version, is_controller: bool) {
        self.connections.add(conn, version, is_controller);
        let reason = ControllerStatusReason::CHANNEL_STATUS;
        note_change(&mut self.connections, conn, reason);
        self.follow_fail_mode(now);
    }

    /// Adds an auxiliary connection to the channel of `main`; it shares role and settings with it.
    /// `datagrams` says whether its transport may lose messages. Returns false if `main` is gone;
    /// the caller then closes the new connection. Spec: OpenFlow 1.3.5 section 6.3.6.
    pub fn connected_auxiliary(
        &mut self,
        main: ConnId,
        conn: ConnId,
        auxiliary_id: u8,
        datagrams: bool,
    ) -> bool {
        self.connections
            .add_auxiliary(main, conn, auxiliary_id, datagrams)
    }

    /// Removes a connection that was closed; with a main connection also its auxiliary ones.
    pub fn disconnected(&mut self, now: Time, conn: ConnId) {
        let status = ended_status(&self.connections, conn);
        for ended in self.connections.remove(conn) {
            self.bundles.end(ended);
        }
        if let Some(status) = status {
            let sink = &mut DiscardSink;
            self.datapath.hook_calls(now, sink).disconnected(conn.0);
            note_status(&mut self.connections, conn, &status);
        }
        follow_monitored(&mut self.datapath, &self.connections);
        self.follow_fail_mode(now);
    }

    /// The role of a connection's controller; `None` if the connection does not exist.
    pub fn role(&self, conn: ConnId) -> Option<ControllerRole> {
        let main = self.connections.by_id.get(&conn)?.main;
        self.connections.by_id.get(&main).map(|main| main.role)
    }

    /// Returns how many messages for a connection were dropped, because its peer does not read;
    /// none if the connection does not exist.
    pub fn lost(&self, conn: ConnId) -> Lost {
        let conn = self.connections.by_id.get(&conn);
        conn.map_or_else(Lost::default, |conn| conn.lost)
    }

    /// Returns true if any next message of a connection may be passed to [`Switch::message`]: the
    /// previous reply is complete, no change is in progress, and the connection has room. While a
    /// change is in progress, [`Switch::takes`] knows which messages need not wait for it.
    pub fn is_ready<I: SwitchIo>(&self, conn: ConnId, io: &I) -> bool {
        !self.connections.is_busy(conn) && !self.is_changing() && io.has_room(conn)
    }

    /// Returns true if a message of a connection may be passed to [`Switch::message`] now: the
    /// connection's previous message is complete and it has room for a reply, and the message does
    /// not depend on the change in progress.
    pub fn takes<I: SwitchIo>(&self, conn: ConnId, message: Option<&Message>, io: &I) -> bool {
        !self.connections.is_busy(conn)
            && io.has_room(conn)
            && self.change.lets_pass(&self.datapath, conn, message)
    }

    /// Returns true if a long change is in progress. Other changes wait for its end, packets do
    /// not.
    pub fn is_changing(&self) -> bool {
        self.change.goes_on(&self.datapath)
    }

    /// Handles a message of a connection for which [`Switch::takes`] returned true. Otherwise the
    /// change in progress is completed first, and ends the reads that it cannot wait for.
    pub fn message<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        request: Request<'_>,
        io: &mut I,
    ) {
        let parts = &mut self.parts(now, io);
        let message = request.message.as_ref().ok();
        while !parts.change.lets_pass(parts.datapath, conn, message) {
            hurry(parts);
        }
        if parts.sink.connections.has(conn) {
            handle(parts, conn, request);
        }
        report_tables(parts.datapath, &mut parts.sink);
    }

    /// Returns true if there is something for [`Switch::work`] to do.
    pub fn has_work<I: SwitchIo>(&self, io: &I) -> bool {
        let commit = self.change.commit.as_ref();
        let waits_for_time = commit.is_some_and(|commit| commit.rests(&self.bundles));
        let is_working = self.is_changing() && !waits_for_time && self.reads_until().is_none();
        let lane = self.datapath.lane();
        let is_behind =
            !lane.backlog.is_empty() || lane.has_wanted() && self.datapath.changes().lets_add();
        if is_working || is_behind || self.bundles.has_discarded() {
            return true;
        }
        if !self.datapath.changes().news().is_empty() {
            return true;
        }
        let mut connections = self.connections.by_id.iter();
        connections.any(|(id, conn)| conn.has_more() && io.has_room(*id))
    }

    /// Until when the change in progress waits for reads.
    fn reads_until(&self) -> Option<Time> {
        let datapath = &self.datapath;
        self.change
            .waits_for_reads_until(datapath, &self.connections)
    }

    /// Does one slice of the long change in progress, of each long reply, and of the frames that
    /// wait for a later turn.
    pub fn work<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        let parts = &mut self.parts(now, io);
        parts.datapath.catch_up(now, &mut parts.sink);
        go_on(parts);
        let Parts { datapath, sink, .. } = parts;
        report_tables(datapath, sink);
        report_news(datapath, sink, None);
        parts.bundles.free_some();
        let is_committing = parts.change.commit.is_some();
        let mut waiting = Vec::new();
        for (id, conn) in &sink.connections.by_id {
            let goes_on = match &conn.dump {
                _ if !is_committing => conn.has_more(),
                Some(dump) => dump.passes_bundles(),
                None => false,
            };
            if goes_on && sink.io.has_room(*id) {
                waiting.push(*id);
            }
        }
        for id in waiting {
            let connection = sink.connections.by_id.get_mut(&id);
            if let Some(conn) = connection.filter(|_| !is_committing) {
                conn.report_late_ports(id, sink.io);
                conn.report_late_controller(id, sink.io);
                report_late_entries(datapath, sink, id);
            }
            continue_late_dump(datapath, sink, id);
        }
    }

    /// The time when [`Switch::tick`] has to be called next.
    pub fn next_tick(&self) -> Option<Time> {
        let waits_until = self.change.waits_until(&self.bundles);
        self.datapath
            .next_tick()
            .into_iter()
            .chain(self.bundles.next_tick(waits_until))
            .chain(self.reads_until())
            .min()
    }

    /// Handles all timers that are due: expires entries and idle bundles, and begins scheduled
    /// commits.
    pub fn tick<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        let parts = &mut self.parts(now, io);
        report_news(parts.datapath, &mut parts.sink, None);
        parts.datapath.tick(now, &mut parts.sink);
        report_tables(parts.datapath, &mut parts.sink);
        report_news(parts.datapath, &mut parts.sink, None);
        parts.bundles.end_idle(now, parts.sink.io);
        let change = &parts.change;
        let waits = change.waits_until(parts.bundles).into_iter();
        let reads = change.waits_for_reads_until(parts.datapath, parts.sink.connections);
        if waits.chain(reads).any(|due| due <= now) {
            go_on(parts);
        }
        begin_due_commit(parts);
    }

    /// Sets the address of a connection's peer, such as `tcp:192.0.2.1:6653`.
    pub fn set_peer(&mut self, conn: ConnId, uri: &str) {
        controllers::set_peer(&mut self.connections, conn, uri);
    }

    /// Runs the request's frame, which comes by a tunnel or 0, through the pipeline without any
    /// effect, and returns the steps.
    ///
    /// Errors: BAD_REQUEST/BAD_PORT for a number that no port may have, BAD_PACKET if there is no
    /// frame or no room for it.
    #[cfg(feature = "text")]
    pub fn trace(
        &mut self,
        now: Time,
        value: &ExtValue,
        tunnel_id: u64,
    ) -> Result<ExtValue, ErrorCode> {
        trace::trace(&mut self.datapath, now, value, tunnel_id)
    }

    /// Changes the fail mode, with effect at once if there is no controller.
    pub fn set_fail_mode(&mut self, now: Time, fail_mode: FailMode) {
        self.stand_in.mode = fail_mode;
        self.follow_fail_mode(now);
    }
}
