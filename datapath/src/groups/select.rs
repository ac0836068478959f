//! How a select group chooses a bucket: a table of slots, and three algorithms that pick a slot.
//!
//! Each bucket owns slots in proportion to its weight, exact to one slot. When a bucket dies, only
//! its slots are lent to live ones, and it gets them back when it revives. When weights change,
//! only as many slots change owners as the growing shares gain. When single buckets are added or
//! removed, the others keep their slots, even if the shares become less exact.

use alloc::{vec, vec::Vec};

use bofuss_oflib::field::{self, Field, Header};
use bofuss_packet::{Fragment, Layout};

use crate::Algorithm;

/// The number of slots that a group has for each bucket, and the fewest and the most that it has.
///
/// With 64 slots for each, a share is exact to 1.6 % of the average bucket's or better. 65,536
/// slots are 256 KiB with both lists, which bounds a group with many buckets.
const SLOTS_PER_BUCKET: usize = 64;
const MIN_SLOTS: usize = 256;
const MAX_SLOTS: usize = 65_536;
/// After buckets were removed, a group keeps at most so many times the slots that it needs.
const MAX_SPARE: usize = 4;
/// Marks a slot that no bucket owns.
const NO_BUCKET: u16 = u16::MAX;
/// The number of times that a random bucket is tried for a dead bucket's slot before the first live
/// one gets it.
const TRIES: u64 = 16;
/// An odd number without pattern, 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bytes of a word that is hashed.
const WORD_BYTES: usize = 8;
/// The transport headers that begin with ports.
const WITH_PORTS: [Header; 3] = [Header::Tcp, Header::Udp, Header::Sctp];

/// A select group's slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    pub(crate) algorithm: Algorithm,
    pub(crate) seed: u64,
    /// The number of packets so far, or the state of the random number generator.
    pub(crate) state: u64,
    /// The bucket that owns each slot; the number of slots is a power of two.
    home: Vec<u16>,
    /// The bucket that gets a slot's packets now.
    slots: Vec<u16>,
}

/// Mixes a word into a hash: a multiplication moves each bit up, and a shift brings the upper ones
/// down again.
fn mix(hash: u64, value: u64) -> u64 {
    let product = (hash ^ value).wrapping_mul(GOLDEN);
    product ^ product >> 29
}

