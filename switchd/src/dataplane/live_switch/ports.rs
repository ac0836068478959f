//! Ports of a running switch: they come, change and go.

use bofuss_datapath::Time;
use bofuss_embed::record::RecordedInput;
use bofuss_ext::Switch;
use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::PortDesc;
use tracing::warn;

use super::LiveSwitch;
use crate::config::ConfiguredQueue;
use crate::error::{Result, context};
use crate::port::OpenPort;

impl LiveSwitch {
    /// Adds a port. Errors: a sentence for the user.
    pub(in crate::dataplane) fn add_port(&mut self, mut port: OpenPort) -> Result<()> {
        self.workers().stop();
        let members = self.io.followers.is_some().then(|| port.take_members());
        let name = port.name.clone();
        let number = port.number;
        let added = self.io.ports.add(port);
        added.map_err(context(format_args!("port {number}: {name}")))?;
        // Other workers open no port that the first one lacks.
        if let Some((followers, members)) = self.io.followers.as_mut().zip(members) {
            followers.open(members);
        }
        let now = self.now();
        self.describe_port(now, number);
        if let Some(opposite) = self.io.ports.opposite(number) {
            self.describe_port(now, opposite);
        }
        Ok(())
    }

    /// Passes the current description of a port to the switch.
    fn describe_port(&mut self, now: Time, number: PortNo) {
        if let Some((desc, capabilities)) = self.io.ports.describe(number) {
            self.port_changed(now, desc, capabilities);
        }
    }

    /// Tells the switch that a port is new or has changed.
    pub(in crate::dataplane) fn port_changed(
        &mut self,
        now: Time,
        desc: PortDesc,
        capabilities: OffloadCapabilities,
    ) {
        let noted = desc.clone();
        self.give(
            now,
            |_| Some(RecordedInput::Port(Box::new(noted), capabilities)),
            |switch, io| switch.ports(now, io, |ports| ports.changed(desc, capabilities)),
        );
        self.accelerator().follow_ports();
    }

    /// Closes a port whose interface is gone.
    pub(in crate::dataplane) fn lose_port(&mut self, number: PortNo) {
        if let Some(port) = self.close_port(number) {
            warn!("port {number}: {} is gone", port.name);
        }
    }

    /// Closes a port, and returns it.
    pub(in crate::dataplane) fn close_port(&mut self, number: PortNo) -> Option<OpenPort> {
        let opposite = self.io.ports.opposite(number);
        let port = self.io.ports.remove(number)?;
        self.workers().tell_of_end(number);
        let now = self.now();
        self.give(
            now,
            |_| Some(RecordedInput::PortGone(number)),
            |switch, io| switch.ports(now, io, |ports| ports.removed(number)),
        );
        self.accelerator().follow_ports();
        if let Some(opposite) = opposite {
            self.describe_port(now, opposite);
        }
        Some(port)
    }

    /// Creates or changes a queue. Errors: why it is refused.
    pub(in crate::dataplane) fn make_queue(
        &mut self,
        now: Time,
        queue: &ConfiguredQueue,
    ) -> Result<()> {
        self.give(
            now,
            |_| Some(RecordedInput::Queue(queue.port, queue.id, queue.spec)),
            |switch, _| make_queue(switch, now, queue),
        )
    }

    /// The frames that each port has dropped before or after the tables, by reason.
    pub(in crate::dataplane) fn driver_drops(&mut self) -> Vec<(PortNo, &'static str, u64)> {
        let mut all = Vec::new();
        for (number, counters, overflowed) in self.io.driver_counters() {
            let held = self.acceleration.held_back(number);
            let others = [("tx_overflow", overflowed), ("accel_handover", held)];
            let reasons = counters.drops().chain(others);
            all.extend(reasons.map(|(reason, count)| (number, reason, count)));
        }
        all
    }
}

/// Creates or changes a queue. Errors: why it is refused.
pub(in crate::dataplane) fn make_queue(
    switch: &mut Switch,
    now: Time,
    queue: &ConfiguredQueue,
) -> Result<()> {
    let port = queue.port;
    let id = queue.id;
    let made = switch.modify_queue(now, port, id, queue.spec);
    made.map_err(|error| format!("--queue {port}:{id}: {}", error.1).into())
}
