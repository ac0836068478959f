//! What controllers, ports and the administrator change.
//!
//! Most files add to `Control` or `PortControl` the methods for one kind of request; these types
//! borrow the whole datapath, so no packet is on its way when a method begins. A request is checked
//! before the first change, so that a failed request leaves no trace.

mod access;
mod bucket_change;
pub(crate) mod bulk_change;
#[cfg(feature = "bundles")]
pub(crate) mod bundle;
#[cfg(not(feature = "bundles"))]
#[path = "no_bundle.rs"]
pub(crate) mod bundle;
pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod clock;
mod compaction;
pub(crate) mod deleted;
pub(crate) mod entries;
pub(crate) mod extensions;
#[cfg(feature = "reshape")]
mod features;
#[cfg(feature = "filling")]
pub(crate) mod filling;
#[cfg(not(feature = "filling"))]
#[path = "no_filling.rs"]
pub(crate) mod filling;
pub(crate) mod flow_mod;
pub(crate) mod groups;
pub(crate) mod meters;
pub(crate) mod news;
pub(crate) mod ports;
pub(crate) mod queues;
#[cfg(feature = "reconfigure")]
pub mod reconfigure;
mod removal;
#[cfg(feature = "replicas")]
pub(crate) mod replica;
#[cfg(feature = "restore")]
pub(crate) mod restore;
mod slices;
mod tables;
#[cfg(feature = "triggers")]
pub(crate) mod triggers;
#[cfg(not(feature = "triggers"))]
#[path = "no_triggers.rs"]
pub(crate) mod triggers;
#[cfg(feature = "wanted")]
pub(crate) mod wanted;

pub use access::Control;