impl Selector {
    /// Makes slots for buckets of these weights. `before` has those of the group that this one
    /// replaces, and where its buckets are now.
    pub(crate) fn new(
        algorithm: Algorithm,
        seed: u64,
        weights: &[u16],
        before: Option<(&Self, &[Option<u16>])>,
    ) -> Self {
        let count = slots_for(weights);
        let mut home = vec![NO_BUCKET; count];
        if let Some((old, moved)) = before.filter(|(old, _)| !old.home.is_empty()) {
            home = old.owners(count, moved);
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

    /// The owners of `count` slots after buckets have moved; slots of removed buckets have no
    /// owner.
    fn owners(&self, count: usize, moved: &[Option<u16>]) -> Vec<u16> {
        let mask = self.home.len() - 1;
        let mut home = Vec::with_capacity(count);
        for slot in 0..count {
            let old = usize::from(self.home[slot & mask]);
            home.push(moved.get(old).copied().flatten().unwrap_or(NO_BUCKET));
        }
        home
    }

    /// The slots after single buckets were added or removed. `weights` are those of all buckets,
    /// and `moved` says where the old ones are now. Old buckets keep their slots, except those that
    /// a new one needs. A share may be off by as many slots as buckets were added or removed.
    pub(crate) fn changed(&self, weights: &[u16], moved: &[Option<u16>]) -> Self {
        let least = slots_for(weights);
        // With fewer slots, packets of two buckets would go to one.
        let count = least.max(self.home.len().min(MAX_SPARE * least));
        let mut home = self.owners(count, moved);
        let mut missing = shares(weights, count);
        let mut surplus = vec![0; weights.len()];
        let mut free = 0;
        for slot in &home {
            let owner = usize::from(*slot);
            match missing.get_mut(owner) {
                Some(0) => surplus[owner] += 1,
                Some(share) => *share -= 1,
                None => free += 1,
            }
        }
        // New buckets are served first.
        let mut stays = vec![false; weights.len()];
        for bucket in moved.iter().flatten() {
            stays[usize::from(*bucket)] = true;
        }
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by_key(|bucket| stays[*bucket]);
        let came = order.iter().filter(|bucket| !stays[**bucket]);
        let needed: usize = came.map(|bucket| missing[*bucket]).sum();
        let mut taken = needed.saturating_sub(free);
        for slot in &mut home {
            let owner = usize::from(*slot);
            if taken > 0 && surplus.get(owner).is_some_and(|surplus| *surplus > 0) {
                (surplus[owner], taken) = (surplus[owner] - 1, taken - 1);
                *slot = NO_BUCKET;
            }
        }
        let mut needy = order.into_iter().filter(|b| weights[*b] > 0).peekable();
        for slot in home.iter_mut().filter(|slot| **slot == NO_BUCKET) {
            while needy.next_if(|bucket| missing[*bucket] == 0).is_some() {}
            if let Some(bucket) = needy.peek() {
                missing[*bucket] -= 1;
                *slot = *bucket as u16;
            }
        }
        Self {
            slots: home.clone(),
            home,
            ..*self
        }
    }

    /// Lends the slots of buckets that are not live.
    ///
    /// The choice among live buckets depends on the slot alone, so that with the same live buckets,
    /// the flows of a dead bucket always go to the same others. Buckets are tried in proportion to
    /// the slots that they own, and so to their weights.
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

    /// Returns true if packets of one flow may get different buckets.
    pub(crate) fn is_per_packet(&self) -> bool {
        self.algorithm != Algorithm::Hash
    }

    /// Chooses the bucket for a packet, whose frame has these bytes and this layout; `None` if no
    /// bucket is live. With `keep`, no state changes.
    pub(crate) fn choose(&mut self, layout: &Layout, bytes: &[u8], keep: bool) -> Option<usize> {
        let (chosen, state) = self.choice(layout, bytes);
        if !keep {
            self.state = state;
        }
        chosen
    }

    /// The bucket that a packet would get, and the state after it.
    ///
    /// It changes nothing, so that an engine can look ahead.
    #[inline]
    pub(crate) fn choice(&self, layout: &Layout, bytes: &[u8]) -> (Option<usize>, u64) {
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
        let slot = self.slots[number as usize & (self.slots.len() - 1)];
        ((slot != NO_BUCKET).then_some(slot.into()), state)
    }
}

/// A hash that is the same for all packets of a flow: of its addresses, its protocol, and its ports
/// unless it is fragmented. `bytes` are those of a frame with this layout.
///
/// With seeds of their own, switches in a row choose independently.
pub fn flow_hash(layout: &Layout, bytes: &[u8], seed: u64) -> u64 {
    let headers = FlowHeaders { layout, bytes };
    let mut hash = seed ^ GOLDEN;
    let ethernet = headers.start::<12>(Header::Eth);
    // Both addresses of Ethernet: eight bytes and four.
    let (first, last) = ethernet.map_or((0, 0), |eth| (eight(eth), four(&eth[8..])));
    hash = mix(hash, first);
    let eth_type = match headers.start::<2>(Header::EthType) {
        Some(eth_type) => u16::from_be_bytes(*eth_type).into(),
        None => headers.value(field::ETH_TYPE),
    };
    let vlan_vid = match layout.offset(Header::Vlan) {
        Some(_) => headers.value(field::VLAN_VID),
        None => 0,
    };
    hash = mix(hash, last << 32 | eth_type << 16 | vlan_vid);
    let protocol = match headers.start::<20>(Header::Ipv4) {
        Some(ip) => {
            hash = mix(hash, eight(&ip[12..]));
            ip[9].into()
        }
        None => headers.mix_other_addresses(&mut hash),
    };
    hash = mix(hash, protocol << 32 | headers.ports());
    hash ^ hash >> 32
}

/// The first eight of these bytes as a number. Panics: if there are fewer.
#[inline(always)]
fn eight(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(*bytes.first_chunk().expect("a header has eight bytes here"))
}

/// The first four of these bytes as a number. Panics: if there are fewer.
#[inline(always)]
fn four(bytes: &[u8]) -> u64 {
    u32::from_be_bytes(*bytes.first_chunk().expect("a header has four bytes here")).into()
}

/// The headers that identify a flow.
struct FlowHeaders<'a> {
    layout: &'a Layout,
    bytes: &'a [u8],
}

impl<'a> FlowHeaders<'a> {
    /// The first bytes of a header, if the frame has it.
    #[inline(always)]
    fn start<const N: usize>(&self, header: Header) -> Option<&'a [u8; N]> {
        let start = self.layout.offset(header)?;
        let bytes = self.bytes.get(start..).and_then(<[u8]>::first_chunk);
        Some(bytes.expect("a header that was found is whole"))
    }

