//! Determines when the next HELLO is due.

use bofuss_datapath::Time;

/// A new neighbour gets a HELLO at once, but between two regular HELLOs at most this many are sent.
const EXTRA_HELLOS: u64 = 10;

/// The times at which HELLOs were and will be sent.
#[derive(Debug, Default)]
pub(super) struct HelloTimer {
    /// `None` while ARP-Path is not in use.
    next: Option<Time>,
    last: Option<Time>,
}

impl HelloTimer {
    /// Begins to send HELLOs, unless it has begun already.
    pub(super) fn activate(&mut self, now: Time) {
        self.next.get_or_insert(now);
    }

    /// Sends no HELLO until it is activated again.
    pub(super) fn stop(&mut self) {
        self.next = None;
    }

    /// The time when the next HELLO is due; `None` while ARP-Path is not in use.
    pub(super) fn next(&self) -> Option<Time> {
        self.next
    }

    /// Makes the next HELLO due soon; `interval` is that of regular ones.
    pub(super) fn hasten(&mut self, now: Time, interval: u64) {
        let pause = interval / EXTRA_HELLOS;
        let soon = self.last.map_or(now, |last| last.after(pause).max(now));
        self.next = self.next.map(|next| next.min(soon));
    }

    /// Notes that HELLOs were sent. The next are due after the interval, or sooner if the switch
    /// has more to do then.
    pub(super) fn sent(&mut self, now: Time, interval: u64, is_more: bool) {
        self.last = Some(now);
        let pause = if is_more {
            interval / EXTRA_HELLOS
        } else {
            interval
        };
        self.next = Some(now.after(pause));
    }
}
