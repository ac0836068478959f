//! Paths that are being repaired, and the frames that wait for them.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_datapath::Time;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::Packet;

use super::frame::HostPair;
use super::table::VlanHost;

/// The most paths that are being repaired or recently failed.
pub const MAX_REPAIRS: usize = 1024;
/// The most frames that wait for one path,
pub const MAX_WAITING_OF_PATH: usize = 32;
/// and for all paths.
pub const MAX_WAITING: usize = 512;
/// The number of times that one path is requested.
const TRIES: u64 = 4;

/// A path that is being repaired, or whose repair failed.
struct Repair {
    /// The ingress port of its first frame.
    ingress: PortNo,
    /// The time when the repair has failed; and after that, when the offer ends.
    deadline: Time,
    /// The time when it is requested again; `None` after it failed.
    next_try: Option<Time>,
    /// True if frames wait at a switch between the edges of the two hosts.
    for_all: bool,
    /// True if it was needed since the last request or offer.
    is_wanted: bool,
    frames: Vec<Packet>,
}

impl Repair {
    /// The time when its next timer is due.
    fn next(&self) -> Time {
        self.next_try.unwrap_or(Time::NEVER).min(self.deadline)
    }
}

/// A path that has to be requested again, or offered.
#[derive(Clone, Copy, Debug)]
pub(super) struct DueRepair {
    pub(super) pair: HostPair,
    /// The ingress port of its first frame.
    pub(super) ingress: PortNo,
    pub(super) offer: bool,
}

/// The answer to whether a frame without a path may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RepairStart {
    /// Yes, and the path has to be requested (again, if the last request was not for all switches).
    First,
    /// Yes; the path is already requested.
    Asked,
    /// No; a repair failed recently.
    NotFound,
    /// No; there are too many repairs, and the port has its share.
    Full,
}

/// All paths that are being repaired or recently failed.
#[derive(Default)]
pub(super) struct Waiting {
    repairs: BTreeMap<HostPair, Repair>,
    /// The number of them that began with a frame from each port.
    by_port: BTreeMap<PortNo, usize>,
    frames: usize,
    /// The time when [`Waiting::due`] has something to do, or earlier; `None` without repairs.
    next: Option<Time>,
}

impl Waiting {
    /// Says how a repair may begin for a frame from a port; `for_all` if the frame waits at a
    /// switch between the edges. A port may use at most as many repairs as remain free.
    pub(super) fn admission(&self, pair: &HostPair, ingress: PortNo, for_all: bool) -> RepairStart {
        if let Some(repair) = self.repairs.get(pair) {
            return match repair.next_try {
                Some(_) if for_all && !repair.for_all => RepairStart::First,
                Some(_) => RepairStart::Asked,
                None => RepairStart::NotFound,
            };
        }
        let used = self.by_port.get(&ingress).copied().unwrap_or(0);
        if used >= MAX_REPAIRS - self.repairs.len() {
            return RepairStart::Full;
        }
        RepairStart::First
    }

    /// Begins a repair that takes at most `patience` nanoseconds. Frames that already wait for the
    /// path continue to wait.
    pub(super) fn begin(
        &mut self,
        now: Time,
        pair: HostPair,
        (ingress, for_all): (PortNo, bool),
        patience: u64,
    ) {
        let frames = self.end(&pair);
        self.frames += frames.len();
        let repair = Repair {
            ingress,
            deadline: now.after(patience),
            next_try: Some(now.after(patience / TRIES)),
            for_all,
            is_wanted: false,
            frames,
        };
        self.repairs.insert(pair, repair);
        *self.by_port.entry(ingress).or_default() += 1;
        let next = now.after(patience / TRIES);
        self.next = Some(self.next.map_or(next, |earlier| earlier.min(next)));
    }

