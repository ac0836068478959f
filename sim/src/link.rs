//! Links: rate, delay, a queue at each end, loss, and state.

use std::collections::VecDeque;

use bofuss_datapath::Time;
use bofuss_frame::{Frame, MAX_FRAME_BYTES};
use bofuss_oflib::PortNo;
use serde::Deserialize;

use crate::event_queue::{EventQueue, Turn};
use crate::random::Random;

/// The nanoseconds that a byte takes at a rate of 1 bit/s.
const NANOS_PER_BYTE: u64 = 8 * Time::SEC;

/// The properties of a link, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConfig {
    /// Bits per second; with 0, sending a frame takes no time. A frame counts as its bytes from the
    /// destination address on, without FCS, as in the kernel's queueing disciplines, plus
    /// [`LinkConfig::overhead_bytes`].
    pub rate_bps: u64,
    /// Nanoseconds from the end of sending to the arrival; at least 1, so that a frame in a loop
    /// takes time.
    pub delay_ns: u64,
    /// The most frames that wait at each end; further ones are dropped.
    pub queue_frames: u32,
    /// The most bytes of frames that wait at each end.
    pub queue_bytes: u64,
    /// Frames that wait at an end above which a further one is marked, if its sender understands
    /// that (ECN). Choice: one whose sender does not waits as any other.
    pub mark_frames: u32,
    /// The most nanoseconds that a frame takes longer than [`LinkConfig::delay_ns`]: each a random
    /// share of these, but none arrives before one that was sent earlier.
    pub jitter_ns: u64,
    /// The share of frames that are lost at random, 0 to 1; outside of bursts, if there are any.
    pub loss: f64,
    /// Bursts of losses, if there are any.
    pub bursts: Option<Bursts>,
    /// Bytes that each frame takes on the wire in addition to its own: 24 for Ethernet's preamble,
    /// FCS and gap. At most 65,535.
    pub overhead_bytes: u32,
}

/// Bursts of losses, after Gilbert and Elliott: a link is well or ill, and each frame may change
/// that before it is lost or not.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// The share of frames at which a link that is well becomes ill, 0 to 1.
    pub begin: f64,
    /// The share of frames at which one that is ill becomes well again, above 0 to 1; bursts have 1
    /// divided by this many frames in the mean.
    pub end: f64,
    /// The share of frames that are lost while it is ill.
    #[serde(default = "all")]
    pub loss: f64,
}

fn all() -> f64 {
    1.0
}

impl Bursts {
    /// Returns true if the shares are such.
    pub(crate) fn are_valid(&self) -> bool {
        let share = 0.0..=1.0;
        share.contains(&self.begin)
            && share.contains(&self.end)
            && self.end > 0.0
            && share.contains(&self.loss)
    }
}

impl Default for LinkConfig {
    /// 1 Gb/s, 10 us, 100 frames, no loss.
    fn default() -> Self {
        Self {
            rate_bps: 1_000_000_000,
            delay_ns: 10_000,
            queue_frames: 100,
            queue_bytes: u64::MAX,
            mark_frames: u32::MAX,
            jitter_ns: 0,
            loss: 0.0,
            bursts: None,
            overhead_bytes: 0,
        }
    }
}

/// The state of a link, by which it carries frames or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It carries frames.
    Up,
    /// It carries none, and both ends have no carrier.
    Down,
    /// It carries none, although both ends have a carrier.
    Silent,
}

/// The number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodePort {
    /// The node.
    pub node: NodeId,
    /// The port; a host has only port 1.
    pub port: PortNo,
}

/// The reason for which a link drops a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDrop {
    /// The queue is full.
    QueueFull,
    /// The frame was lost at random.
    Loss,
    /// The link is down or silent, or became so while the frame was on it.
    Down,
}

impl LinkDrop {
    /// The name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::Loss => "loss",
            Self::Down => "link_down",
        }
    }
}

/// The statistics of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Frames offered to it.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames that arrived.
    pub arrived_frames: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Frames that found the queue full.
    pub queue_full: u64,
    /// Frames lost at random.
    pub lost: u64,
    /// Frames dropped because the link was down or silent.
    pub down: u64,
    /// Frames marked because more than [`LinkConfig::mark_frames`] waited.
    pub marked: u64,
    /// The most frames that waited at the same time.
    pub most_waiting: u32,
}

