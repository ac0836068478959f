//! Up to when the frames of a port have left the switch, and whether others are held back for that.

/// After so long with frames that wait all the time, those of known flows may be held back.
const STUCK_NS: u64 = 100_000_000;
/// The time for which they are, as a rule, and that from one hold to the next.
const HOLD_NS: u64 = 200_000;
const PAUSE_NS: u64 = 1_000_000_000;
/// Where more arrives than the switch can forward, so that frames are lost anyway, they are held
/// back until the switch has taken as many as can wait, or so many if that is not known: this long
/// after each batch, and no longer than that in all.
const HELD_FRAMES: usize = 8192;
const BATCH_HOLD_NS: u64 = 50_000_000;
const LONGEST_HOLD_NS: u64 = 200_000_000;
/// The pause after such a hold doubles with each that was in vain, because others fill the ring.
const LONGEST_PAUSE_NS: u64 = 64 * PAUSE_NS;

/// What has not left the switch of the frames that arrived on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// True if nothing waits anywhere.
    pub is_none: bool,
    /// True if all that was taken from the port's socket has left.
    pub is_none_inside: bool,
    /// The most frames that can wait in the socket, which are taken in the order in which they
    /// arrived; `None` if that is not known.
    pub most: Option<usize>,
    /// True if the socket may soon have no room.
    pub is_crowded: bool,
}

/// What follows for the kernel's program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// All frames that arrived before this time have left.
    pub(crate) drained_ns: Option<u64>,
    /// Frames of known flows are held back until then.
    pub(crate) hold_until_ns: Option<u64>,
}

/// A time, and the number of frames to be taken until all are that arrived before.
#[derive(Debug)]
struct Mark {
    at_ns: u64,
    left: usize,
}

/// The frames of a port on their way through the switch.
#[derive(Debug)]
pub(crate) struct Passage {
    mark: Option<Mark>,
    /// Since when some frames have waited all the time.
    waiting_ns: Option<u64>,
    /// The number of frames that may still be taken while others are held back.
    held_frames: usize,
    /// The time when they are held back no longer, however many were taken.
    hold_end_ns: u64,
    /// The time when they may be held back next, and that when they may be for long.
    next_hold_ns: u64,
    next_long_hold_ns: u64,
    /// The pause after the next long hold.
    pause_ns: u64,
}

impl Passage {
    /// Begins without frames.
    pub(crate) fn new() -> Self {
        Self {
            mark: None,
            waiting_ns: None,
            held_frames: 0,
            hold_end_ns: 0,
            next_hold_ns: 0,
            next_long_hold_ns: 0,
            pause_ns: PAUSE_NS,
        }
    }

    /// Learns what waits at a time, when `count` frames more were taken. Whatever arrived before
    /// that time is in the socket, or was taken.
    pub(crate) fn after_batch(&mut self, now_ns: u64, count: usize, waiting: Waiting) -> Passed {
        if waiting.is_none {
            self.mark = None;
            self.waiting_ns = None;
            self.held_frames = 0;
            self.pause_ns = PAUSE_NS;
            return Passed {
                drained_ns: Some(now_ns),
                hold_until_ns: Some(0),
            };
        }
        let drained_ns = self.pass_mark(now_ns, count, waiting);
        // It was set when a hold began, or later: what is held back can go below.
        let ends = drained_ns.is_some() && now_ns < self.hold_end_ns;
        if ends {
            self.hold_end_ns = now_ns;
        }
        let hold_until_ns = self.hold(now_ns, count, waiting);
        Passed {
            drained_ns,
            hold_until_ns: hold_until_ns.or(ends.then_some(0)),
        }
    }

    /// Passes the mark if all has left that arrived before it, and sets the next one. Returns the
    /// time of the one that was passed.
    fn pass_mark(&mut self, now_ns: u64, count: usize, waiting: Waiting) -> Option<u64> {
        if let Some(mark) = &mut self.mark {
            mark.left = mark.left.saturating_sub(count);
            if mark.left > 0 || !waiting.is_none_inside {
                return None;
            }
        }
        let passed = self.mark.take();
        self.set_mark(now_ns, waiting);
        passed.map(|mark| mark.at_ns)
    }

    fn set_mark(&mut self, now_ns: u64, waiting: Waiting) {
        self.mark = waiting.most.map(|left| Mark {
            at_ns: now_ns,
            left,
        });
    }

    /// Begins a hold if it is time, or goes on with one. Returns when it ends.
    fn hold(&mut self, now_ns: u64, count: usize, waiting: Waiting) -> Option<u64> {
        let since_ns = *self.waiting_ns.get_or_insert(now_ns);
        let is_stuck = now_ns > since_ns + STUCK_NS;
        let longest_ns = if is_stuck && waiting.is_crowded && now_ns > self.next_long_hold_ns {
            self.next_long_hold_ns = now_ns + self.pause_ns;
            self.pause_ns = LONGEST_PAUSE_NS.min(2 * self.pause_ns);
            LONGEST_HOLD_NS
        } else if is_stuck && !waiting.is_crowded && now_ns > self.next_hold_ns {
            HOLD_NS
        } else {
            0
        };
        if longest_ns > 0 {
            self.held_frames = waiting.most.unwrap_or(HELD_FRAMES);
            self.hold_end_ns = now_ns + longest_ns;
            self.next_hold_ns = now_ns + PAUSE_NS;
            self.set_mark(now_ns, waiting);
        }
        if self.held_frames == 0 || now_ns >= self.hold_end_ns {
            return None;
        }
        self.held_frames = self.held_frames.saturating_sub(count);
        Some(self.hold_end_ns.min(now_ns + BATCH_HOLD_NS))
    }
}
