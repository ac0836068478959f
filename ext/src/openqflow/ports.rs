//! Which port a record means: its own, or the failover port while that is down.

use alloc::collections::BTreeSet;

use bofuss_oflib::PortNo;

use super::records::ForwardRecord;

/// The ports of the switch that are up.
#[derive(Debug, Default)]
pub(super) struct PortStates {
    up: BTreeSet<PortNo>,
    /// Whether flows stay on the failover port when their own is up again.
    pub(super) stays: bool,
}

impl PortStates {
    /// Notes that a port is up, or not.
    pub(super) fn set(&mut self, port: PortNo, up: bool) {
        if up {
            self.up.insert(port);
        } else {
            self.up.remove(&port);
        }
    }

    /// The port that a record means now, if it meant `before`.
    pub(super) fn choose(&self, record: &ForwardRecord, before: Option<PortNo>) -> PortNo {
        if record.port == PortNo::ANY {
            return PortNo::ANY;
        }
        let kept = before.filter(|_| self.stays).unwrap_or(record.port);
        let mut choices = [kept, record.port, record.failover].into_iter();
        let is_up = |port: &PortNo| self.up.contains(port) || !port.is_port();
        choices
            .find(|port| *port != PortNo::ANY && is_up(port))
            .unwrap_or(record.port)
    }
}
