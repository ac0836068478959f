//! The whole switch: a datapath and its connections. Inputs are method calls, and outputs go
//! through a [`SwitchIo`].

use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};

use bofuss_datapath::engine::{FrameEngine, PlainEngine};
use bofuss_datapath::{Datapath, Settled, Sink, Step, Time};
use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::message::controller_status::ControllerStatusReason;
use bofuss_oflib::message::multipart::{Desc, FlowCounters, PortStats};
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::message::{ControllerRole, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Action, ExtValue, Message, PortNo, Version};

use crate::bundles::Bundle;
use crate::commit::Commit;
use crate::connection::Connection;
use crate::fail_mode::FailMode;
use crate::request::{ConnId, Pending, Refusal, Request};
use crate::schedule::CommitClock;

/// The outputs of a switch: frames, messages and changes of links. The program that runs the switch
/// implements it.
pub trait SwitchIo {
    /// Whether [`SwitchIo::step`] wants the steps of a trace.
    const TRACES: bool = false;
    /// Sends a frame out of a port, at the latest by the next [`SwitchIo::flush`].
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame);
    /// Sends all frames that were transmitted before.
    fn flush(&mut self);
    /// Sends a message on a connection. No message is lost silently: a connection whose peer does
    /// not read is closed in the end, and the controller has to synchronise again.
    fn send(&mut self, conn: ConnId, xid: u32, message: Message);
    /// Whether a connection has room for messages. If false, packet-ins are dropped and other
    /// messages are deferred.
    fn has_room(&self, conn: ConnId) -> bool;
    /// Whether a connection has room for a packet-in from this ingress port; if so, the packet-in
    /// is counted as sent.
    fn takes_packet_in(&mut self, conn: ConnId, _in_port: PortNo) -> bool {
        self.has_room(conn)
    }
    /// Whether a port accepts frames now. If false, call [`Switch::port_has_room`] when it does
    /// again.
    fn port_takes_frames(&self, _port: PortNo) -> bool {
        true
    }
    /// Whether controllers may set links up and down and change what they advertise.
    fn may_change_links(&self) -> bool {
        true
    }
    /// Called when a message of a connection is refused, before the ERROR is sent.
    fn refused(&mut self, _conn: ConnId, _xid: u32, _message: &Message, _why: &Refusal) {}
    /// Sets a port's link administratively up or down.
    fn set_link(&mut self, port: PortNo, up: bool);
    /// Changes the features that a port's interface advertises.
    fn advertise(&mut self, _port: PortNo, _features: PortFeatures) {}
    /// Takes one step of a trace.
    fn step(&mut self, _: Step<'_>) {}
}

/// How the switch identifies itself to controllers.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Its datapath id.
    pub datapath_id: u64,
    /// Its description.
    pub desc: Desc,
}

/// An OpenFlow switch: everything but threads, sockets, clocks and files.
pub struct Switch<E: FrameEngine = PlainEngine> {
    pub(crate) datapath: Datapath<E>,
    pub(crate) identity: Identity,
    pub(crate) connections: BTreeMap<ConnId, Connection>,
    pub(crate) fail_mode: FailMode,
    /// The message whose bulk change is in progress.
    pub(crate) pending: Option<Pending>,
    /// The commit in progress.
    pub(crate) commit: Option<Box<Commit>>,
    /// Since when the change in progress waits for reads.
    pub(crate) held_since: Option<Time>,
    /// Finished and discarded bundles, whose memory is freed in slices.
    pub(crate) discarded: Vec<Bundle>,
    /// The newest generation id of a role request for master or slave.
    pub(crate) generation_id: Option<u64>,
    /// The action of the fail mode's entry, while that is in table 0.
    pub(crate) stands_in: Option<Action>,
    pub(crate) clock: CommitClock,
}

/// The datapath's sink: passes frames to the ports, and events to the connections that want them.
pub(crate) struct SwitchSink<'a, I> {
    pub(crate) now: Time,
    pub(crate) connections: &'a mut BTreeMap<ConnId, Connection>,
    pub(crate) io: &'a mut I,
}

