//! Decides by the match of a change alone which flows it may concern. For each mask that changes
//! have had there is a table; it maps the hash of the masked bits to the number of the last change
//! with that hash.

use alloc::{rc::Rc, vec, vec::Vec};

use bofuss_intrinsics::prefetch;
use bofuss_packet::{KeyMask, KeyMatch};

use crate::secret::Secret;

/// The most masks that have a table. A change with another mask concerns all flows.
const MAX_TABLES: usize = 4;
/// The fewest and the most versions in a table, of 4 bytes each: 16 KiB and 2 MiB.
const MIN_VERSIONS: usize = 1 << 12;
const MAX_VERSIONS: usize = 1 << 19;
/// Tables of at most so many versions (64 KiB) are mostly in the processor's caches and need no
/// prefetch.
const NEAR_VERSIONS: usize = 1 << 14;

/// The table of one mask.
#[derive(Debug)]
struct MaskVersions {
    mask: Rc<KeyMask>,
    /// For each word of the mask, the place of that word among the words of the cache's key, and
    /// the masked bits.
    places: Vec<(usize, u64)>,
    /// The number of the last change before this table was made.
    base: u64,
    /// The number of the last change.
    last: u64,
    /// By hash, the number of the last change with that hash, minus `base`; 0 if there was none.
    versions: Vec<u32>,
}

/// The tables of all masks.
#[derive(Debug, Default)]
pub(super) struct Versions {
    tables: Vec<MaskVersions>,
    /// For flows that were last checked before this change, the tables cannot decide anything.
    floor: u64,
}

impl Versions {
    /// Forgets all tables: the changes so far may concern any flow.
    pub(super) fn clear(&mut self, changes: u64) {
        self.tables.clear();
        self.floor = changes;
    }

    /// Notes change number `change`: an entry with this match is added, removed or modified. `key`
    /// is the mask of the cache's key, and there are `n_flows` flows.
    pub(super) fn note(
        &mut self,
        change: u64,
        rule: &KeyMatch,
        key: &KeyMask,
        n_flows: usize,
        secret: &Secret,
    ) {
        if n_flows == 0 {
            return self.clear(change);
        }
        let wanted = n_flows
            .next_power_of_two()
            .clamp(MIN_VERSIONS, MAX_VERSIONS);
        let mut tables = self.tables.iter();
        let number = match tables.position(|table| table.mask == *rule.mask()) {
            Some(number) => number,
            None if self.tables.len() < MAX_TABLES => self.tables.len(),
            None => return self.clear(change),
        };
        if number == self.tables.len() {
            let table = MaskVersions::new(change - 1, rule.mask(), key, wanted);
            self.tables.extend(table);
        }
        let Some(table) = self.tables.get_mut(number) else {
            return self.clear(change);
        };
        // With many more flows the table has become too small. It is made anew, and each flow is
        // checked by other means once.
        let is_small = table.versions.len() < wanted / 2;
        if is_small || change - table.base > u64::from(u32::MAX) {
            return self.clear(change);
        }
        let hash = secret.hash(table.mask.of_match(rule));
        let at = hash as usize & (table.versions.len() - 1);
        table.versions[at] = (change - table.base) as u32;
        table.last = change;
    }

    /// Returns true if certainly no change after number `checked` concerns a flow whose path
    /// depends only on these words of the cache's key. False if that cannot be decided.
    pub(super) fn are_unchanged(&self, checked: u64, words: &[u64], secret: &Secret) -> bool {
        let mut tables = self.tables.iter();
        checked >= self.floor && tables.all(|table| table.is_unchanged(checked, words, secret))
    }

    /// Prefetches what [`Versions::are_unchanged`] reads for these words, if it may not be in the
    /// processor's caches.
    #[inline]
    pub(super) fn prefetch(&self, words: &[u64], secret: &Secret) {
        for table in &self.tables {
            if table.versions.len() > NEAR_VERSIONS {
                prefetch(&table.versions[table.place(words, secret)]);
            }
        }
    }
}

impl MaskVersions {
    /// Makes the table of this mask; `None` if the cache's key lacks some of its bits.
    fn new(base: u64, mask: &Rc<KeyMask>, key: &KeyMask, size: usize) -> Option<Self> {
        Some(Self {
            mask: Rc::clone(mask),
            places: places_of(mask, key)?,
            base,
            last: base,
            versions: vec![0; size],
        })
    }

