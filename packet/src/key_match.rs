//! Matches compiled to the words of a key, and masks: which bits of a key count.

#[cfg(feature = "fast_path")]
mod masked;

use alloc::{boxed::Box, rc::Rc, vec::Vec};
use core::hash::{Hash, Hasher};

use bofuss_oflib::field::{ETH_TYPE, Field, PACKET_TYPE};
use bofuss_oflib::field_set::StandardFields;
use bofuss_oflib::{Catalogue, FieldMatch, FieldSet, Match};

use crate::header::{ETHERNET, NO_SECOND_TAG, second_tag, second_tag_in};
use crate::key::{Key, present_index};

/// The bits of a key that count: the fields that must be present, and their bits, word by word. For
/// a field of the tail, the bit that says that it is present counts as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyMask {
    /// Those of the first word are compared at once, before any value.
    fields: FieldSet,
    /// Index and bits of each word in which a bit counts, ascending.
    words: Box<[(usize, u64)]>,
}

impl KeyMask {
    /// Index and bits of each word in which a bit counts.
    pub fn words(&self) -> &[(usize, u64)] {
        &self.words
    }

    /// The fields.
    #[inline]
    pub fn fields(&self) -> FieldSet {
        self.fields
    }
}

/// A list of words whose length is stored elsewhere. Up to `FEW` are kept in place, without an
/// allocation.
///
/// Matches are compared for each packet. In place, their values are next to what else is read of
/// the entry.
#[derive(Clone, Debug)]
pub enum Words<const FEW: usize> {
    /// Kept in place.
    Few([u64; FEW]),
    /// Allocated.
    Many(Box<[u64]>),
}

impl<const FEW: usize> Words<FEW> {
    /// Keeps `len` words.
    pub fn new(len: usize, words: impl Iterator<Item = u64>) -> Self {
        if len > FEW {
            return Self::Many(words.collect());
        }
        let mut few = [0; FEW];
        few.iter_mut().zip(words).for_each(|(to, from)| *to = from);
        Self::Few(few)
    }

    /// The words. Panics: if there are fewer than `len`.
    #[inline]
    pub fn get(&self, len: usize) -> &[u64] {
        match self {
            Self::Few(few) => &few[..len],
            Self::Many(many) => &many[..len],
        }
    }
}

/// Words that a match on the 5-tuple of a TCP segment takes.
const FEW: usize = 3;

/// A match compiled to the words of a key: only those words in which a bit counts.
///
/// Equality is that of the strict flow-mod commands: the same fields, values and masks.
#[derive(Clone, Debug)]
pub struct KeyMatch {
    /// Shared by matches that are equal in it, of which a table has few.
    mask: Rc<KeyMask>,
    /// No bit outside the mask.
    values: Words<FEW>,
}

impl PartialEq for KeyMatch {
    fn eq(&self, other: &Self) -> bool {
        self.mask == other.mask && self.values() == other.values()
    }
}
impl Eq for KeyMatch {}

impl Hash for KeyMatch {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.mask, self.values()).hash(state);
    }
}

impl From<&Match> for KeyMatch {
    fn from(rule: &Match) -> Self {
        Self::new(rule, None)
    }
}

impl KeyMatch {
    /// Compiles a match; its mask is `known` if that is equal.
    ///
    /// A caller that adds many entries passes the mask of the last, and allocates none for the
    /// next.
    pub fn new(rule: &Match, known: Option<&Rc<KeyMask>>) -> Self {
        Self::compile(rule.fields().iter(), StandardFields::EMPTY, known)
    }

    /// The same for OpenFlow 1.0, which skips one VLAN tag in front of the Ethernet type, and not
    /// all. Behind a second tag it sees nothing: the tag's own type is the frame's.
    pub fn behind_one_tag(rule: &Match, known: Option<&Rc<KeyMask>>) -> Self {
        let Some(eth_type) = rule.get(ETH_TYPE) else {
            return Self::new(rule, known);
        };
        match second_tag(eth_type.number() as u16) {
            None => Self::compile(rule.fields().iter(), NO_SECOND_TAG, known),
            // The type is that of the second tag: the fact stands for it, and the field does not
            // count.
            Some(second) => {
                let others = rule.fields().iter().filter(|one| one.field != ETH_TYPE);
                Self::compile(others, second, known)
            }
        }
    }

