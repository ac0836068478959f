//! Paths that are looked for, and the frames that wait for them.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_datapath::Time;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::Packet;

use super::frame::HostPair;
use super::table::VlanHost;

/// Paths that are looked for at a time, or were not found lately, at most.
pub const MAX_REPAIRS: usize = 1024;
/// Frames that wait for one path at most,
pub const MAX_WAITING_OF_PATH: usize = 32;
/// and for all.
pub const MAX_WAITING: usize = 512;
/// Requests for one path.
const TRIES: u64 = 4;

/// A path that is looked for, or that was not found.
struct Repair {
    /// The port that its first frame came in through.
    ingress: PortNo,
    /// When frames do not wait any longer.
    deadline: Time,
    /// When it is asked for again; none once it was not found, until which time no other frame
    /// starts it.
    next_try: Option<Time>,
    /// Whether frames wait at a switch between the edges of the two hosts.
    for_all: bool,
    /// Whether it was needed since it was asked for last.
    is_wanted: bool,
    frames: Vec<Packet>,
}

impl Repair {
    /// When something is to be done about it.
    fn next(&self) -> Time {
        self.next_try.unwrap_or(Time::NEVER).min(self.deadline)
    }
}

/// What becomes of a frame without a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RepairStart {
    /// The path is to be asked for; again, if it has not been for all switches.
    First,
    /// It is asked for.
    Asked,
    /// It was not found a moment ago.
    NotFound,
    /// There are too many, and the port has its share.
    Full,
}

/// All of them.
#[derive(Default)]
pub(super) struct Waiting {
    repairs: BTreeMap<HostPair, Repair>,
    /// How many of them came in through each port.
    by_port: BTreeMap<PortNo, usize>,
    frames: usize,
    /// When [`Waiting::due`] has something to do, or earlier; none if nothing is looked for.
    next: Option<Time>,
}

impl Waiting {
    /// Whether a path may be looked for that a frame of a port needs; `for_all` if it waits at a
    /// switch between the edges. A port may use at most as much as remains free.
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

    /// Begins to look for a path, for `patience` nanoseconds. Frames that wait for it already go on
    /// to do so.
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

    /// A path that is looked for is needed still.
    pub(super) fn want(&mut self, pair: &HostPair) {
        if let Some(repair) = self.repairs.get_mut(pair) {
            repair.is_wanted = true;
        }
    }

    /// Whether all switches are to know the answer.
    pub(super) fn is_for_all(&self, pair: &HostPair) -> bool {
        self.repairs.get(pair).is_some_and(|repair| repair.for_all)
    }

    /// Whether nothing is looked for.
    pub(super) fn is_empty(&self) -> bool {
        self.repairs.is_empty()
    }

    /// How many frames wait.
    pub(super) fn frames(&self) -> usize {
        self.frames
    }

    /// The path to a host is there: the frames that waited for it.
    pub(super) fn release(&mut self, (vlan, destination): VlanHost) -> Vec<Packet> {
        let [first, last] = [Mac([0; 6]), Mac([0xff; 6])].map(|source| HostPair {
            vlan,
            destination,
            source,
        });
        let found = self.repairs.range(first..=last);
        let found: Vec<HostPair> = found.map(|(pair, _)| *pair).collect();
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

    /// The paths that are to be asked for again because frames wait, here or elsewhere, each with
    /// the port of its first frame; and how many frames have waited for too long. After that time
    /// no path is looked for between the same hosts for as long again.
    pub(super) fn due(&mut self, now: Time, patience: u64) -> (Vec<(HostPair, PortNo)>, usize) {
        let (mut again, mut over) = (Vec::new(), Vec::new());
        let mut lost = 0;
        for (pair, repair) in &mut self.repairs {
            match repair.next_try {
                None if repair.deadline <= now => over.push(*pair),
                None => {}
                Some(_) if repair.deadline <= now => {
                    lost += repair.frames.len();
                    repair.frames.clear();
                    repair.next_try = None;
                    repair.deadline = now.after(patience);
                }
                Some(at) if at <= now => {
                    repair.next_try = Some(now.after(patience / TRIES));
                    let was_wanted = core::mem::take(&mut repair.is_wanted);
                    if was_wanted || !repair.frames.is_empty() {
                        again.push((*pair, repair.ingress));
                    }
                }
                Some(_) => {}
            }
        }
        self.frames -= lost;
        for pair in over {
            self.end(&pair);
        }
        let times = self.repairs.values().map(Repair::next);
        self.next = times.min();
        (again, lost)
    }

    /// When [`Waiting::due`] has something to do next, or earlier.
    pub(super) fn next(&self) -> Option<Time> {
        self.next
    }
}