/// One direction of a link: a transmitter with its queue, and the wire after it.
///
/// As frames cannot overtake each other, the arrival of a frame is known when it is accepted. So a
/// frame costs one event, and the end of its sending needs none.
pub(crate) struct Transmitter {
    pub(crate) from: NodePort,
    pub(crate) to: NodePort,
    pub(crate) config: LinkConfig,
    /// Frames that wait or are on the wire, in the order of their arrival.
    frames: VecDeque<(Turn, Frame)>,
    /// For each frame that waits, when its sending begins, and its bytes.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    /// The time at which the transmitter is free, rounded down to whole nanoseconds. The rest,
    /// `remainder` divided by the rate, is less than a nanosecond.
    free_at: Time,
    remainder: u64,
    random: Random,
    /// True within a burst of losses.
    is_ill: bool,
    /// The arrival of the last frame.
    last_arrival: Time,
    pub(crate) stats: LinkStats,
}

impl Transmitter {
    pub(crate) fn new(from: NodePort, to: NodePort, config: LinkConfig, random: Random) -> Self {
        Self {
            from,
            to,
            config,
            frames: VecDeque::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            free_at: Time(0),
            remainder: 0,
            random,
            is_ill: false,
            last_arrival: Time(0),
            stats: LinkStats::default(),
        }
    }

    /// Offers a frame of `bytes` bytes. Returns why it is dropped; if it is not, [`Self::send`] has
    /// to follow.
    pub(crate) fn offer(&mut self, now: Time, state: LinkState, bytes: u32) -> Option<LinkDrop> {
        self.stats.frames += 1;
        self.stats.bytes += u64::from(bytes);
        let refusal = self.accept(now, state, bytes);
        match refusal {
            Some(LinkDrop::QueueFull) => self.stats.queue_full += 1,
            Some(LinkDrop::Loss) => self.stats.lost += 1,
            Some(LinkDrop::Down) => self.stats.down += 1,
            None => {}
        }
        refusal
    }

    /// Returns true if the frame that was offered is to be marked.
    pub(crate) fn is_above_mark(&self) -> bool {
        self.waiting.len() as u64 > u64::from(self.config.mark_frames)
    }

    /// Sends the frame that was offered. Returns the turn of its arrival if it is the only frame on
    /// the link; otherwise [`Self::arrive`] returns the turn later.
    pub(crate) fn send(&mut self, frame: Frame, events: &mut EventQueue) -> Option<Turn> {
        let mut at = self.free_at.after(self.config.delay_ns);
        if self.config.jitter_ns > 0 {
            at = at.after(self.random.below(self.config.jitter_ns + 1));
            self.last_arrival = self.last_arrival.max(at);
            at = self.last_arrival;
        }
        let turn = events.turn(at);
        let is_first = self.frames.is_empty();
        self.frames.push_back((turn, frame));
        is_first.then_some(turn)
    }

    /// Takes up the transmitter for a frame of `bytes` bytes. Returns why the frame does not
    /// arrive: one that is lost at random takes it up all the same.
    fn accept(&mut self, now: Time, state: LinkState, bytes: u32) -> Option<LinkDrop> {
        if state != LinkState::Up {
            return Some(LinkDrop::Down);
        }
        self.begin_sending(now);
        if self.free_at > now {
            let waiting = self.waiting.len() as u32;
            if waiting >= self.config.queue_frames
                || self.waiting_bytes + u64::from(bytes) > self.config.queue_bytes
            {
                return Some(LinkDrop::QueueFull);
            }
            self.waiting.push_back((self.free_at, bytes));
            self.waiting_bytes += u64::from(bytes);
            self.stats.most_waiting = self.stats.most_waiting.max(waiting + 1);
        } else if self.free_at < now {
            self.free_at = now;
            self.remainder = 0;
        }
        self.occupy(bytes);
        self.draws_loss().then_some(LinkDrop::Loss)
    }

    /// Makes the transmitter busy for the time that a frame takes.
    fn occupy(&mut self, bytes: u32) {
        let wire_bytes = u64::from(bytes) + u64::from(self.config.overhead_bytes);
        let work = wire_bytes * NANOS_PER_BYTE + self.remainder;
        if let Some(nanos) = work.checked_div(self.config.rate_bps) {
            self.free_at = self.free_at.after(nanos);
            self.remainder = work % self.config.rate_bps;
        }
    }

    fn draws_loss(&mut self) -> bool {
        let mut loss = self.config.loss;
        if let Some(bursts) = self.config.bursts {
            let change = if self.is_ill {
                bursts.end
            } else {
                bursts.begin
            };
            self.is_ill ^= self.draws(change);
            if self.is_ill {
                loss = bursts.loss;
            }
        }
        loss > 0.0 && self.draws(loss)
    }

