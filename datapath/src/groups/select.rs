//! How a select group chooses: a table of slots, and three ways to pick one.
//!
//! Each bucket owns slots in proportion to its weight. A dead bucket's slots alone are lent to live
//! ones, and go back when it revives. When weights change, no more slots change hands than the new
//! shares need: the sum of what the growing shares gain. A share is exact to one slot.

use alloc::{vec, vec::Vec};

use bofuss_oflib::field::{self, Field, Header};
use bofuss_packet::{Fragment, Layout};

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

/// Bytes of a word that is hashed.
const WORD_BYTES: usize = 8;
/// The transport headers that begin with ports.
const PORTS: [(Header, &Field, &Field); 3] = [
    (Header::Tcp, field::TCP_SRC, field::TCP_DST),
    (Header::Udp, field::UDP_SRC, field::UDP_DST),
    (Header::Sctp, field::SCTP_SRC, field::SCTP_DST),
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
        let any = self.home.iter().find(|bucket| is_live(live, **bucket));
        let mask = self.home.len() - 1;
        for (i, slot) in self.slots.iter_mut().enumerate() {
            let owner = self.home[i];
            if is_live(live, owner) {
                *slot = owner;
                continue;
            }
            let mut tries = (1..=TRIES).map(|n| &self.home[mix(i as u64, n) as usize & mask]);
            let found = tries.find(|bucket| is_live(live, **bucket)).or(any);
            *slot = found.copied().unwrap_or(NO_BUCKET);
        }
    }

    /// Whether packets of one flow may get different buckets.
    pub(crate) fn is_per_packet(&self) -> bool {
        self.algorithm != Algorithm::Hash
    }

    /// The bucket for a packet; `None` if no bucket is live. With `keep`, nothing changes.
    /// `bytes` are those of a frame with this layout.
    pub(crate) fn choose(&mut self, layout: &Layout, bytes: &[u8], keep: bool) -> Option<usize> {
        let mut state = self.state;
        let number = match self.algorithm {
            Algorithm::Hash => flow_hash(layout, bytes, self.seed),
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
/// is in fragments. `bytes` are those of a frame with this layout.
pub fn flow_hash(layout: &Layout, bytes: &[u8], seed: u64) -> u64 {
    let mut flow = FlowHash {
        layout,
        bytes,
        hash: seed ^ GOLDEN,
    };
    flow.add::<6>(field::ETH_DST, Header::Eth, 0);
    flow.add::<6>(field::ETH_SRC, Header::Eth, 6);
    if layout.offset(Header::EthType).is_some() {
        flow.add::<2>(field::ETH_TYPE, Header::EthType, 0);
    } else {
        flow.add_rare(field::ETH_TYPE);
    }
    match layout.offset(Header::Vlan) {
        None if layout.fields.contains(field::VLAN_VID) => flow.mix_in(field::VLAN_VID, 0),
        None | Some(_) => flow.add_rare(field::VLAN_VID),
    }
    flow.add::<1>(field::IP_PROTO, Header::Ipv4, 9);
    flow.add::<1>(field::IP_PROTO, Header::NextHeader, 0);
    flow.add::<4>(field::IPV4_SRC, Header::Ipv4, 12);
    flow.add::<4>(field::IPV4_DST, Header::Ipv4, 16);
    if layout.offset(Header::Ipv6).is_some() {
        flow.add_rare(field::IPV6_SRC);
        flow.add_rare(field::IPV6_DST);
    }
    flow.add::<4>(field::ARP_SPA, Header::Arp, 14);
    flow.add::<4>(field::ARP_TPA, Header::Arp, 24);
    if layout.fragment == Fragment::No {
        for (header, source, destination) in PORTS {
            flow.add::<2>(source, header, 0);
            flow.add::<2>(destination, header, 2);
        }
    }
    flow.hash ^ flow.hash >> 32
}

/// The hash of a flow in the making.
struct FlowHash<'a> {
    layout: &'a Layout,
    bytes: &'a [u8],
    hash: u64,
}

impl FlowHash<'_> {
    /// Adds a field that is the `N` bytes at `at` in a header, if that is there.
    #[inline(always)]
    fn add<const N: usize>(&mut self, field: &Field, header: Header, at: usize) {
        let Some(start) = self.layout.offset(header) else {
            return;
        };
        let bytes = self.bytes.get(start + at..).and_then(<[u8]>::first_chunk);
        let bytes: &[u8; N] = bytes.expect("a header that was found is whole");
        let mut value = [0; WORD_BYTES];
        value[WORD_BYTES - N..].copy_from_slice(bytes);
        self.mix_in(field, u64::from_be_bytes(value).into());
    }

    /// Adds any field, if the frame has it.
    #[inline(never)]
    fn add_rare(&mut self, field: &Field) {
        if let Some(value) = self.layout.value(self.bytes, field) {
            self.mix_in(field, value);
        }
    }

    #[inline(always)]
    fn mix_in(&mut self, field: &Field, value: u128) {
        let low = mix(self.hash, value as u64);
        self.hash = mix(low, (value >> 64) as u64 ^ u64::from(field.id));
    }
}

