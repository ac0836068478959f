//! Tuple space search: entries are in hash tables, one for each mask, or for each coarser mask that
//! several masks share.
//!
//! A few masks have a table each. When there are many, similar masks share a table that hashes
//! fewer bits (tuple merging); entries with the same hashed bits form a short chain.

use alloc::{rc::Rc, vec::Vec};
use bofuss_datapath::engine::{Classifier, NONE, Slab, TagTable, View};
use bofuss_datapath::{Entry, EntryKey, StepMap};
use core::cmp::Reverse;

use bofuss_oflib::FieldSet;
use bofuss_packet::{Key, KeyMask, KeyMatch, ReadLog};

use crate::masks::coarse;
use crate::secret::Secret;

/// The number of groups with a mask of their own before masks begin to share groups.
const OWN_GROUPS: usize = 12;
/// The most entries in a chain of a shared group.
const MAX_CHAIN: usize = 8;
/// The number of groups tried for a new mask, which takes some tens of microseconds. There are more
/// groups only if masks hardly agree or entries hardly differ; then one more group adds little to
/// the cost of lookups.
const GROUPS_TRIED: usize = 1024;

/// One hash table: entries by their values under the bits of a mask.
#[derive(Debug)]
struct MaskGroup {
    mask: Rc<KeyMask>,
    /// The first entry of each chain, by the bits of the mask.
    heads: TagTable,
    len: usize,
    /// The entry of highest precedence in the group.
    best: EntryKey,
    /// The fields that its entries read.
    reads: FieldSet,
}

/// The number of entries of a mask that are in a group: at least one.
#[derive(Clone, Copy, Debug)]
struct Share {
    group: u32,
    len: u32,
}

/// A classifier whose lookup probes one hash table for each of a few masks.
#[derive(Debug)]
pub(crate) struct MaskGroups {
    secret: Secret,
    groups: Slab<MaskGroup>,
    /// The groups, in the order of their best entries.
    order: Vec<(EntryKey, u32)>,
    /// The groups that contain entries of each mask.
    shares: StepMap<Rc<KeyMask>, Vec<Share>>,
}

impl MaskGroups {
    pub(crate) fn new(secret: u64) -> Self {
        Self {
            secret: Secret::new(secret),
            groups: Slab::default(),
            order: Vec::new(),
            shares: StepMap::default(),
        }
    }

    fn hash(&self, mask: &KeyMask, rule: &KeyMatch) -> u64 {
        self.secret.hash(mask.of_match(rule))
    }

    /// The first entry of the chain to which `rule` belongs, and the chain's hash.
    fn head(&self, slab: &Slab<Entry>, group: &MaskGroup, rule: &KeyMatch) -> (Option<u32>, u64) {
        let mask = &*group.mask;
        let hash = self.hash(mask, rule);
        let head = group.heads.find(hash, |slot: u32| {
            mask.of_match(&slab[slot].rule).eq(mask.of_match(rule))
        });
        (head, hash)
    }

    /// Returns true if a group has room for an entry with this match: the group has its mask, or
    /// the chain is short.
    fn has_room(&self, slab: &Slab<Entry>, group: &MaskGroup, rule: &KeyMatch) -> bool {
        if *group.mask == **rule.mask() {
            return true;
        }
        let (head, _) = self.head(slab, group, rule);
        chain(slab, head).take(MAX_CHAIN).count() < MAX_CHAIN
    }

    /// Chooses the group for an entry with this match; it may contain other masks.
    fn choose(&mut self, slab: &Slab<Entry>, rule: &KeyMatch) -> u32 {
        let of_mask = self.shares.get(rule.mask());
        let mut shares = of_mask.into_iter().flat_map(|(_, shares)| shares);
        if let Some(share) =
            shares.find(|share| self.has_room(slab, &self.groups[share.group], rule))
        {
            return share.group;
        }
        let mut mask = Rc::clone(rule.mask());
        if self.groups.len() >= OWN_GROUPS {
            for (_, number) in self.order.iter().take(GROUPS_TRIED) {
                let group = &self.groups[*number];
                if group.mask.is_within(rule.mask()) && self.has_room(slab, group, rule) {
                    return *number;
                }
            }
            let coarse = coarse(&mask);
            let mut tried = self.order.iter().take(GROUPS_TRIED);
            if !tried.any(|(_, number)| *self.groups[*number].mask == coarse) {
                mask = Rc::new(coarse);
            }
        }
        let best = LAST;
        let slot = self.groups.insert(|_| MaskGroup {
            mask,
            heads: TagTable::default(),
            len: 0,
            best,
            reads: FieldSet::EMPTY,
        });
        self.order.push((best, slot));
        slot
    }

