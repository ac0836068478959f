//! What controllers, ports and the administrator change.

pub(crate) mod bulk_change;
pub(crate) mod bundle;
mod bundle_groups;
mod change_engine;
pub(crate) mod check;
mod compaction;
pub(crate) mod entries;
mod extensions;
mod features;
mod filling;
pub(crate) mod flow_mod;
mod groups;
mod meters;
mod ports;
pub(crate) mod queues;
pub mod reconfigure;
pub(crate) mod settled;
