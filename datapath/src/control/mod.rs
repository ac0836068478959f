//! What controllers, ports and the administrator change.

mod bucket_change;
pub(crate) mod bulk_change;
pub(crate) mod bundle;
mod bundle_groups;
mod change_engine;
pub(crate) mod check;
pub(crate) mod chunked_queue;
mod compaction;
pub(crate) mod deleted;
pub(crate) mod entries;
mod extensions;
mod features;
mod filling;
pub(crate) mod flow_mod;
mod groups;
mod meters;
pub(crate) mod news;
mod ports;
pub(crate) mod queues;
pub mod reconfigure;
pub(crate) mod settled;
mod triggers;
