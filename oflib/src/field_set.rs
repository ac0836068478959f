//! Sets of fields: those that a packet has, a match reads, or a cache depends on.

use crate::field::Field;

/// A set of fields of one catalogue, and of facts about a packet, in `WORDS` words of 64 bits.
///
/// A fact is what a match may depend on as on the presence of a field, without being one that a
/// controller can name: whoever keeps a set numbers its facts. The bits of facts come first, so
/// that their place does not depend on how many fields a set can hold.
///
/// Invariant: bit N of a set is fact N, for N below [`FieldBits::MAX_FACTS`]; the field with id N
/// is bit N after these. A narrower set is the first words of a wider set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldBits<const N: usize>([u64; N]);

/// A set of any fields of a catalogue. A field's id has 8 bits.
pub type FieldSet = FieldBits<4>;

/// A set of fields of OpenFlow: one word, as the fast path of every packet uses it.
pub type StandardFields = FieldBits<1>;

/// Combines two sets word by word.
///
/// A loop with an index, because iterators cannot be used in a `const fn`.
macro_rules! each_word {
    ($one:expr, $other:expr, |$a:ident, $b:ident| $combined:expr) => {{
        let one: [u64; N] = $one.0;
        let other: [u64; N] = $other.0;
        let mut words = [0; N];
        let mut i = 0;
        while i < N {
            let $a = one[i];
            let $b = other[i];
            words[i] = $combined;
            i += 1;
        }
        Self(words)
    }};
}

impl<const N: usize> FieldBits<N> {
    /// No field, no fact.
    pub const EMPTY: Self = Self([0; N]);
    /// All fields, all facts.
    pub const ALL: Self = Self([u64::MAX; N]);
    /// The number of facts that a set can hold.
    ///
    /// Each costs a place for a field in [`StandardFields`], which are one word.
    pub const MAX_FACTS: usize = 5;
    /// The number of fields that a set, and so a catalogue, can hold.
    pub const MAX_FIELDS: usize = N * u64::BITS as usize - Self::MAX_FACTS;
    /// The 64-bit words of a set.
    pub const WORDS: usize = N;
    /// All facts.
    const FACTS: Self = {
        let mut words = [0; N];
        words[0] = (1 << Self::MAX_FACTS) - 1;
        Self(words)
    };

    /// The set of one field. Panics: if the set is too narrow for it.
    #[inline(always)]
    pub const fn of(field: &Field) -> Self {
        Self::of_bit(field.id as usize + Self::MAX_FACTS)
    }

    /// The set of one fact. Panics: if `number` is not below [`FieldBits::MAX_FACTS`].
    pub const fn fact(number: usize) -> Self {
        assert!(number < Self::MAX_FACTS, "a set has bits for so many facts");
        Self::of_bit(number)
    }

    /// Panics: by the index, if the set has no such word.
    #[inline(always)]
    const fn of_bit(bit: usize) -> Self {
        let mut words = [0; N];
        words[bit / 64] = 1 << (bit % 64);
        Self(words)
    }

    /// The facts of this set.
    #[inline]
    pub const fn facts(self) -> Self {
        self.intersection(Self::FACTS)
    }

    /// Returns the union of two sets.
    #[inline(always)]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        each_word!(self, other, |a, b| a | b)
    }

    /// Returns the intersection of two sets.
    #[inline(always)]
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        each_word!(self, other, |a, b| a & b)
    }

    /// Returns the members of this set that the other lacks.
    #[inline(always)]
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        each_word!(self, other, |a, b| a & !b)
    }

    /// Adds what is in another set.
    #[inline(always)]
    pub const fn insert(&mut self, other: Self) {
        *self = self.union(other);
    }

    /// Returns true if `field` is in this set; one for which the set has no room is not.
    #[inline(always)]
    pub const fn contains(self, field: &Field) -> bool {
        let bit = field.id as usize + Self::MAX_FACTS;
        bit / 64 < N && self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Returns true if the other set is a subset of this set.
    #[inline(always)]
    pub const fn is_superset(self, other: Self) -> bool {
        other.difference(self).is_empty()
    }

    /// Returns true if nothing is in both sets.
    #[inline(always)]
    pub const fn is_disjoint(self, other: Self) -> bool {
        self.intersection(other).is_empty()
    }

    /// Returns true if nothing is in this set.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        let mut bits = 0;
        let mut i = 0;
        while i < N {
            bits |= self.0[i];
            i += 1;
        }
        bits == 0
    }

    /// Returns the number of fields and facts in this set.
    pub const fn len(self) -> u32 {
        let mut count = 0;
        let mut i = 0;
        while i < N {
            count += self.0[i].count_ones();
            i += 1;
        }
        count
    }

    /// The ids of the fields in this set, ascending.
    pub fn ids(self) -> impl Iterator<Item = usize> {
        // Takes the lowest bit of the first word that is not empty, until none is left.
        let mut left = self.difference(Self::FACTS).0;
        core::iter::from_fn(move || {
            let (index, word) = left.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
            let bit = 64 * index + word.trailing_zeros() as usize;
            *word &= *word - 1;
            Some(bit - Self::MAX_FACTS)
        })
    }

    /// The set as words, facts and the first fields first.
    ///
    /// Keys have them in the byte order of the machine, and compare presence with them word by
    /// word.
    #[inline(always)]
    pub const fn words(self) -> [u64; N] {
        self.0
    }

    /// The set of these words.
    #[inline(always)]
    pub const fn from_words(words: [u64; N]) -> Self {
        Self(words)
    }
}

impl FieldSet {
    /// The fields of OpenFlow's that are in this set, and the facts.
    ///
    /// The first word suffices: the specification's fields have the lowest ids.
    #[inline(always)]
    pub const fn standard(self) -> StandardFields {
        FieldBits([self.0[0]])
    }
}

impl From<StandardFields> for FieldSet {
    #[inline(always)]
    fn from(fields: StandardFields) -> Self {
        Self([fields.0[0], 0, 0, 0])
    }
}

impl<const N: usize> Default for FieldBits<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<'a, const N: usize> FromIterator<&'a Field> for FieldBits<N> {
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