    /// Returns true if no change after number `checked` had a match with the same hash as these
    /// words.
    #[inline]
    fn is_unchanged(&self, checked: u64, words: &[u64], secret: &Secret) -> bool {
        if self.last <= checked {
            return true;
        }
        let at = self.place(words, secret);
        self.base + u64::from(self.versions[at]) <= checked.max(self.base)
    }

    /// The place in `versions` for these words of the cache's key.
    #[inline]
    fn place(&self, words: &[u64], secret: &Secret) -> usize {
        let places = self.places.iter();
        let bits = places.map(|(place, bits)| words[*place] & bits);
        secret.hash(bits) as usize & (self.versions.len() - 1)
    }
}

/// For each word of a mask, the place of that word among the words of a cache's key with the mask
/// `key`, and the masked bits; `None` if the key lacks some of them.
pub(super) fn places_of(mask: &KeyMask, key: &KeyMask) -> Option<Vec<(usize, u64)>> {
    let mut places = Vec::new();
    for (index, bits) in mask.words() {
        let mut words = key.words().iter().zip(1..);
        let ((_, has), place) = words.find(|((other, _), _)| other == index)?;
        if bits & !has != 0 {
            return None;
        }
        places.push((place, *bits));
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::field::{ETH_TYPE, IN_PORT, IPV4_DST, IPV4_SRC, TUNNEL_ID};
    use bofuss_oflib::{FieldMatch, Match};

    use super::*;

    /// The number of flows in the test.
    const FLOWS: usize = 300;

    fn rule(fields: &[FieldMatch]) -> KeyMatch {
        KeyMatch::from(&Match::new(fields).expect("prerequisites are there"))
    }

    // I14
    #[test]
    fn no_change_is_missed_and_few_concern_others() {
        let key = KeyMask::whole([ETH_TYPE, IN_PORT, IPV4_SRC, IPV4_DST].into_iter());
        let secret = Secret::new(5);
        let mut versions = Versions::default();
        let mut state = 1u64;
        let mut below = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n
        };
        let words_of = |fields: &[FieldMatch]| -> Vec<u64> {
            let mut packet = bofuss_packet::Key::EMPTY;
            for one in fields {
                packet.set(one.field, one.number());
            }
            let words = key.of_key(&packet, &mut ());
            [7].into_iter()
                .chain(words.expect("no field is needed"))
                .collect()
        };
        let flow = |n: u64| {
            [
                FieldMatch::exact(ETH_TYPE, 0x0800),
                FieldMatch::exact(IN_PORT, u128::from(n % 3)),
                FieldMatch::exact(IPV4_SRC, u128::from(n / 3)),
                FieldMatch::exact(IPV4_DST, 9),
            ]
        };
        let flows: Vec<_> = (0..FLOWS as u64)
            .map(|n| (flow(n), words_of(&flow(n))))
            .collect();
        let mut checked = vec![0; FLOWS];
        let (mut kept, mut change) = (0, 0);
        for round in 0..2000u64 {
            change += 1;
            let one = flow(below(2 * FLOWS as u64));
            let fields = match round % 500 {
                // One change in 500 concerns all flows, and one has a field that the key lacks.
                17 => &[][..],
                18 => &[FieldMatch::exact(TUNNEL_ID, 5)],
                _ if below(2) == 0 => &one[..2],
                _ => &one[..],
            };
            let rule = rule(fields);
            versions.note(change, &rule, &key, FLOWS, &secret);
            for (number, (packet, words)) in flows.iter().enumerate() {
                let mut key = bofuss_packet::Key::EMPTY;
                packet
                    .iter()
                    .for_each(|one| key.set(one.field, one.number()));
                let concerns = key.matches(&rule, &mut ()) || fields.len() == 1;
                let is_kept = versions.are_unchanged(checked[number], words, &secret);
                assert!(!(concerns && is_kept), "change {change}, flow {number}");
                kept += usize::from(is_kept);
                checked[number] = change;
            }
        }
        assert!(kept > 2000 * FLOWS * 3 / 5, "{kept}");
    }
}
