//! Counters of the main loop: batches, messages, and how long they take.

use std::collections::BTreeMap;

use crate::metrics::{Histogram, Labels, Samples};

/// The number of bounds that the histogram of batch sizes has: 1 to 32 frames.
const SIZE_BOUNDS: usize = 6;
/// The number of bounds that the histograms of times have: 1 us to 1 s.
const TIME_BOUNDS: usize = 21;
const FIRST_TIME_NS: u64 = 1000;
const NS_PER_SEC: f64 = 1e9;

/// Counts since the start.
pub struct LoopCounters {
    /// Frames received.
    pub frames: u64,
    batch_frames: Histogram,
    batch_ns: Histogram,
    message_ns: Histogram,
    received: BTreeMap<&'static str, u64>,
}

impl Default for LoopCounters {
    fn default() -> Self {
        Self {
            frames: 0,
            batch_frames: Histogram::new(1, SIZE_BOUNDS),
            batch_ns: Histogram::new(FIRST_TIME_NS, TIME_BOUNDS),
            message_ns: Histogram::new(FIRST_TIME_NS, TIME_BOUNDS),
            received: BTreeMap::new(),
        }
    }
}

impl LoopCounters {
    /// Counts a batch of frames that passed through the switch.
    pub fn batch(&mut self, frames: usize, took_ns: u64) {
        self.frames += frames as u64;
        self.batch_frames.observe(frames as u64);
        self.batch_ns.observe(took_ns);
    }

    /// Counts a message of this type that was handled.
    pub fn message(&mut self, name: &'static str, took_ns: u64) {
        *self.received.entry(name).or_default() += 1;
        self.message_ns.observe(took_ns);
    }

    /// Messages that were handled.
    #[cfg(test)]
    pub fn messages(&self) -> u64 {
        self.received.values().sum()
    }

    /// Adds the counts to `samples`, with the messages `sent` by type.
    pub fn report(&self, sent: &BTreeMap<&'static str, u64>, samples: &mut Samples) {
        samples.distribution("batch_frames", &self.batch_frames, 1.0);
        samples.distribution("batch_seconds", &self.batch_ns, NS_PER_SEC);
        samples.distribution("message_seconds", &self.message_ns, NS_PER_SEC);
        for (direction, counts) in [("received", &self.received), ("sent", sent)] {
            for (name, count) in counts {
                let labels: Labels<'_> = &[("direction", &direction), ("type", name)];
                samples.add("openflow_messages", labels, count);
            }
        }
    }
}
