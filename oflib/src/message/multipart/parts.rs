//! Multiparts that come in several parts, of which one is made.

use alloc::vec::Vec;

use super::{
    AggregateStats, BundleFeatures, BundleFeaturesRequest, Desc, Empty, ExtBody, FlowStatsRequest,
    GroupDescRequest, GroupFeatures, GroupRequest, MeterFeatures, MeterRequest, PortDescRequest,
    PortRequest, QueueStatsRequest,
};

/// A body that may come in several parts.
///
/// Only a list can go on in a further part, and what an extension says of its own body. Each other
/// body has one part, as the empty implementations below say.
pub(super) trait Parts: Sized {
    /// Appends a further part. Errors: `false` if this body has one part only.
    fn join(&mut self, _: Self) -> bool {
        false
    }
}
impl<T> Parts for Vec<T> {
    fn join(&mut self, mut other: Self) -> bool {
        self.append(&mut other);
        true
    }
}
impl Parts for Empty {}
/// Its extension knows if its parts go together.
impl Parts for ExtBody {
    fn join(&mut self, other: Self) -> bool {
        self.0.join(other.0)
    }
}
impl Parts for BundleFeatures {}
impl Parts for BundleFeaturesRequest {}
impl Parts for Desc {}
impl Parts for FlowStatsRequest {}
impl Parts for AggregateStats {}
impl Parts for PortRequest {}
impl Parts for QueueStatsRequest {}
impl Parts for GroupRequest {}
impl Parts for GroupDescRequest {}
impl Parts for PortDescRequest {}
impl Parts for GroupFeatures {}
impl Parts for MeterRequest {}
impl Parts for MeterFeatures {}
