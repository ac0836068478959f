//! The whole switch: a datapath and its connections, driven by inputs, answering through a io.

use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};

use bofuss_datapath::{Datapath, Settled, Sink, Step, Time};
use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::message::controller_status::ControllerStatusReason;
use bofuss_oflib::message::multipart::{Desc, FlowCounters, PortStats};
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::message::{ControllerRole, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Action, ErrorCode, ExtValue, Message, PortNo, Version};

use crate::bundles::Bundle;
use crate::commit::Commit;
use crate::connection::{ConnId, Connection, Request};
use crate::fail_mode::FailMode;
use crate::handle::Asked;
use crate::schedule::CommitErrors;

/// The outputs of the switch: frames, messages and changes of links. Who runs a switch implements
/// this.
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
    /// Whether a connection has room for messages. If false, packet-ins are dropped and the rest is
    /// deferred.
    fn has_room(&self, conn: ConnId) -> bool;
    /// Whether a connection has room for a packet-in from this ingress port; if so, the packet-in
    /// is counted as sent.
    fn takes_packet_in(&mut self, conn: ConnId, _in_port: PortNo) -> bool {
        self.has_room(conn)
    }
    /// Whether a port takes frames now. If false, [`Switch::port_has_room`] is to be called when it
    /// does again.
    fn port_takes_frames(&self, _port: PortNo) -> bool {
        true
    }
    /// Whether links may be set up and down, and what they advertise.
    fn may_change_links(&self) -> bool {
        true
    }
    /// Reports that a message of a connection is refused, before the ERROR is sent.
    fn refused(&mut self, _conn: ConnId, _xid: u32, _message: &Message, _error: ErrorCode) {}
    /// Sets a port's link administratively up or down.
    fn set_link(&mut self, port: PortNo, up: bool);
    /// Changes the features that a port's interface advertises.
    fn advertise(&mut self, _port: PortNo, _features: PortFeatures) {}
    /// Takes one step of a trace.
    fn step(&mut self, _: Step<'_>) {}
}

/// Who the switch says it is.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Its datapath id.
    pub datapath_id: u64,
    /// Its description.
    pub desc: Desc,
}

/// An OpenFlow switch: everything but threads, sockets, clocks and files.
pub struct Switch {
    pub(crate) datapath: Datapath,
    pub(crate) identity: Identity,
    pub(crate) connections: BTreeMap<ConnId, Connection>,
    pub(crate) fail_mode: FailMode,
    /// The message that the datapath still works on, and its first bytes.
    pub(crate) asked: Option<(Asked, Message, Vec<u8>)>,
    /// The bundle that is carried out.
    pub(crate) commit: Option<Box<Commit>>,
    /// Bundles that are not needed any more; their memory is freed little by little.
    pub(crate) discarded: Vec<Bundle>,
    /// The highest generation id that a master or slave named.
    pub(crate) generation_id: Option<u64>,
    /// The action of the entry that the fail mode adds, while it does.
    pub(crate) stands_in: Option<Action>,
    /// What the clock of scheduled commits said at [`Time`] 0, if there is one.
    pub(crate) clock_ns_at_0: Option<u64>,
    /// Whether a commit that waits has to look at it again.
    pub(crate) clock_was_set: bool,
    pub(crate) commit_errors: CommitErrors,
    /// The time of a commit that packets see from the next one on.
    pub(crate) unmeasured_ns: Option<u64>,
}

/// The datapath's sink: passes frames on to the ports, and events to the connections that want
/// them.
pub(crate) struct SwitchSink<'a, I> {
    pub(crate) now: Time,
    pub(crate) connections: &'a mut BTreeMap<ConnId, Connection>,
    pub(crate) io: &'a mut I,
}

/// Borrows the datapath of a switch, and a sink for its effects.
macro_rules! parts {
    ($switch:expr, $now:expr, $io:expr) => {
        (
            &mut $switch.datapath,
            &mut $crate::switch::SwitchSink {
                now: $now,
                connections: &mut $switch.connections,
                io: $io,
            },
        )
    };
}
pub(crate) use parts;

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

impl Switch {
    /// Makes a switch of a datapath; unless in [`FailMode::Secure`] it forwards at once.
    pub fn new(now: Time, datapath: Datapath, identity: Identity, fail_mode: FailMode) -> Self {
        let mut this = Self {
            datapath,
            identity,
            connections: BTreeMap::new(),
            fail_mode,
            asked: None,
            commit: None,
            discarded: Vec::new(),
            generation_id: None,
            stands_in: None,
            clock_ns_at_0: None,
            clock_was_set: false,
            commit_errors: CommitErrors::default(),
            unmeasured_ns: None,
        };
        this.follow_fail_mode(now);
        this
    }

    /// The datapath, to be looked at.
    pub fn datapath(&self) -> &Datapath {
        &self.datapath
    }

