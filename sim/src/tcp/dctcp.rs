//! The share of marked bytes, by which DCTCP reduces the window. Spec: RFC 8257 section 3.3.

/// The weight of a window's share in the estimate. Spec: RFC 8257 section 4.2.
const GAIN: f64 = 1.0 / 16.0;

/// The estimate of the share of bytes that queues mark. It uses only operations whose results IEEE
/// 754 defines to the last bit.
#[derive(Clone, Debug)]
pub(super) struct MarkedShare {
    alpha: f64,
    acknowledged: u64,
    marked: u64,
    /// The sequence number at which the present window ends.
    window_end: u64,
}

impl Default for MarkedShare {
    /// All, until more is known, so that the first mark halves the window.
    fn default() -> Self {
        Self {
            alpha: 1.0,
            acknowledged: 0,
            marked: 0,
            window_end: 0,
        }
    }
}

impl MarkedShare {
    /// The estimate, 0 to 1.
    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Counts `bytes` bytes that an acknowledgement up to `ack` covers, with or without an echo of
    /// marks. `next` is the number after the last that was sent.
    pub(super) fn acknowledged(&mut self, ack: u64, bytes: u64, is_marked: bool, next: u64) {
        self.acknowledged += bytes;
        self.marked += bytes * u64::from(is_marked);
        if ack <= self.window_end {
            return;
        }
        if self.acknowledged > 0 {
            let share = self.marked as f64 / self.acknowledged as f64;
            self.alpha = self.alpha * (1.0 - GAIN) + GAIN * share;
        }
        self.acknowledged = 0;
        self.marked = 0;
        self.window_end = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_moves_by_a_sixteenth_a_window() {
        let mut share = MarkedShare::default();
        share.acknowledged(1, 0, false, 101);
        assert_eq!(share.alpha(), 1.0, "nothing was acknowledged");
        share.acknowledged(51, 50, false, 200);
        share.acknowledged(101, 50, true, 200);
        assert_eq!(share.alpha(), 1.0, "the window is not over");
        share.acknowledged(102, 0, false, 201);
        assert_eq!(share.alpha(), 15.0 / 16.0 + 0.5 / 16.0);
        for window in 0..400 {
            share.acknowledged(202 + 100 * window, 100, false, 301 + 100 * window);
        }
        assert!(share.alpha() < 1e-9, "{}", share.alpha());
    }
}