    /// Keeps a frame until its path is found. Returns false if there is no room.
    pub(super) fn keep(&mut self, pair: &HostPair, packet: Packet) -> bool {
        let is_full = self.frames >= MAX_WAITING;
        let Some(repair) = self.repairs.get_mut(pair) else {
            return false;
        };
        repair.is_wanted = true;
        if is_full || repair.frames.len() >= MAX_WAITING_OF_PATH {
            return false;
        }
        self.frames += 1;
        repair.frames.push(packet);
        true
    }

    /// Notes that a path is still needed.
    pub(super) fn want(&mut self, pair: &HostPair) {
        if let Some(repair) = self.repairs.get_mut(pair) {
            repair.is_wanted = true;
        }
    }

    /// Returns true if all switches have to learn the answer.
    pub(super) fn is_for_all(&self, pair: &HostPair) -> bool {
        self.repairs.get(pair).is_some_and(|repair| repair.for_all)
    }

    /// Returns true if there are no repairs.
    pub(super) fn is_empty(&self) -> bool {
        self.repairs.is_empty()
    }

    /// Returns how many frames wait.
    pub(super) fn frames(&self) -> usize {
        self.frames
    }

    /// Ends the repairs of paths to a host, which was found. Returns the frames that waited for it.
    pub(super) fn release(&mut self, (vlan, destination): VlanHost) -> Vec<Packet> {
        let [first, last] = [Mac([0; 6]), Mac([0xff; 6])].map(|source| HostPair {
            vlan,
            destination,
            source,
        });
        let found: Vec<HostPair> = self
            .repairs
            .range(first..=last)
            .map(|(pair, _)| *pair)
            .collect();
        let mut frames = Vec::new();
        for pair in found {
            frames.extend(self.end(&pair));
        }
        frames
    }

    fn end(&mut self, pair: &HostPair) -> Vec<Packet> {
        let Some(repair) = self.repairs.remove(pair) else {
            return Vec::new();
        };
        self.frames -= repair.frames.len();
        if let Some(count) = self.by_port.get_mut(&repair.ingress) {
            *count -= 1;
            if *count == 0 {
                self.by_port.remove(&repair.ingress);
            }
        }
        repair.frames
    }

    /// Takes the frames that wait for a path.
    pub(super) fn take(&mut self, pair: &HostPair) -> Vec<Packet> {
        let repair = self.repairs.get_mut(pair);
        let frames = repair.map_or(Vec::new(), |repair| core::mem::take(&mut repair.frames));
        self.frames -= frames.len();
        frames
    }

    /// Returns what has to be done for paths because frames wait here or elsewhere, and how many
    /// frames have waited too long: until an offer has ended, too. No other repair of the path
    /// begins before that, and an offer lasts while frames come.
    pub(super) fn due(&mut self, now: Time, patience: u64) -> (Vec<DueRepair>, usize) {
        let mut due = Vec::new();
        let mut over = Vec::new();
        let mut lost = 0;
        for (pair, repair) in &mut self.repairs {
            let has_failed = repair.deadline <= now;
            if !has_failed && repair.next_try.is_none_or(|at| at > now) {
                continue;
            }
            let was_wanted = core::mem::take(&mut repair.is_wanted);
            if has_failed && repair.next_try.is_none() {
                lost += repair.frames.len();
                repair.frames.clear();
                if !was_wanted {
                    over.push(*pair);
                    continue;
                }
            }
            if has_failed {
                repair.next_try = None;
                repair.deadline = now.after(patience);
            } else {
                repair.next_try = Some(now.after(patience / TRIES));
            }
            if was_wanted || !repair.frames.is_empty() {
                due.push(DueRepair {
                    pair: *pair,
                    ingress: repair.ingress,
                    offer: has_failed,
                });
            }
        }
        self.frames -= lost;
        for pair in over {
            self.end(&pair);
        }
        let times = self.repairs.values().map(Repair::next);
        self.next = times.min();
        (due, lost)
    }

    /// The time when [`Waiting::due`] has something to do next, or earlier.
    pub(super) fn next(&self) -> Option<Time> {
        self.next
    }
}
