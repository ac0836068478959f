//! Match keys, matches compiled to the words of a key, and the log of what was read of a key.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use bofuss_oflib::field::{FIELDS, Field, KEY_BYTES};
use bofuss_oflib::{Catalogue, FieldMatch, Match};

/// The 64-bit words of a key.
pub const KEY_WORDS: usize = KEY_BYTES / 8;

/// Hears what is read of a key: whoever records a decision must know all that it depends on.
pub trait ReadLog {
    /// Presence and value of these fields were read; bit n stands for the field with id n.
    fn read(&mut self, fields: u64);
}

/// Logs nothing, at no cost.
impl ReadLog for () {
    fn read(&mut self, _: u64) {}
}

/// Collects the fields read.
impl ReadLog for u64 {
    fn read(&mut self, fields: u64) {
        *self |= fields;
    }
}

/// What OpenFlow can match of one packet.
///
/// Shape: presence bits by field id, in the first 8 bytes, then values as in OXM, each at its
/// field's offset. Invariant: the value of an absent field is zero. Its contents can be read only
/// through methods that take a [`ReadLog`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(align(8))]
pub struct Key {
    pub(crate) bytes: [u8; KEY_BYTES],
}

impl Key {
    /// No field is present.
    pub const EMPTY: Self = Self {
        bytes: [0; KEY_BYTES],
    };

    /// Gives `field` the low bits of `value` that its width holds.
    #[inline]
    pub fn set(&mut self, field: &Field, value: u128) {
        let (at, bytes) = (usize::from(field.offset), field.bytes());
        let value = value & (u128::MAX >> (128 - field.bits));
        self.bytes[at..at + bytes].copy_from_slice(&value.to_be_bytes()[16 - bytes..]);
        self.add_present(1 << field.id);
    }

    /// Makes `field` absent.
    pub fn clear(&mut self, field: &Field) {
        let at = usize::from(field.offset);
        self.bytes[at..at + field.bytes()].fill(0);
        let present = self.word(0) & !(1 << field.id);
        self.bytes[..8].copy_from_slice(&present.to_ne_bytes());
    }

    /// The value of `field`, if present.
    #[inline]
    pub fn get(&self, field: &Field, log: &mut impl ReadLog) -> Option<u128> {
        log.read(1 << field.id);
        if self.word(0) >> field.id & 1 == 0 {
            return None;
        }
        let (at, bytes) = (usize::from(field.offset), field.bytes());
        let mut value = [0; 16];
        value[16 - bytes..].copy_from_slice(&self.bytes[at..at + bytes]);
        Some(u128::from_be_bytes(value))
    }

    /// Whether a packet with this key is one that `rule` is for.
    #[inline]
    pub fn matches(&self, rule: &KeyMatch, log: &mut impl ReadLog) -> bool {
        log.read(rule.fields());
        rule.words
            .iter()
            .all(|one| (self.word(one.index) ^ one.value) & one.mask == 0)
    }

    /// Whether the key has this value of one field, where its mask has ones.
    pub fn has(&self, one: &FieldMatch, log: &mut impl ReadLog) -> bool {
        let value = self.get(one.field, log);
        value.is_some_and(|value| value & one.mask_number() == one.number())
    }

    /// The match that exactly these values meet, as far as their prerequisites are met.
    pub fn to_match(&self, catalogue: &Catalogue) -> Match {
        let present =
            |field: &&'static Field| Some(FieldMatch::exact(field, self.get(field, &mut ())?));
        let mut fields: Vec<_> = catalogue.fields().iter().filter_map(present).collect();
        loop {
            match Match::new(&fields) {
                Ok(found) => return found,
                Err((_, fault)) => fields.retain(|one| one.field != fault),
            }
        }
    }

    /// All words of the key, presence bits first.
    #[inline]
    pub fn words(&self, log: &mut impl ReadLog) -> [u64; KEY_WORDS] {
        log.read(u64::MAX);
        core::array::from_fn(|i| self.word(i))
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        u64::from_ne_bytes(self.bytes.as_chunks::<8>().0[index])
    }

    /// Marks fields as present whose values stand already.
    #[inline]
    pub(crate) fn add_present(&mut self, fields: u64) {
        let present = self.word(0) | fields;
        self.bytes[..8].copy_from_slice(&present.to_ne_bytes());
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let present = FIELDS
            .iter()
            .filter_map(|field| Some((field.name, self.get(field, &mut ())?)));
        f.debug_map().entries(present).finish()
    }
}

/// One word of a compiled match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MatchWord {
    index: usize,
    value: u64,
    mask: u64,
}

