//! Keys of tables as bits that are masked, hashed and compared at once.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::int::Int;
use crate::program::KeyPart;

/// The parts of a key one after the other, each padded with zeros in front to whole bytes. Keys of
/// up to 16 bytes are a machine word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Bits {
    Word(u128),
    Bytes(Box<[u8]>),
}

impl Bits {
    /// The same as bytes of network order.
    pub fn new(bytes: &[u8]) -> Self {
        if bytes.len() > size_of::<u128>() {
            return Self::Bytes(bytes.into());
        }
        let word = bytes.iter().fold(0, |w, byte| w << 8 | u128::from(*byte));
        Self::Word(word)
    }

    /// Makes it the bits that both `key` and `mask` have, which are as long.
    #[inline]
    fn set_masked(&mut self, key: &Self, mask: &Self) {
        match (self, key, mask) {
            (Self::Bytes(to), Self::Bytes(key), Self::Bytes(mask)) if to.len() == key.len() => {
                let pairs = key.iter().zip(mask);
                for (to, (key, mask)) in to.iter_mut().zip(pairs) {
                    *to = key & mask;
                }
            }
            (to, Self::Word(key), Self::Word(mask)) => *to = Self::Word(key & mask),
            (to, key, mask) => {
                // The first of this length.
                *to = key.clone();
                if let (Self::Bytes(_), Self::Bytes(_)) = (key, mask) {
                    to.set_masked(key, mask);
                }
            }
        }
    }
}

/// The key that a packet has for a table, in memory that is used again.
#[derive(Clone, Debug)]
pub struct Key {
    bits: Bits,
    masked: Bits,
    /// What ranges are compared with, for tables that have some.
    pub values: Vec<Int>,
}

impl Default for Key {
    fn default() -> Self {
        Self {
            bits: Bits::Word(0),
            masked: Bits::Word(0),
            values: Vec::new(),
        }
    }
}

impl Key {
    /// Begins a key of these parts.
    pub fn begin(&mut self, parts: &[KeyPart]) {
        self.values.clear();
        let bytes = parts.iter().map(|part| part.width.div_ceil(8) as usize);
        let count = bytes.sum::<usize>();
        if count <= size_of::<u128>() {
            self.bits = Bits::Word(0);
            return;
        }
        // All of it will be overwritten.
        let has_place = matches!(&self.bits, Bits::Bytes(bytes) if bytes.len() == count);
        if !has_place {
            self.bits = Bits::Bytes(alloc::vec![0; count].into());
        }
    }

    /// Appends a part that has the lowest `width` bits of `value`, of 1 to 64, from the byte `at`
    /// on. Returns where the next part begins.
    #[inline]
    pub fn push_word(&mut self, value: u64, width: u32, at: usize) -> usize {
        let value = value << (64 - width) >> (64 - width);
        let count = width.div_ceil(8) as usize;
        match &mut self.bits {
            Bits::Word(word) => *word = *word << (count * 8) | u128::from(value),
            Bits::Bytes(bytes) => {
                bytes[at..at + count].copy_from_slice(&value.to_be_bytes()[8 - count..]);
            }
        }
        at + count
    }

    /// The same for any width.
    pub fn push(&mut self, value: &Int, width: u32, mut at: usize) -> usize {
        let count = width.div_ceil(8);
        for place in (0..count).rev() {
            let byte = value.shr(&Int::from(place * 8)).wrapped(width - place * 8);
            at = self.push_word(byte.low(), 8, at);
        }
        at
    }

    /// The bits of the key that `mask` has, which [`Self::masked`] gives from now on.
    #[inline]
    pub fn mask(&mut self, mask: &Bits) -> &Bits {
        self.masked.set_masked(&self.bits, mask);
        &self.masked
    }

    /// What [`Self::mask`] made.
    #[inline]
    pub fn masked(&self) -> &Bits {
        &self.masked
    }

    /// Whether the bits that `mask` has are `wanted`. All are as long as the key.
    #[inline]
    pub fn has(&self, mask: &Bits, wanted: &Bits) -> bool {
        match (&self.bits, mask, wanted) {
            (Bits::Word(key), Bits::Word(mask), Bits::Word(wanted)) => key & mask == *wanted,
            (Bits::Bytes(key), Bits::Bytes(mask), Bits::Bytes(wanted)) => {
                let mut bytes = key.iter().zip(mask).zip(wanted);
                bytes.all(|((key, mask), wanted)| key & mask == *wanted)
            }
            (Bits::Word(_) | Bits::Bytes(_), _, _) => false,
        }
    }

    /// The same for a key of at most 16 bytes.
    #[inline]
    pub fn has_word(&self, mask: u128, wanted: u128) -> bool {
        matches!(&self.bits, Bits::Word(key) if key & mask == wanted)
    }

    /// The `width` bits, of 0 to 64, which end `end` whole bytes before the end of the key.
    #[inline]
    pub fn word(&self, end: usize, width: u32) -> u64 {
        let all = match &self.bits {
            Bits::Word(word) => (*word >> (end * 8)) as u64,
            Bits::Bytes(bytes) => {
                let last = bytes[..bytes.len() - end].iter().rev().take(8).rev();
                last.fold(0, |word, byte| word << 8 | u64::from(*byte))
            }
        };
        all & u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_key_is_read_with_as_many_bits_as_it_has() {
        let mut key = Key::default();
        key.push_word(0x123, 9, 0);
        key.push_word(0x4f, 7, 2);
        for (end, width, wanted) in [(0, 7, 0x4f), (1, 9, 0x123), (1, 64, 0x123), (1, 0, 0)] {
            assert_eq!(key.word(end, width), wanted, "{width} bits");
        }
    }
}
