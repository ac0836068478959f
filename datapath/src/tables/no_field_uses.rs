//! Without the feature `super_frames`, no uses of fields are counted: see `field_uses.rs`.

use bofuss_oflib::{Action, Catalogue};
use bofuss_packet::KeyMatch;

/// The uses of fields: none is counted.
#[derive(Debug, Default)]
pub struct FieldUses {}

impl FieldUses {
    /// Notes nothing.
    pub(crate) fn mask_of(&mut self, _: &KeyMatch, _: &Catalogue, _: bool) {}

    /// Notes nothing.
    pub(crate) fn actions<'a>(&mut self, _: impl Iterator<Item = &'a Action>, _: bool) {}
}
