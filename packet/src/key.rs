//! Match keys, and the log of what was read of a key.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use bofuss_oflib::field::{
    ACTSET_OUTPUT, FIELDS, Field, IN_PORT, KEY_BYTES, KEY_PRESENT_BYTES, METADATA,
};
use bofuss_oflib::field_set::StandardFields;
use bofuss_oflib::{Catalogue, FieldMatch, FieldSet, Match};

use crate::header::{ETHERNET, second_tag_in};
use crate::key_match::KeyMatch;

/// 64-bit words that every key has; the tail of a key has the words after them.
pub const KEY_WORDS: usize = KEY_BYTES / 8;
/// Words at the start of a tail that say which fields are present: those that the first word of the
/// key has no bits for.
const TAIL_PRESENT: usize = FieldSet::WORDS - 1;
/// The length of a tail is a multiple of this, in words: 128 bytes, so that it is not allocated
/// anew for each field that is set.
const TAIL_STEP: usize = 16;

/// Receives which fields of a key are read: who records a decision must know all that it depends
/// on.
pub trait ReadLog {
    /// Presence and value of these fields were read.
    fn read(&mut self, fields: FieldSet);
}

/// Logs nothing, at no cost.
impl ReadLog for () {
    fn read(&mut self, _: FieldSet) {}
}

/// Collects the fields read.
impl ReadLog for FieldSet {
    #[inline]
    fn read(&mut self, fields: FieldSet) {
        self.insert(fields);
    }
}

/// The values of one packet that OpenFlow can match.
///
/// Shape: the first word of the set of fields that are present, then the values in OXM's byte
/// order, each at its field's offset. Fields of extensions that have no room there are in the tail;
/// it is as long as the last of them that was set needs, and takes no memory if none was.
/// Invariant: the value of an absent field is zero. Its contents can be read only through methods
/// that take a [`ReadLog`]. Packet registers are always present.
#[derive(Clone, Eq)]
#[repr(align(8))]
pub struct Key {
    pub(crate) bytes: [u8; KEY_BYTES],
    /// The other words of the set of fields present, then values.
    tail: Option<Box<[[u8; 8]]>>,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes && same_values(self.tail(), other.tail())
    }
}

/// Returns true if two tails are the same but for zeros at the end of one.
fn same_values(one: &[[u8; 8]], other: &[[u8; 8]]) -> bool {
    let both = one.len().min(other.len());
    let rest = one[both..].iter().chain(&other[both..]);
    one[..both] == other[..both] && { rest }.all(|word| *word == [0; 8])
}

impl Key {
    /// No field is present; the packet is one of Ethernet.
    pub const EMPTY: Self = {
        let mut bytes = [0; KEY_BYTES];
        let fact = ETHERNET.words()[0].to_ne_bytes();
        let mut i = 0;
        while i < KEY_PRESENT_BYTES {
            bytes[i] = fact[i];
            i += 1;
        }
        Self { bytes, tail: None }
    };

    /// Returns true if the packet begins with an Ethernet header.
    #[inline(always)]
    pub fn is_of_ethernet(&self) -> bool {
        self.has_standard(ETHERNET.into())
    }

    /// Makes this the key of a packet without an Ethernet header, of which it has no field.
    pub fn leave_ethernet(&mut self) {
        self.set_present(self.present().difference(ETHERNET.into()));
    }

    /// Sets `field` to the low bits of `value`, as many as it is wide.
    #[inline]
    pub fn set(&mut self, field: &Field, value: u128) {
        let value = value & (u128::MAX >> (128 - field.bits));
        let bytes = field.bytes();
        let place = self.place_mut(field);
        place.copy_from_slice(&value.to_be_bytes()[16 - bytes..]);
        if usize::from(field.id) < StandardFields::MAX_FIELDS {
            self.add_present(StandardFields::of(field));
        } else if !field.is_packet_register() {
            self.add_present_in_tail(field);
        }
    }

    /// Sets a field of a key that does not have it to the bits of `value` that it has, which stand
    /// in the first bytes.
    #[inline]
    pub(crate) fn set_first(&mut self, field: &Field, value: &[u8; 16]) {
        let in_place = self
            .bytes
            .get_mut(usize::from(field.offset)..)
            .and_then(<[u8]>::first_chunk_mut::<16>);
        match in_place {
            Some(place) if usize::from(field.id) < StandardFields::MAX_FIELDS => {
                let value = u128::from_ne_bytes(*value) & u128::from_ne_bytes(field.ones());
                *place = (u128::from_ne_bytes(*place) | value).to_ne_bytes();
                self.add_present(StandardFields::of(field));
            }
            _ => {
                let unused = 128 - 8 * field.bytes();
                self.set(field, u128::from_be_bytes(*value) >> unused);
            }
        }
    }