    /// The group for an entry that is being added; counts it there.
    fn join(&mut self, slab: &Slab<Entry>, rule: &KeyMatch) -> u32 {
        let (_, shares) = self.shares.entry(rule.mask());
        let is_of_mask = |share: &&mut Share| *self.groups[share.group].mask == **rule.mask();
        if let Some(first) = shares.first_mut().filter(is_of_mask) {
            first.len += 1;
            return first.group;
        }
        let group = self.choose(slab, rule);
        let (_, shares) = self.shares.entry(rule.mask());
        match shares.iter_mut().find(|share| share.group == group) {
            Some(share) => share.len += 1,
            None => shares.push(Share { group, len: 1 }),
        }
        group
    }

    /// Counts that an entry of this mask left a group. A group without entries is removed.
    fn leave(&mut self, mask: &KeyMask, number: u32) {
        let (_, shares) = self.shares.get_mut(mask).expect("its mask has a share");
        let at = shares
            .iter()
            .position(|share| share.group == number)
            .expect("its mask has a share in this group");
        shares[at].len -= 1;
        if shares[at].len == 0 {
            shares.remove(at);
        }
        if shares.is_empty() {
            self.shares.remove(mask);
        }
        let group = &mut self.groups[number];
        group.len -= 1;
        if group.len == 0 {
            let place = self.order.binary_search(&(group.best, number));
            self.order.remove(place.expect("every group has its place"));
            self.groups.remove(number);
        }
    }

    /// Moves a group to its place in the order.
    fn reorder(&mut self, number: u32, best: EntryKey) {
        let group = &mut self.groups[number];
        let before = core::mem::replace(&mut group.best, best);
        let from = self
            .order
            .binary_search(&(before, number))
            .expect("every group has its place");
        let to = self.order.partition_point(|place| *place < (best, number));
        self.order[to..=from].rotate_right(1);
        self.order[to] = (best, number);
    }
}

/// The slots of a chain from `head` on, best entry first.
fn chain(slab: &Slab<Entry>, head: Option<u32>) -> impl Iterator<Item = u32> {
    core::iter::successors(head, |slot| next_in_chain(&slab[*slot]))
}

impl Classifier for MaskGroups {
    fn insert(&mut self, slab: &mut Slab<Entry>, key: EntryKey) {
        let rule = slab[key.slot].rule.clone();
        let number = self.join(slab, &rule);
        let (head, hash) = self.head(slab, &self.groups[number], &rule);
        let before = chain(slab, head)
            .take_while(|slot| slab[*slot].key < key)
            .last();
        let group = &mut self.groups[number];
        group.len += 1;
        group.reads.insert(rule.fields());
        let mask = &group.mask;
        match (before, head) {
            (Some(before), _) => {
                slab[key.slot].next = slab[before].next;
                slab[before].next = key.slot;
            }
            (None, Some(head)) => {
                slab[key.slot].next = head;
                group.heads.replace(hash, head, Some(key.slot));
            }
            (None, None) => {
                group.heads.insert(hash, key.slot, |slot: u32| {
                    self.secret.hash(mask.of_match(&slab[slot].rule))
                });
            }
        }
        if key < group.best {
            self.reorder(number, key);
        }
    }

    fn remove(&mut self, slab: &mut Slab<Entry>, key: EntryKey) {
        let rule = slab[key.slot].rule.clone();
        let (_, shares) = self.shares.get(rule.mask()).expect("its mask has a share");
        let next = core::mem::replace(&mut slab[key.slot].next, NONE);
        for share in shares.clone() {
            let number = share.group;
            let (head, hash) = self.head(slab, &self.groups[number], &rule);
            let group = &mut self.groups[number];
            let rest = Some(next).filter(|next| *next != NONE);
            if !group.heads.replace(hash, key.slot, rest) {
                let before = chain(slab, head).find(|slot| slab[*slot].next == key.slot);
                match before {
                    Some(before) => slab[before].next = next,
                    None => continue,
                }
            }
            self.leave(rule.mask(), number);
            return;
        }
    }