fn is_live(live: &[bool], bucket: u16) -> bool {
    live.get(usize::from(bucket)) == Some(&true)
}

/// How many of `count` slots each weight gets: those with the largest remainders get one more.
fn shares(weights: &[u16], count: usize) -> Vec<usize> {
    let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    // The exact shares, times `sum`.
    let exact: Vec<u64> = weights
        .iter()
        .map(|weight| u64::from(*weight) * count as u64)
        .collect();
    let mut shares: Vec<usize> = exact.iter().map(|share| (share / sum) as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|i| core::cmp::Reverse(exact[*i] % sum));
    let left = count - shares.iter().sum::<usize>();
    order.iter().take(left).for_each(|i| shares[*i] += 1);
    shares
}

#[cfg(test)]
mod tests {
    use bofuss_packet::{Packet, craft};

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
                let chosen = selector.choose(packet.layout(), packet.frame.bytes(), false);
                counts[chosen.expect("all live")] += 1;
            }
            for (count, share) in counts.into_iter().zip([1_000, 1_000, 2_000]) {
                let off = i32::abs(count - share);
                assert!(off < share / 8, "varied {varied}: {counts:?}");
            }
        }
    }

    #[test]
    fn the_hash_is_of_addresses_protocol_and_ports() {
        use field::*;
        let addresses = [
            ETH_DST, ETH_SRC, ETH_TYPE, VLAN_VID, IP_PROTO, IPV4_SRC, IPV4_DST, IPV6_SRC, IPV6_DST,
            ARP_SPA, ARP_TPA,
        ];
        let ports = [TCP_SRC, TCP_DST, UDP_SRC, UDP_DST, SCTP_SRC, SCTP_DST];
        let pool = bofuss_frame::Pool::new(1 << 20);
        let (four, six) = ([10, 1, 2, 3].into(), [0xfe80, 1, 2, 3, 4, 5, 6, 7].into());
        let sctp = || craft::Layer::new(132, &[0, 7, 0, 8, 1, 2, 3, 4, 0, 0, 0, 0]);
        let arp = [0, 1, 8, 0, 6, 4, 0, 1, 2, 2, 2, 2, 2, 2, 10, 0, 0, 1];
        let arp = [&arp[..], &[3, 3, 3, 3, 3, 3, 10, 0, 0, 2]].concat();
        let layers = [
            craft::ipv4(four, four, 64, craft::tcp(5, 6, 2, b"")),
            craft::ipv6(six, six, 64, craft::udp(5, 6, b"")),
            craft::vlan(0x8100, 0x2005, craft::ipv4(four, four, 64, sctp())),
            craft::Layer::new(0x0806, &arp),
            craft::Layer::new(7, b"of no type"),
        ];
        for (number, layer) in layers.into_iter().enumerate() {
            let mac = bofuss_oflib::Mac;
            let mut bytes = craft::ethernet(mac([2; 6]), mac([4; 6]), layer);
            for is_fragment in [false, number == 0] {
                bytes[20] |= u8::from(is_fragment) << 5;
                let frame = pool.frame(&bytes).expect("there is room");
                let packet = Packet::new(frame, bofuss_oflib::PortNo(1));
                let ports = if packet.is_fragment() {
                    &[]
                } else {
                    &ports[..]
                };
                let mut hash = 9 ^ GOLDEN;
                for field in addresses.iter().chain(ports) {
                    if let Some(value) = packet.key().get(field, &mut ()) {
                        let high = (value >> 64) as u64;
                        hash = mix(mix(hash, value as u64), high ^ u64::from(field.id));
                    }
                }
                let whole = hash ^ hash >> 32;
                let found = flow_hash(packet.layout(), packet.frame.bytes(), 9);
                assert_eq!(found, whole, "frame {number}");
            }
        }
    }

    #[test]
    fn a_thousand_buckets_have_their_slots() {
        let selector = Selector::new(Algorithm::Hash, 0, &[1; 1000], None);
        assert!((0..1000).all(|bucket| owned(&selector.home, bucket) >= 65));
    }
}
