//! What NORMAL has learned: the port of each station, with ageing and limits, and a limit of
//! flooding.
//!
//! A station is an address in a VLAN. Learning takes constant time, but for the order of ports by
//! count, which takes a time logarithmic in their number. Ageing costs nothing, since old stations
//! are only ignored, and make room for new ones when a limit is reached.
//!
//! Without the feature `normal`, `no_bridge.rs` takes the place of this file.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use bofuss_oflib::PortNo;
use hashbrown::HashMap;

use crate::slab::{NONE, Slab};
use crate::{Config, MAX_ADDRESSES, Station, Time, Tokens};

/// Nanoseconds after which an unseen address is forgotten.
///
/// Source: IEEE 802.1D, the recommended ageing time.
const AGEING_NS: u64 = 300 * Time::SEC;
/// The number of frames that each port may flood in a second, and at once.
///
/// Choice: neither OpenFlow nor 802.1D has such a limit; without one, a single port could have each
/// of its frames copied to all others.
const FLOODS_PER_SEC: u64 = 10_000;

/// A known station. Those of a port form a list, the last seen first.
#[derive(Debug)]
struct Learned {
    station: Station,
    port: PortNo,
    seen: Time,
    newer: u32,
    older: u32,
}

/// The state of a port.
#[derive(Debug)]
struct Learner {
    /// The number of its stations, and the first and last of their list.
    count: u32,
    newest: u32,
    oldest: u32,
    /// The floods that it may begin.
    floods: Tokens,
}

/// The addresses that NORMAL has learned; static ones are in the configuration. If there are too
/// many stations, the port with most of them forgets one of its own, as in Open vSwitch's
/// `lib/mac-learning.c`. So a flood of addresses on one port costs other ports none.
#[derive(Debug, Default)]
pub struct Bridge {
    stations: Slab<Learned>,
    slots: HashMap<Station, u32>,
    ports: HashMap<PortNo, Learner>,
    /// The ports, sorted by how many stations they have.
    by_count: BTreeSet<(u32, PortNo)>,
    /// How often a station was forgotten, or left its port: see [`Self::changes`].
    changes: u64,
    /// Stations that the traced packet would have made NORMAL learn at its ingress port.
    pub(crate) tried: Vec<Station>,
}

impl Bridge {
    /// The stations that were seen recently, with their ports and when that was, in any order.
    pub fn stations(&self, now: Time) -> impl Iterator<Item = (Station, PortNo, Time)> {
        let known = self.slots.values().map(|slot| &self.stations[*slot]);
        let recent = known.filter(move |known| now.since(known.seen) < AGEING_NS);
        recent.map(|known| (known.station, known.port, known.seen))
    }

    /// A number that changes whenever a station may be at another port than before, or at none,
    /// but for its age.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes when a station was seen at a port, if it is known there and was not seen later.
    pub fn touch(&mut self, seen: Time, station: &Station, port: PortNo) {
        let Some(&slot) = self.slots.get(station) else {
            return;
        };
        let known = &mut self.stations[slot];
        if known.port == port && known.seen < seen {
            known.seen = seen;
            self.make_newest(slot);
        }
    }

    /// Forgets all stations.
    pub fn forget_all(&mut self) {
        let ports: Vec<PortNo> = self.ports.keys().copied().collect();
        for port in ports {
            self.forget_stations(port);
        }
    }

    /// Forgets the stations of a port.
    pub(crate) fn forget_stations(&mut self, port: PortNo) {
        while self.count(port) > 0 {
            self.forget_oldest(port);
        }
    }

    /// Learns the port of a station.
    ///
    /// The frame of a known station moves it to the front of its port's list; a frame at another
    /// port makes it a station of that port.
    pub(crate) fn learn(&mut self, now: Time, station: Station, port: PortNo, config: &Config) {
        if let Some(slot) = self.slots.get(&station).copied() {
            if self.stations[slot].port == port {
                self.stations[slot].seen = now;
                return self.make_newest(slot);
            }
            self.remove(slot);
        }
        let most = config.max_addresses(port);
        if most == 0 {
            return;
        }
        // At its own limit, a port can only push out its own stations; at the limit of the switch,
        // the port with the most stations loses its oldest.
        if self.count(port) >= most {
            self.forget_oldest(port);
        } else if self.stations.len() >= MAX_ADDRESSES as usize {
            let (_, fullest) = self.by_count.last().expect("some port has the stations");
            self.forget_oldest(*fullest);
        }
        let slot = self.stations.insert(|_| Learned {
            station,
            port,
            seen: now,
            newer: NONE,
            older: NONE,
        });
        self.slots.insert(station, slot);
        let count = self.learner(now, port).count;
        self.set_count(port, count + 1);
        self.link(slot);
    }

    /// Returns how many stations a port has.
    fn count(&self, port: PortNo) -> u32 {
        self.ports.get(&port).map_or(0, |learner| learner.count)
    }

    /// Sets how many stations a port has. Restores the order of ports by that number.
    fn set_count(&mut self, port: PortNo, count: u32) {
        let learner = self.ports.get_mut(&port).expect("stations have learners");
        let before = core::mem::replace(&mut learner.count, count);
        self.by_count.remove(&(before, port));
        if count > 0 {
            self.by_count.insert((count, port));
        }
    }

