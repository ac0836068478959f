//! How a select group chooses: a table of slots, and three ways to pick one.
//!
//! Each bucket owns slots in proportion to its weight. A dead bucket's slots alone are lent to live
//! ones, and go back when it revives. When weights change, no more slots change hands than the new
//! shares need: the sum of what the growing shares gain. A share is exact to one slot.

use alloc::{vec, vec::Vec};

use bofuss_oflib::field::{self, Field};
use bofuss_packet::Packet;

use crate::Algorithm;

/// Slots for each bucket, and the fewest and the most of a group.
const SLOTS_PER_BUCKET: usize = 64;
const MIN_SLOTS: usize = 256;
const MAX_SLOTS: usize = 65_536;
/// In place of a bucket: the slot is not owned by any.
const NO_BUCKET: u16 = u16::MAX;
/// Tries to lend a dead bucket's slot at random before the first live one gets it.
const TRIES: u64 = 16;
/// An odd number without pattern, 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the hash of a flow is made of: its addresses, and its ports unless it is in fragments.
const ADDRESSES: &[&Field] = &[
    field::ETH_DST,
    field::ETH_SRC,
    field::ETH_TYPE,
    field::VLAN_VID,
    field::IP_PROTO,
    field::IPV4_SRC,
    field::IPV4_DST,
    field::IPV6_SRC,
    field::IPV6_DST,
    field::ARP_SPA,
    field::ARP_TPA,
];
const PORTS: &[&Field] = &[
    field::TCP_SRC,
    field::TCP_DST,
    field::UDP_SRC,
    field::UDP_DST,
    field::SCTP_SRC,
    field::SCTP_DST,
];

/// A select group's slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    pub(crate) algorithm: Algorithm,
    pub(crate) seed: u64,
    /// Packets so far, or the state of the random numbers.
    pub(crate) state: u64,
    /// The bucket that owns each slot; a power of two of them.
    home: Vec<u16>,
    /// The bucket that gets a slot's packets now.
    slots: Vec<u16>,
}

fn mix(hash: u64, value: u64) -> u64 {
    let product = (hash ^ value).wrapping_mul(GOLDEN);
    product ^ product >> 29
}

impl Selector {
    /// Slots for buckets of these weights; `before` are those of the group that this one replaces.
    pub(crate) fn new(
        algorithm: Algorithm,
        seed: u64,
        weights: &[u16],
        before: Option<&Self>,
    ) -> Self {
        let used = weights.iter().filter(|weight| **weight > 0).count();
        let count = (used * SLOTS_PER_BUCKET).next_power_of_two();
        let count = count.clamp(MIN_SLOTS, MAX_SLOTS);
        let mut home = vec![NO_BUCKET; count];
        if let Some(old) = before.filter(|old| !old.home.is_empty()) {
            for (i, slot) in home.iter_mut().enumerate() {
                *slot = old.home[i & (old.home.len() - 1)];
            }
        }
        let mut missing = shares(weights, count);
        for slot in &mut home {
            match missing.get_mut(usize::from(*slot)) {
                Some(share) if *share > 0 => *share -= 1,
                _ => *slot = NO_BUCKET,
            }
        }
        let mut needy = 0;
        for slot in home.iter_mut().filter(|slot| **slot == NO_BUCKET) {
            while missing.get(needy) == Some(&0) {
                needy += 1;
            }
            if let Some(share) = missing.get_mut(needy) {
                *share -= 1;
                *slot = needy as u16;
            }
        }
        Self {
            algorithm,
            seed,
            state: seed,
            slots: home.clone(),
            home,
        }
    }

    /// Lends the slots of buckets that are not live.
    pub(crate) fn follow(&mut self, live: &[bool]) {
        let is_live = |bucket: u16| live.get(usize::from(bucket)) == Some(&true);
        let any = self.home.iter().copied().find(|bucket| is_live(*bucket));
        let mask = self.home.len() - 1;
        for (i, slot) in self.slots.iter_mut().enumerate() {
            let owner = self.home[i];
            let mut tries = (1..=TRIES).map(|n| self.home[mix(i as u64, n) as usize & mask]);
            *slot = if is_live(owner) {
                owner
            } else {
                tries.find(|b| is_live(*b)).or(any).unwrap_or(NO_BUCKET)
            };
        }
    }

    /// Whether packets of one flow may get different buckets.
    pub(crate) fn is_per_packet(&self) -> bool {
        self.algorithm != Algorithm::Hash
    }

    /// The bucket for a packet; `None` if no bucket is live. With `keep`, nothing changes.
    pub(crate) fn choose(&mut self, packet: &Packet, keep: bool) -> Option<usize> {
        let mut state = self.state;
        let number = match self.algorithm {
            Algorithm::Hash => flow_hash(packet, self.seed),
            Algorithm::RoundRobin => {
                state = state.wrapping_add(1);
                // Counting with reversed bits spreads each bucket's turns evenly.
                let bits = self.slots.len().trailing_zeros();
                state.reverse_bits().rotate_left(bits)
            }
            Algorithm::Random => {
                state = state.wrapping_add(GOLDEN);
                mix(mix(state, state >> 32), state >> 17)
            }
        };
        if !keep {
            self.state = state;
        }
        let slot = self.slots[number as usize & (self.slots.len() - 1)];
        (slot != NO_BUCKET).then_some(slot.into())
    }
}

