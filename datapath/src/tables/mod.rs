//! Flow tables: entries, classifiers and table features.
//!
//! A `Table` knows no ports, groups or meters. State that spans several tables, such as deadlines
//! and references to groups, is in the `Pipeline`, and `control/entries.rs` changes it together
//! with the tables.

pub(crate) mod classifier;
pub(crate) mod entry;
#[cfg(feature = "filling")]
pub(crate) mod eviction;
#[cfg(not(feature = "filling"))]
#[path = "no_eviction.rs"]
pub(crate) mod eviction;
pub(crate) mod features;
#[cfg(feature = "super_frames")]
pub(crate) mod field_uses;
#[cfg(not(feature = "super_frames"))]
#[path = "no_field_uses.rs"]
pub(crate) mod field_uses;
pub(crate) mod hit_entry;
pub(crate) mod labels;
#[cfg(feature = "replicas")]
pub(crate) mod replicated;
pub(crate) mod shape;
pub(crate) mod shared;
#[cfg(feature = "spare")]
pub(crate) mod spare_rows;
#[cfg(feature = "bundles")]
pub(crate) mod stage;
#[cfg(not(feature = "bundles"))]
#[path = "no_stage.rs"]
pub(crate) mod stage;
pub(crate) mod step_map;
pub(crate) mod table;
pub(crate) mod tag_table;
#[cfg(feature = "triggers")]
pub(crate) mod triggers;
#[cfg(not(feature = "triggers"))]
#[path = "no_triggers.rs"]
pub(crate) mod triggers;
#[cfg(feature = "filling")]
pub(crate) mod vacancy;
