//! What identifies a flow: the words of a key that count, read from a packet's key or ahead from
//! its frame, and their hash.

use alloc::vec::Vec;
use core::iter::once;

use bofuss_datapath::engine::{Lookahead, Predicted, WORDS};
use bofuss_frame::Frame;
use bofuss_oflib::field_set::StandardFields;
use bofuss_oflib::{Field, FieldSet};
use bofuss_packet::key::KEY_WORDS;
use bofuss_packet::{Key, KeyMask, Words, parse};

use super::key_reader::KeyReader;
use crate::lazy_packet::FieldSets;
use crate::secret::Secret;

/// The number of key words that a flow holds without an allocation: enough for a 5-tuple and an
/// Ethernet address.
pub(crate) const FEW: usize = 6;
/// Bytes of a word.
const WORD_BYTES: usize = 8;

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
    pub(super) fn is_read(&self) -> bool {
        let [(_, first), (_, second)] = self.parts;
        first | second != 0
    }

    /// Marks the field as present or absent.
    #[inline(always)]
    pub(super) fn note(&self, words: &mut [u64; WORDS], value: Option<u64>) {
        let present = if value.is_some() { self.present } else { 0 };
        words[1] = words[1] & !self.present | present;
    }

    /// Sets the field's value, or marks it as absent.
    #[inline(always)]
    pub(super) fn set(&self, words: &mut [u64; WORDS], value: Option<u64>) {
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

/// The fields that identify a flow, besides the start of its path.
#[derive(Debug)]
pub(crate) struct FlowKey {
    pub(super) secret: Secret,
    fields: FieldSet,
    pub(super) mask: KeyMask,
    /// Finds the words of the key in a frame.
    reader: KeyReader,
    /// The places of the fields that hooks set last, in their order.
    places: Vec<SetPlace>,
}

impl FlowKey {
    /// Without a field; `secret` makes its hashes unpredictable.
    pub(super) fn new(secret: u64) -> Self {
        let mask = KeyMask::whole([].into_iter());
        Self {
            secret: Secret::new(secret),
            fields: FieldSet::EMPTY,
            reader: KeyReader::new(&mask),
            mask,
            places: Vec::new(),
        }
    }

    /// Its fields.
    pub(crate) fn fields(&self) -> FieldSet {
        self.fields
    }

    /// Makes these its fields, of which the mask is.
    pub(super) fn set(&mut self, fields: FieldSet, mask: KeyMask) {
        self.reader = KeyReader::new(&mask);
        self.places.clear();
        (self.fields, self.mask) = (fields, mask);
    }

    /// The place of a field that is in no header, if it has one.
    pub(super) fn place(&self, field: &'static Field) -> Option<SetPlace> {
        SetPlace::of(field, &self.mask)
    }

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
                let Some(place) = self.place(field) else {
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

    /// The base words with the values that hooks predict for all packets; `None` if they have no
    /// place for one of the fields.
    pub(super) fn predict_same(
        &self,
        base: &Words<WORDS>,
        predicted: &Predicted,
    ) -> Option<Words<WORDS>> {
        let Words::Few(mut words) = *base else {
            return None;
        };
        for (field, value) in &predicted.same {
            self.place(field)?.set(&mut words, *value);
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

    /// The hash of a stored key.
    pub(super) fn hash_stored(&self, words: &Words<FEW>) -> u64 {
        match words {
            Words::Few(words) => self.secret.hash_few(words),
            Words::Many(words) => self.secret.hash_slice(words),
        }
    }
}
