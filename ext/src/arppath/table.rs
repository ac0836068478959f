//! The table of hosts: for each, the port towards it, with two kinds of timers and a limit.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use bofuss_datapath::Time;
use bofuss_oflib::{Mac, PortNo};
use hashbrown::HashMap;

/// A host in a VLAN (the VLAN_VID value, 0 for untagged).
pub type VlanHost = (u16, Mac);

/// A host as one number, of VLAN and address, by which lists continue.
pub fn place((vlan, mac): VlanHost) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    let [high, low] = vlan.to_be_bytes();
    u64::from_be_bytes([high, low, a, b, c, d, e, f])
}

/// The host of a number.
pub(super) fn host_at(place: u64) -> VlanHost {
    let [high, low, mac @ ..] = place.to_be_bytes();
    (u16::from_be_bytes([high, low]), Mac(mac))
}

/// The certainty of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathState {
    /// A first copy came from there; the path has not been used yet.
    Locked,
    /// The path is in use.
    Learnt,
}

impl PathState {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Locked => "locked",
            Self::Learnt => "learnt",
        }
    }
}

/// The entry of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathEntry {
    /// The port towards it.
    pub port: PortNo,
    /// The certainty of that.
    pub state: PathState,
    /// The time when it expires; [`Time::NEVER`] if it is pinned.
    pub until: Time,
    /// The time when a frame of the host last arrived on the port.
    pub seen: Time,
    /// The time when the port last changed.
    pub bound: Time,
    /// The next switch, if one of its frames made the path; otherwise 0.
    pub via: u64,
}

impl PathEntry {
    /// Returns true if the operator has set it.
    pub fn is_pinned(&self) -> bool {
        self.until == Time::NEVER
    }
}

/// An entry, and its time in the order of expiry, which is at most `entry.until`.
#[derive(Debug)]
struct PathSlot {
    entry: PathEntry,
    listed: Time,
}

/// All entries.
///
/// If there are too many, the port with most entries loses the one that would expire first, as in
/// NORMAL. So hosts on one port cost those on other ports no entry.
#[derive(Debug)]
pub struct PathTable {
    /// Entries by [`place`], which hashes faster than the pair.
    slots: HashMap<u64, PathSlot>,
    /// The entries of each port in the order of expiry, pinned ones at the end.
    by_port: BTreeMap<PortNo, BTreeSet<(Time, VlanHost)>>,
    /// All hosts in the order of lists.
    order: BTreeSet<VlanHost>,
    max: usize,
    pinned: usize,
    /// The number of entries that were evicted because there were too many.
    pub evicted: u64,
}

impl PathTable {
    /// An empty table for `max` entries.
    pub fn new(max: usize) -> Self {
        Self {
            slots: HashMap::new(),
            by_port: BTreeMap::new(),
            order: BTreeSet::new(),
            max,
            pinned: 0,
            evicted: 0,
        }
    }

    /// The entry of a host, unless it has expired.
    #[inline]
    pub fn get(&self, now: Time, station: &VlanHost) -> Option<&PathEntry> {
        let slot = self.slots.get(&place(*station))?;
        (slot.entry.until > now).then_some(&slot.entry)
    }

    /// The entry of a host, for changes except of its port.
    #[inline]
    pub fn get_mut(&mut self, now: Time, station: &VlanHost) -> Option<&mut PathEntry> {
        let slot = self.slots.get_mut(&place(*station))?;
        (slot.entry.until > now).then_some(&mut slot.entry)
    }

    /// Sets the entry of a host.
    pub fn insert(&mut self, station: VlanHost, entry: PathEntry) {
        self.remove(&station);
        if self.slots.len() >= self.max {
            self.evict();
        }
        let listed = entry.until;
        self.by_port
            .entry(entry.port)
            .or_default()
            .insert((listed, station));
        self.order.insert(station);
        self.pinned += usize::from(entry.is_pinned());
        self.slots
            .insert(place(station), PathSlot { entry, listed });
    }

