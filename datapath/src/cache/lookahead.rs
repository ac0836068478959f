//! Words that tell a flow: of a key, or glimpsed in a frame of which no more is read, and the flow.

use core::iter::once;

use bofuss_frame::Frame;
use bofuss_oflib::Field;
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field_set::StandardFields;
use bofuss_packet::key::KEY_WORDS;
use bofuss_packet::{Key, Layout, Words, parse};

use super::key_reader::WORDS;
use super::{Cache, FEW, Flow};
use crate::lazy_packet::FieldSets;
use crate::slab::NONE;

/// Bytes of a word.
const WORD_BYTES: usize = 8;

/// What is read of a frame to find its flow.
#[derive(Debug)]
pub(crate) struct Lookahead {
    pub(crate) layout: Layout,
    /// Where its path starts, and the words of its key that count. Behind them, zeros up to `FEW`.
    words: [u64; WORDS],
    /// Whether they are known, but for what hooks set.
    pub(crate) is_read: bool,
    /// Their hash; none if they are not known.
    hash: Option<u64>,
    /// The flow that it most likely is of.
    pub(crate) guess: u32,
}

impl Lookahead {
    /// Of nothing, with what a catalogue has added to look for.
    pub(crate) fn seeking(additions: &'static Additions) -> Self {
        Self {
            layout: Layout::seeking(additions),
            words: [0; WORDS],
            is_read: false,
            hash: None,
            guess: NONE,
        }
    }

    /// Forgets all but the layout.
    pub(crate) fn clear(&mut self) {
        (self.is_read, self.hash, self.guess) = (false, None, NONE);
    }
}

impl Cache {
    /// How many words tell a flow.
    pub(crate) fn width(&self) -> usize {
        1 + self.mask.words().len()
    }

    /// Where a path starts, and the words of a key that count.
    pub(crate) fn words(&self, start: u64, key: &Key) -> Words<WORDS> {
        let of_key = self.mask.of_key(key, &mut ());
        let of_key = of_key.expect("the key's mask needs no field to be there");
        Words::new(self.width(), once(start).chain(of_key))
    }

    /// The first of these words, if they are all.
    #[inline(always)]
    fn few<'a>(&self, words: &'a [u64]) -> Option<&'a [u64; FEW]> {
        words.first_chunk().filter(|_| self.width() <= FEW)
    }

    /// The hash of such words, padded.
    #[inline]
    pub(crate) fn hash(&self, words: &[u64]) -> u64 {
        if let Some(few) = self.few(words) {
            return self.secret.hash_few(few);
        }
        let (start, others) = words[..self.width()].split_first().expect("a start");
        self.secret.hash(*start, others.iter().copied())
    }

    /// Reads the words of a frame whose layout the lookahead has already, if its headers have them
    /// all. `base` are the words without what headers say. Those of long keys are not read ahead.
    #[inline]
    pub(crate) fn look_at(&self, bytes: &[u8], base: &Words<WORDS>, to: &mut Lookahead) {
        let Words::Few(base) = base else {
            return;
        };
        match self.few(base).zip(to.words.first_chunk_mut()) {
            Some((base, words)) => *words = *base,
            None => to.words = *base,
        }
        to.is_read = self.reader.read(bytes, &to.layout, &mut to.words);
    }

    /// Prefetches what is read next to find the flow of a lookahead.
    #[inline]
    pub(crate) fn prefetch(&self, lookahead: &mut Lookahead) {
        if lookahead.is_read {
            let hash = self.hash(&lookahead.words);
            self.index.prefetch(hash);
            lookahead.hash = Some(hash);
        }
    }

    /// Gives fields that stand in no header other values in the words of a lookahead. False if the
    /// words that are read ahead have no place for one.
    #[inline]
    pub(crate) fn set_fields(&self, to: &mut Lookahead, sets: &FieldSets) -> bool {
        let all = sets.iter();
        let all_set = all.fold(true, |all, (field, value)| {
            all & self.set_field(&mut to.words, field, *value)
        });
        to.hash = all_set.then(|| self.hash(&to.words));
        all_set
    }

    #[inline]
    fn set_field(&self, words: &mut [u64; WORDS], field: &Field, value: Option<u128>) -> bool {
        let (at, bytes) = (usize::from(field.offset), field.bytes());
        let is_standard = usize::from(field.id) < StandardFields::MAX_FIELDS;
        if !is_standard || bytes > WORD_BYTES || at + bytes > KEY_WORDS * WORD_BYTES {
            return false;
        }
        let [present] = StandardFields::of(field).words();
        words[1] &= !present;
        if value.is_some() {
            words[1] |= present;
        }
        // Its bytes stand in one word or in two that follow each other.
        let shift = 8 * (2 * WORD_BYTES - at % WORD_BYTES - bytes);
        let ones = (u128::MAX >> (u128::BITS - u32::from(field.bits))) << shift;
        let bits = value.unwrap_or(0) << shift & ones;
        let halves = [(ones >> 64, bits >> 64), (ones, bits)];
        for ((ones, bits), number) in halves.into_iter().zip(at / WORD_BYTES..) {
            let mut places = self.mask.words().iter().zip(&mut words[1..]);
            if let Some(((_, mask), word)) = places.find(|((index, _), _)| *index == number) {
                *word = *word & !(ones as u64).to_be() | (bits as u64).to_be() & mask;
            }
        }
        true
    }

    /// Whether a lookahead, if there is one, has the words and the hash of the whole key; `key` is
    /// that without what headers say. Checked in every test, those built for release included.
    pub(crate) fn is_exact(&self, lookahead: &Lookahead, frame: &Frame, key: &Key) -> bool {
        let (mut key, mut layout) = (key.clone(), lookahead.layout);
        parse(frame.bytes(), &mut key, &mut layout);
        let words = self.words(lookahead.words[0], &key);
        let is_right = |hash| {
            hash == self.hash(words.padded())
                && lookahead.words[..self.width()] == *words.get(self.width())
        };
        lookahead.hash.is_none_or(is_right)
    }

    /// Guesses the flow of a lookahead, and has it brought near.
    #[inline]
    pub(crate) fn guess(&self, lookahead: &mut Lookahead) {
        if let Some(hash) = lookahead.hash {
            lookahead.guess = self.index.guess(hash);
            self.flows.prefetch(lookahead.guess);
        }
    }

    /// The flow of a lookahead, if it is known to be right; then it is as guessed.
    #[inline]
    pub(crate) fn flow(&mut self, lookahead: &mut Lookahead) -> Option<&mut Flow> {
        let (words, guess) = (&lookahead.words, lookahead.guess);
        let hash = lookahead.hash?;
        if !self.flows.get(guess).is_some_and(|flow| is_of(flow, words)) {
            lookahead.guess = self.find(hash, words)?;
        }
        let flow = self.flows.get_mut(lookahead.guess);
        flow.filter(|flow| flow.checked == self.changes)
    }

    /// The flow that has these words, if it is known; it may be out of date.
    pub(crate) fn find(&self, hash: u64, words: &[u64]) -> Option<u32> {
        self.index
            .find(hash, |slot| is_of(&self.flows[slot], words))
    }
}

/// Whether a flow is that of these words, padded.
#[inline]
fn is_of(flow: &Flow, words: &[u64]) -> bool {
    match (&flow.key, words.first_chunk::<FEW>()) {
        (Words::Few(few), Some(words)) => {
            let differ = few.iter().zip(words).map(|(a, b)| a ^ b);
            differ.fold(0, |all, one| all | one) == 0
        }
        (Words::Many(many), _) => words.get(..many.len()) == Some(many),
        (Words::Few(_), None) => false,
    }
}