/// A match compiled to the words of a key: only those words in which a bit counts.
///
/// Equality is that of the strict flow-mod commands: the same fields, values and masks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyMatch {
    /// Ascending by index; no bit of a value outside its mask. Invariant: word 0, if any, first.
    words: Box<[MatchWord]>,
}

impl From<&Match> for KeyMatch {
    fn from(rule: &Match) -> Self {
        let (mut value, mut mask) = (Key::EMPTY, Key::EMPTY);
        for one in rule.fields() {
            value.set(one.field, one.number());
            mask.set(one.field, one.mask_number());
        }
        let words = (0..KEY_WORDS).map(|index| MatchWord {
            index,
            value: value.word(index),
            mask: mask.word(index),
        });
        Self {
            words: words.filter(|one| one.mask != 0).collect(),
        }
    }
}

impl KeyMatch {
    /// The fields that the match reads; bit n stands for the field with id n.
    #[inline]
    pub fn fields(&self) -> u64 {
        self.words.first().map_or(0, |one| one.mask)
    }

    /// Whether all packets of `other` are packets of this match, as in the non-strict flow-mod
    /// commands:
    /// `other` has every field of this match, with every bit of its mask and the same value there.
    pub fn covers(&self, other: &Self) -> bool {
        self.words.iter().all(|one| {
            let (value, mask) = other.word(one.index);
            one.mask & !mask == 0 && (one.value ^ value) & one.mask == 0
        })
    }

    /// Whether some packet may be one of both matches.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.words.iter().all(|one| {
            let (value, mask) = other.word(one.index);
            (one.value ^ value) & one.mask & mask == 0
        })
    }

    /// Value and mask of a word.
    fn word(&self, index: usize) -> (u64, u64) {
        let found = self.words.iter().find(|one| one.index == index);
        found.map_or((0, 0), |one| (one.value, one.mask))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bofuss_oflib::field::*;

    fn rule(fields: &[FieldMatch]) -> KeyMatch {
        KeyMatch::from(&Match::new(fields).expect("prerequisites are there"))
    }

    #[test]
    fn every_field_keeps_its_own_value() {
        let mut key = Key::EMPTY;
        for (i, field) in FIELDS.iter().enumerate() {
            key.set(field, i as u128 + 1);
        }
        for (i, field) in FIELDS.iter().enumerate() {
            let ones = u128::MAX >> (128 - field.bits);
            assert_eq!(key.get(field, &mut ()), Some((i as u128 + 1) & ones));
        }
        for field in &FIELDS {
            key.clear(field);
            assert_eq!(key.get(field, &mut ()), None);
        }
        assert_eq!(key, Key::EMPTY);
    }

    // I5
    #[test]
    fn what_is_read_is_logged() {
        let mut log = 0u64;
        let key = Key::EMPTY;
        key.get(ETH_SRC, &mut log);
        assert_eq!(log, 1 << ETH_SRC.id);
        key.matches(&rule(&[FieldMatch::exact(IN_PORT, 1)]), &mut log);
        assert_eq!(log, 1 << ETH_SRC.id | 1 << IN_PORT.id);
    }

    #[test]
    fn an_absent_field_is_not_zero() {
        let mut key = Key::EMPTY;
        let zero = rule(&[FieldMatch::exact(METADATA, 0)]);
        assert!(!key.matches(&zero, &mut ()));
        key.set(METADATA, 0);
        assert!(key.matches(&zero, &mut ()));
        assert!(key.matches(&rule(&[]), &mut ()));
    }

    #[test]
    fn covers_and_overlaps_follow_values_and_masks() {
        let ip = FieldMatch::exact(ETH_TYPE, 0x0800);
        let net = |value, mask| rule(&[ip, FieldMatch::masked(IPV4_DST, value, mask)]);
        let (ten, ten_one) = (net(0x0a00_0000, 0xff00_0000), net(0x0a01_0000, 0xffff_0000));
        let last = net(0x0000_0005, 0x0000_00ff);
        assert!(ten.covers(&ten_one) && !ten_one.covers(&ten));
        assert!(ten.overlaps(&ten_one) && ten_one.overlaps(&ten));
        assert!(ten.overlaps(&last) && !ten.covers(&last));
        assert!(!ten.overlaps(&net(0x0b00_0000, 0xff00_0000)));
        assert!(rule(&[]).covers(&ten) && rule(&[]).overlaps(&ten));
        assert!(!ten.covers(&rule(&[])));
        assert_eq!(ten, net(0x0aff_ffff, 0xff00_0000));
    }
}