impl<I: SwitchIo> Sink for SwitchSink<'_, I> {
    const TRACES: bool = I::TRACES;
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame) {
        self.io.transmit(port, queue, frame);
    }
    fn has_room(&self, port: PortNo) -> bool {
        self.io.port_takes_frames(port)
    }
    fn wants_misses(&self) -> bool {
        let mut versions = self.connections.values().map(|conn| conn.version);
        versions.any(Version::miss_goes_to_controller)
    }
    fn packet_in(&mut self, event: &bofuss_datapath::PacketInEvent<'_>) {
        self.deliver_packet_in(event);
    }
    fn flow_removed(&mut self, removed: FlowRemoved) {
        self.deliver_flow_removed(removed);
    }
    fn flow_stats(&mut self, stats: FlowCounters) {
        self.deliver_flow_stats(stats);
    }
    fn port_status(&mut self, reason: PortStatusReason, desc: &PortDesc) {
        self.deliver_port_status(reason, desc);
    }
    fn notify(&mut self, value: &ExtValue) {
        self.deliver_notification(value);
    }
    fn set_link(&mut self, port: PortNo, up: bool) {
        self.io.set_link(port, up);
    }
    fn advertise(&mut self, port: PortNo, features: PortFeatures) {
        self.io.advertise(port, features);
    }
    fn step(&mut self, step: Step<'_>) {
        self.io.step(step);
    }
}

impl<E: FrameEngine> Switch<E> {
    /// Makes a switch from a datapath. Except in [`FailMode::Secure`] it forwards packets at once.
    pub fn new(now: Time, datapath: Datapath<E>, identity: Identity, fail_mode: FailMode) -> Self {
        let mut this = Self {
            datapath,
            identity,
            connections: BTreeMap::new(),
            fail_mode,
            pending: None,
            commit: None,
            held_since: None,
            discarded: Vec::new(),
            generation_id: None,
            stands_in: None,
            clock: CommitClock::default(),
        };
        this.follow_fail_mode(now);
        this
    }