    /// Compiles fields, and `tags`, the facts about tags that a key must have.
    fn compile<'a>(
        fields: impl Iterator<Item = &'a FieldMatch>,
        tags: StandardFields,
        known: Option<&Rc<KeyMask>>,
    ) -> Self {
        let mut value = Key::EMPTY;
        let mut mask = Key::EMPTY;
        // Every match is one of Ethernet packets, unless it names another packet type.
        let mut read = FieldSet::from(tags.union(ETHERNET));
        for one in fields {
            if one.field.id == PACKET_TYPE.id {
                // The packet type of Ethernet says no more than a match without a packet type.
                if one.number() == 0 {
                    continue;
                }
                read = read.difference(ETHERNET.into());
            }
            // Value and mask are built as keys, so that both get the key's layout.
            value.set_first(one.field, &one.value);
            mask.set_first(one.field, &one.mask);
            read.insert(FieldSet::of(one.field));
        }
        let words = mask.words_after_first();
        let same = known
            .filter(|known| known.fields == read && words.clone().eq(known.words.iter().copied()));
        let mask = match same {
            Some(same) => Rc::clone(same),
            None => {
                let mut all = Vec::with_capacity(words.clone().count());
                all.extend(words);
                Rc::new(KeyMask {
                    fields: read,
                    words: all.into(),
                })
            }
        };
        let of_value = mask.words.iter().map(|(index, _)| value.word(*index));
        let values = Words::new(mask.words.len(), of_value);
        Self { mask, values }
    }

    /// The fields that the match reads.
    #[inline]
    pub fn fields(&self) -> FieldSet {
        self.mask.fields
    }

    /// Returns the bits that count.
    #[inline]
    pub fn mask(&self) -> &Rc<KeyMask> {
        &self.mask
    }

    /// Makes this match share an equal mask.
    pub fn share_mask(&mut self, mask: &Rc<KeyMask>) {
        debug_assert_eq!(self.mask, *mask);
        self.mask = Rc::clone(mask);
    }

    /// The same in memory of its own.
    pub fn unshared(&self) -> Self {
        Self {
            mask: Rc::new((*self.mask).clone()),
            values: self.values.clone(),
        }
    }

    /// Returns true if it is one of all packets of a type.
    pub fn is_any(&self) -> bool {
        let of_types = const { StandardFields::of(PACKET_TYPE).union(ETHERNET) };
        FieldSet::from(of_types).is_superset(self.mask.fields)
    }

    /// The match that this was compiled from. Panics: if `catalogue` lacks one of its fields.
    ///
    /// Nothing else is kept of a match, as all of it is in value and mask.
    pub fn to_match(&self, catalogue: &Catalogue) -> Match {
        let mut value = Key::EMPTY;
        let mut mask = Key::EMPTY;
        for (index, v, m) in self.words() {
            value.set_word(index, v);
            mask.set_word(index, m);
        }
        let mut fields = Vec::with_capacity(self.mask.fields.len() as usize);
        for id in self.mask.fields.ids() {
            let field = catalogue.by_id(id);
            fields.push(FieldMatch {
                field,
                value: first_bytes(&value, field),
                mask: first_bytes(&mask, field),
            });
        }
        // The Ethernet type that was compiled to a fact.
        if let Some(second) = second_tag_in(self.mask.fields.standard()) {
            fields.push(FieldMatch::exact(ETH_TYPE, second.into()));
            fields.sort_by_key(|one| one.field.id);
        }
        Match::again(fields)
    }

    /// Returns true if all packets of `other` are packets of this match, as in the non-strict
    /// flow-mod commands: `other` has every field of this match, with every bit of its mask and the
    /// same value there. A match without any field covers those of other packet types, too.
    pub fn covers(&self, other: &Self) -> bool {
        if self.fields() == ETHERNET.into() {
            return true;
        }
        if !other.fields().is_superset(self.fields()) {
            return false;
        }
        self.words().all(|(index, value, mask)| {
            let (other, other_mask) = other.word(index);
            mask & !other_mask == 0 && (value ^ other) & mask == 0
        })
    }

    /// Returns true if some packet may be one of both matches.
    pub fn overlaps(&self, other: &Self) -> bool {
        let differing = self
            .fields()
            .difference(other.fields())
            .union(other.fields().difference(self.fields()));
        if differing.is_superset(ETHERNET.into()) {
            return false;
        }
        let own = self.tags();
        let others = other.tags();
        if !own.is_empty() && !others.is_empty() && own != others {
            return false;
        }
        self.words().all(|(index, value, mask)| {
            let (other, other_mask) = other.word(index);
            (value ^ other) & mask & other_mask == 0
        })
    }

    /// The facts about VLAN tags on which it depends.
    fn tags(&self) -> FieldSet {
        self.fields().facts().difference(ETHERNET.into())
    }

    fn values(&self) -> &[u64] {
        self.values.get(self.mask.words.len())
    }

    /// Index, value and mask of each word in which a bit counts.
    #[inline]
    pub(crate) fn words(&self) -> impl Iterator<Item = (usize, u64, u64)> {
        let words = self.mask.words.iter().zip(self.values());
        words.map(|((index, mask), value)| (*index, *value, *mask))
    }

    /// Value and mask of a word.
    fn word(&self, index: usize) -> (u64, u64) {
        let fields = self.mask.fields.words();
        if let Some(number) = (0..FieldSet::WORDS).find(|one| present_index(*one) == index) {
            return (fields[number], fields[number]);
        }
        let found = self.words().find(|(i, ..)| *i == index);
        found.map_or((0, 0), |(_, value, mask)| (value, mask))
    }
}

