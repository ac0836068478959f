//! The copies of meters that a bundle changes, and which replace them.

use bofuss_oflib::message::multipart::group::BucketCounter;

use crate::meters::Meter;
use crate::references::add;

impl Meter {
    /// A copy with counters at 0.
    pub(crate) fn uncounted(&self) -> Self {
        let mut copy = self.clone();
        copy.stats.input = BucketCounter::default();
        copy.stats.bands.fill(BucketCounter::default());
        copy
    }

    /// Takes over the counters of the meter that it replaces, and its tokens unless `is_changed`.
    pub(crate) fn take_over(&mut self, before: Self, is_changed: bool) {
        add(&mut self.stats.input, before.stats.input);
        if is_changed {
            return;
        }
        for (band, before) in self.stats.bands.iter_mut().zip(&before.stats.bands) {
            add(band, *before);
        }
        self.buckets = before.buckets;
        self.filled = before.filled;
    }
}
