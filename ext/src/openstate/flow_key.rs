//! The keys of flows, as words: these are compared and hashed in a few instructions.

use core::hash::{Hash, Hasher};

use bofuss_datapath::NOTE_WORDS;

/// The most bytes of a key, as in the reference switches.
pub const MAX_KEY_BYTES: usize = 48;

/// The key of a flow as little-endian words, filled up with zero bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowKey([u64; MAX_KEY_BYTES / 8]);

/// Compares without a branch or a call, as this is done for each packet.
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

/// Hashes word by word, and leaves out the words after the second if they are all zero, as in most
/// keys.
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
    /// Its words.
    pub(super) fn words(&self) -> [u64; NOTE_WORDS] {
        self.0
    }

    /// The key of these words.
    pub(super) fn of_words(words: [u64; NOTE_WORDS]) -> Self {
        Self(words)
    }

    /// Its words, to be changed.
    #[inline]
    pub(super) fn words_mut(&mut self) -> &mut [u64; MAX_KEY_BYTES / 8] {
        &mut self.0
    }

    /// The key of these bytes. Those after the first [`MAX_KEY_BYTES`] are ignored.
    pub fn new(bytes: &[u8]) -> Self {
        let mut padded = [0; MAX_KEY_BYTES];
        let length = bytes.len().min(MAX_KEY_BYTES);
        padded[..length].copy_from_slice(&bytes[..length]);
        let word = |i: usize| padded[8 * i..].first_chunk().map_or([0; 8], |word| *word);
        Self(core::array::from_fn(|i| u64::from_le_bytes(word(i))))
    }

    /// Its bytes, filled up with zero bytes.
    pub fn bytes(&self) -> [u8; MAX_KEY_BYTES] {
        let mut bytes = [0; MAX_KEY_BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}