    /// The value of a field of at most eight bytes; 0 if the frame does not have it.
    #[inline(never)]
    fn value(&self, field: &Field) -> u64 {
        let value = self.layout.value(self.bytes, field);
        value.map_or(0, |value| value as u64)
    }

    /// Source and destination port; 0 in fragments, and if there are none.
    #[inline(always)]
    fn ports(&self) -> u64 {
        let transport = self
            .layout
            .transport
            .filter(|header| self.layout.fragment == Fragment::No && WITH_PORTS.contains(header));
        let ports = transport.and_then(|header| self.start::<4>(header));
        ports.map_or(0, |ports| four(ports))
    }

    /// Mixes the addresses of a packet that is not IPv4 into the hash. Returns its protocol.
    #[inline(never)]
    fn mix_other_addresses(&self, hash: &mut u64) -> u64 {
        if let Some(ip) = self.start::<40>(Header::Ipv6) {
            for part in ip[8..].chunks(WORD_BYTES) {
                *hash = mix(*hash, eight(part));
            }
        }
        if let Some(arp) = self.start::<28>(Header::Arp) {
            *hash = mix(*hash, four(&arp[14..]) << 32 | four(&arp[24..]));
        }
        let protocol = self.start::<1>(Header::NextHeader);
        protocol.map_or(0, |[protocol]| u64::from(*protocol))
    }
}

fn is_live(live: &[bool], bucket: u16) -> bool {
    live.get(usize::from(bucket)) == Some(&true)
}

/// Returns how many slots a group has with buckets of these weights.
fn slots_for(weights: &[u16]) -> usize {
    let used = weights.iter().filter(|weight| **weight > 0).count();
    let count = (used * SLOTS_PER_BUCKET).next_power_of_two();
    count.clamp(MIN_SLOTS, MAX_SLOTS)
}

/// Returns how many of `count` slots each weight gets: those with the largest remainders get one
/// more.
///
/// The method of the largest remainder (Hamilton), by which each share is its exact value rounded
/// up or down.
fn shares(weights: &[u16], count: usize) -> Vec<usize> {
    let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    // The exact shares, times `sum`.
    let exact = weights.iter().map(|w| u64::from(*w) * count as u64);
    let exact: Vec<u64> = exact.collect();
    let mut shares: Vec<usize> = exact.iter().map(|share| (share / sum) as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|i| core::cmp::Reverse(exact[*i] % sum));
    let left = count - shares.iter().sum::<usize>();
    order.iter().take(left).for_each(|i| shares[*i] += 1);
    shares
}