    fn find(
        &self,
        slab: &Slab<Entry>,
        view: View,
        priority: u16,
        rule: &KeyMatch,
    ) -> Option<EntryKey> {
        let (_, shares) = self.shares.get(rule.mask())?;
        for share in shares {
            let (head, _) = self.head(slab, &self.groups[share.group], rule);
            for slot in chain(slab, head) {
                let entry = &slab[slot];
                let is_same = entry.key.priority.0 == priority && entry.rule == *rule;
                if is_same && view.has(entry) {
                    return Some(entry.key);
                }
            }
        }
        None
    }

    fn lookup(
        &self,
        slab: &Slab<Entry>,
        view: View,
        key: &Key,
        log: &mut FieldSet,
    ) -> Option<EntryKey> {
        let mut best = LAST;
        let mut read = FieldSet::EMPTY;
        for (first, number) in &self.order {
            if *first > best {
                break;
            }
            let group = &self.groups[*number];
            read.insert(group.reads);
            let Some(words) = group.mask.of_key(key, &mut ()) else {
                continue;
            };
            let mut next = group.heads.find(self.secret.hash(words), |slot: u32| {
                group.mask.agree(&slab[slot].rule, key)
            });
            while let Some(slot) = next {
                let entry = &slab[slot];
                if entry.key >= best {
                    break;
                }
                // The key agrees with the chain in the bits of the group's mask. The fields that a
                // rule reads are among those that its group reads.
                let is_hit =
                    Rc::ptr_eq(entry.rule.mask(), &group.mask) || key.matches(&entry.rule, &mut ());
                if is_hit && view.has(entry) {
                    best = entry.key;
                    break;
                }
                next = next_in_chain(entry);
            }
        }
        log.read(read);
        (best != LAST).then_some(best)
    }

    fn next(&self, slab: &Slab<Entry>, from: EntryKey) -> Option<EntryKey> {
        slab.used(from.slot).map(|slot| slab[slot].key)
    }
}

/// A key after those of all entries.
const LAST: EntryKey = EntryKey {
    priority: Reverse(0),
    serial: u64::MAX,
    slot: NONE,
};

