//! Sends frames back where they come from, and stamps how long each was here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use bofuss_frame::Pool;
use bofuss_ports::{AfPacket, BATCH_FRAMES, PortDriver, StampedSocket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{Error, Result};
use crate::statistics::median;
use crate::subject::passage::Passage;
use crate::subject::template::reflect;
use crate::testbed::net::context;

/// Bytes of frames in a reflector.
const POOL_BYTES: usize = 16 << 20;
/// The time after which a reflector without frames looks whether it is over.
const LOOK: Duration = Duration::from_millis(50);
/// The pause of a reflector whose port has no room.
const PAUSE: Duration = Duration::from_micros(20);
/// The far end in errors.
const FAR: &str = "the far end";

/// A thread that reflects frames, ended when dropped.
pub struct Reflector {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Reflected>>>,
}

/// What an end that sends frames back knows of them.
#[derive(Default)]
pub struct Reflected {
    /// How long each frame was here, nanoseconds, if it stamps; without those that warm up.
    took_ns: Vec<f64>,
    /// Frames that it dropped for want of room.
    pub dropped: u64,
}

impl Reflected {
    /// The median time that a frame was here, nanoseconds; 0 if it does not stamp.
    pub fn median_ns(&self) -> f64 {
        median(&self.took_ns)
    }
}

/// The stamps of frames at the end that sends them back: how long each was there depends on what
/// woke the processor, so that a wire's round trips have another share of it than a switch's.
pub struct FarEnd {
    socket: StampedSocket,
    passage: Passage,
    times: TimesHere,
}

/// How long frames were here.
struct TimesHere {
    /// Frames of a run that warm up: they do not count.
    warm_up: u32,
    took_ns: Vec<f64>,
}

impl TimesHere {
    fn note(&mut self, number: u32, took_ns: u64) {
        if number >= self.warm_up {
            self.took_ns.push(took_ns as f64);
        }
    }
}

impl Reflector {
    /// Reflects frames of this port, and stamps them if asked to.
    pub fn start(port: AfPacket, far_end: Option<FarEnd>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        let thread =
            std::thread::spawn(move || reflect_all(port, far_end, &|| until.load(Relaxed)));
        Self {
            over,
            thread: Some(thread),
        }
    }

    /// Ends it. Returns what it knows of the frames.
    ///
    /// Errors: the interface's.
    pub fn end(mut self) -> Result<Reflected> {
        self.over.store(true, Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        let failed = |_| Error::from("the far end has ended");
        let reflected = ended.transpose().map_err(failed)?.transpose()?;
        Ok(reflected.unwrap_or_default())
    }
}

impl Drop for Reflector {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl FarEnd {
    /// Stamps frames by a socket of their own. The first ones of a run warm up.
    pub fn new(socket: StampedSocket, warm_up: u32) -> Self {
        Self {
            socket,
            passage: Passage::new(),
            times: TimesHere {
                warm_up,
                took_ns: Vec::new(),
            },
        }
    }

    /// Notes the stamps that have come.
    ///
    /// Errors: the interface's.
    fn collect(&mut self) -> Result<()> {
        while let Some(stamped) = self.socket.next_received().map_err(context(FAR))? {
            self.passage.arrived(&stamped);
        }
        while let Some(stamped) = self.socket.next_sent().map_err(context(FAR))? {
            if let Some((number, took_ns)) = self.passage.departed(&stamped) {
                self.times.note(number, took_ns);
            }
        }
        Ok(())
    }
}

/// Sends frames of UDP back where they came from, until `over` returns true. Each frame wakes it:
/// were it to look now and then, the time that a frame waits would depend on the delay before it.
/// Returns what it knows of them.
///
/// Errors: the interface's.
pub fn reflect_all(
    mut port: AfPacket,
    mut far_end: Option<FarEnd>,
    over: &dyn Fn() -> bool,
) -> Result<Reflected> {
    let mut dropped = 0;
    let pool = Pool::new(POOL_BYTES);
    let mut frames = Vec::with_capacity(BATCH_FRAMES);
    let look = Timespec::try_from(LOOK).map_err(context("a time"))?;
    while !over() {
        let fd = port.fd().expect("a socket");
        let mut watched = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        // A signal ends the wait, and is no failure.
        let _ = poll(&mut watched, Some(&look));
        port.recv(&pool, &mut frames, BATCH_FRAMES)
            .map_err(context(FAR))?;
        let mut back = Vec::with_capacity(frames.len());
        for frame in frames.drain(..) {
            let mut bytes = frame.bytes().to_vec();
            if reflect(&mut bytes) {
                let copy = pool.frame(&bytes);
                dropped += u64::from(copy.is_none());
                back.extend(copy);
            }
        }
        while !back.is_empty() && !over() {
            let sent = match &mut far_end {
                Some(far_end) => far_end.socket.send_all(&mut back).map_err(context(FAR))?,
                None => port.send(&mut back).map_err(context(FAR))?,
            };
            if sent == 0 {
                std::thread::sleep(PAUSE);
            }
        }
        if let Some(far_end) = &mut far_end {
            far_end.collect()?;
        }
    }
    let took_ns = far_end.map(|far_end| far_end.times.took_ns);
    Ok(Reflected {
        took_ns: took_ns.unwrap_or_default(),
        dropped: dropped + port.counters().rx_dropped(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_warm_up_are_not_in_the_median_of_the_far_end() {
        let mut times = TimesHere {
            warm_up: 2,
            took_ns: Vec::new(),
        };
        // The first ones wake a processor.
        for (number, took_ns) in [(0, 90_000), (1, 80_000), (2, 10_000), (3, 12_000)] {
            times.note(number, took_ns);
        }
        let reflected = Reflected {
            took_ns: times.took_ns,
            dropped: 0,
        };
        assert_eq!(reflected.median_ns(), 11_000.0);
        assert_eq!(Reflected::default().median_ns(), 0.0);
    }
}
