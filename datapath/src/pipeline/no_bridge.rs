//! Without the feature `normal`, no stations are learned: see `bridge.rs`.

use bofuss_oflib::PortNo;

/// What NORMAL has learned: nothing.
#[derive(Debug, Default)]
pub struct Bridge {}

impl Bridge {
    /// Forgets nothing.
    pub(crate) fn forget(&mut self, _: PortNo) {}

    /// Forgets nothing.
    pub(crate) fn forget_all(&mut self) {}

    /// Forgets nothing.
    #[cfg(any(feature = "super_frames", feature = "text"))]
    pub(crate) fn end_trial(&mut self) {}
}