    /// Its datapath, and a sink for what that does.
    pub(crate) fn parts<'a, I>(
        &'a mut self,
        now: Time,
        io: &'a mut I,
    ) -> (&'a mut Datapath<E>, SwitchSink<'a, I>) {
        let connections = &mut self.connections;
        let sink = SwitchSink {
            now,
            connections,
            io,
        };
        (&mut self.datapath, sink)
    }

    /// The datapath, read-only.
    pub fn datapath(&self) -> &Datapath<E> {
        &self.datapath
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
    /// [`Switch::work`]: see [`Datapath::is_behind`].
    pub fn receive<I: SwitchIo>(
        &mut self,
        now: Time,
        port: PortNo,
        frames: &mut Vec<Frame>,
        io: &mut I,
    ) {
        let (datapath, mut sink) = self.parts(now, io);
        datapath.receive(now, port, frames, &mut sink);
    }

    /// Adds a port, or changes its description.
    pub fn port_changed<I: SwitchIo>(
        &mut self,
        now: Time,
        desc: PortDesc,
        capabilities: OffloadCapabilities,
        io: &mut I,
    ) {
        let (datapath, mut sink) = self.parts(now, io);
        datapath.port_changed(now, desc, capabilities, &mut sink);
    }

    /// Removes a port.
    pub fn port_removed<I: SwitchIo>(&mut self, now: Time, port: PortNo, io: &mut I) {
        let (datapath, mut sink) = self.parts(now, io);
        datapath.port_removed(now, port, &mut sink);
    }

    /// Reports that a port which accepted no frames accepts them again.
    pub fn port_has_room<I: SwitchIo>(&mut self, now: Time, port: PortNo, io: &mut I) {
        let (datapath, mut sink) = self.parts(now, io);
        datapath.port_has_room(now, port, &mut sink);
    }

    /// Sets the counters of what a port's driver lost.
    pub fn set_driver_counters(&mut self, port: PortNo, lost: &PortStats) {
        self.datapath.set_driver_counters(port, lost);
    }

    /// Adds a connection that speaks `version`; `is_controller` says whether its peer is a
    /// configured controller.
    pub fn connected(&mut self, now: Time, conn: ConnId, version: Version, is_controller: bool) {
        self.connections
            .insert(conn, Connection::new(conn, version, is_controller));
        self.note_change(conn, ControllerStatusReason::CHANNEL_STATUS);
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
        let Some(of) = self.connections.get_mut(&main) else {
            return false;
        };
        of.auxiliaries.push(conn);
        let auxiliary = Connection {
            main,
            auxiliary_id,
            datagrams,
            ..Connection::new(conn, of.version, false)
        };
        self.connections.insert(conn, auxiliary);
        true
    }

    /// Removes a connection that was closed; with a main connection also its auxiliary ones.
    pub fn disconnected(&mut self, now: Time, conn: ConnId) {
        let ended = self.connections.get(&conn);
        if ended.is_some_and(|ended| ended.main == conn) {
            self.datapath.connection_ended(conn.0);
        }
        let discarded = &mut self.discarded;
        for (id, other) in &mut self.connections {
            if *id == conn || other.main == conn {
                discarded.extend(core::mem::take(&mut other.bundles).into_values());
            }
        }
        let status = self.ended_status(conn);
        self.connections
            .retain(|id, other| *id != conn && other.main != conn);
        if let Some(status) = status {
            self.note_status(conn, &status);
        }
        self.follow_monitored();
        for main in self.connections.values_mut() {
            main.auxiliaries.retain(|id| *id != conn);
        }
        self.follow_fail_mode(now);
    }

    /// The role of a connection's controller; `None` if the connection does not exist.
    pub fn role(&self, conn: ConnId) -> Option<ControllerRole> {
        let main = self.connections.get(&conn)?.main;
        self.connections.get(&main).map(|main| main.role)
    }

    /// How many packet-ins for a connection were dropped because it does not read.
    pub fn lost_packet_ins(&self, conn: ConnId) -> u64 {
        self.connections
            .get(&conn)
            .map_or(0, |conn| conn.lost_packet_ins)
    }

    /// How many triggered statistics for a connection were dropped because it does not read.
    pub fn lost_flow_stats(&self, conn: ConnId) -> u64 {
        self.connections
            .get(&conn)
            .map_or(0, |conn| conn.lost_flow_stats)
    }

    /// How many notifications of extensions for a connection were dropped because it does not read.
    pub fn lost_notifications(&self, conn: ConnId) -> u64 {
        self.connections
            .get(&conn)
            .map_or(0, |conn| conn.lost_notifications)
    }

    /// Whether any next message of a connection may be passed to [`Switch::message`]: the previous
    /// reply is complete, no change is in progress, and the connection has room. While a change is
    /// in progress, [`Switch::takes`] knows which messages need not wait for it.
    pub fn is_ready<I: SwitchIo>(&self, conn: ConnId, io: &I) -> bool {
        let busy = self
            .connections
            .get(&conn)
            .is_some_and(|c| c.dump.is_some());
        !busy && !self.is_changing() && io.has_room(conn)
    }

    /// Whether a long change is in progress. Other changes wait for its end, packets do not.
    pub fn is_changing(&self) -> bool {
        self.commit.is_some() || self.datapath.has_work()
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
        while !self.may_pass(conn, request.message.as_ref().ok()) {
            self.hurry(now, io);
        }
        if self.connections.contains_key(&conn) {
            self.handle(now, conn, request, io);
        }
        self.report_tables(io);
    }

    /// Whether there is something for [`Switch::work`] to do.
    pub fn has_work<I: SwitchIo>(&self, io: &I) -> bool {
        let waits_for_time = self.waits_until().is_some() && !self.clock.was_set;
        let waits = waits_for_time || self.waits_for_reads_until().is_some();
        let is_working = self.is_changing() && !waits;
        if is_working || self.datapath.has_backlog() || !self.discarded.is_empty() {
            return true;
        }
        if self.datapath.has_news() {
            return true;
        }
        let mut connections = self.connections.iter();
        connections.any(|(id, conn)| conn.has_more() && io.has_room(*id))
    }

    /// Does one slice of the long change in progress, of each long reply, and of the frames that
    /// wait for a later turn.
    pub fn work<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        let (datapath, mut sink) = self.parts(now, io);
        datapath.catch_up(now, &mut sink);
        self.go_on(now, io);
        self.report_tables(io);
        self.report_news(None, io);
        self.free_discarded();
        let mut waiting = Vec::new();
        for (id, conn) in &self.connections {
            let goes_on = match &conn.dump {
                _ if self.commit.is_none() => conn.has_more(),
                Some(dump) => dump.passes_bundles(),
                None => false,
            };
            if goes_on && io.has_room(*id) {
                waiting.push(*id);
            }
        }
        for id in waiting {
            if self.commit.is_some() {
                self.continue_late_dump(now, id, io);
                continue;
            }
            if let Some(conn) = self.connections.get_mut(&id) {
                conn.report_late_ports(id, io);
                conn.report_late_controllers(id, io);
            }
            self.report_late_entries(id, io);
            self.continue_late_dump(now, id, io);
        }
    }

    /// When [`Switch::tick`] has to be called next.
    pub fn next_tick(&self) -> Option<Time> {
        let bundle_ends = self.next_bundle_end();
        self.datapath
            .next_tick()
            .into_iter()
            .chain(bundle_ends)
            .chain(self.waits_until().or_else(|| self.next_scheduled()))
            .chain(self.waits_for_reads_until())
            .min()
    }

    /// Handles all timers that are due: expires entries and idle bundles, and begins scheduled
    /// commits.
    pub fn tick<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        self.report_news(None, io);
        let (datapath, mut sink) = self.parts(now, io);
        datapath.tick(now, &mut sink);
        self.report_tables(io);
        self.report_news(None, io);
        self.end_idle_bundles(now, io);
        let waits = self.waits_until().into_iter();
        let mut due = waits.chain(self.waits_for_reads_until());
        if due.any(|due| due <= now) {
            self.go_on(now, io);
        }
        self.begin_due_commit(now, io);
    }
}
