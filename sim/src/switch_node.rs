//! A switch in the network, and what waits for it to accept.

use std::collections::{BTreeMap, VecDeque};

use bofuss_datapath::Time;
use bofuss_embed::{ConnId, EmbedError, EmbeddedSwitch};
use bofuss_ext::trace::Trace;
use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::PortNo;
use bofuss_oflib::wire::FixedStr;

use crate::controller::ControlData;

/// Bits per second in 1 kb/s, OpenFlow's unit of speeds.
const KBPS: u64 = 1000;

/// A switch, and what waits for it to accept.
pub(crate) struct SwitchNode {
    pub(crate) switch: EmbeddedSwitch,
    /// Messages that arrived from controllers and that the switch has not accepted yet.
    untaken: BTreeMap<ConnId, VecDeque<ControlData>>,
    /// The ports that have queues in the switch and are therefore paced by their links, and for
    /// each whether a [`Due::Room`](crate::event_queue::Due::Room) is scheduled.
    paced: BTreeMap<PortNo, bool>,
}

impl SwitchNode {
    pub(crate) fn new(switch: EmbeddedSwitch) -> Self {
        Self {
            switch,
            untaken: BTreeMap::new(),
            paced: BTreeMap::new(),
        }
    }

    /// Adds a port with its link up.
    pub(crate) fn add_port(&mut self, now: Time, node: &str, port: PortNo, rate_bps: u64) {
        let speed = u32::try_from(rate_bps / KBPS).unwrap_or(u32::MAX);
        let mut desc = bofuss_embed::port(port.0);
        desc.name = FixedStr(format!("{node}-eth{port}"));
        desc.curr_speed = speed;
        desc.max_speed = speed;
        let added = self
            .switch
            .add_port(now, desc, OffloadCapabilities::default());
        added.expect("the network has checked its number");
        self.follow_queues(now);
    }

    /// Handles frames that arrived on a port, and leaves `frames` empty.
    pub(crate) fn receive(&mut self, now: Time, port: PortNo, frames: &mut Vec<Frame>) {
        let received = self.switch.receive(now, port, frames);
        received.expect("a link has its ports");
    }

    pub(crate) fn explain(
        &mut self,
        now: Time,
        port: PortNo,
        frame: &[u8],
    ) -> Result<Trace, EmbedError> {
        // A link is no tunnel.
        self.switch.explain(now, port, 0, frame)
    }

    pub(crate) fn tick(&mut self, now: Time) {
        self.switch.tick(now);
    }

    pub(crate) fn set_link(&mut self, now: Time, port: PortNo, up: bool) {
        let set = self.switch.set_link(now, port, up);
        set.expect("a link has its ports");
    }

    pub(crate) fn disconnect(&mut self, now: Time, conn: ConnId) {
        self.untaken.remove(&conn);
        // It is gone already if the switch ended it.
        let _ = self.switch.disconnect(now, conn);
    }

    /// Handles what arrived on a connection.
    pub(crate) fn control(&mut self, now: Time, conn: ConnId, data: ControlData) {
        self.untaken.entry(conn).or_default().push_back(data);
        self.take_control(now);
        self.follow_queues(now);
    }

    /// Gives the switch what waits for it, as far as it accepts it.
    fn take_control(&mut self, now: Time) {
        for (conn, waiting) in &mut self.untaken {
            while let Some(data) = waiting.pop_front() {
                let left = match data {
                    ControlData::Message(xid, message) => {
                        let taken = self.switch.message(now, *conn, xid, message.clone());
                        matches!(taken, Ok(false)).then_some(ControlData::Message(xid, message))
                    }
                    ControlData::Bytes(mut bytes) => {
                        let taken = self.switch.feed(now, *conn, &bytes).unwrap_or(bytes.len());
                        bytes.drain(..taken);
                        (!bytes.is_empty()).then_some(ControlData::Bytes(bytes))
                    }
                };
                if let Some(data) = left {
                    waiting.push_front(data);
                    break;
                }
            }
        }
        self.untaken.retain(|_, waiting| !waiting.is_empty());
    }

    /// Continues with what waits. Returns false if nothing can be done now.
    pub(crate) fn go_on(&mut self, now: Time) -> bool {
        if self.switch.has_work() {
            self.switch.work(now);
            return true;
        }
        let before = self.untaken_count();
        self.take_control(now);
        self.untaken_count() < before
    }

    fn untaken_count(&self) -> usize {
        self.untaken.values().map(VecDeque::len).sum()
    }

    /// Updates which ports are paced, after queues may have been made or deleted.
    fn follow_queues(&mut self, now: Time) {
        let datapath = self.switch.switch().datapath();
        let mut lost = Vec::new();
        for port in self.paced.keys() {
            if datapath.queues().of(*port).is_none() {
                lost.push(*port);
            }
        }
        for port in datapath.queues().ports.keys().copied() {
            self.paced.entry(port).or_insert(false);
        }
        for port in lost {
            self.paced.remove(&port);
            let set = self.switch.set_port_room(now, port, None);
            set.expect("the port is there");
        }
    }

    /// Returns true if the port has queues in the switch.
    pub(crate) fn is_paced(&self, port: PortNo) -> bool {
        self.paced.contains_key(&port)
    }

    /// Sets how many more frames the link of a paced port accepts; an error says when it does
    /// again. Returns the time for which [`SwitchNode::room_came`] has to be scheduled, if it is
    /// not yet.
    pub(crate) fn set_room(
        &mut self,
        now: Time,
        port: PortNo,
        room: Result<u32, Time>,
    ) -> Option<Time> {
        let scheduled = self.paced.get_mut(&port)?;
        let set = self
            .switch
            .set_port_room(now, port, Some(room.unwrap_or(0)));
        set.expect("the port is there");
        let at = room.err()?;
        (!std::mem::replace(scheduled, true)).then_some(at)
    }

    /// Notes that the scheduled event of a paced port has come.
    pub(crate) fn room_came(&mut self, port: PortNo) {
        if let Some(scheduled) = self.paced.get_mut(&port) {
            *scheduled = false;
        }
    }
}
