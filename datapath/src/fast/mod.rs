//! What makes the switch fast, and changes nothing that it does: `reference.rs` tells that.

pub(crate) mod bodies;
pub(crate) mod cache;
mod change;
mod express;
mod forgotten;
mod glimpse;
pub(crate) mod index;
pub(crate) mod mask_groups;
mod masks;
mod reader;
pub(crate) mod slab;
mod step_map;
mod tags;
#[cfg(test)]
mod tests;
mod traverse;

/// How packets find their entries. Each behaves as the one before; they differ in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// By a plain scan, as the specification tells it.
    Reference,
    /// In hash tables, one for each of a few masks.
    Tables,
    /// The same, and packets of known flows by what was done for those before.
    #[default]
    Cache,
}

impl Engine {
    /// All of them, by name.
    pub const ALL: [(&'static str, Self); 3] = [
        ("reference", Self::Reference),
        ("tables", Self::Tables),
        ("cache", Self::Cache),
    ];
}
