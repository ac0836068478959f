//! What controllers, ports and the administrator change.

mod bucket_change;
pub(crate) mod bulk_change;
mod bundle;
mod bundle_groups;
mod change_engine;
pub(crate) mod check;
pub(crate) mod chunked_queue;
pub(crate) mod compaction;
pub(crate) mod deleted;
pub(crate) mod entries;
mod extensions;
mod features;
mod filling;
pub(crate) mod flow_mod;
pub(crate) mod groups;
pub(crate) mod meters;
pub(crate) mod news;
mod ports;
pub(crate) mod queues;
pub mod reconfigure;
mod removal;
pub(crate) mod settled;
mod slices;
pub(crate) mod staged_bundle;
pub(crate) mod triggers;
