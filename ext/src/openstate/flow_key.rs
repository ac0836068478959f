//! The keys of flows, as words that are quickly compared and hashed.

use core::hash::{Hash, Hasher};

/// Bytes that a key has at most.
pub const MAX_KEY_BYTES: usize = 48;

/// The key of a flow, followed by zero bytes, as little-endian words.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowKey([u64; MAX_KEY_BYTES / 8]);

/// Without a branch or a call: keys are compared for each packet.
impl PartialEq for FlowKey {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let mut differ = 0;
        for (one, other) in self.0.iter().zip(&other.0) {
            differ |= one ^ other;
        }
        differ == 0
    }
}
impl Eq for FlowKey {}

/// Word by word: a hasher takes a word in a few instructions. Most keys have no more than two.
impl Hash for FlowKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [first, second, others @ ..] = self.0;
        state.write_u64(first);
        state.write_u64(second);
        if others != [0; 4] {
            others.iter().for_each(|word| state.write_u64(*word));
        }
    }
}

impl FlowKey {
    /// Replaces the 16 bytes of a part, the lowest first.
    #[inline]
    pub(super) fn set_part(&mut self, number: usize, part: u128) {
        self.0[2 * number] = part as u64;
        self.0[2 * number + 1] = (part >> 64) as u64;
    }

    /// Its words.
    #[inline]
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }

    /// The key of these bytes; the first [`MAX_KEY_BYTES`] of them count.
    pub fn new(bytes: &[u8]) -> Self {
        let mut padded = [0; MAX_KEY_BYTES];
        let length = bytes.len().min(MAX_KEY_BYTES);
        padded[..length].copy_from_slice(&bytes[..length]);
        let (words, _) = padded.as_chunks::<8>();
        Self(core::array::from_fn(|i| u64::from_le_bytes(words[i])))
    }

    /// Its bytes, with the zero bytes after them.
    pub fn bytes(&self) -> [u8; MAX_KEY_BYTES] {
        let mut bytes = [0; MAX_KEY_BYTES];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
            *to = word.to_le_bytes();
        }
        bytes
    }
}
