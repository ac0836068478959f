//! In the place of `masks.rs` without the feature `v1_4`: a message has all masks.

use super::AsyncConfig;
use crate::version::Version;

impl AsyncConfig {
    /// The initial configuration in a version, which is that of 1.3.
    pub fn initial(_: Version) -> Self {
        Self::INITIAL
    }

    /// Returns false: versions before 1.4 have no error for a bit that is no reason.
    pub fn has_unknown_reasons(&self) -> bool {
        false
    }

    /// Takes the masks of `asked`.
    pub fn change(&mut self, asked: &Self) {
        self.clone_from(asked);
    }
}