    /// The datapath, its counters to be read.
    pub fn settled(&mut self) -> Settled<'_> {
        self.datapath.settled()
    }

    /// Who it says it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Frames arrived on a port; leaves `frames` empty. Some may wait for [`Switch::work`]: see
    /// [`Datapath::is_behind`].
    pub fn receive<I: SwitchIo>(
        &mut self,
        now: Time,
        port: PortNo,
        frames: &mut Vec<Frame>,
        io: &mut I,
    ) {
        let (datapath, sink) = parts!(self, now, io);
        datapath.receive(now, port, frames, sink);
    }

    /// A port appeared or changed.
    pub fn port_changed<I: SwitchIo>(
        &mut self,
        now: Time,
        desc: PortDesc,
        capabilities: OffloadCapabilities,
        io: &mut I,
    ) {
        let (datapath, sink) = parts!(self, now, io);
        datapath.port_changed(now, desc, capabilities, sink);
    }

    /// A port went.
    pub fn port_removed<I: SwitchIo>(&mut self, now: Time, port: PortNo, io: &mut I) {
        let (datapath, sink) = parts!(self, now, io);
        datapath.port_removed(now, port, sink);
    }

    /// A port that took no frames takes them again.
    pub fn port_has_room<I: SwitchIo>(&mut self, now: Time, port: PortNo, io: &mut I) {
        let (datapath, sink) = parts!(self, now, io);
        datapath.port_has_room(now, port, sink);
    }

    /// What a port's driver lost.
    pub fn set_driver_counters(&mut self, port: PortNo, lost: &PortStats) {
        self.datapath.set_driver_counters(port, lost);
    }

    /// A connection that speaks `version` is up; `is_controller` if it is to a configured
    /// controller.
    pub fn connected(&mut self, now: Time, conn: ConnId, version: Version, is_controller: bool) {
        self.connections
            .insert(conn, Connection::new(conn, version, is_controller));
        self.note_change(conn, ControllerStatusReason::CHANNEL_STATUS);
        self.follow_fail_mode(now);
    }

    /// An auxiliary connection is up: one more way of the channel of `main`, with its role and all
    /// that was set there. `datagrams`: whether what is sent on it may be lost. `false` if `main`
    /// is gone, and the new one is to be closed. Spec: OpenFlow 1.3.5 section 6.3.6.
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

    /// A connection is gone; with a main one, those beside it.
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

    /// The role of a connection's controller, if it is up.
    pub fn role(&self, conn: ConnId) -> Option<ControllerRole> {
        let main = self.connections.get(&conn)?.main;
        self.connections.get(&main).map(|main| main.role)
    }

    /// Packet-ins that a connection did not get because it does not take its messages.
    pub fn lost_packet_ins(&self, conn: ConnId) -> u64 {
        self.connections
            .get(&conn)
            .map_or(0, |conn| conn.lost_packet_ins)
    }

    /// Statistics that reached a threshold and that a connection did not get because it does not
    /// take its messages.
    pub fn lost_flow_stats(&self, conn: ConnId) -> u64 {
        self.connections
            .get(&conn)
            .map_or(0, |conn| conn.lost_flow_stats)
    }

    /// Messages of extensions that a connection did not get because it does not take its messages.
    pub fn lost_notifications(&self, conn: ConnId) -> u64 {
        self.connections
            .get(&conn)
            .map_or(0, |conn| conn.lost_notifications)
    }

    /// Whether the next message of a connection may be given to [`Switch::message`]: the reply
    /// before is complete, and most of what was sent is taken.
    pub fn is_ready<I: SwitchIo>(&self, conn: ConnId, io: &I) -> bool {
        let busy = self
            .connections
            .get(&conn)
            .is_some_and(|c| c.dump.is_some());
        !busy && !self.is_changing() && io.has_room(conn)
    }

    /// Whether a change is under way: messages wait for it, packets do not.
    pub fn is_changing(&self) -> bool {
        self.commit.is_some() || self.datapath.has_work()
    }

    /// A message arrived on a connection that [`Switch::is_ready`].
    pub fn message<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        request: Request<'_>,
        io: &mut I,
    ) {
        while self.is_changing() {
            self.stop_waiting();
            self.go_on(now, io);
        }
        if self.connections.contains_key(&conn) {
            self.handle(now, conn, request, io);
        }
        self.tell_tables(io);
    }

    /// Whether a long change or reply, or a frame, waits for [`Switch::work`].
    pub fn has_work<I: SwitchIo>(&self, io: &I) -> bool {
        let waits = self.waits_until().is_some() && !self.clock_was_set;
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

    /// Goes on with a long change, with each long reply, and with frames that wait for a later
    /// turn, by one slice.
    pub fn work<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        let (datapath, sink) = parts!(self, now, io);
        datapath.catch_up(now, sink);
        self.go_on(now, io);
        self.tell_tables(io);
        self.report_news(None, io);
        self.free_discarded();
        let mut waiting = Vec::new();
        let goes_on = self.commit.is_none();
        for (id, conn) in &self.connections {
            if goes_on && conn.has_more() && io.has_room(*id) {
                waiting.push(*id);
            }
        }
        for id in waiting {
            if let Some(conn) = self.connections.get_mut(&id) {
                conn.tell_late_ports(id, io);
                conn.tell_late_controllers(id, io);
            }
            self.tell_late_entries(id, io);
            self.continue_late_dump(now, id, io);
        }
    }

    /// When [`Switch::tick`] wants to be called next.
    pub fn next_tick(&self) -> Option<Time> {
        let bundle_ends = self.next_bundle_end();
        self.datapath
            .next_tick()
            .into_iter()
            .chain(bundle_ends)
            .chain(self.waits_until().or_else(|| self.next_scheduled()))
            .min()
    }

    /// Expires entries and serves timers that are due.
    pub fn tick<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        self.report_news(None, io);
        let (datapath, sink) = parts!(self, now, io);
        datapath.tick(now, sink);
        self.tell_tables(io);
        self.report_news(None, io);
        self.end_idle_bundles(now, io);
        if self.waits_until().is_some_and(|due| due <= now) {
            self.go_on(now, io);
        }
        self.begin_due_commit(now, io);
    }
}