    /// Forgets a host. Returns its entry.
    pub fn remove(&mut self, station: &VlanHost) -> Option<PathEntry> {
        let slot = self.slots.remove(&place(*station))?;
        self.order.remove(station);
        self.pinned -= usize::from(slot.entry.is_pinned());
        let port = slot.entry.port;
        if let Some(order) = self.by_port.get_mut(&port) {
            order.remove(&(slot.listed, *station));
            if order.is_empty() {
                self.by_port.remove(&port);
            }
        }
        Some(slot.entry)
    }

    /// Forgets all hosts of a port except pinned ones. Returns how many.
    pub fn flush(&mut self, port: PortNo) -> usize {
        let stations = self.of_port(port);
        let mut count = 0;
        for station in stations {
            let pinned = self
                .slots
                .get(&place(station))
                .is_some_and(|s| s.entry.is_pinned());
            if !pinned {
                self.remove(&station);
                count += 1;
            }
        }
        count
    }

    /// Forgets all hosts for which `keeps` returns false.
    pub fn retain(&mut self, keeps: impl Fn(&VlanHost, &PathEntry) -> bool) {
        let hosts = self
            .slots
            .iter()
            .map(|(at, slot)| (host_at(*at), &slot.entry));
        let gone: Vec<VlanHost> = hosts
            .filter(|(host, entry)| !keeps(host, entry))
            .map(|(host, _)| host)
            .collect();
        for station in gone {
            self.remove(&station);
        }
    }

    /// The hosts of a port.
    fn of_port(&self, port: PortNo) -> Vec<VlanHost> {
        let order = self.by_port.get(&port).into_iter().flatten();
        order.map(|(_, station)| *station).collect()
    }

    fn evict(&mut self) {
        let firsts = self.by_port.values().filter_map(|order| {
            let (listed, station) = order.first()?;
            (*listed < Time::NEVER).then_some((order.len(), *station))
        });
        if let Some((_, station)) = firsts.max_by_key(|(count, _)| *count) {
            self.remove(&station);
            self.evicted += 1;
        }
    }

    /// Forgets expired hosts, visiting at most `budget` entries of each port. Returns true if some
    /// may be left.
    pub fn expire(&mut self, now: Time, budget: usize) -> bool {
        let ports: Vec<PortNo> = self.by_port.keys().copied().collect();
        let mut left = false;
        for port in ports {
            left |= self.expire_port(now, port, budget);
        }
        left
    }

    fn expire_port(&mut self, now: Time, port: PortNo, budget: usize) -> bool {
        for _ in 0..budget {
            let Some(order) = self.by_port.get_mut(&port) else {
                return false;
            };
            let Some(&(listed, station)) = order.first().filter(|(listed, _)| *listed <= now)
            else {
                return false;
            };
            order.remove(&(listed, station));
            let slot = self
                .slots
                .get_mut(&place(station))
                .expect("the order lists slots");
            // An entry that was used meanwhile moves back in the order.
            slot.listed = slot.entry.until;
            order.insert((slot.listed, station));
            if slot.entry.until <= now {
                self.remove(&station);
            }
        }
        true
    }

    /// Returns how many entries are pinned.
    pub fn pinned(&self) -> usize {
        self.pinned
    }

    /// Returns how many entries there are, including those that have just expired.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// At most `count` entries from a host on, in the order of hosts, and the host to continue
    /// with: for a list that is made in parts.
    pub fn list(
        &self,
        now: Time,
        from: VlanHost,
        count: usize,
    ) -> (Vec<(VlanHost, PathEntry)>, Option<VlanHost>) {
        let mut part = Vec::new();
        for (looked_at, station) in self.order.range(from..).enumerate() {
            if looked_at == count {
                return (part, Some(*station));
            }
            part.extend(self.get(now, station).map(|entry| (*station, *entry)));
        }
        (part, None)
    }
}
