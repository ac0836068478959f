//! The flows of one port: found by what their packets agree in, reported after timeouts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::feed::take_places;
use super::flow::{EndReason, FlowKey, FlowRecord};
use super::spec::IpfixSettings;

/// Flows that one call looks at for timeouts, if that is more than [`SHARE`] of all.
const LEAST_VISITS: usize = 1024;
/// One in how many flows are looked at by one call, which takes 100 us for 8,192.
const SHARE: usize = 8;

/// What a packet adds to its flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Added {
    /// Packets.
    pub packets: u64,
    /// Bytes of frames.
    pub bytes: u64,
    /// Bytes of IP packets.
    pub ip_bytes: u64,
    /// The flags of TCP.
    pub tcp_flags: u8,
}

/// The flows of a port.
pub struct FlowCache {
    index: u32,
    places: HashMap<FlowKey, usize>,
    flows: Vec<FlowRecord>,
    /// Where the search for timeouts continues, downwards.
    next: usize,
}

impl FlowCache {
    /// Without flows, for a port whose interface has this index.
    pub fn new(index: u32) -> Self {
        Self {
            index,
            places: HashMap::new(),
            flows: Vec::new(),
            next: 0,
        }
    }

    /// Adds packets to their flow. A new one takes a place of `gauge`, of which there are `limit`.
    /// Returns false if none is left.
    pub fn add(
        &mut self,
        now_ms: u64,
        key: &FlowKey,
        added: Added,
        (gauge, limit): (&AtomicU64, u64),
    ) -> bool {
        if let Some(place) = self.places.get(key) {
            let flow = &mut self.flows[*place];
            flow.last_ms = now_ms;
            flow.packets += added.packets;
            flow.bytes += added.bytes;
            flow.ip_bytes += added.ip_bytes;
            flow.tcp_flags |= added.tcp_flags;
            return true;
        }
        if !take_places(gauge, 1, limit) {
            return false;
        }
        self.places.insert(*key, self.flows.len());
        self.flows.push(FlowRecord {
            key: *key,
            index: self.index,
            first_ms: now_ms,
            last_ms: now_ms,
            packets: added.packets,
            ip_bytes: added.ip_bytes,
            bytes: added.bytes,
            tcp_flags: added.tcp_flags,
            end: EndReason::Forced,
        });
        true
    }

    /// Looks at some flows, and takes those whose time is over: a part of all, so that packets do
    /// not wait long. Some calls later, all have been looked at.
    pub fn expire(
        &mut self,
        now_ms: u64,
        settings: &IpfixSettings,
        gauge: &AtomicU64,
    ) -> Vec<FlowRecord> {
        let idle = settings.idle.as_millis() as u64;
        let active = settings.active.as_millis() as u64;
        let visits = LEAST_VISITS.max(self.flows.len() / SHARE);
        let mut over = Vec::new();
        for _ in 0..visits.min(self.flows.len()) {
            if self.next == 0 || self.next > self.flows.len() {
                self.next = self.flows.len();
            }
            self.next -= 1;
            let flow = &self.flows[self.next];
            let end = if now_ms.saturating_sub(flow.last_ms) >= idle {
                EndReason::Idle
            } else if now_ms.saturating_sub(flow.first_ms) >= active {
                EndReason::Active
            } else {
                continue;
            };
            over.push(FlowRecord { end, ..*flow });
            self.remove(self.next);
        }
        gauge.fetch_sub(over.len() as u64, Relaxed);
        over
    }

    /// Takes a flow out; the last one gets its place.
    fn remove(&mut self, place: usize) {
        let gone = self.flows.swap_remove(place);
        self.places.remove(&gone.key);
        if let Some(moved) = self.flows.get(place) {
            self.places.insert(moved.key, place);
        }
    }

    /// Takes all flows.
    pub fn take_all(&mut self, gauge: &AtomicU64) -> Vec<FlowRecord> {
        self.places.clear();
        gauge.fetch_sub(self.flows.len() as u64, Relaxed);
        std::mem::take(&mut self.flows)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn settings(active: u64, idle: u64) -> IpfixSettings {
        IpfixSettings {
            active: Duration::from_secs(active),
            idle: Duration::from_secs(idle),
            max_flows: 3,
            templates: Duration::from_secs(60),
            domain: None,
        }
    }

    fn key(number: u16) -> FlowKey {
        FlowKey {
            vlan: number,
            ..FlowKey::default()
        }
    }

    const ONE: Added = Added {
        packets: 1,
        bytes: 60,
        ip_bytes: 46,
        tcp_flags: 0,
    };

    #[test]
    fn flows_end_when_idle_and_are_reported_while_they_last() {
        let gauge = AtomicU64::new(0);
        let mut cache = FlowCache::new(7);
        for now_ms in (0..=5000).step_by(500) {
            assert!(cache.add(now_ms, &key(1), ONE, (&gauge, 3)));
        }
        assert!(cache.add(1000, &key(2), ONE, (&gauge, 3)));
        let settings = settings(10, 4);
        assert_eq!(cache.expire(4999, &settings, &gauge), []);
        let over = cache.expire(5000, &settings, &gauge);
        assert_eq!(over.len(), 1);
        assert_eq!((over[0].key, over[0].end), (key(2), EndReason::Idle));
        assert!(cache.add(9999, &key(1), ONE, (&gauge, 3)));
        assert_eq!(cache.expire(9999, &settings, &gauge), []);
        let over = cache.expire(10_000, &settings, &gauge);
        assert_eq!((over[0].key, over[0].end), (key(1), EndReason::Active));
        assert_eq!((over[0].packets, over[0].bytes), (12, 720));
        assert_eq!((over[0].first_ms, over[0].last_ms), (0, 9999));
        assert_eq!(gauge.load(Relaxed), 0);
    }

    #[test]
    fn a_flow_without_a_place_is_refused_until_another_ends() {
        let gauge = AtomicU64::new(0);
        let mut cache = FlowCache::new(7);
        for number in 0..3 {
            assert!(cache.add(0, &key(number), ONE, (&gauge, 3)));
        }
        assert!(!cache.add(0, &key(3), ONE, (&gauge, 3)));
        assert!(cache.add(3000, &key(1), ONE, (&gauge, 3)), "it is there");
        let over = cache.expire(4000, &settings(60, 4), &gauge);
        assert_eq!(over.len(), 2);
        assert!(cache.add(4000, &key(3), ONE, (&gauge, 3)));
        assert!(cache.add(4000, &key(1), ONE, (&gauge, 3)));
        let mut rest = cache.take_all(&gauge);
        rest.sort_by_key(|flow| flow.key.vlan);
        let packets: Vec<_> = rest.iter().map(|flow| flow.packets).collect();
        assert_eq!(packets, [3, 1]);
        assert_eq!(gauge.load(Relaxed), 0);
    }

    #[test]
    fn all_of_many_flows_are_looked_at_by_some_calls() {
        let gauge = AtomicU64::new(0);
        let mut cache = FlowCache::new(7);
        for number in 0..50_000_u32 {
            let key = FlowKey {
                ports: [number as u16, (number >> 8) as u16],
                ..FlowKey::default()
            };
            assert!(cache.add(0, &key, ONE, (&gauge, 1 << 20)));
        }
        let settings = settings(60, 1);
        let most = cache.expire(2000, &settings, &gauge).len();
        assert_eq!(most, 50_000 / SHARE);
        let mut seen = most;
        for _ in 0..60 {
            seen += cache.expire(2000, &settings, &gauge).len();
        }
        assert_eq!(seen, 50_000);
    }
}
