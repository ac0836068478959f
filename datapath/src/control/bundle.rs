//! Bundles: changes that packets see all at once or not at all. Spec: OpenFlow 1.4.1 section 6.8.
//!
//! `no_bundle.rs` is in the place of this module in a switch without bundles.

mod bundle_groups;
mod calls;
mod chunked_queue;
mod staged_bundle;

pub(crate) use bundle_groups::StagedGroups;
pub use calls::BundleControl;
pub use chunked_queue::ChunkedQueue;
pub(crate) use staged_bundle::StagedBundle;
