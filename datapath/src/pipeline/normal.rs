//! NORMAL: a learning switch with VLANs, ageing, a bounded table and a storm guard.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use bofuss_oflib::field::{ETH_DST, ETH_SRC, VLAN_VID};
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::Packet;
use hashbrown::HashMap;

use crate::slab::{NONE, Slab};
use crate::{Config, Datapath, DropReason, MAX_ADDRESSES, Sink, Step, Time};

/// Nanoseconds after which an address that was not seen is forgotten.
const AGEING_NS: u64 = 300 * Time::SEC;
/// Frames a second that one port may flood, and how many at once.
const FLOODS_PER_SEC: u64 = 10_000;
const FLOOD_BURST: u64 = 10_000;
/// Destinations 01:80:c2:00:00:00 to :0f belong to the link and are not forwarded.
const LINK_LOCAL: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];

/// An address in a VLAN (the VLAN_VID value, 0 for untagged).
type Station = (u16, Mac);

/// What is known of a station. Those of a port form a list, the one seen last first.
#[derive(Debug)]
struct Learned {
    station: Station,
    port: PortNo,
    seen: Time,
    newer: u32,
    older: u32,
}

/// What is kept for a port.
#[derive(Debug)]
struct Learner {
    /// How many stations it has; the first and the last of their list.
    count: u32,
    newest: u32,
    oldest: u32,
    /// Floods allowed now and when that was counted.
    floods: (u64, Time),
}

/// What NORMAL has learned. Where there are too many stations, the port with most of them forgets
/// its own, as in Open vSwitch's `lib/mac-learning.c`: one port's flood costs no other an address.
#[derive(Debug, Default)]
pub(crate) struct Bridge {
    stations: Slab<Learned>,
    slots: HashMap<Station, u32>,
    ports: HashMap<PortNo, Learner>,
    /// The ports by how many stations they have.
    by_count: BTreeSet<(u32, PortNo)>,
    /// Stations that the packet that is traced would have had learned, at its ingress port.
    pub(crate) tried: Vec<Station>,
}

impl Bridge {
    /// Notes where a station is.
    fn learn(&mut self, now: Time, station: Station, port: PortNo, config: &Config) {
        if let Some(slot) = self.slots.get(&station).copied() {
            if self.stations[slot].port == port {
                self.stations[slot].seen = now;
                return self.make_newest(slot);
            }
            self.remove(slot);
        }
        if self.count(port) >= config.max_addresses(port) {
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

    /// How many stations a port has.
    fn count(&self, port: PortNo) -> u32 {
        self.ports.get(&port).map_or(0, |learner| learner.count)
    }

    fn set_count(&mut self, port: PortNo, count: u32) {
        let learner = self.ports.get_mut(&port).expect("stations have learners");
        let before = core::mem::replace(&mut learner.count, count);
        self.by_count.remove(&(before, port));
        if count > 0 {
            self.by_count.insert((count, port));
        }
    }

    /// What is kept for a port, from now on if nothing was.
    fn learner(&mut self, now: Time, port: PortNo) -> &mut Learner {
        self.ports.entry(port).or_insert(Learner {
            count: 0,
            newest: NONE,
            oldest: NONE,
            floods: (FLOOD_BURST, now),
        })
    }

    fn forget_oldest(&mut self, port: PortNo) {
        if let Some(learner) = self.ports.get(&port) {
            self.remove(learner.oldest);
        }
    }

    fn remove(&mut self, slot: u32) {
        self.unlink(slot);
        if let Some(known) = self.stations.remove(slot) {
            self.slots.remove(&known.station);
            self.set_count(known.port, self.count(known.port) - 1);
        }
    }

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

    /// Takes a station out of its port's list.
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

    /// Where a station is, if it was seen lately.
    fn find(&self, now: Time, station: &Station) -> Option<PortNo> {
        let known = &self.stations[*self.slots.get(station)?];
        (now.since(known.seen) < AGEING_NS).then_some(known.port)
    }

    /// Forgets what was learned on a port.
    pub(crate) fn forget(&mut self, port: PortNo) {
        while self.count(port) > 0 {
            self.forget_oldest(port);
        }
        self.ports.remove(&port);
    }

    /// Has ports forget their oldest stations beyond the max_abilities of a configuration.
    pub(crate) fn reconfigure(&mut self, config: &Config) {
        let ports: Vec<PortNo> = self.ports.keys().copied().collect();
        for port in ports {
            while self.count(port) > config.max_addresses(port) {
                self.forget_oldest(port);
            }
        }
    }

    /// Whether a port may flood one more frame.
    fn may_flood(&mut self, now: Time, port: PortNo, dry: bool) -> bool {
        let (allowed, at) = &mut self.learner(now, port).floods;
        let earned = now.since(*at) / (Time::SEC / FLOODS_PER_SEC);
        if earned > 0 {
            *allowed = (*allowed + earned).min(FLOOD_BURST);
            *at = now;
        }
        let may = *allowed > 0;
        *allowed = allowed.saturating_sub(u64::from(!dry));
        may
    }
}

impl Datapath {
    /// Forwards a packet as an ordinary switch does. Spec: OpenFlow 1.3.5 section 4.5, NORMAL.
    ///
    /// Choice: independent learning for each VLAN, frames keep their tags on all ports.
    pub(crate) fn normal<S: Sink>(
        &mut self,
        now: Time,
        packet: &mut Packet,
        queue: QueueId,
        sink: &mut S,
    ) {
        let number = |field| packet.key().get(field, &mut ()).unwrap_or(0);
        let mac = |n: u128| Mac(core::array::from_fn(|i| n.to_be_bytes()[10 + i]));
        let vlan = number(VLAN_VID) as u16;
        let (source, destination) = (mac(number(ETH_SRC)), mac(number(ETH_DST)));
        let ingress = packet.in_port();
        if destination.0[..5] == LINK_LOCAL && destination.0[5] < 16 {
            return self.drop(DropReason::LinkLocal, sink);
        }
        // A controller's packets may name a port that does not exist: nothing is kept for it.
        let is_port = self.ports.contains_key(&ingress);
        if !source.is_multicast() && is_port {
            match S::DRY {
                true => self.bridge.tried.push((vlan, source)),
                false => self
                    .bridge
                    .learn(now, (vlan, source), ingress, &self.config),
            }
        }
        let known = match destination.is_multicast() {
            true => None,
            false if self.bridge.tried.contains(&(vlan, destination)) => Some(ingress),
            false => self.bridge.find(now, &(vlan, destination)),
        };
        if S::TRACES {
            sink.step(Step::Normal(match known {
                Some(_) => "knows the port of the destination",
                None => "does not know the destination, or it is a group: to all ports",
            }));
        }
        match known {
            Some(port) if port == ingress => self.drop(DropReason::OutputIsIngress, sink),
            Some(port) => self.transmit(now, packet, port, queue, sink),
            None if !is_port || self.bridge.may_flood(now, ingress, S::DRY) => {
                self.flood(now, packet, PortConfig::NO_FLOOD, queue, sink)
            }
            None => self.drop(DropReason::Storm, sink),
        }
    }
}