/// A number that is the same for all packets of a flow: of its addresses, and its ports unless it
/// is in fragments.
pub fn flow_hash(packet: &Packet, seed: u64) -> u64 {
    let ports = if packet.is_fragment() { &[] } else { PORTS };
    let mut hash = seed ^ GOLDEN;
    for field in ADDRESSES.iter().chain(ports) {
        if let Some(value) = packet.key().get(field, &mut ()) {
            hash = mix(
                mix(hash, value as u64),
                (value >> 64) as u64 ^ u64::from(field.id),
            );
        }
    }
    hash ^ hash >> 32
}

/// How many of `count` slots each weight gets: those with the largest remainders get one more.
fn shares(weights: &[u16], count: usize) -> Vec<usize> {
    let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: &u16| u64::from(*weight) * count as u64;
    let mut shares: Vec<usize> = weights.iter().map(|w| (exact(w) / sum) as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|i| core::cmp::Reverse(exact(&weights[*i]) % sum));
    let left = count - shares.iter().sum::<usize>();
    order.iter().take(left).for_each(|i| shares[*i] += 1);
    shares
}

#[cfg(test)]
mod tests {
    use bofuss_packet::craft;

    use super::*;

    fn owned(slots: &[u16], bucket: u16) -> usize {
        slots.iter().filter(|slot| **slot == bucket).count()
    }

    #[test]
    fn shares_follow_weights_and_weight_zero_gets_none() {
        let selector = Selector::new(Algorithm::Hash, 1, &[1, 0, 3], None);
        assert_eq!([0, 1, 2].map(|b| owned(&selector.slots, b)), [64, 0, 192]);
        let none = Selector::new(Algorithm::Hash, 1, &[0, 0], None);
        assert_eq!(owned(&none.slots, NO_BUCKET), none.slots.len());
    }

    #[test]
    fn only_a_dead_buckets_slots_move_and_they_come_back() {
        let mut selector = Selector::new(Algorithm::Hash, 1, &[1; 8], None);
        let before = selector.slots.clone();
        let mut live = [true; 8];
        live[3] = false;
        selector.follow(&live);
        for (now, then) in selector.slots.iter().zip(&before) {
            assert!(*then == 3 || now == then);
            assert_ne!(*now, 3);
        }
        let lent = before
            .iter()
            .zip(&selector.slots)
            .filter(|(then, _)| **then == 3);
        let heirs: alloc::collections::BTreeSet<_> = lent.map(|(_, now)| now).collect();
        assert!(heirs.len() > 4, "many buckets help out: {heirs:?}");
        selector.follow(&[true; 8]);
        assert_eq!(selector.slots, before);
        selector.follow(&[false; 8]);
        assert_eq!(owned(&selector.slots, NO_BUCKET), selector.slots.len());
    }

    #[test]
    fn a_change_of_weights_moves_what_the_new_shares_need_and_no_more() {
        let mut random = 7u64;
        let mut next = |below: u64| {
            random = mix(random, 1);
            random % below
        };
        for _ in 0..200 {
            let n = next(20) as usize + 2;
            let old: Vec<u16> = (0..n).map(|_| next(10) as u16).collect();
            let mut new = old.clone();
            new[next(n as u64) as usize] = next(100) as u16;
            let before = Selector::new(Algorithm::Hash, 0, &old, None);
            let after = Selector::new(Algorithm::Hash, 0, &new, Some(&before));
            if before.home.len() != after.home.len() || new.iter().all(|w| *w == 0) {
                continue;
            }
            let moved = before.home.iter().zip(&after.home).filter(|(a, b)| a != b);
            let gained =
                (0..n as u16).map(|b| owned(&after.home, b).saturating_sub(owned(&before.home, b)));
            assert_eq!(moved.count(), gained.sum::<usize>(), "{old:?} {new:?}");
        }
    }

    #[test]
    fn flows_that_differ_in_one_field_spread_over_all_buckets() {
        let pool = bofuss_frame::Pool::new(1 << 20);
        let mut selector = Selector::new(Algorithm::Hash, 0, &[1, 1, 2], None);
        for varied in 0..4 {
            let mut counts = [0; 3];
            for n in 0..4_000u16 {
                let part = |at| if varied == at { n } else { 7 };
                let [a, b] = part(0).to_be_bytes();
                let [c, d] = part(1).to_be_bytes();
                let udp = craft::udp(part(2), 80, b"");
                let ip = craft::ipv4([10, 0, a, b].into(), [10, 1, 0, 1].into(), 64, udp);
                let mac = |c, d| bofuss_oflib::Mac([2, 0, 0, 0, c, d]);
                let [e, f] = part(3).to_be_bytes();
                let bytes = craft::ethernet(mac(e, f), mac(c, d), ip);
                let frame = pool.frame(&bytes).expect("there is room");
                let packet = Packet::new(frame, bofuss_oflib::PortNo(1));
                counts[selector.choose(&packet, false).expect("all live")] += 1;
            }
            for (count, share) in counts.into_iter().zip([1_000, 1_000, 2_000]) {
                let off = i32::abs(count - share);
                assert!(off < share / 8, "varied {varied}: {counts:?}");
            }
        }
    }

    #[test]
    fn a_thousand_buckets_have_their_slots() {
        let selector = Selector::new(Algorithm::Hash, 0, &[1; 1000], None);
        assert!((0..1000).all(|bucket| owned(&selector.home, bucket) >= 65));
    }
}
