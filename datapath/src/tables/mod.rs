//! Flow tables: entries, how they are found, what a table can do, and how entries change.

pub(crate) mod admission;
pub(crate) mod bulk_change;
pub(crate) mod change_engine;
pub(crate) mod check;
pub(crate) mod classifier;
pub(crate) mod features;
pub(crate) mod field_uses;
pub(crate) mod flow_mod;
pub(crate) mod labels;
pub(crate) mod mask_groups;
pub(crate) mod masks;
pub(crate) mod shared;
pub(crate) mod step_map;
pub(crate) mod table;
pub(crate) mod tag_table;