#[cfg(test)]
mod tests {
    use core::ops::Range;

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
    fn only_a_dead_buckets_slots_move_and_they_return() {
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
    fn a_change_of_weights_moves_only_the_slots_that_the_new_shares_need() {
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
            let places: Vec<_> = (0..n as u16).map(Some).collect();
            let after = Selector::new(Algorithm::Hash, 0, &new, Some((&before, &places)));
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
    fn flows_of_remaining_buckets_move_only_to_new_ones() {
        let mut random = 7u64;
        let mut next = |below: usize| {
            random = mix(random, 1);
            random as usize % below
        };
        let mut selector = Selector::new(Algorithm::Hash, 0, &[1], None);
        // Each bucket by its name, with its weight.
        let mut buckets = vec![(0, 1)];
        for name in 1..1000 {
            let before = (selector.clone(), buckets.clone());
            if buckets.len() > 1 && (buckets.len() == 16 || next(2) == 0) {
                buckets.remove(next(buckets.len()));
            } else {
                buckets.insert(next(buckets.len() + 1), (name, next(4) as u16 + 1));
            }
            let weights: Vec<u16> = buckets.iter().map(|bucket| bucket.1).collect();
            let place = |old: &(i32, u16)| buckets.iter().position(|one| one == old);
            let moved: Vec<_> = before
                .1
                .iter()
                .map(|old| Some(place(old)? as u16))
                .collect();
            selector = before.0.changed(&weights, &moved);
            let mask = before.0.home.len().max(selector.home.len()) - 1;
            let owner = |selector: &Selector, all: &[(i32, u16)], hash: usize| {
                all[usize::from(selector.home[hash & (selector.home.len() - 1)])]
            };
            for hash in 0..=mask {
                let then = owner(&before.0, &before.1, hash);
                let now = owner(&selector, &buckets, hash);
                let is_right = now == then || !buckets.contains(&then) || now.0 == name;
                assert!(is_right, "{hash}: {then:?}, {now:?} of {buckets:?}");
            }
            let exact = shares(&weights, selector.home.len());
            for (bucket, share) in exact.iter().enumerate() {
                let owned = owned(&selector.home, bucket as u16);
                assert!(owned.abs_diff(*share) <= 16, "{owned} instead of {share}");
            }
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
        let (four, six) = ([10, 1, 2, 3].into(), [0xfe80, 1, 2, 3, 4, 5, 6, 7].into());
        let sctp = craft::Layer::new(132, &[0, 7, 0, 8, 1, 2, 3, 4, 0, 0, 0, 0]);
        let arp = [0, 1, 8, 0, 6, 4, 0, 1, 2, 2, 2, 2, 2, 2, 10, 0, 0, 1];
        let arp = [&arp[..], &[3, 3, 3, 3, 3, 3, 10, 0, 0, 2]].concat();
        let tcp = || craft::ipv4(four, four, 64, craft::tcp(5, 6, 2, b""));
        let tagged = craft::vlan(0x8100, 0x2005, craft::ipv4(four, four, 64, sctp));
        // What follows Ethernet, which bytes of the frame count, and some that do not: from, to.
        let frames = [
            (
                tcp(),
                vec![(26, 38)],
                vec![(15, 16), (18, 20), (22, 23), (38, 46)],
            ),
            (
                craft::ipv6(six, six, 64, craft::udp(5, 6, b"")),
                vec![(22, 58)],
                vec![(16, 18), (21, 22), (60, 62)],
            ),
            (
                tagged,
                vec![(15, 16), (30, 42)],
                vec![(14, 15), (26, 27), (42, 46)],
            ),
            (
                craft::Layer::new(0x0806, &arp),
                vec![(28, 32), (38, 42)],
                vec![(22, 28), (32, 38)],
            ),
            (craft::Layer::new(7, b"of no type"), vec![], vec![(14, 24)]),
        ];
        let mac = bofuss_oflib::Mac([2; 6]);
        for (number, (layer, counted, ignored)) in frames.into_iter().enumerate() {
            let bytes = craft::ethernet(mac, mac, layer);
            for at in (0..12).chain(counted.into_iter().flat_map(bytes_of)) {
                assert!(changes_hash(&bytes, at), "frame {number}, byte {at}");
            }
            for at in ignored.into_iter().flat_map(bytes_of) {
                assert!(!changes_hash(&bytes, at), "frame {number}, byte {at}");
            }
        }
        let mut fragment = craft::ethernet(mac, mac, tcp());
        fragment[20] |= 0x20;
        assert!((26..34).all(|at| changes_hash(&fragment, at)));
        assert!((34..38).all(|at| !changes_hash(&fragment, at)), "its ports");
    }

    fn bytes_of((from, to): (usize, usize)) -> Range<usize> {
        from..to
    }

    fn changes_hash(bytes: &[u8], at: usize) -> bool {
        let mut changed = bytes.to_vec();
        changed[at] ^= 0x10;
        hash_of(&changed) != hash_of(bytes)
    }

    fn hash_of(bytes: &[u8]) -> u64 {
        let pool = bofuss_frame::Pool::new(1 << 20);
        let frame = pool.frame(bytes).expect("there is room");
        let packet = Packet::new(frame, bofuss_oflib::PortNo(1));
        flow_hash(packet.layout(), packet.frame.bytes(), 9)
    }

    #[test]
    fn a_thousand_buckets_have_their_slots() {
        let selector = Selector::new(Algorithm::Hash, 0, &[1; 1000], None);
        assert!((0..1000).all(|bucket| owned(&selector.home, bucket) >= 65));
    }
}