    /// Makes `field` absent.
    pub fn clear(&mut self, field: &Field) {
        if self.has_field(field) {
            self.place_mut(field).fill(0);
            self.set_present(self.present().difference(FieldSet::of(field)));
        }
    }

    /// The value of `field`, if present.
    #[inline]
    pub fn get(&self, field: &Field, log: &mut impl ReadLog) -> Option<u128> {
        log.read(FieldSet::of(field));
        if !self.has_field(field) {
            return None;
        }
        let mut value = [0; 16];
        if let Some(place) = self.place(field) {
            value[16 - field.bytes()..].copy_from_slice(place);
        }
        Some(u128::from_be_bytes(value))
    }

    /// Replaces the bits of the metadata that `mask` covers.
    #[inline(always)]
    pub(crate) fn write_metadata(&mut self, value: u64, mask: u64) {
        let bytes = self.bytes[METADATA.offset as usize..]
            .first_chunk_mut()
            .expect("every key has room for the metadata");
        *bytes = (u64::from_be_bytes(*bytes) & !mask | value & mask).to_be_bytes();
        self.add_present(const { StandardFields::of(METADATA) });
    }

    /// The value of IN_PORT, 0 if it is absent.
    #[inline(always)]
    pub(crate) fn in_port(&self) -> u32 {
        let bytes = self.bytes[IN_PORT.offset as usize..].first_chunk();
        u32::from_be_bytes(*bytes.expect("every key has room for a port"))
    }

    /// The bytes of a field's value; `None` if the tail ends before them, which means zero.
    #[inline]
    pub(crate) fn place(&self, field: &Field) -> Option<&[u8]> {
        let at = usize::from(field.offset);
        let bytes = field.bytes();
        match at.checked_sub(KEY_BYTES) {
            None => self.bytes.get(at..at + bytes),
            Some(at) => self.place_in_tail(at, bytes),
        }
    }

    #[cold]
    #[inline(never)]
    fn place_in_tail(&self, at: usize, bytes: usize) -> Option<&[u8]> {
        self.tail().as_flattened().get(at..at + bytes)
    }

    /// The bytes of a field's value, to be written; makes the tail long enough.
    #[inline]
    fn place_mut(&mut self, field: &Field) -> &mut [u8] {
        let at = usize::from(field.offset);
        let bytes = field.bytes();
        match at.checked_sub(KEY_BYTES) {
            None => &mut self.bytes[at..at + bytes],
            Some(at) => {
                let tail = self.tail_mut((at + bytes).div_ceil(8));
                &mut tail.as_flattened_mut()[at..at + bytes]
            }
        }
    }

    fn tail(&self) -> &[[u8; 8]] {
        self.tail.as_deref().unwrap_or_default()
    }

    /// The tail, made at least `words` long.
    #[cold]
    #[inline(never)]
    fn tail_mut(&mut self, words: usize) -> &mut [[u8; 8]] {
        if self.tail().len() < words {
            let mut longer = self.tail().to_vec();
            longer.resize(words.next_multiple_of(TAIL_STEP), [0; 8]);
            self.tail = Some(longer.into());
        }
        self.tail.as_deref_mut().unwrap_or_default()
    }

    /// Returns true if a packet with this key matches `rule`.
    #[inline]
    pub fn matches(&self, rule: &KeyMatch, log: &mut impl ReadLog) -> bool {
        log.read(rule.fields());
        self.has_standard(rule.fields())
            && rule
                .words()
                .all(|(index, value, mask)| self.word(index) & mask == value)
    }

    /// Returns true if all fields have the same values in both keys; an absent field counts as
    /// zero.
    pub fn has_values_of(&self, other: &Self) -> bool {
        self.bytes[KEY_PRESENT_BYTES..] == other.bytes[KEY_PRESENT_BYTES..]
            && same_values(self.tail_values(), other.tail_values())
    }

    fn tail_values(&self) -> &[[u8; 8]] {
        self.tail().get(TAIL_PRESENT..).unwrap_or_default()
    }

    /// Returns how far this key is from matching `rule`: the number of bits that differ, plus the
    /// number of fields that are absent.
    pub fn distance(&self, rule: &KeyMatch) -> u32 {
        let wanted = rule.fields().standard();
        let mut distance = wanted.difference(self.present().standard()).len();
        for (index, value, mask) in rule.words() {
            distance += ((self.word(index) ^ value) & mask).count_ones();
        }
        distance
    }

