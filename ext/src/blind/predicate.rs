//! The predicate of a table: which fields of a packet are nonce and tag, and the keywords for whose
//! tags the table has a trapdoor.

use alloc::collections::BTreeMap;
use core::fmt;
use core::hash::Hasher;

use bofuss_oflib::field::Differs;
use bofuss_oflib::{ErrorCode, Field};
use siphasher::sip128::{Hasher128, SipHasher24};

use super::error::{BAD_FIELD, NOT_SHARED};

/// Bytes of a trapdoor.
pub(super) const TRAPDOOR_BYTES: usize = 16;

/// The key that recognises the tags of one keyword, and does not tell the keyword. Neither its text
/// nor its debugging form shows it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Trapdoor(pub [u8; TRAPDOOR_BYTES]);

impl fmt::Debug for Trapdoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trapdoor(..)")
    }
}

impl Trapdoor {
    /// The tag of the keyword under a nonce: SipHash-2-4 with 128 bits of the nonce's 16 bytes in
    /// network byte order.
    pub fn tag(&self, nonce: u128) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&nonce.to_be_bytes());
        u128::from_be_bytes(hasher.finish128().as_bytes())
    }
}

/// The fields of a packet that a table's predicate reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PredicateFields {
    pub(super) nonce: &'static Field,
    pub(super) tag: &'static Field,
}

impl PredicateFields {
    /// Fields of 128 bits whose values all segments of a super-frame share, so that one of its
    /// packets speaks for all.
    ///
    /// Errors: [`BAD_FIELD`], [`NOT_SHARED`].
    pub fn new(nonce: &'static Field, tag: &'static Field) -> Result<Self, ErrorCode> {
        for field in [nonce, tag] {
            if u32::from(field.bits) != u128::BITS {
                return Err(BAD_FIELD);
            }
            if field.differs != Differs::Nowhere {
                return Err(NOT_SHARED);
            }
        }
        Ok(Self { nonce, tag })
    }
}

/// The predicate of a table.
pub(super) struct Predicate {
    pub(super) fields: PredicateFields,
    /// By the number of the keyword.
    pub(super) trapdoors: BTreeMap<u32, Trapdoor>,
}

impl Predicate {
    /// The lowest number of a keyword that the tag is of, and how many trapdoors were tried.
    pub(super) fn keyword_of(&self, nonce: u128, tag: u128) -> (Option<u32>, u64) {
        let mut tried = 0;
        for (&keyword, trapdoor) in &self.trapdoors {
            tried += 1;
            if trapdoor.tag(nonce) == tag {
                return (Some(keyword), tried);
            }
        }
        (None, tried)
    }
}
