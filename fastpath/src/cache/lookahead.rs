//! Finds the flow of a packet by the words that identify it, taken from its key or read ahead from
//! its frame.

use bofuss_datapath::engine::{Lookahead, NONE, Predicted, WORDS};
use core::iter::once;

use bofuss_frame::Frame;
use bofuss_oflib::field_set::StandardFields;
use bofuss_oflib::{Field, PortNo};
use bofuss_packet::key::KEY_WORDS;
use bofuss_packet::{Key, KeyMask, Words, parse};

use super::{Cache, FEW, Flow};
use crate::lazy_packet::FieldSets;
use crate::secret::Secret;

/// Bytes of a word.
const WORD_BYTES: usize = 8;

/// The properties that all packets from one port share before their headers are read. It is kept
/// from burst to burst, because bursts from the same port follow each other.
#[derive(Debug)]
pub(crate) struct PortArrival {
    /// The facts for which it was made: the port, the start of paths, and how often the cache's key
    /// had been widened.
    pub(crate) known_as: (PortNo, u64, u64),
    pub(crate) key: Key,
    /// The masked words of this key.
    pub(crate) words: Words<WORDS>,
}

/// The place of a field that is in no header, within the words that identify a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetPlace {
    field: &'static Field,
    /// Its bit among the fields that are present.
    present: u64,
    /// By how many bits its value is rotated to the left.
    turn: u32,
    /// The numbers of the one or two words that contain it, and its bits there that count; none in
    /// the second word if it needs only one.
    parts: [(usize, u64); 2],
}

impl SetPlace {
    /// Finds a field in the words of a mask; `None` if it is longer than a word or in the key's
    /// tail.
    fn of(field: &'static Field, mask: &KeyMask) -> Option<Self> {
        let at = usize::from(field.offset);
        let bytes = field.bytes();
        let is_standard = usize::from(field.id) < StandardFields::MAX_FIELDS;
        if !is_standard || bytes > WORD_BYTES || at + bytes > KEY_WORDS * WORD_BYTES {
            return None;
        }
        let [present] = StandardFields::of(field).words();
        let shift = 8 * (2 * WORD_BYTES - at % WORD_BYTES - bytes) as u32;
        let ones = (u128::MAX >> (u128::BITS - u32::from(field.bits))) << shift;
        let index = at / WORD_BYTES;
        let parts = [
            counted_part(mask, index, (ones >> 64) as u64),
            counted_part(mask, index + 1, ones as u64),
        ];
        Some(Self {
            field,
            present,
            turn: shift % u64::BITS,
            parts,
        })
    }

    /// Returns true if any entry reads the field's value, and not only its presence.
    fn is_read(&self) -> bool {
        let [(_, first), (_, second)] = self.parts;
        first | second != 0
    }

    /// Marks the field as present or absent.
    #[inline(always)]
    fn note(&self, words: &mut [u64; WORDS], value: Option<u64>) {
        let present = if value.is_some() { self.present } else { 0 };
        words[1] = words[1] & !self.present | present;
    }

    /// Sets the field's value, or marks it as absent.
    #[inline(always)]
    fn set(&self, words: &mut [u64; WORDS], value: Option<u64>) {
        self.note(words, value);
        let turned = value.unwrap_or(0).rotate_left(self.turn).to_be();
        let [(first, ones), (second, other_ones)] = self.parts;
        words[first] = words[first] & !ones | turned & ones;
        if other_ones != 0 {
            words[second] = words[second] & !other_ones | turned & other_ones;
        }
    }
}

/// For word `index` of a key, its number among the words that identify a flow, and which of the
/// bits `ones` count there; zeros if it is not among them.
fn counted_part(mask: &KeyMask, index: usize, ones: u64) -> (usize, u64) {
    let mut words = mask.words().iter().zip(1..);
    let found = words.find(|((other, _), _)| *other == index);
    found.map_or((0, 0), |((_, mask), number)| (number, ones.to_be() & mask))
}

impl Cache {
    /// Returns the number of words that identify a flow.
    pub(crate) fn width(&self) -> usize {
        1 + self.mask.words().len()
    }

    /// The words that identify a flow: the start of its path, and the masked words of a key.
    pub(crate) fn words(&self, start: u64, key: &Key) -> Words<WORDS> {
        let of_key = self
            .mask
            .of_key(key, &mut ())
            .expect("the key's mask needs no field to be there");
        Words::new(self.width(), once(start).chain(of_key))
    }