    /// Returns true for this share of the calls.
    fn draws(&mut self, share: f64) -> bool {
        // A float holds 53 bits exactly.
        let number = self.random.next() >> 11;
        (number as f64) < share * (1u64 << 53) as f64
    }

    /// Removes the frames whose sending has begun from the queue.
    fn begin_sending(&mut self, now: Time) {
        while let Some(&(start, bytes)) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
        }
    }

    /// The number of further frames that a paced port may send: so many that one is being sent and
    /// one waits, if the queue has room for any frame. Errors: none now; the time when it may send
    /// one again.
    pub(crate) fn room(&mut self, now: Time) -> Result<u32, Time> {
        self.begin_sending(now);
        let waiting = self.waiting.len() as u32;
        let taken = waiting + u32::from(self.free_at > now);
        let has_queue =
            self.config.queue_frames > 0 && self.config.queue_bytes >= MAX_FRAME_BYTES as u64;
        match (1 + u32::from(has_queue)).saturating_sub(taken) {
            0 => Err(self
                .waiting
                .front()
                .map_or(self.free_at, |(start, _)| *start)),
            room => Ok(room),
        }
    }

    /// Takes the frame that arrives in this turn; also returns the turn of the next one. Returns
    /// `None` if the frame of this turn was dropped meanwhile.
    pub(crate) fn arrive(&mut self, turn: Turn) -> Option<(Frame, Option<Turn>)> {
        if self.frames.front()?.0 != turn {
            return None;
        }
        let (_, frame) = self.frames.pop_front()?;
        if self.frames.is_empty() {
            // The next frame takes the same place, so that the others stay out of the cache.
            self.frames.clear();
        }
        self.stats.arrived_frames += 1;
        self.stats.arrived_bytes += frame.len() as u64;
        Some((frame, self.frames.front().map(|(turn, _)| *turn)))
    }

    /// Drops all frames that wait or are on the wire, and returns them.
    pub(crate) fn cut(&mut self, now: Time) -> Vec<Frame> {
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.free_at = now;
        self.remainder = 0;
        self.last_arrival = now;
        let frames: Vec<Frame> = self.frames.drain(..).map(|(_, frame)| frame).collect();
        self.stats.down += frames.len() as u64;
        frames
    }
}

#[cfg(test)]
mod tests {
    use bofuss_frame::Pool;

    use super::*;

    const END: NodePort = NodePort {
        node: NodeId(0),
        port: PortNo(1),
    };

    fn transmitter(config: LinkConfig) -> Transmitter {
        Transmitter::new(END, END, config, Random::new(1, 0))
    }

    fn send(transmitter: &mut Transmitter, now: u64, bytes: usize) -> Result<(), LinkDrop> {
        let frame = Pool::new(1 << 20).frame(&vec![0; bytes]).unwrap();
        let refusal = transmitter.offer(Time(now), LinkState::Up, bytes as u32);
        refusal.map_or(Ok(()), Err)?;
        transmitter.send(frame, &mut EventQueue::default());
        Ok(())
    }

    fn arrivals(transmitter: &Transmitter) -> Vec<u64> {
        transmitter
            .frames
            .iter()
            .map(|(turn, _)| turn.at.0)
            .collect()
    }

    #[test]
    fn frames_take_their_time_at_the_rate_and_then_the_delay() {
        let mut link = transmitter(LinkConfig {
            rate_bps: 1_000_000_000,
            delay_ns: 1000,
            ..LinkConfig::default()
        });
        send(&mut link, 0, 125).unwrap();
        send(&mut link, 500, 125).unwrap();
        send(&mut link, 10_000, 125).unwrap();
        assert_eq!(arrivals(&link), [2000, 3000, 12_000]);
    }

    #[test]
    fn a_rate_holds_to_the_bit_though_times_are_whole_nanoseconds() {
        let mut link = transmitter(LinkConfig {
            rate_bps: 100_000_000_000,
            delay_ns: 1,
            queue_frames: 1000,
            ..LinkConfig::default()
        });
        for _ in 0..1000 {
            send(&mut link, 0, 60).unwrap();
        }
        assert_eq!(arrivals(&link).last(), Some(&4801));
    }

    #[test]
    fn the_queue_drops_at_its_tail_and_drains() {
        let mut link = transmitter(LinkConfig {
            rate_bps: 1_000_000_000,
            queue_frames: 2,
            queue_bytes: 250,
            ..LinkConfig::default()
        });
        assert_eq!(send(&mut link, 0, 125), Ok(()));
        assert_eq!(send(&mut link, 0, 125), Ok(()));
        assert_eq!(send(&mut link, 0, 126), Err(LinkDrop::QueueFull));
        assert_eq!(send(&mut link, 0, 125), Ok(()));
        assert_eq!(send(&mut link, 0, 60), Err(LinkDrop::QueueFull));
        assert_eq!(send(&mut link, 1000, 60), Ok(()));
        assert_eq!((link.stats.queue_full, link.stats.most_waiting), (2, 2));
    }

