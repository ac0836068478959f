//! Flow export: what ports receive, told to collectors by sFlow or IPFIX.

mod address;
mod cache;
mod feed;
mod flow;
mod ipfix;
mod sampler;
mod sender;
mod sflow;
mod spec;
mod sysfs;
mod tap;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

pub use address::Collector;
pub use feed::{Bell, Export};
pub use sampler::Rate;
pub use sflow::{Counted, PortCounters};
pub use spec::{ExportFormat, ExportSpec, IpfixSettings, SflowSettings};
pub use tap::{PortTap, TappedPort};

use feed::{ExportState, MAX_WAITING};
use sender::Sender;

/// Most exports of one switch.
pub const MAX_EXPORTS: usize = 8;

/// An export that a switch has started.
pub struct StartedExport {
    /// What ports feed.
    pub export: Arc<Export>,
    /// What tells it from others.
    pub number: u32,
    /// Ends with its thread.
    done: Receiver<()>,
}

impl StartedExport {
    /// Starts the thread of an export. `number` tells the switch from others, and its exports.
    ///
    /// Errors: the system's.
    pub fn start(spec: ExportSpec, number: u32) -> io::Result<Self> {
        let state = Arc::new(ExportState::default());
        let origin = Instant::now();
        let (to, messages) = sync_channel(MAX_WAITING);
        let (ended, done) = sync_channel::<()>(0);
        let shared = Arc::clone(&state);
        let own_spec = spec.clone();
        let name = thread::Builder::new().name("export".into());
        name.spawn(move || {
            Sender::new(own_spec, shared, origin, number).run(&messages);
            drop(ended);
        })?;
        let export = Arc::new(Export {
            spec,
            state,
            to,
            origin,
        });
        Ok(Self {
            export,
            number,
            done,
        })
    }

    /// Waits until these exports have sent all that was handed over, or for `limit`. The ports feed
    /// them no more.
    pub fn end_all(exports: impl IntoIterator<Item = Self>, limit: Duration) {
        let end = Instant::now() + limit;
        // Each thread ends once its export is dropped.
        let ending: Vec<Receiver<()>> = exports.into_iter().map(|started| started.done).collect();
        for done in ending {
            // The thread sends nothing here: it drops its end.
            let _ = done.recv_timeout(end.saturating_duration_since(Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests;