    /// The words as an array of [`FEW`], if there are no more.
    #[inline(always)]
    pub(crate) fn few<'a>(&self, words: &'a [u64]) -> Option<&'a [u64; FEW]> {
        words.first_chunk().filter(|_| self.width() <= FEW)
    }

    /// The hash of such words, padded with zeros.
    #[inline(always)]
    pub(crate) fn hash(&self, words: &[u64]) -> u64 {
        match self.few(words) {
            Some(few) => self.secret.hash_few(few),
            None => self.hash_many(words),
        }
    }

    #[inline(never)]
    fn hash_many(&self, words: &[u64]) -> u64 {
        self.secret.hash_slice(&words[..self.width()])
    }

    /// Reads the words of a frame, whose layout is already in the lookahead, if its headers contain
    /// all of them. `base` has the bits that come from no header. Long keys are not read ahead.
    #[inline]
    pub(crate) fn look_at(&self, bytes: &[u8], base: &Words<WORDS>, to: &mut Lookahead) {
        let Words::Few(base) = base else {
            return;
        };
        match self.few(base).zip(to.words.first_chunk_mut()) {
            Some((base, words)) => *words = *base,
            None => to.words = *base,
        }
        to.is_read = self
            .reader
            .read(bytes, &to.layout, to.common, &mut to.words);
    }

    /// As [`Self::look_at`], for keys of at most [`FEW`] words.
    #[inline(always)]
    pub(crate) fn look_at_few(&self, bytes: &[u8], base: &[u64; FEW], to: &mut Lookahead) {
        if let Some(words) = to.words.first_chunk_mut() {
            *words = *base;
        }
        to.is_read = self
            .reader
            .read(bytes, &to.layout, to.common, &mut to.words);
    }

    /// As [`Cache::prefetch`], for keys of at most [`FEW`] words.
    #[inline(always)]
    pub(crate) fn prefetch_few(&self, lookahead: &mut Lookahead) {
        if lookahead.is_read
            && let Some(words) = lookahead.words.first_chunk::<FEW>()
        {
            let hash = self.secret.hash_few(words);
            lookahead.bucket = self.index.prefetch(hash);
            lookahead.hash = Some(hash);
        }
    }

    /// Prefetches the memory that is read next to find the flow of a lookahead.
    #[inline]
    pub(crate) fn prefetch(&self, lookahead: &mut Lookahead) {
        if lookahead.is_read {
            let hash = lookahead
                .hash
                .unwrap_or_else(|| self.hash(&lookahead.words));
            lookahead.bucket = self.index.prefetch(hash);
            lookahead.hash = Some(hash);
        }
    }

    /// Sets fields that are in no header in the words of a lookahead. Returns false if these words
    /// have no place for one of them.
    #[inline]
    pub(crate) fn set_fields(&mut self, to: &mut Lookahead, sets: &FieldSets) -> bool {
        to.hash = None;
        for (number, (field, value)) in sets.iter().enumerate() {
            if self
                .places
                .get(number)
                .is_none_or(|place| place.field != *field)
            {
                self.places.truncate(number);
                let Some(place) = SetPlace::of(field, &self.mask) else {
                    return false;
                };
                self.places.push(place);
            }
            // A field with a place has at most the bits of a word.
            self.places[number].set(&mut to.words, value.map(|value| value as u64));
        }
        to.hash = Some(self.hash(&to.words));
        true
    }

    /// Reads the words of frames, whose layouts are already in the lookaheads, with the field
    /// values that hooks predict, and prefetches what is read next to find their flows. `base` has
    /// the bits that come from no header.
    pub(crate) fn predict(
        &self,
        frames: &[Frame],
        base: &Words<WORDS>,
        predicted: &Predicted,
        lookaheads: &mut [Lookahead],
    ) {
        let Some(base) = self.predict_same(base, predicted) else {
            return;
        };
        for (number, (frame, lookahead)) in frames.iter().zip(&mut *lookaheads).enumerate() {
            lookahead.number = Some(number);
            self.look_at(frame.bytes(), &base, lookahead);
        }
        for (field, values) in predicted.columns() {
            let both = lookaheads.iter_mut().zip(values);
            match SetPlace::of(field, &self.mask) {
                Some(place) if place.is_read() => {
                    both.for_each(|(one, value)| place.set(&mut one.words, *value));
                }
                Some(place) => {
                    both.for_each(|(one, value)| place.note(&mut one.words, *value));
                }
                None => both.for_each(|(one, _)| one.is_read = false),
            }
        }
        let is_few = self.width() <= FEW;
        for lookahead in lookaheads {
            if is_few {
                self.prefetch_few(lookahead);
            } else {
                self.prefetch(lookahead);
            }
        }
    }

    /// The base words with the values that hooks predict for all packets; `None` if they have no
    /// place for one of the fields.
    fn predict_same(&self, base: &Words<WORDS>, predicted: &Predicted) -> Option<Words<WORDS>> {
        let Words::Few(mut words) = *base else {
            return None;
        };
        for (field, value) in &predicted.same {
            SetPlace::of(field, &self.mask)?.set(&mut words, *value);
        }
        Some(Words::Few(words))
    }

    /// Returns true if a lookahead, if there is one, has the same words and hash as the whole key;
    /// `key` is the key without the headers' fields. All tests check this, in release builds, too.
    pub(crate) fn is_exact(&self, lookahead: &Lookahead, frame: &Frame, key: &Key) -> bool {
        let mut key = key.clone();
        let mut layout = lookahead.layout;
        parse(frame.bytes(), &mut key, &mut layout);
        let words = self.words(lookahead.words[0], &key);
        lookahead.hash.is_none_or(|hash| {
            hash == self.hash(words.padded())
                && lookahead.words[..self.width()] == *words.get(self.width())
        })
    }

    /// Guesses the flows of the frames of a burst, and prefetches them.
    #[inline]
    pub(crate) fn guess_all(&mut self, lookaheads: &mut [Lookahead]) {
        for lookahead in &mut *lookaheads {
            self.guess(lookahead);
        }
        if core::mem::take(&mut self.renews) {
            let known = lookaheads
                .iter()
                .filter(|lookahead| lookahead.hash.is_some());
            known.for_each(|one| self.versions.prefetch(&one.words, &self.secret));
        }
    }

    /// Guesses the flow of a lookahead, and prefetches it.
    #[inline]
    pub(crate) fn guess(&self, lookahead: &mut Lookahead) {
        lookahead.guess = NONE;
        if let Some(hash) = lookahead.hash {
            lookahead.guess = self.index.guess(lookahead.bucket, hash);
            self.flows.prefetch(lookahead.guess);
        }
    }

    /// The guessed flow of a lookahead, if it is known to be right.
    #[inline(always)]
    pub(crate) fn flow(&mut self, lookahead: &mut Lookahead) -> Option<&mut Flow> {
        let hash = lookahead.hash?;
        let guessed = self.flows.get(lookahead.guess);
        let is_known = guessed
            .is_some_and(|flow| is_of(flow, &lookahead.words) && flow.checked == self.changes);
        if !is_known && !self.finds(hash, lookahead) {
            return None;
        }
        self.flows.get_mut(lookahead.guess)
    }

    /// Looks up the flow of a lookahead whose guess was wrong or out of date. Returns true if a
    /// flow was found that no change concerns.
    #[inline(never)]
    fn finds(&mut self, hash: u64, lookahead: &mut Lookahead) -> bool {
        let guess = lookahead.guess;
        let words = &lookahead.words;
        let is_guessed = self.flows.get(guess).is_some_and(|flow| is_of(flow, words));
        let found = if is_guessed {
            Some(guess)
        } else {
            self.find(hash, words)
        };
        let Some(slot) = found else {
            return false;
        };
        lookahead.guess = slot;
        self.is_current(slot) || self.renew(slot, words)
    }

    /// The cached flow with these words, if there is one; it may be out of date.
    pub(crate) fn find(&self, hash: u64, words: &[u64]) -> Option<u32> {
        self.index
            .find(hash, |slot| is_of(&self.flows[slot], words))
    }
}

/// The hash of a stored key.
pub(super) fn hash_stored(secret: &Secret, key: &Words<FEW>) -> u64 {
    match key {
        Words::Few(words) => secret.hash_few(words),
        Words::Many(words) => secret.hash_slice(words),
    }
}

/// Returns true if a flow has these words, padded with zeros.
#[inline]
fn is_of(flow: &Flow, words: &[u64]) -> bool {
    match (&flow.key, words.first_chunk::<FEW>()) {
        (Words::Few(few), Some(words)) => {
            let mut differing = 0;
            for (one, other) in few.iter().zip(words) {
                differing |= one ^ other;
            }
            differing == 0
        }
        (Words::Many(many), _) => words.get(..many.len()) == Some(many),
        (Words::Few(_), None) => false,
    }
}
