//! The number of a trial run.

/// The number of a trial run of a packet, as for a trace; or the live run.
///
/// A trial ends without a call: the next one has another number, by which what an earlier one wrote
/// is recognised as old. So nothing has to be undone, also if a trial was broken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trial(u64);

impl Trial {
    /// The live run: packets that are forwarded.
    pub const LIVE: Self = Self(0);

    /// The next trial.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns true if it is a trial run, in which state must not change.
    pub fn is_dry(self) -> bool {
        self != Self::LIVE
    }
}