    /// The state of a port, made if there is none.
    fn learner(&mut self, now: Time, port: PortNo) -> &mut Learner {
        self.ports.entry(port).or_insert(Learner {
            count: 0,
            newest: NONE,
            oldest: NONE,
            floods: Tokens::new(FLOODS_PER_SEC, now),
        })
    }

    fn forget_oldest(&mut self, port: PortNo) {
        if let Some(learner) = self.ports.get(&port) {
            self.remove(learner.oldest);
        }
    }

    fn remove(&mut self, slot: u32) {
        self.unlink(slot);
        self.changes += 1;
        if let Some(known) = self.stations.remove(slot) {
            self.slots.remove(&known.station);
            self.set_count(known.port, self.count(known.port) - 1);
        }
    }

    /// Moves a station to the front of its port's list, unless it is there.
    fn make_newest(&mut self, slot: u32) {
        if self.stations[slot].newer != NONE {
            self.unlink(slot);
            self.link(slot);
        }
    }

    /// Puts a station first in its port's list.
    fn link(&mut self, slot: u32) {
        let port = self.stations[slot].port;
        let learner = self.ports.get_mut(&port).expect("stations have learners");
        let second = core::mem::replace(&mut learner.newest, slot);
        if second == NONE {
            learner.oldest = slot;
        } else {
            self.stations[second].newer = slot;
        }
        self.stations[slot].newer = NONE;
        self.stations[slot].older = second;
    }

    /// Removes a station from its port's list.
    fn unlink(&mut self, slot: u32) {
        let Learned {
            port, newer, older, ..
        } = self.stations[slot];
        let learner = self.ports.get_mut(&port).expect("stations have learners");
        if newer == NONE {
            learner.newest = older;
        } else {
            self.stations[newer].older = older;
        }
        if older == NONE {
            learner.oldest = newer;
        } else {
            self.stations[older].newer = newer;
        }
    }

    /// The port of a station, if it is static or was seen recently.
    pub fn find(&self, now: Time, station: &Station, config: &Config) -> Option<PortNo> {
        if let Some(port) = config.static_addresses.get(station) {
            return Some(*port);
        }
        let known = &self.stations[*self.slots.get(station)?];
        (now.since(known.seen) < AGEING_NS).then_some(known.port)
    }

    /// Forgets what was learned on a port.
    ///
    /// Its allowance of floods is forgotten as well, so a port that comes back begins with a full
    /// one.
    pub(crate) fn forget(&mut self, port: PortNo) {
        self.forget_stations(port);
        self.ports.remove(&port);
    }

    /// Forgets the oldest stations of ports that have more than a configuration allows.
    ///
    /// Static addresses may have changed, too, so what depends on stations is looked up again.
    #[cfg(feature = "reconfigure")]
    pub(crate) fn reconfigure(&mut self, config: &Config) {
        self.changes += 1;
        let ports: Vec<PortNo> = self.ports.keys().copied().collect();
        for port in ports {
            while self.count(port) > config.max_addresses(port) {
                self.forget_oldest(port);
            }
        }
    }

    /// Forgets what the traced packet would have made NORMAL learn.
    pub(crate) fn end_trial(&mut self) {
        self.tried.clear();
    }

    /// Returns true if a port may flood one more frame. With `dry`, no token is taken.
    pub(super) fn may_flood(&mut self, now: Time, port: PortNo, dry: bool) -> bool {
        let floods = &mut self.learner(now, port).floods;
        floods.take(now, FLOODS_PER_SEC, dry)
    }
}

impl Config {
    /// The most addresses that NORMAL learns on a port.
    pub(crate) fn max_addresses(&self, port: PortNo) -> u32 {
        let own = self.port_addresses.get(&port);
        *own.unwrap_or(&self.max_addresses)
    }
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::Mac;

    use super::*;

    const P1: PortNo = PortNo(1);

    #[test]
    fn a_port_that_may_learn_nothing_learns_nothing() {
        let config = Config {
            max_addresses: 0,
            ..Config::default()
        };
        let mut bridge = Bridge::default();
        for n in 0..3 {
            bridge.learn(Time(0), (0, Mac([n; 6])), P1, &config);
            assert_eq!(bridge.stations(Time(0)).count(), 0);
            bridge.forget_stations(P1);
        }
    }

    #[test]
    fn a_port_that_floods_all_the_time_gets_its_rate() {
        let mut bridge = Bridge::default();
        let mut floods = 0;
        for at in (0..Time::SEC).step_by(99_000) {
            floods += u64::from(bridge.may_flood(Time(at), P1, false));
        }
        assert_eq!(floods, 10_102, "the burst is not used up yet");
        for at in (Time::SEC..10 * Time::SEC).step_by(33_000) {
            floods += u64::from(bridge.may_flood(Time(at), P1, false));
        }
        let most = 11 * FLOODS_PER_SEC;
        assert!((most - 1..=most).contains(&floods), "{floods}");
    }
}
