//! Sends numbered frames at a constant rate and receives them again, in one thread and by one
//! clock.

use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bofuss_frame::{Frame, Pool};
use bofuss_ports::{BATCH_FRAMES, PortDriver};

use crate::error::Result;
use crate::subject::template::{FrameSignature, Template};
use crate::subject::time_stamps::{StampTable, StampedEnds};

/// The most bytes of frames inside this program.
const POOL_BYTES: usize = 16 << 20;
/// The time during which no frame may arrive, once the last one was sent and the first one has
/// arrived, before the rest counts as lost.
const PATIENCE: Duration = Duration::from_millis(100);
/// The longest wait in all, for forwarders that hold frames, and those that a busy machine does not
/// run.
const MAX_PATIENCE: Duration = Duration::from_secs(3);
/// Frames that are not counted.
pub const WARM_UP: u32 = 1_000;
/// The run of frames that are sent one by one.
pub const SINGLE_FRAMES: u16 = u16::MAX;
/// The number of the next run: unique in this program, so that a frame that a slow switch delivers
/// late is not taken for one of a later run.
static NEXT_RUN: AtomicU16 = AtomicU16::new(0);
/// Frames that are told from repeated ones where nothing is kept of each: of numbers that differ by
/// this.
const RECENT: usize = 1 << 16;
/// A generator is true to its rate if what it achieves differs from it by at most this share.
const MAX_DEVIATION: f64 = 0.01;

/// A load.
#[derive(Clone, Copy)]
pub struct ProbeLoad<'a> {
    /// Frames that count.
    pub frames: u32,
    /// Frames before these, which do not count.
    pub warm_up: u32,
    /// Frames per second.
    pub rate: f64,
    /// The UDP ports of a frame by its number; those of the template if there is none.
    pub flow: Option<&'a dyn Fn(u32) -> (u16, u16)>,
    /// True if frames are counted only: nothing is kept of each, however many there are.
    pub counts_only: bool,
}

impl ProbeLoad<'_> {
    /// Frames of one flow after the usual warm-up.
    pub fn new(frames: u32, rate: f64) -> Self {
        Self {
            frames,
            warm_up: WARM_UP.min(frames),
            rate,
            flow: None,
            counts_only: false,
        }
    }

    /// Frames that are counted only, after this many that warm up.
    pub fn counting(frames: u32, warm_up: u32, rate: f64) -> Self {
        Self {
            warm_up,
            counts_only: true,
            ..Self::new(frames, rate)
        }
    }

    /// Frames of which something is kept.
    fn kept(&self) -> usize {
        if self.counts_only {
            return 0;
        }
        self.frames as usize
    }
}

/// The observations of a load.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Frames that were sent and count.
    pub sent: u32,
    /// Different frames that arrived.
    pub received: u32,
    /// Frames that arrived after one that was sent later.
    pub reordered: u32,
    /// Arrivals of frames that had arrived before.
    pub duplicated: u32,
    /// Frames that arrived with other bytes than expected.
    pub changed: u32,
    /// The delays in nanoseconds, in the order of arrival; if this program does not stamp them, in
    /// the order of their numbers.
    pub delays_ns: Vec<u64>,
    /// The beginning of the run.
    pub start: Option<Instant>,
    /// The times at which frames departed, nanoseconds since the start, in the order of their
    /// numbers.
    pub departures_ns: Vec<u64>,
    /// The times at which frames arrived, nanoseconds since the start, in the order of their
    /// numbers; 0 if it did not.
    pub arrivals_ns: Vec<u64>,
    /// When the first frame that counts was to depart, nanoseconds since the start.
    pub first_due_ns: f64,
    /// Frames per second that were to be sent, and that were.
    pub rate: (f64, f64),
    /// Frames that arrived without the expected time stamp, or before they were sent by the stamps.
    pub unstamped: u32,
    /// The median time that a frame was at the end that sent it back, nanoseconds; 0 if there is
    /// none, or it does not stamp.
    pub far_end_ns: f64,
    /// Frames that came back to this program, and that its own ends dropped for want of room.
    pub dropped_here: u64,
}

