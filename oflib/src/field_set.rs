//! Sets of fields: those that a packet has, a match reads, or a cache depends on.

use crate::field::Field;

/// One bit for each field, and some for facts that are no field: this is a set's width.
type SetBits = u64;

/// A set of fields of one catalogue, and of facts about a packet.
///
/// A fact is what a match may depend on as on the presence of a field, without being one that a
/// controller can name: whoever keeps a set numbers its facts. The bits of facts come first, so
/// that their place does not depend on how many fields a set can hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSet(SetBits);

impl FieldSet {
    /// No field, no fact.
    pub const EMPTY: Self = Self(0);
    /// All fields, all facts.
    pub const ALL: Self = Self(SetBits::MAX);
    /// How many facts a set can hold.
    pub const MAX_FACTS: usize = 4;
    /// How many fields a set, and so a catalogue, can hold.
    pub const MAX_FIELDS: usize = SetBits::BITS as usize - Self::MAX_FACTS;
    /// The 64-bit words of a set.
    pub const WORDS: usize = Self::BYTES / 8;
    /// The bytes of a set in a key.
    pub const BYTES: usize = SetBits::BITS as usize / 8;

    /// The set of one field.
    #[inline(always)]
    pub const fn of(field: &Field) -> Self {
        Self(1 << (field.id as usize + Self::MAX_FACTS))
    }

    /// The set of one fact. Panics: if `number` is not below [`FieldSet::MAX_FACTS`].
    pub const fn fact(number: usize) -> Self {
        assert!(number < Self::MAX_FACTS, "a set has bits for so many facts");
        Self(1 << number)
    }

    /// The facts of this set.
    #[inline]
    pub const fn facts(self) -> Self {
        Self(self.0 & !(SetBits::MAX << Self::MAX_FACTS))
    }

    /// What is in either set.
    #[inline(always)]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both sets.
    #[inline(always)]
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in this set, but not in the other.
    #[inline(always)]
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Adds what is in another set.
    #[inline(always)]
    pub const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether `field` is in this set.
    #[inline(always)]
    pub const fn contains(self, field: &Field) -> bool {
        !self.is_disjoint(Self::of(field))
    }

    /// Whether all that is in the other set is in this one.
    #[inline(always)]
    pub const fn is_superset(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether nothing is in both sets.
    #[inline(always)]
    pub const fn is_disjoint(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }

    /// Whether nothing is in this set.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many fields and facts are in this set.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The ids of the fields in this set, ascending.
    pub fn ids(self) -> impl Iterator<Item = usize> {
        let mut left = self.0 >> Self::MAX_FACTS;
        core::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let id = left.trailing_zeros() as usize;
            left &= left - 1;
            Some(id)
        })
    }

    /// The set as words, facts and the first fields first.
    #[inline(always)]
    pub const fn words(self) -> [u64; Self::WORDS] {
        [self.0]
    }

    /// The set of these words.
    #[inline(always)]
    pub const fn from_words(words: [u64; Self::WORDS]) -> Self {
        Self(words[0])
    }
}

impl<'a> FromIterator<&'a Field> for FieldSet {
    fn from_iter<I: IntoIterator<Item = &'a Field>>(fields: I) -> Self {
        let mut set = Self::EMPTY;
        for field in fields {
            set.insert(Self::of(field));
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{ETH_DST, ETH_SRC, FIELDS, VLAN_VID};

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        let fact = FieldSet::fact(FieldSet::MAX_FACTS - 1);
        let two = FieldSet::from_iter([ETH_SRC, ETH_DST]);
        assert!(two.contains(ETH_SRC) && two.contains(ETH_DST) && !two.contains(VLAN_VID));
        let all = two.union(fact);
        assert!(all.is_superset(two) && !two.is_superset(all) && two.is_disjoint(fact));
        assert_eq!((all.facts(), all.difference(two)), (fact, fact));
        assert_eq!(all.intersection(two), two);
        assert_eq!((all.len(), FieldSet::EMPTY.len()), (3, 0));
        assert!(all.ids().eq([ETH_DST.id, ETH_SRC.id].map(usize::from)));
        let every = FIELDS.iter().collect::<FieldSet>();
        assert!(every.ids().eq(0..FIELDS.len()) && every.facts().is_empty());
        assert_eq!(FieldSet::from_words(all.words()), all);
    }
}