/// The slot of the next entry in an entry's chain.
#[inline]
fn next_in_chain(entry: &Entry) -> Option<u32> {
    Some(entry.next).filter(|next| *next != NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bofuss_datapath::Time;
    use bofuss_datapath::engine::Scan;
    use bofuss_oflib::field::{ETH_TYPE, IN_PORT, IP_PROTO, IPV4_DST, IPV4_SRC, TCP_DST};
    use bofuss_oflib::instruction::Instructions;
    use bofuss_oflib::message::FlowMod;
    use bofuss_oflib::{FieldMatch, Match};
    use hashbrown::{HashMap, HashSet};

    fn entry(priority: u16, serial: u64, fields: &[FieldMatch]) -> Entry {
        let flow_mod = FlowMod {
            priority,
            ..FlowMod::default()
        };
        let rule = KeyMatch::from(&Match::new(fields).expect("prerequisites are there"));
        Entry::new(Time(0), &flow_mod, rule, Instructions::default(), serial)
    }

    struct Random(u64);
    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005) + 1;
            (self.0 >> 33) % n
        }
    }

    /// A table with both classifiers at once, each with its own slab.
    struct Both {
        random: Random,
        scan: (Scan, Slab<Entry>),
        groups: (MaskGroups, Slab<Entry>),
        serial: u64,
        live: Vec<(EntryKey, EntryKey)>,
    }

    impl Both {
        fn new() -> Self {
            Self {
                random: Random(7),
                scan: Default::default(),
                groups: (MaskGroups::new(1), Slab::default()),
                serial: 0,
                live: Vec::new(),
            }
        }

        fn address(&mut self) -> u128 {
            u128::from(0x0a00_0000 + self.random.below(4) * 0x10000 + self.random.below(600))
        }

        fn rule(&mut self) -> Vec<FieldMatch> {
            let mut fields = Vec::from([
                FieldMatch::exact(ETH_TYPE, 0x0800),
                FieldMatch::exact(IP_PROTO, 6),
            ]);
            for field in [IPV4_SRC, IPV4_DST] {
                let bits = self.random.below(33) as u32;
                let mask = u128::from(!(u64::from(u32::MAX) >> bits) as u32);
                fields.push(FieldMatch::masked(field, self.address(), mask));
            }
            if self.random.below(3) == 0 {
                fields.push(FieldMatch::exact(TCP_DST, self.random.below(3).into()));
            }
            if self.random.below(3) == 0 {
                fields.push(FieldMatch::exact(IN_PORT, self.random.below(3).into()));
            }
            fields
        }

        fn key(&mut self) -> Key {
            let mut key = Key::EMPTY;
            key.set(ETH_TYPE, 0x0800);
            key.set(IP_PROTO, 6);
            key.set(IPV4_SRC, self.address());
            key.set(IPV4_DST, self.address());
            key.set(IN_PORT, self.random.below(3).into());
            if self.random.below(5) > 0 {
                key.set(TCP_DST, self.random.below(3).into());
            }
            key
        }

        fn add(&mut self) {
            let (priority, fields) = (self.random.below(4) as u16, self.rule());
            self.serial += 1;
            let one = entry(priority, self.serial, &fields);
            let known = self
                .scan
                .0
                .find(&self.scan.1, View::Both, priority, &one.rule);
            let found = self
                .groups
                .0
                .find(&self.groups.1, View::Both, priority, &one.rule);
            assert_eq!(known.map(|k| k.serial), found.map(|k| k.serial));
            if known.is_some() {
                return;
            }
            let put = |slab: &mut Slab<Entry>| {
                let slot = slab.insert(|slot| {
                    let mut one = one.clone();
                    one.key.slot = slot;
                    one
                });
                slab[slot].key
            };
            let keys = (put(&mut self.scan.1), put(&mut self.groups.1));
            self.scan.0.insert(&mut self.scan.1, keys.0);
            self.groups.0.insert(&mut self.groups.1, keys.1);
            self.live.push(keys);
        }

        fn remove(&mut self) {
            let at = self.random.below(self.live.len() as u64) as usize;
            let keys = self.live.swap_remove(at);
            self.scan.0.remove(&mut self.scan.1, keys.0);
            self.groups.0.remove(&mut self.groups.1, keys.1);
            self.scan.1.remove(keys.0.slot);
            self.groups.1.remove(keys.1.slot);
        }

        /// Checks that the shares of all masks in a group add up to its entries, and that the
        /// groups are in order.
        fn check_shares(&self) {
            let groups = &self.groups.0;
            let rule = |keys: &(EntryKey, EntryKey)| &self.groups.1[keys.1.slot].rule;
            let masks: HashSet<_> = self.live.iter().map(|keys| rule(keys).mask()).collect();
            assert_eq!(masks.len(), groups.shares.len());
            let mut counts: HashMap<u32, usize> = HashMap::new();
            for mask in masks {
                let (_, shares) = groups.shares.get(mask).expect("it has entries");
                for share in shares {
                    *counts.entry(share.group).or_default() += share.len as usize;
                }
            }
            for (best, slot) in &groups.order {
                let group = &groups.groups[*slot];
                assert_eq!((Some(group.len), group.best), (counts.remove(slot), *best));
            }
            assert!(counts.is_empty() && groups.order.is_sorted());
        }

        /// Looks up a random key in both, and checks that the results are equal. Returns true if an
        /// entry was hit.
        fn look_up(&mut self) -> bool {
            let (key, mut log, mut all) = (self.key(), FieldSet::EMPTY, FieldSet::EMPTY);
            let scan = self.scan.0.lookup(&self.scan.1, View::Both, &key, &mut all);
            let hit = self
                .groups
                .0
                .lookup(&self.groups.1, View::Both, &key, &mut log);
            assert_eq!(scan.map(|k| k.serial), hit.map(|k| k.serial));
            hit.is_some()
        }
    }

    #[test]
    fn mask_groups_find_what_a_scan_finds() {
        let mut both = Both::new();
        let mut hits = 0;
        for round in 0..3000 {
            both.add();
            if round % 3 == 0 {
                both.remove();
            }
            hits += (0..3).filter(|_| both.look_up()).count();
        }
        assert!(hits > 1000, "{hits}");
        assert_eq!(both.groups.1.len(), both.live.len());
        while !both.live.is_empty() {
            both.remove();
            if both.live.len() % 64 == 0 {
                both.check_shares();
            }
        }
        let groups = &both.groups.0;
        assert_eq!((groups.groups.len(), groups.shares.len()), (0, 0));
    }

    #[test]
    fn many_masks_need_few_groups_and_short_chains() {
        let mut both = Both::new();
        (0..3000).for_each(|_| both.add());
        let groups = &both.groups.0;
        assert!(groups.shares.len() > 1000, "{}", groups.shares.len());
        let few = groups.groups.len() * 8;
        assert!(
            few < groups.shares.len(),
            "{} {}",
            groups.groups.len(),
            groups.shares.len()
        );
    }
}