impl Observation {
    /// Frames that never arrived.
    pub fn lost(&self) -> u32 {
        self.sent - self.received
    }

    /// Says so if what was lost may have been lost by the instrument, and not by the switch.
    pub fn own_loss(&self) -> Option<String> {
        let dropped = self.dropped_here;
        (dropped > 0 && self.lost() > 0).then(|| {
            format!("the instrument itself dropped {dropped} frames: those lost may be these")
        })
    }

    /// Returns true if the instrument sent at its rate, and has not lost frames itself.
    pub fn is_trustworthy(&self) -> bool {
        self.is_faithful() && self.own_loss().is_none()
    }

    /// The share that never arrived.
    pub fn loss(&self) -> f64 {
        f64::from(self.lost()) / f64::from(self.sent.max(1))
    }

    /// The delay of the departure of each frame after the time that the rate says, in nanoseconds.
    pub fn lateness_ns(&self) -> Vec<f64> {
        let mut late = Vec::with_capacity(self.departures_ns.len());
        for (number, departed) in self.departures_ns.iter().enumerate() {
            let due = self.first_due_ns + number as f64 * 1e9 / self.rate.0;
            late.push(*departed as f64 - due);
        }
        late
    }

    /// Returns true if the generator was neither slower nor faster than its rate by more than 1 %.
    pub fn is_faithful(&self) -> bool {
        is_faithful(self.rate)
    }
}

/// Returns true if a rate that was achieved, the second, is that which was wanted within 1 %.
pub fn is_faithful((wanted, achieved): (f64, f64)) -> bool {
    (achieved - wanted).abs() <= wanted * MAX_DEVIATION
}

/// The two ends of what is measured, or one if frames come back to it.
pub struct FrameProbe {
    near: Box<dyn PortDriver>,
    far: Option<Box<dyn PortDriver>>,
    /// The clock that stamps the frames, if it is not this program's.
    stamped: Option<StampedEnds>,
    pool: Pool,
    frames: Vec<Frame>,
    run: u16,
}

/// A run of frames.
struct ProbeRun<'a> {
    load: &'a ProbeLoad<'a>,
    template: Template,
    start: Instant,
    /// Frames that the port had no room for.
    waiting: Vec<Frame>,
    seen: Observation,
    stamps: StampTable,
    /// The highest number that arrived.
    highest: Option<u32>,
    /// When the first and the last frame that counts departed, nanoseconds since the start.
    departed_ns: Option<(u64, u64)>,
    /// Where frames are only counted, the last frame that arrived of those that share a place.
    recent: Vec<Option<u32>>,
}

impl FrameProbe {
    /// A probe that sends out of `near`, and receives at `far` or where it sends.
    pub fn new(near: Box<dyn PortDriver>, far: Option<Box<dyn PortDriver>>) -> Self {
        Self {
            near,
            far,
            stamped: None,
            pool: Pool::new(POOL_BYTES),
            frames: Vec::with_capacity(BATCH_FRAMES),
            run: 0,
        }
    }

    /// The same, where the frames of loads are sent and stamped by these ends.
    #[must_use]
    pub fn stamped_by(mut self, ends: Option<StampedEnds>) -> Self {
        self.stamped = ends;
        self
    }