/// The bytes of a key that hold a field, at the beginning of an array.
fn first_bytes(key: &Key, field: &Field) -> [u8; 16] {
    let mut first = [0; 16];
    if let Some(bytes) = key.place(field) {
        first[..bytes.len()].copy_from_slice(bytes);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KEY_WORDS;
    use bofuss_oflib::field::*;
    use bofuss_oflib::registers::{N_REGISTERS, REGISTERS};

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
        let mut log = FieldSet::EMPTY;
        let key = Key::EMPTY;
        key.get(ETH_SRC, &mut log);
        assert_eq!(log, FieldSet::of(ETH_SRC));
        key.matches(&rule(&[FieldMatch::exact(IN_PORT, 1)]), &mut log);
        assert!(log.ids().eq([IN_PORT.id, ETH_SRC.id].map(usize::from)));
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
    fn a_packet_register_is_zero_until_it_is_set_and_takes_no_memory_before() {
        let mut key = Key::EMPTY;
        let [register, other] = [&REGISTERS[0], &REGISTERS[N_REGISTERS - 1]];
        let zero = rule(&[FieldMatch::exact(register, 0), FieldMatch::exact(other, 0)]);
        let set = rule(&[FieldMatch::masked(register, 0x500, 0xff00)]);
        assert!(key.matches(&zero, &mut ()) && !key.matches(&set, &mut ()));
        assert_eq!(key.get(register, &mut ()), Some(0));
        assert_eq!(key.len(), KEY_WORDS, "no tail");
        key.set(register, 0x1_0500);
        assert!(!key.matches(&zero, &mut ()) && key.matches(&set, &mut ()));
        let fields = set.fields().difference(ETHERNET.into());
        assert_eq!(fields, FieldSet::of(register));
        let told = set.to_match(&Catalogue::default());
        assert_eq!(told.fields(), [FieldMatch::masked(register, 0x500, 0xff00)]);
        key.clear(register);
        assert!(key.matches(&zero, &mut ()) && key == Key::EMPTY);
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

    #[test]
    fn a_compiled_match_tells_the_match() {
        let (ip, tcp) = (
            FieldMatch::exact(ETH_TYPE, 0x0800),
            FieldMatch::exact(IP_PROTO, 6),
        );
        let net = FieldMatch::masked(IPV4_DST, 0x0a00_0000, 0xff00_0000);
        let eth = FieldMatch::masked(ETH_SRC, 5, 0xff);
        let port = FieldMatch::exact(TCP_DST, 0);
        for fields in [
            &[][..],
            &[ip],
            &[ip, tcp, net, port],
            &[eth, ip, tcp, net, port],
        ] {
            let fields = Match::new(fields).expect("prerequisites are there");
            assert_eq!(
                KeyMatch::from(&fields).to_match(&Catalogue::default()),
                fields
            );
        }
    }
}
