//! Keys and matches under a mask: the words by which a flow cache and a classifier look them up.

use alloc::boxed::Box;

use bofuss_oflib::{Field, FieldSet};

use super::{KeyMask, KeyMatch, Words};
use crate::key::{Key, ReadLog, present_index};

impl KeyMask {
    /// The mask under which the values of all of these fields count, and whether they are present;
    /// of the specification's fields, whether each is present. None has to be.
    ///
    /// All bits of the first word count, so that it also tells which facts hold.
    pub fn whole<'a>(fields: impl Iterator<Item = &'a Field>) -> Self {
        let mut ones = Key::EMPTY;
        ones.set_word(present_index(0), u64::MAX);
        for field in fields {
            ones.set(field, u128::MAX);
        }
        let words = (0..ones.len()).map(|index| (index, ones.word(index)));
        Self::new(
            FieldSet::EMPTY,
            words.filter(|(_, mask)| *mask != 0).collect(),
        )
    }

    /// The mask of these words, index and bits, for keys that have these fields.
    pub fn new(fields: FieldSet, words: Box<[(usize, u64)]>) -> Self {
        Self { fields, words }
    }

    /// Returns true if every bit that counts here counts in `other`.
    pub fn is_within(&self, other: &Self) -> bool {
        let mut words = self.words.iter();
        other.fields.is_superset(self.fields)
            && words.all(|(index, mask)| mask & !other.word(*index) == 0)
    }

    /// The bits of a key that count, word by word; nothing if the key lacks a field.
    ///
    /// Two keys that give the same words agree in all that the mask covers, so that the words can
    /// be the key of a hash table.
    #[inline]
    pub fn of_key<'a, L: ReadLog>(
        &'a self,
        key: &'a Key,
        log: &mut L,
    ) -> Option<impl Iterator<Item = u64> + Clone + use<'a, L>> {
        log.read(self.fields);
        key.has_standard(self.fields).then(|| {
            self.words
                .iter()
                .map(|(index, mask)| key.word(*index) & mask)
        })
    }

    /// The same of a match.
    ///
    /// The words are those that [`of_key`](Self::of_key) gives for each key of the match, if this
    /// mask is within that of the match.
    pub fn of_match<'a>(&'a self, rule: &'a KeyMatch) -> impl Iterator<Item = u64> + Clone + 'a {
        self.words
            .iter()
            .map(|(index, mask)| rule.word(*index).0 & mask)
    }

    /// Returns true if a match and a key agree in the bits that count.
    ///
    /// It reads without a log: the caller has logged the fields of this mask.
    #[inline]
    pub fn agree(&self, rule: &KeyMatch, key: &Key) -> bool {
        // The usual case: entries with the same mask share it, so that their own words suffice.
        if core::ptr::eq(self, &*rule.mask) {
            return key.matches(rule, &mut ());
        }
        self.words
            .iter()
            .all(|(i, mask)| (rule.word(*i).0 ^ key.word(*i)) & mask == 0)
    }

    fn word(&self, index: usize) -> u64 {
        let found = self.words.iter().find(|(i, _)| *i == index);
        found.map_or(0, |(_, mask)| *mask)
    }
}

impl<const FEW: usize> Words<FEW> {
    /// The words; those in place are followed by zeros.
    #[inline]
    pub fn padded(&self) -> &[u64] {
        match self {
            Self::Few(few) => few,
            Self::Many(many) => many,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bofuss_oflib::field::*;
    use bofuss_oflib::{FieldMatch, Match};

    fn rule(fields: &[FieldMatch]) -> KeyMatch {
        KeyMatch::from(&Match::new(fields).expect("prerequisites are there"))
    }

    #[test]
    fn a_mask_takes_the_bits_that_count() {
        let ip = FieldMatch::exact(ETH_TYPE, 0x0800);
        let net = |bits: u32| FieldMatch::masked(IPV4_DST, 0x0a01_0203, u128::from(!0u32 << bits));
        let (wide, narrow) = (rule(&[ip, net(12)]), rule(&[ip, net(8)]));
        assert!(wide.mask().is_within(narrow.mask()) && !narrow.mask().is_within(wide.mask()));
        let coarse = KeyMask::new(FieldSet::EMPTY, [wide.mask().words()[0]].into());
        assert!(coarse.is_within(wide.mask()));
        let mut key = Key::EMPTY;
        assert!(wide.mask().of_key(&key, &mut ()).is_none(), "no such field");
        key.set(ETH_TYPE, 0x0800);
        key.set(IPV4_DST, 0x0a01_0fff);
        let of_key = wide
            .mask()
            .of_key(&key, &mut ())
            .expect("the fields are there");
        assert!(of_key.eq(wide.mask().of_match(&wide)));
        assert!(coarse.of_match(&wide).eq(coarse.of_match(&narrow)));
    }
}