    /// Sends a load and waits for its frames. `over` ends it early.
    ///
    /// Errors: the interfaces'.
    pub fn run(
        &mut self,
        template: &Template,
        load: &ProbeLoad<'_>,
        over: &dyn Fn() -> bool,
    ) -> Result<Observation> {
        self.run = NEXT_RUN.fetch_add(1, Relaxed) % SINGLE_FRAMES;
        if let Some(stamped) = &mut self.stamped {
            stamped.warm_up(&template.sent.bytes, load.rate)?;
        }
        self.drain()?;
        let dropped_before = self.dropped();
        let total = load.warm_up + load.frames;
        let start = Instant::now();
        let mut run = ProbeRun {
            load,
            template: template.clone(),
            start,
            waiting: Vec::with_capacity(BATCH_FRAMES),
            seen: Observation {
                start: Some(start),
                first_due_ns: f64::from(load.warm_up) * 1e9 / load.rate,
                arrivals_ns: vec![0; load.kept()],
                ..Observation::default()
            },
            stamps: StampTable::new(load.kept()),
            highest: None,
            departed_ns: None,
            recent: vec![None; if load.counts_only { RECENT } else { 0 }],
        };
        run.seen.delays_ns.reserve(load.kept());
        run.seen.departures_ns.reserve(load.kept());
        let mut next = 0;
        while next < total && !over() {
            next = self.send_due(&mut run, next, total)?;
            self.receive(&mut run)?;
        }
        // The port may have had no room for the last of them.
        let built = Instant::now();
        while !run.waiting.is_empty() && built.elapsed() < MAX_PATIENCE && !over() {
            self.send_due(&mut run, next, total)?;
            self.receive(&mut run)?;
        }
        let ended = Instant::now();
        let mut last = ended;
        while ended.elapsed() < MAX_PATIENCE {
            if run.seen.received > 0 && last.elapsed() >= PATIENCE {
                break;
            }
            if self.receive(&mut run)? > 0 {
                last = Instant::now();
            }
        }
        if self.stamped.is_some() && !load.counts_only {
            run.use_stamps();
        }
        run.seen.dropped_here = self.dropped().saturating_sub(dropped_before);
        Ok(run.finished())
    }

    /// Sends one frame now. Returns the time.
    ///
    /// Errors: the interface's, or it has no room.
    pub fn send_one(&mut self, frame: &[u8]) -> Result<Instant> {
        let pooled = self
            .pool
            .frame(frame)
            .ok_or("the pool of frames is empty")?;
        let departed = Instant::now();
        match self.near.send(&mut vec![pooled]) {
            Ok(1) => Ok(departed),
            Ok(_) => Err("the interface has no room".into()),
            Err(error) => Err(error.to_string().into()),
        }
    }

    /// Passes each frame that has arrived to `look`.
    ///
    /// Errors: the interface's.
    pub fn poll(&mut self, mut look: impl FnMut(&[u8])) -> Result<()> {
        let receiver = self.far.as_mut().unwrap_or(&mut self.near);
        receiver
            .recv(&self.pool, &mut self.frames, BATCH_FRAMES)
            .map_err(|e| e.to_string())?;
        for frame in self.frames.drain(..) {
            look(frame.bytes());
        }
        Ok(())
    }

    /// Discards what arrives until nothing has arrived for `idle`, or `most` is over.
    ///
    /// Errors: the interface's.
    pub fn discard_until_idle(&mut self, idle: Duration, most: Duration) -> Result<()> {
        let start = Instant::now();
        let mut last = start;
        while last.elapsed() < idle && start.elapsed() < most {
            self.poll(|_| last = Instant::now())?;
        }
        Ok(())
    }

    /// Returns true if a frame arrives in time.
    ///
    /// Errors: the interface's.
    pub fn sees(&mut self, wanted: &[u8], within: Duration) -> Result<bool> {
        let start = Instant::now();
        let mut found = false;
        while !found && start.elapsed() < within {
            self.poll(|bytes| found |= bytes == wanted)?;
        }
        Ok(found)
    }

    /// Frames that the receiving end has dropped for want of room since it was opened: in its ring,
    /// or in the pool.
    fn dropped(&mut self) -> u64 {
        let receiver = self.far.as_mut().unwrap_or(&mut self.near);
        receiver.counters().rx_dropped()
    }

    /// Discards what has arrived of earlier runs.
    fn drain(&mut self) -> Result<()> {
        let mut count = 1;
        while count > 0 {
            count = 0;
            self.poll(|_| count += 1)?;
        }
        Ok(())
    }

