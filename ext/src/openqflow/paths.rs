//! The records of flows: where their packets go, and with which quality of service.

use bofuss_oflib::PortNo;

use super::flow::{Resolved, TrackedFlow};
use super::ports::PortStates;
use super::records::{ForwardRecord, QosRecord, Records};

/// The records that flows have, and the ports that these mean now. A flow has the numbers of its
/// records.
#[derive(Debug, Default)]
pub(super) struct Paths {
    forwards: Records<ForwardRecord, PortNo>,
    qos: Records<QosRecord, ()>,
    ports: PortStates,
}

impl Paths {
    /// Returns how many different forward records flows have.
    pub(super) fn n_forwards(&self) -> usize {
        self.forwards.len()
    }

    /// Sets whether flows stay on the failover port when their own is up again.
    pub(super) fn set_stays(&mut self, stays: bool) {
        self.ports.stays = stays;
    }

    /// Notes that a port is up or down. While it is down, its flows use the failover port. All
    /// flows of a record switch at once.
    pub(super) fn port_changed(&mut self, port: PortNo, up: bool) {
        self.ports.set(port, up);
        let ports = &self.ports;
        self.forwards.for_each(|record, active| {
            if [record.port, record.failover].contains(&port) {
                *active = ports.choose(record, Some(*active));
            }
        });
    }

    /// The port of a record now, own or failover.
    pub(super) fn port_of(&self, forward: &ForwardRecord) -> PortNo {
        self.ports.choose(forward, None)
    }

    /// Returns true if packets can leave by a port.
    pub(super) fn is_usable(&self, port: PortNo) -> bool {
        self.ports.is_usable(port)
    }

    /// The port of a flow's next packet. While packets of the flow wait at the failover port, it
    /// does not return to its own, so that none overtakes another.
    pub(super) fn next_port(&self, known: &Resolved<'_>, waits: impl Fn(PortNo) -> bool) -> PortNo {
        let failover = known.forward.failover;
        if known.port != failover && self.is_usable(failover) && waits(failover) {
            failover
        } else {
            known.port
        }
    }

    /// Returns true if a flow can get these records.
    pub(super) fn has_room_for(
        &self,
        forward: Option<&ForwardRecord>,
        qos: Option<&QosRecord>,
    ) -> bool {
        forward.is_none_or(|rule| self.forwards.has_room_for(rule))
            && qos.is_none_or(|qos| self.qos.has_room_for(qos))
    }

    /// Replaces the forward record of a flow. Returns false if there is no room for it.
    pub(super) fn set_forward(&mut self, flow: &mut TrackedFlow, forward: &ForwardRecord) -> bool {
        let ports = &self.ports;
        let acquired = self
            .forwards
            .acquire(forward, || ports.choose(forward, None));
        let Some(number) = acquired else {
            return false;
        };
        let before = core::mem::replace(&mut flow.forward, number);
        self.forwards.release(before);
        true
    }

    /// Replaces the QoS record of a flow. Returns false if there is no room for it.
    pub(super) fn set_qos(&mut self, flow: &mut TrackedFlow, qos: &QosRecord) -> bool {
        let Some(number) = self.qos.acquire(qos, || ()) else {
            return false;
        };
        let before = core::mem::replace(&mut flow.qos, number);
        self.qos.release(before);
        true
    }

    /// Notes that a flow ends.
    pub(super) fn release(&mut self, flow: &TrackedFlow) {
        self.forwards.release(flow.forward);
        self.qos.release(flow.qos);
    }

    /// The forward record of a flow, with the port that it means now.
    pub(super) fn forward(&self, flow: &TrackedFlow) -> Option<(&ForwardRecord, PortNo)> {
        let (forward, port) = self.forwards.get(flow.forward)?;
        Some((forward, *port))
    }

    /// The QoS record of a flow.
    pub(super) fn qos(&self, flow: &TrackedFlow) -> Option<&QosRecord> {
        self.qos.get(flow.qos).map(|(qos, ())| qos)
    }

    /// The path of a flow; `None` if it is not resolved.
    #[inline]
    pub(super) fn resolved(&self, flow: &TrackedFlow) -> Option<Resolved<'_>> {
        let (forward, port) = self.forward(flow)?;
        Some(Resolved {
            forward,
            port,
            qos: self.qos(flow)?,
            aggregate: flow.aggregate,
        })
    }
}
