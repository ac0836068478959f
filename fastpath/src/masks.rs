//! Coarser masks, made from others by leaving out bits.

use alloc::vec::Vec;
use core::cmp::Reverse;

use bofuss_oflib::FieldSet;
use bofuss_packet::KeyMask;

/// Bits of a word's full bytes.
fn full_bytes(mask: u64) -> u64 {
    u64::from_ne_bytes(mask.to_ne_bytes().map(|b| if b == 0xff { b } else { 0 }))
}

/// A mask of fewer bits that still distinguishes most matches of this mask: the full bytes of the
/// two words that have most of them.
pub(crate) fn coarse(mask: &KeyMask) -> KeyMask {
    let mut words: Vec<_> = mask
        .words()
        .iter()
        .map(|(i, mask)| (*i, full_bytes(*mask)))
        .collect();
    words.sort_by_key(|(_, mask)| Reverse(mask.count_ones()));
    words.truncate(2);
    words.retain(|(_, mask)| *mask != 0);
    words.sort_unstable();
    KeyMask::new(FieldSet::EMPTY, words.into())
}