    /// Sends the frames whose time has come, at most a batch. Returns the number of the next.
    fn send_due(&mut self, run: &mut ProbeRun<'_>, mut next: u32, total: u32) -> Result<u32> {
        let elapsed = run.start.elapsed().as_nanos() as f64;
        let passed = (elapsed * run.load.rate / 1e9) as u64 + 1;
        let due = passed.min(u64::from(total)) as u32;
        while next < due && run.waiting.len() < BATCH_FRAMES {
            let frame = run.signed(self.run, next);
            let pooled = self
                .pool
                .frame(&frame)
                .ok_or("the pool of frames is empty")?;
            run.waiting.push(pooled);
            next += 1;
        }
        if let Some(stamped) = &mut self.stamped {
            stamped.send(&mut run.waiting)?;
        } else if !run.waiting.is_empty() {
            self.near
                .send(&mut run.waiting)
                .map_err(|e| e.to_string())?;
        }
        let sent = next - run.waiting.len() as u32;
        run.seen.sent = sent.saturating_sub(run.load.warm_up);
        Ok(next)
    }

    /// Receives what has arrived. Returns how many frames were ours.
    fn receive(&mut self, run: &mut ProbeRun<'_>) -> Result<usize> {
        let receiver = self.far.as_mut().unwrap_or(&mut self.near);
        receiver
            .recv(&self.pool, &mut self.frames, BATCH_FRAMES)
            .map_err(|e| e.to_string())?;
        let now = run.start.elapsed().as_nanos() as u64;
        let mut ours = 0;
        for frame in self.frames.drain(..) {
            ours += usize::from(run.arrived(self.run, frame.bytes(), now));
        }
        if let Some(stamped) = &mut self.stamped {
            let warm_up = run.load.warm_up;
            stamped.collect(&run.template.sent, &mut run.stamps, |signature| {
                let place = signature.number.checked_sub(warm_up)?;
                (signature.run == self.run).then_some(place as usize)
            })?;
        }
        Ok(ours)
    }
}

