//! NORMAL: a learning switch with VLANs, ageing, a bounded table and a storm guard.

use alloc::vec::Vec;

use bofuss_oflib::field::{ETH_DST, ETH_SRC, VLAN_VID};
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::Packet;
use hashbrown::HashMap;

use crate::{Datapath, DropReason, Sink, Step, Time};

/// The most addresses that are known at a time.
pub(crate) const MAX_ADDRESSES: usize = 8192;
/// Nanoseconds after which an address that was not seen is forgotten.
const AGEING_NS: u64 = 300 * Time::SEC;
/// Frames a second that one port may flood, and how many at once.
const FLOODS_PER_SEC: u64 = 10_000;
const FLOOD_BURST: u64 = 10_000;
/// Destinations 01:80:c2:00:00:00 to :0f belong to the link and are not forwarded.
const LINK_LOCAL: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];

/// An address in a VLAN (the VLAN_VID value, 0 for untagged).
type Station = (u16, Mac);

/// What NORMAL has learned.
#[derive(Debug, Default)]
pub(crate) struct Bridge {
    /// The stations seen lately, where and when; at most half of [`MAX_ADDRESSES`].
    young: HashMap<Station, (PortNo, Time)>,
    /// Those seen before `young` was last full.
    old: HashMap<Station, (PortNo, Time)>,
    /// For each port, floods allowed now and when that was counted.
    floods: HashMap<PortNo, (u64, Time)>,
    /// Stations that the packet that is traced would have had learned, at its ingress port.
    pub(crate) tried: Vec<Station>,
}

impl Bridge {
    /// Notes where a station is. When there is no room, those not seen for longest are forgotten.
    fn learn(&mut self, now: Time, station: Station, port: PortNo) {
        if !self.young.contains_key(&station) {
            self.old.remove(&station);
            if self.young.len() >= MAX_ADDRESSES / 2 {
                core::mem::swap(&mut self.young, &mut self.old);
                self.young.clear();
            }
        }
        self.young.insert(station, (port, now));
    }

    /// Where a station is, if it was seen lately.
    fn find(&self, now: Time, station: &Station) -> Option<PortNo> {
        let (port, seen) = self.young.get(station).or_else(|| self.old.get(station))?;
        (now.since(*seen) < AGEING_NS).then_some(*port)
    }

    /// Forgets what was learned on a port.
    pub(crate) fn forget(&mut self, port: PortNo) {
        self.young.retain(|_, (at, _)| *at != port);
        self.old.retain(|_, (at, _)| *at != port);
        self.floods.remove(&port);
    }

    /// Whether a port may flood one more frame.
    fn may_flood(&mut self, now: Time, port: PortNo, dry: bool) -> bool {
        let (allowed, at) = self.floods.entry(port).or_insert((FLOOD_BURST, now));
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
                false => self.bridge.learn(now, (vlan, source), ingress),
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
