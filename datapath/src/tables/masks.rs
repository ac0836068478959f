//! SharedMasks that are made of others: of fewer bits, and of whole fields.

use alloc::vec::Vec;
use core::cmp::Reverse;

use bofuss_oflib::{Field, FieldSet};
use bofuss_packet::KeyMask;

/// Bits of a word's full bytes.
fn full_bytes(mask: u64) -> u64 {
    u64::from_ne_bytes(mask.to_ne_bytes().map(|b| if b == 0xff { b } else { 0 }))
}

/// Fewer bits that still tell most matches of this mask apart: the full bytes of the two words
/// that have most of them.
pub(crate) fn coarse(mask: &KeyMask) -> KeyMask {
    let words = mask.words().iter();
    let mut words: Vec<_> = words.map(|(i, mask)| (*i, full_bytes(*mask))).collect();
    words.sort_by_key(|(_, mask)| Reverse(mask.count_ones()));
    words.truncate(2);
    words.retain(|(_, mask)| *mask != 0);
    words.sort_unstable();
    KeyMask::new(FieldSet::EMPTY, words.into())
}

/// The mask under which all of these fields count, and which of all fields are there.
pub(crate) fn whole<'a>(fields: impl Iterator<Item = &'a Field>) -> KeyMask {
    let all = FieldSet::ALL.words();
    let mut words: Vec<_> = all.into_iter().enumerate().collect();
    for field in fields {
        let place = usize::from(field.offset)..usize::from(field.offset) + field.bytes();
        for at in place {
            let mut byte = [0; 8];
            byte[at % 8] = 0xff;
            words.push((at / 8, u64::from_ne_bytes(byte)));
        }
    }
    words.sort_unstable();
    words.dedup_by(|one, kept| {
        let same = one.0 == kept.0;
        kept.1 |= if same { one.1 } else { 0 };
        same
    });
    KeyMask::new(FieldSet::EMPTY, words.into())
}
