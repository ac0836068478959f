//! Chooses the port of a record: its own, or the failover port while its own is down.

use alloc::collections::BTreeSet;

use bofuss_oflib::PortNo;

use super::records::ForwardRecord;

/// The ports of the switch that are up.
#[derive(Debug, Default)]
pub(super) struct PortStates {
    up: BTreeSet<PortNo>,
    /// True if flows stay on the failover port when their own is up again.
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

    /// The port that a record means now, given that it meant `before`.
    pub(super) fn choose(&self, record: &ForwardRecord, before: Option<PortNo>) -> PortNo {
        if record.port == PortNo::ANY {
            return PortNo::ANY;
        }
        let kept = before.filter(|_| self.stays).unwrap_or(record.port);
        let mut choices = [kept, record.port, record.failover].into_iter();
        let usable = choices.find(|port| self.is_usable(*port));
        usable.unwrap_or(record.port)
    }

    /// Returns true if packets can leave by a port; reserved ports always are usable.
    pub(super) fn is_usable(&self, port: PortNo) -> bool {
        port != PortNo::ANY && (self.up.contains(&port) || !port.is_port())
    }
}