    /// Returns true if the key has the value of one field, in the bits of its mask.
    pub fn has(&self, one: &FieldMatch, log: &mut impl ReadLog) -> bool {
        let value = self.get(one.field, log);
        value.is_some_and(|value| value & one.mask_number() == one.number())
    }

    /// The match on exactly these values, without those whose prerequisites are not met, and
    /// without those of the pipeline alone that are as they begin.
    pub fn to_match(&self, catalogue: &Catalogue) -> Match {
        let mut fields = Vec::new();
        for field in catalogue.fields() {
            let value = self.get(field, &mut ());
            let begins = field.initial.map(u128::from);
            let is_register = field.is_packet_register() || *field == ACTSET_OUTPUT;
            let listed = value.filter(|_| !(is_register && value == begins));
            fields.extend(listed.map(|value| FieldMatch::exact(field, value)));
        }
        loop {
            match Match::new(&fields) {
                Ok(found) => return found,
                Err((_, fault)) => fields.retain(|one| one.field != fault),
            }
        }
    }

    /// The type of the second VLAN tag, if there are two.
    pub fn second_tag(&self, log: &mut impl ReadLog) -> Option<u16> {
        log.read(FieldSet::ALL.facts());
        second_tag_in(self.present().standard())
    }

    /// The number of its words, with the tail.
    pub(crate) fn len(&self) -> usize {
        KEY_WORDS + self.tail().len()
    }

    /// Index and value of each word that is not zero, but for the first.
    pub(crate) fn words_after_first(&self) -> impl Iterator<Item = (usize, u64)> + Clone {
        let words = (1..self.len()).map(|index| (index, self.word(index)));
        words.filter(|(_, word)| *word != 0)
    }

    #[inline]
    pub(crate) fn word(&self, index: usize) -> u64 {
        match self.bytes.get(8 * index..).and_then(<[u8]>::first_chunk) {
            Some(word) => u64::from_ne_bytes(*word),
            None => self.tail_word(index - KEY_WORDS),
        }
    }

    #[cold]
    #[inline(never)]
    fn tail_word(&self, index: usize) -> u64 {
        let word = self.tail().get(index);
        word.map_or(0, |word| u64::from_ne_bytes(*word))
    }

    pub(crate) fn set_word(&mut self, index: usize, word: u64) {
        let word = word.to_ne_bytes();
        match index.checked_sub(KEY_WORDS) {
            None => self.bytes[8 * index..8 * index + 8].copy_from_slice(&word),
            Some(index) => self.tail_mut(index + 1)[index] = word,
        }
    }

    /// Marks fields as present whose values are written already.
    #[inline]
    pub(crate) fn add_present(&mut self, fields: StandardFields) {
        let [first] = fields.words();
        let word = (self.word(0) | first).to_ne_bytes();
        self.bytes[..8].copy_from_slice(&word);
    }

    /// Returns true if a field is present. The bits of most are in the first word.
    #[inline(always)]
    fn has_field(&self, field: &Field) -> bool {
        if usize::from(field.id) < StandardFields::MAX_FIELDS {
            return StandardFields::from_words([self.word(0)]).contains(field);
        }
        self.has_in_tail(field)
    }

    #[cold]
    #[inline(never)]
    fn has_in_tail(&self, field: &Field) -> bool {
        field.is_packet_register() || self.present().contains(field)
    }

    #[cold]
    #[inline(never)]
    fn add_present_in_tail(&mut self, field: &Field) {
        self.set_present(self.present().union(FieldSet::of(field)));
    }

    /// The fields that are present, and the facts about tags.
    #[inline(always)]
    pub(crate) fn present(&self) -> FieldSet {
        FieldSet::from_words(core::array::from_fn(|number| {
            self.word(present_index(number))
        }))
    }

    /// Returns true if all of `fields` are present, as far as the first word of a key has bits for
    /// them. The bits of the other fields are words of a [`crate::KeyMask`] themselves.
    #[inline]
    pub(crate) fn has_standard(&self, fields: FieldSet) -> bool {
        let present = StandardFields::from_words([self.word(0)]);
        present.is_superset(fields.standard())
    }

    fn set_present(&mut self, fields: FieldSet) {
        for (number, word) in fields.words().into_iter().enumerate() {
            let index = present_index(number);
            if word != self.word(index) {
                self.set_word(index, word);
            }
        }
    }
}

/// The place in a key of a word of the set of fields that are present.
#[inline(always)]
pub(crate) const fn present_index(number: usize) -> usize {
    match number {
        0 => 0,
        other => KEY_WORDS + other - 1,
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
