//! What feeds the thread of a collector: counters, queue, and who is woken for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Instant;

use bofuss_oflib::PortNo;

use super::flow::FlowRecord;
use super::sflow::{HeaderProtocol, PortCounters};
use super::spec::{ExportFormat, ExportSpec};

/// Most samples, lists of flows and lists of counters that wait for one collector's thread.
pub const MAX_WAITING: usize = 4096;

/// The counters of an export, over all its ports and workers.
#[derive(Default)]
pub struct ExportCounts {
    /// Datagrams sent.
    pub datagrams: AtomicU64,
    /// Datagrams that the system refused to send.
    pub failed: AtomicU64,
    /// Samples or records of flows that are in datagrams, sent or not.
    pub samples: AtomicU64,
    /// Samples or records of flows that are in none: too many waited, or no address was known.
    pub dropped: AtomicU64,
    /// Flows in the cache.
    pub flows: AtomicU64,
    /// Packets in no flow, because the cache was full.
    pub uncached: AtomicU64,
    /// Records of flows that wait to be sent.
    pub waiting: AtomicU64,
}

/// Takes places of a gauge with at most `limit`. Returns false, with none taken, if there are too
/// few left.
pub fn take_places(gauge: &AtomicU64, count: u64, limit: u64) -> bool {
    if gauge.fetch_add(count, Relaxed) + count <= limit {
        return true;
    }
    gauge.fetch_sub(count, Relaxed);
    false
}

/// Wakes the thread of ports, for what is due in its taps.
pub struct Bell {
    is_rung: AtomicBool,
    waker: Waker,
}

impl Bell {
    /// One for the thread that this wakes.
    pub fn new(waker: Waker) -> Arc<Self> {
        Arc::new(Self {
            is_rung: AtomicBool::new(false),
            waker,
        })
    }

    /// Wakes the thread.
    pub fn ring(&self) {
        self.is_rung.store(true, Relaxed);
        self.waker.wake_by_ref();
    }

    /// Returns true if it was rung since it was asked last.
    pub fn was_rung(&self) -> bool {
        self.is_rung.load(Relaxed) && self.is_rung.swap(false, Relaxed)
    }
}

/// What the collector's thread shares with those that feed it.
#[derive(Default)]
pub struct ExportState {
    /// What was counted.
    pub counts: ExportCounts,
    /// The threads with taps of this export.
    pub bells: Mutex<Vec<Weak<Bell>>>,
    /// True if counters are to be sent.
    pub wants_counters: AtomicBool,
    /// Why nothing is sent.
    pub trouble: Mutex<Option<String>>,
}

/// Locks what no holder panics with.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ExportState {
    /// Rings all bells.
    pub fn ring(&self) {
        locked(&self.bells).retain(|bell| bell.upgrade().map(|bell| bell.ring()).is_some());
    }

    /// Returns true if counters are to be sent since this was asked last.
    pub fn takes_counters(&self) -> bool {
        self.wants_counters.load(Relaxed) && self.wants_counters.swap(false, Relaxed)
    }

    /// Why nothing is sent, if so.
    pub fn trouble(&self) -> Option<String> {
        locked(&self.trouble).clone()
    }
}

/// What goes to the thread of a collector.
pub enum Message {
    /// A sampled frame.
    Sample(Box<SampledFrame>),
    /// Flows that have ended or lasted.
    Flows(Vec<FlowRecord>),
    /// The counters of ports.
    Counters(Vec<PortCounters>),
}

/// An export at work: ports feed it. Its thread ends after the last of them.
pub struct Export {
    /// How it is configured.
    pub spec: ExportSpec,
    /// What it has done.
    pub state: Arc<ExportState>,
    /// Goes to its thread.
    pub to: SyncSender<Message>,
    /// The beginning of its time.
    pub origin: Instant,
}

/// A frame that was sampled.
pub struct SampledFrame {
    /// The index of its port's interface.
    pub index: u32,
    /// Packets of the port from which it was chosen, since the sample before.
    pub pool: u64,
    /// Samples that were dropped since then.
    pub drops: u64,
    /// How it begins.
    pub protocol: HeaderProtocol,
    /// Its bytes on the wire.
    pub length: u32,
    /// Bytes of these that the switch did not get.
    pub stripped: u32,
    /// Its beginning.
    pub header: Vec<u8>,
}

impl Export {
    /// Returns true if it sees the frames of a port.
    pub fn sees(&self, port: PortNo) -> bool {
        self.spec.ports.is_empty() || self.spec.ports.contains(&port)
    }

    /// Lets this bell be rung when something is due.
    pub fn add_bell(&self, bell: &Arc<Bell>) {
        let mut bells = locked(&self.state.bells);
        let is_same = |known: &Weak<Bell>| known.as_ptr() == Arc::as_ptr(bell);
        if !bells.iter().any(is_same) {
            bells.push(Arc::downgrade(bell));
        }
    }

    /// Returns true if it sends counters of ports.
    pub fn wants_counters(&self) -> bool {
        matches!(self.spec.format, ExportFormat::Sflow(_))
    }

    /// Sends the counters of ports, unless too much waits.
    pub fn send_counters(&self, counters: Vec<PortCounters>) {
        self.send(Message::Counters(counters), 1);
    }

    /// Hands over a message of so many samples. Returns false if too much waits: they are counted.
    pub fn send(&self, message: Message, samples: u64) -> bool {
        let is_sent = self.to.try_send(message).is_ok();
        if !is_sent {
            self.state.counts.dropped.fetch_add(samples, Relaxed);
        }
        is_sent
    }

    /// Hands over flows. Beyond as many as the cache has room for, they are dropped and counted.
    pub fn send_flows(&self, flows: Vec<FlowRecord>) {
        let ExportFormat::Ipfix(settings) = &self.spec.format else {
            return;
        };
        let count = flows.len() as u64;
        let counts = &self.state.counts;
        if count == 0 {
            return;
        }
        if !take_places(&counts.waiting, count, settings.max_flows) {
            counts.dropped.fetch_add(count, Relaxed);
        } else if !self.send(Message::Flows(flows), count) {
            counts.waiting.fetch_sub(count, Relaxed);
        }
    }

    /// Its time.
    pub fn milliseconds(&self) -> u64 {
        self.origin.elapsed().as_millis() as u64
    }
}
