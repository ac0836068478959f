//! Flow tables: entries, classifiers and table features.
//!
//! A `Table` knows no ports, groups or meters. State that spans several tables, such as deadlines
//! and references to groups, is in the `Pipeline`, and `control/entries.rs` changes it together
//! with the tables.

pub(crate) mod classifier;
pub(crate) mod entry;
pub(crate) mod eviction;
pub(crate) mod features;
pub(crate) mod field_uses;
pub(crate) mod hit_entry;
pub(crate) mod labels;
#[cfg(feature = "replicas")]
pub(crate) mod replicated;
pub(crate) mod shape;
pub(crate) mod shared;
#[cfg(feature = "spare")]
pub(crate) mod spare_rows;
pub(crate) mod stage;
pub(crate) mod step_map;
pub(crate) mod table;
pub(crate) mod tag_table;
pub(crate) mod triggers;
pub(crate) mod vacancy;
