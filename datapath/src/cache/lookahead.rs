//! From the words that tell a flow, of a key or glimpsed in a frame, to the flow.

use core::iter::once;

use bofuss_frame::Frame;
use bofuss_oflib::field_set::StandardFields;
use bofuss_oflib::{Field, PortNo};
use bofuss_packet::key::KEY_WORDS;
use bofuss_packet::{Key, KeyMask, Words, parse};

use super::{Cache, FEW, Flow};
use crate::lazy_packet::FieldSets;
use crate::slab::NONE;
use crate::tables::tag_table::Secret;
use crate::upcoming::{Foreseen, Lookahead, WORDS};

/// Bytes of a word.
const WORD_BYTES: usize = 8;

/// With what packets that come in through a port begin, before their headers are read. It is kept,
/// as bursts of the same port follow each other.
#[derive(Debug)]
pub(crate) struct PortArrival {
    /// The port, where paths start, and how often the cache's key became wider.
    pub(crate) known_as: (PortNo, u64, u64),
    pub(crate) key: Key,
    /// The words of this key that count.
    pub(crate) words: Words<WORDS>,
}

/// Where a field that stands in no header has its place in the words that tell a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetPlace {
    field: &'static Field,
    /// Its bit among the fields that are present.
    present: u64,
    /// The bits by which its value is turned to the left.
    turn: u32,
    /// The numbers of these words, as they follow each other, and the bits there that count: none
    /// if it has no place in the second one.
    parts: [(usize, u64); 2],
}

impl SetPlace {
    /// That of a field in the words of a mask. `None` if it is longer than a word, or stands in
    /// the tail.
    fn of(field: &'static Field, mask: &KeyMask) -> Option<Self> {
        let (at, bytes) = (usize::from(field.offset), field.bytes());
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

    /// Whether an entry reads more of the field than that it is there.
    fn is_read(&self) -> bool {
        let [(_, first), (_, second)] = self.parts;
        first | second != 0
    }

    /// Makes the field present or absent.
    #[inline(always)]
    fn note(&self, words: &mut [u64; WORDS], value: Option<u64>) {
        let present = if value.is_some() { self.present } else { 0 };
        words[1] = words[1] & !self.present | present;
    }

    /// Gives the field a value, or makes it absent.
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

/// The number, among the words that tell a flow, of word `index` of a key, and which of these bits
/// count there; zeros if it is none of them.
fn counted_part(mask: &KeyMask, index: usize, ones: u64) -> (usize, u64) {
    let mut words = mask.words().iter().zip(1..);
    let found = words.find(|((other, _), _)| *other == index);
    found.map_or((0, 0), |((_, mask), number)| (number, ones.to_be() & mask))
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
    pub(crate) fn few<'a>(&self, words: &'a [u64]) -> Option<&'a [u64; FEW]> {
        words.first_chunk().filter(|_| self.width() <= FEW)
    }

    /// The hash of such words, padded.
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
        to.is_read = self
            .reader
            .read(bytes, &to.layout, to.common, &mut to.words);
    }

    /// The same where so few words are all.
    #[inline(always)]
    pub(crate) fn look_at_few(&self, bytes: &[u8], base: &[u64; FEW], to: &mut Lookahead) {
        if let Some(words) = to.words.first_chunk_mut() {
            *words = *base;
        }
        to.is_read = self
            .reader
            .read(bytes, &to.layout, to.common, &mut to.words);
    }

    /// Does what [`Cache::prefetch`] does, where so few words are all.
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

    /// Prefetches what is read next to find the flow of a lookahead.
    #[inline]
    pub(crate) fn prefetch(&self, lookahead: &mut Lookahead) {
        if lookahead.is_read {
            let hash = lookahead.hash;
            let hash = hash.unwrap_or_else(|| self.hash(&lookahead.words));
            lookahead.bucket = self.index.prefetch(hash);
            lookahead.hash = Some(hash);
        }
    }

    /// Gives fields that stand in no header other values in the words of a lookahead. False if the
    /// words that are read ahead have no place for one.
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
            // A field that has a place is no longer than a word.
            self.places[number].set(&mut to.words, value.map(|value| value as u64));
        }
        to.hash = Some(self.hash(&to.words));
        true
    }

    /// Reads the words of frames whose layouts the lookaheads have already, with the values that
    /// hooks foresee for fields, and prefetches what is read next to find their flows. `base` are
    /// the words without what headers say.
    pub(crate) fn foresee(
        &self,
        frames: &[Frame],
        base: &Words<WORDS>,
        foreseen: &Foreseen,
        lookaheads: &mut [Lookahead],
    ) {
        let Some(base) = self.foresee_same(base, foreseen) else {
            return;
        };
        for (number, (frame, lookahead)) in frames.iter().zip(&mut *lookaheads).enumerate() {
            lookahead.number = Some(number);
            self.look_at(frame.bytes(), &base, lookahead);
        }
        for (field, values) in foreseen.columns() {
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

    /// Such words with the values that hooks foresee for all packets. `None` if the words that are
    /// read ahead have no place for one of the fields.
    fn foresee_same(&self, base: &Words<WORDS>, foreseen: &Foreseen) -> Option<Words<WORDS>> {
        let Words::Few(mut words) = *base else {
            return None;
        };
        for (field, value) in &foreseen.same {
            SetPlace::of(field, &self.mask)?.set(&mut words, *value);
        }
        Some(Words::Few(words))
    }

    /// Whether a lookahead, if there is one, has the words and the hash of the whole key; `key` is
    /// that without what headers say. Checked in every test, those built for release included.
    pub(crate) fn is_exact(&self, lookahead: &Lookahead, frame: &Frame, key: &Key) -> bool {
        let (mut key, mut layout) = (key.clone(), lookahead.layout);
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

    /// The flow of a lookahead, if it is known to be right; then it is as guessed.
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

    /// Whether the flow of a lookahead is another one than was guessed, or was checked before a
    /// change that does not concern it.
    #[inline(never)]
    fn finds(&mut self, hash: u64, lookahead: &mut Lookahead) -> bool {
        let (guess, words) = (lookahead.guess, &lookahead.words);
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

    /// The flow that has these words, if it is known; it may be out of date.
    pub(crate) fn find(&self, hash: u64, words: &[u64]) -> Option<u32> {
        self.index
            .find(hash, |slot| is_of(&self.flows[slot], words))
    }
}

/// The hash of a key as it is stored.
pub(super) fn hash_stored(secret: &Secret, key: &Words<FEW>) -> u64 {
    match key {
        Words::Few(words) => secret.hash_few(words),
        Words::Many(words) => secret.hash_slice(words),
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
