//! Time, which the caller passes to the switch.

/// Nanoseconds since an origin that the caller chooses and keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub u64);

impl Time {
    /// Nanoseconds of a second.
    pub const SEC: u64 = 1_000_000_000;
    /// Later than all times.
    pub const NEVER: Self = Self(u64::MAX);

    /// Nanoseconds from `earlier` to this time; 0 if that is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This time and `nanos` nanoseconds more.
    pub fn after(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// The time since `earlier` as whole seconds and remaining nanoseconds, as OpenFlow writes
    /// durations.
    pub fn duration(self, earlier: Self) -> (u32, u32) {
        let nanos = self.since(earlier);
        ((nanos / Self::SEC) as u32, (nanos % Self::SEC) as u32)
    }
}