impl ProbeRun<'_> {
    /// The next frame, signed with the time.
    fn signed(&mut self, run: u16, number: u32) -> Vec<u8> {
        if let Some(flow) = self.load.flow {
            self.template.set_ports(flow(number));
        }
        let departed_ns = self.start.elapsed().as_nanos() as u64;
        self.template.sent.sign(FrameSignature {
            run,
            number,
            departed_ns,
        });
        if number >= self.load.warm_up {
            let first = self.departed_ns.map_or(departed_ns, |(first, _)| first);
            self.departed_ns = Some((first, departed_ns));
            if !self.load.counts_only {
                self.seen.departures_ns.push(departed_ns);
            }
        }
        self.template.sent.bytes.clone()
    }

    /// Counts a frame that arrived; false if it is none of this run.
    fn arrived(&mut self, run: u16, bytes: &[u8], now: u64) -> bool {
        let signature = match self.template.arriving.read(bytes) {
            Some(signature) => signature,
            // A frame that was not rewritten has its signature where it was sent.
            None => match self.template.sent.read(bytes) {
                Some(signature) => signature,
                None => return false,
            },
        };
        let Some(place) = signature.number.checked_sub(self.load.warm_up) else {
            return signature.run == run;
        };
        if signature.run != run || signature.number >= self.load.warm_up + self.load.frames {
            return false;
        }
        if !self.is_first(place, now) {
            self.seen.duplicated += 1;
            return true;
        }
        self.seen.received += 1;
        if !self.load.counts_only {
            let delay = now.saturating_sub(signature.departed_ns);
            self.seen.delays_ns.push(delay);
        }
        match self.highest {
            Some(highest) if highest > signature.number => self.seen.reordered += 1,
            _ => self.highest = Some(signature.number),
        }
        if let Some(flow) = self.load.flow {
            self.template.arriving.set_ports(flow(signature.number));
        }
        self.template.arriving.sign(signature);
        if bytes != self.template.arriving.bytes {
            self.seen.changed += 1;
        }
        true
    }

    /// Notes that a frame arrived; false if it had arrived before. If frames are only counted, the
    /// last of those that share a place is known.
    fn is_first(&mut self, place: u32, now: u64) -> bool {
        if self.load.counts_only {
            let last = &mut self.recent[place as usize % RECENT];
            return last.replace(place) != Some(place);
        }
        let arrived = &mut self.seen.arrivals_ns[place as usize];
        let first = *arrived == 0;
        if first {
            *arrived = now.max(1);
        }
        first
    }

    /// Replaces the delays by those of the stamps.
    fn use_stamps(&mut self) {
        self.seen.delays_ns = self.stamps.delays_ns();
        let stamped = self.seen.delays_ns.len() as u32;
        self.seen.unstamped = self.seen.received.saturating_sub(stamped);
    }

    fn finished(mut self) -> Observation {
        let achieved = match self.departed_ns {
            Some((first, last)) if last > first => {
                f64::from(self.seen.sent.saturating_sub(1)) * 1e9 / (last - first) as f64
            }
            _ => self.load.rate,
        };
        self.seen.rate = (self.load.rate, achieved);
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use bofuss_ports::{Counters, DriverDropReason, Memory, OffloadCapabilities, PortError};

    use super::*;
    use crate::subject::template::Template;

    /// A port that takes frames one by one, and no more than so many.
    struct Narrow(Memory, usize);

    impl PortDriver for Narrow {
        fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
            self.0.fd()
        }

        fn recv(
            &mut self,
            pool: &Pool,
            out: &mut Vec<Frame>,
            max: usize,
        ) -> Result<usize, PortError> {
            self.0.recv(pool, out, max)
        }

        fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError> {
            let rest = frames.split_off(frames.len().min(self.1).min(1));
            let sent = self.0.send(frames)?;
            self.1 -= sent;
            frames.extend(rest);
            Ok(sent)
        }

        fn counters(&mut self) -> Counters {
            self.0.counters()
        }

        fn capabilities(&self) -> OffloadCapabilities {
            self.0.capabilities()
        }

        fn set_mtu(&mut self, mtu_bytes: u32) {
            self.0.set_mtu(mtu_bytes);
        }
    }

    /// A port that drops the first frames that it receives, for want of room.
    struct Cramped {
        port: Memory,
        drops_left: u64,
        counters: Counters,
    }

    impl PortDriver for Cramped {
        fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
            self.port.fd()
        }

        fn recv(
            &mut self,
            pool: &Pool,
            out: &mut Vec<Frame>,
            max: usize,
        ) -> Result<usize, PortError> {
            let before = out.len();
            self.port.recv(pool, out, max)?;
            while self.drops_left > 0 && out.len() > before {
                out.pop();
                self.drops_left -= 1;
                self.counters.drop_some(DriverDropReason::RxKernel, 1);
            }
            Ok(out.len() - before)
        }

        fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError> {
            self.port.send(frames)
        }

        fn counters(&mut self) -> Counters {
            self.counters
        }

        fn capabilities(&self) -> OffloadCapabilities {
            self.port.capabilities()
        }

        fn set_mtu(&mut self, mtu_bytes: u32) {
            self.port.set_mtu(mtu_bytes);
        }
    }

    #[test]
    fn frames_that_the_instrument_dropped_are_known() {
        let (near, far) = Memory::pair();
        let far = Cramped {
            port: far,
            drops_left: 3,
            counters: Counters::default(),
        };
        let mut probe = FrameProbe::new(Box::new(near), Some(Box::new(far)));
        let load = ProbeLoad {
            warm_up: 0,
            ..ProbeLoad::new(100, 1e6)
        };
        let template = Template::plain(60);
        let seen = probe.run(&template, &load, &|| false).unwrap();
        assert_eq!((seen.lost(), seen.dropped_here), (3, 3));
        let said = "the instrument itself dropped 3 frames: those lost may be these";
        assert_eq!(seen.own_loss().as_deref(), Some(said));
        // Those of an earlier run are not those of this one.
        let seen = probe.run(&template, &load, &|| false).unwrap();
        assert_eq!((seen.lost(), seen.dropped_here), (0, 0));
        assert_eq!(seen.own_loss(), None);
    }

    #[test]
    fn frames_that_wait_for_room_are_sent_and_those_that_get_none_are_not_lost() {
        for (room, wanted) in [(1_000, 100), (110, 100), (50, 40)] {
            let (near, far) = Memory::pair();
            let narrow = Box::new(Narrow(near, room));
            let mut probe = FrameProbe::new(narrow, Some(Box::new(far)));
            let load = ProbeLoad {
                warm_up: 10,
                ..ProbeLoad::new(100, 1e9)
            };
            let asked = std::cell::Cell::new(0);
            let over = || asked.replace(asked.get() + 1) > 1_000;
            let seen = probe.run(&Template::plain(60), &load, &over).unwrap();
            assert_eq!((seen.sent, seen.lost()), (wanted, 0), "{room}");
        }
    }

    #[test]
    fn frames_that_are_only_counted_take_the_same_memory_however_many_there_are() {
        let load = ProbeLoad::counting(1_000_000, 2, 1e6);
        let template = Template::plain(64);
        let mut run = ProbeRun {
            load: &load,
            template: template.clone(),
            start: Instant::now(),
            waiting: Vec::new(),
            seen: Observation::default(),
            stamps: StampTable::new(load.kept()),
            highest: None,
            departed_ns: None,
            recent: vec![None; RECENT],
        };
        for number in 0..1_000_002 {
            let frame = run.signed(1, number);
            // One is lost, and one arrives twice.
            if number != 500_000 {
                run.arrived(1, &frame, 5);
            }
            if number == 600_000 {
                run.arrived(1, &frame, 6);
            }
        }
        assert_eq!(run.recent.len(), RECENT);
        run.seen.sent = 1_000_000;
        let seen = run.finished();
        assert_eq!((seen.sent, seen.received), (1_000_000, 999_999));
        assert_eq!((seen.lost(), seen.duplicated, seen.changed), (1, 1, 0));
        assert!(seen.rate.1 > 0.0);
        let kept = [&seen.arrivals_ns, &seen.delays_ns, &seen.departures_ns];
        assert!(kept.iter().all(|of_each| of_each.capacity() == 0));
    }

    #[test]
    fn lateness_is_that_after_the_scheduled_start_also_of_the_first_frame() {
        let seen = Observation {
            first_due_ns: 10_000.0,
            // A stall of 5 us before the first frame, which the others make up for.
            departures_ns: vec![15_000, 15_000, 30_500],
            rate: (1e5, 1e5),
            ..Observation::default()
        };
        assert_eq!(seen.lateness_ns(), [5_000.0, -5_000.0, 500.0]);
        let (near, far) = Memory::pair();
        let mut probe = FrameProbe::new(Box::new(near), Some(Box::new(far)));
        let load = ProbeLoad {
            warm_up: 20,
            ..ProbeLoad::new(10, 10_000.0)
        };
        let seen = probe.run(&Template::plain(60), &load, &|| false).unwrap();
        assert_eq!(seen.first_due_ns, 2e6);
        assert!(seen.lateness_ns().iter().all(|late| *late >= 0.0));
    }

    #[test]
    fn a_generator_that_is_too_slow_or_too_fast_is_not_true_to_its_rate() {
        let is_faithful = |achieved| {
            let rate = (1_000.0, achieved);
            let seen = Observation {
                rate,
                ..Observation::default()
            };
            seen.is_faithful()
        };
        assert!([990.0, 1_000.0, 1_010.0].map(is_faithful) == [true; 3]);
        assert!([989.0, 1_011.0].map(is_faithful) == [false; 2]);
    }
}
