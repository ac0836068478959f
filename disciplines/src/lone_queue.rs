//! The only queue of a port, with its configuration and the clocks of both rates.

use bofuss_datapath::Time;
use bofuss_datapath::egress::{DEFAULT_QUEUE, Pace, Queue, QueueSpec};
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;

/// The queue, and the clock of the port's rate.
#[derive(Debug)]
pub(crate) struct LoneQueue {
    pub(crate) queue: Queue,
    pub(crate) pace: Pace,
}

impl LoneQueue {
    /// Makes it for a port with a rate of `kbps`; 0 if that is not known.
    pub(crate) fn new(now: Time, port_no: PortNo, kbps: u32) -> Self {
        let mut this = Self {
            queue: Queue::new(now, port_no, DEFAULT_QUEUE),
            pace: Pace::default(),
        };
        this.set_rate(now, kbps);
        this
    }

    /// Checks that a port with one queue may have such a queue. Errors: why not, in words.
    pub(crate) fn check(id: QueueId, spec: &QueueSpec) -> Result<(), &'static str> {
        let plain = QueueSpec {
            max: spec.max,
            ..QueueSpec::default()
        };
        if id == DEFAULT_QUEUE && *spec == plain {
            Ok(())
        } else {
            Err("a port with this discipline has queue 0 only, and of it a maximum only")
        }
    }

    /// Returns when both rates allow the next frame.
    pub(crate) fn due(&self) -> Time {
        self.queue.max.due.max(self.pace.due)
    }

    /// Charges both rates with a frame of so many bytes.
    pub(crate) fn charge(&mut self, now: Time, bytes: u64) {
        self.queue.max.charge(now, bytes);
        self.pace.charge(now, bytes);
    }

    /// Sets the port's rate in kb/s; 0 if it is not known.
    pub(crate) fn set_rate(&mut self, now: Time, kbps: u32) {
        self.pace.set(now, kbps);
        let max = self.queue.spec.max;
        self.queue
            .max
            .set(now, max.map_or(0, |rate| rate.kbps(kbps)));
    }

    /// Changes its configuration.
    pub(crate) fn modify(&mut self, now: Time, spec: QueueSpec) {
        self.queue.spec = spec;
        self.set_rate(now, self.pace.kbps);
    }

    /// Forgets its configuration, if this is its number; `None` otherwise.
    pub(crate) fn reset(&mut self, id: QueueId) -> Option<()> {
        (id == DEFAULT_QUEUE).then(|| self.queue.spec = QueueSpec::default())
    }
}
