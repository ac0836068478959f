//! What makes the switch fast, and changes nothing that it does: `reference.rs` tells that.

pub(crate) mod mask_groups;
pub(crate) mod slab;
mod tags;