    #[test]
    fn a_share_of_the_frames_is_lost() {
        let mut link = transmitter(LinkConfig {
            rate_bps: 0,
            loss: 0.25,
            ..LinkConfig::default()
        });
        for now in 0..10_000 {
            let _ = send(&mut link, now, 60);
        }
        assert!(
            (2300..2700).contains(&link.stats.lost),
            "{}",
            link.stats.lost
        );
    }

    #[test]
    fn losses_come_in_bursts_of_their_mean_length() {
        let mut link = transmitter(LinkConfig {
            rate_bps: 0,
            bursts: Some(Bursts {
                begin: 0.01,
                end: 0.1,
                loss: 1.0,
            }),
            ..LinkConfig::default()
        });
        let mut bursts = 0;
        let mut was_lost = false;
        for now in 0..100_000 {
            let is_lost = send(&mut link, now, 60).is_err();
            bursts += u64::from(is_lost && !was_lost);
            was_lost = is_lost;
        }
        let share = link.stats.lost as f64 / 100_000.0;
        let mean = link.stats.lost as f64 / bursts as f64;
        // 0.01 / (0.01 + 0.1), and 1 / 0.1.
        assert!((0.08..0.10).contains(&share), "{share}");
        assert!((9.0..11.0).contains(&mean), "{mean}");
    }

    #[test]
    fn jitter_delays_each_frame_otherwise_and_keeps_their_order() {
        let mut link = transmitter(LinkConfig {
            rate_bps: 0,
            delay_ns: 1000,
            jitter_ns: 500,
            ..LinkConfig::default()
        });
        for now in 0..1000 {
            send(&mut link, now * 300, 60).unwrap();
        }
        let arrivals = arrivals(&link);
        assert!(arrivals.is_sorted());
        let delays = arrivals.iter().zip(0..).map(|(at, n)| at - n * 300);
        let [least, most] = [delays.clone().min(), delays.max()].map(|delay| delay.unwrap());
        assert!(
            least < 1050 && (1450..=1500).contains(&most),
            "{least} {most}"
        );
    }

    #[test]
    fn room_comes_back_when_a_waiting_frame_begins_to_be_sent() {
        let mut link = transmitter(LinkConfig::default());
        assert_eq!(link.room(Time(0)), Ok(2));
        send(&mut link, 0, 125).unwrap();
        send(&mut link, 0, 125).unwrap();
        assert_eq!(link.room(Time(0)), Err(Time(1000)));
        assert_eq!(link.room(Time(1000)), Ok(1));
    }

    #[test]
    fn without_room_in_the_queue_a_paced_port_sends_one_frame_after_another_at_the_rate() {
        for (queue_frames, queue_bytes) in [(0, u64::MAX), (100, 59)] {
            let mut link = transmitter(LinkConfig {
                rate_bps: 100_000_000_000,
                delay_ns: 1,
                queue_frames,
                queue_bytes,
                ..LinkConfig::default()
            });
            let mut now = 0;
            for _ in 0..1000 {
                while let Err(at) = link.room(Time(now)) {
                    now = at.0;
                }
                assert_eq!(link.room(Time(now)), Ok(1));
                send(&mut link, now, 60).unwrap();
            }
            assert_eq!(arrivals(&link).last(), Some(&4801));
        }
    }

    #[test]
    fn what_a_cut_link_has_lost_delays_nothing_that_comes_later() {
        let mut link = transmitter(LinkConfig {
            rate_bps: 0,
            jitter_ns: 1_000_000,
            ..LinkConfig::default()
        });
        let mut mean = 0;
        for now in 0..100 {
            send(&mut link, now, 60).unwrap();
            mean += arrivals(&link)[0] / 100;
            link.cut(Time(now));
        }
        assert!((400_000..600_000).contains(&mean), "{mean}");
    }

    #[test]
    fn a_cut_link_loses_all_that_is_on_it() {
        let mut link = transmitter(LinkConfig::default());
        send(&mut link, 0, 125).unwrap();
        let turn = link.frames[0].0;
        assert_eq!(link.cut(Time(5)).len(), 1);
        assert!(link.arrive(turn).is_none());
    }
}
