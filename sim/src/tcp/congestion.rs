//! The congestion window: Reno (RFC 5681), CUBIC (RFC 9438) and DCTCP (RFC 8257).

use bofuss_datapath::Time;
use serde::{Deserialize, Serialize};

/// Segments of the initial window. Spec: RFC 6928.
const INITIAL_SEGMENTS: f64 = 10.0;
/// The least window after a loss, in segments. Spec: RFC 5681 section 3.1 (4).
const MIN_SEGMENTS: f64 = 2.0;

/// CUBIC's C, in segments per second cubed. Spec: RFC 9438 section 4.1.
const C: f64 = 0.4;
/// The factor by which CUBIC reduces the window after a loss. Spec: RFC 9438 section 4.6.
const BETA: f64 = 0.7;
/// The additive increase with which CUBIC is as aggressive as Reno. Spec: RFC 9438 section 4.3.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// Algorithms of congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CongestionControl {
    /// Adds one segment per round trip, and halves the window after a loss.
    Reno,
    /// A cubic function of the time since the last loss.
    #[default]
    Cubic,
    /// As Reno, but marks reduce the window by half of their share of the bytes (RFC 8257).
    Dctcp,
}

/// A congestion window, in bytes, as floats. It uses only operations whose results IEEE 754 defines
/// to the last bit, so that all machines compute the same.
#[derive(Clone, Debug)]
pub struct Window {
    algorithm: CongestionControl,
    segment: f64,
    window: f64,
    slow_start_threshold: f64,
    cubic: Cubic,
}

/// The state of CUBIC, with the names of RFC 9438 section 4.1.2, in bytes and seconds.
#[derive(Clone, Debug, Default)]
struct Cubic {
    w_max: f64,
    k: f64,
    w_est: f64,
    cwnd_prior: f64,
    /// The time at which the present congestion avoidance began; `None` after a loss, until the
    /// next ACK.
    epoch: Option<Time>,
}

impl Window {
    /// The initial window for segments with `segment_bytes` bytes of payload.
    pub fn new(algorithm: CongestionControl, segment_bytes: u64) -> Self {
        let segment = segment_bytes as f64;
        Self {
            algorithm,
            segment,
            window: INITIAL_SEGMENTS * segment,
            slow_start_threshold: f64::INFINITY,
            cubic: Cubic::default(),
        }
    }

    /// Bytes that may be in flight.
    pub fn bytes(&self) -> u64 {
        self.window as u64
    }

    /// Grows the window: `bytes` bytes of new data were acknowledged while the window limited the
    /// sender. Slow start counts bytes, without the limit of RFC 3465, as in Linux.
    pub fn acknowledged(&mut self, now: Time, bytes: u64, round_trip_ns: u64) {
        let mut bytes = bytes as f64;
        if self.window < self.slow_start_threshold {
            let room = self.slow_start_threshold - self.window;
            self.window += bytes.min(room);
            bytes -= bytes.min(room);
        }
        if bytes > 0.0 {
            match self.algorithm {
                CongestionControl::Reno | CongestionControl::Dctcp => {
                    self.window += self.segment * bytes / self.window;
                }
                CongestionControl::Cubic => self.grow_cubic(now, bytes, round_trip_ns),
            }
        }
    }

    /// Grows the window as CUBIC does. Spec: RFC 9438 sections 4.2 to 4.5.
    fn grow_cubic(&mut self, now: Time, bytes: f64, round_trip_ns: u64) {
        let window = self.window;
        let segment = self.segment;
        let cubic = &mut self.cubic;
        let epoch = *cubic.epoch.get_or_insert_with(|| {
            // Before the first loss (section 4.8), or above the window of the last one, the curve
            // begins here.
            cubic.w_max = cubic.w_max.max(window);
            cubic.k = cube_root((cubic.w_max - window) / segment / C);
            cubic.w_est = window;
            now
        });
        let alpha = if cubic.w_est < cubic.cwnd_prior {
            ALPHA
        } else {
            1.0
        };
        cubic.w_est += alpha * segment * bytes / window;
        let elapsed_ns = now.since(epoch);
        if cubic.at(elapsed_ns, segment) < cubic.w_est {
            self.window = cubic.w_est.max(window);
            return;
        }
        let target = cubic.at(elapsed_ns + round_trip_ns, segment);
        let growth = target.clamp(window, 1.5 * window) - window;
        self.window += growth * bytes / window;
    }

    /// Reduces the window after a loss. Call this once for all losses of a window of data.
    pub fn lost(&mut self) {
        self.reduce();
        self.window = self.slow_start_threshold;
    }

    /// Reduces the window because of marks, by half of their share of the bytes. Spec: RFC 8257
    /// section 3.3 (9).
    pub fn marked(&mut self, share: f64) {
        let least = MIN_SEGMENTS * self.segment;
        self.slow_start_threshold = (self.window * (1.0 - share / 2.0)).max(least);
        self.window = self.slow_start_threshold;
    }

    /// Reduces the window to one segment, because the retransmission timer has expired. `first` is
    /// false if the window was reduced for the same data already. Spec: RFC 5681 section 3.1, RFC
    /// 9438 section 4.8.
    pub fn timed_out(&mut self, first: bool) {
        if first {
            self.reduce();
        }
        self.window = self.segment;
    }

    fn reduce(&mut self) {
        let least = MIN_SEGMENTS * self.segment;
        let factor = match self.algorithm {
            CongestionControl::Reno | CongestionControl::Dctcp => 0.5,
            CongestionControl::Cubic => BETA,
        };
        self.slow_start_threshold = (factor * self.window).max(least);
        let cubic = &mut self.cubic;
        cubic.epoch = None;
        cubic.cwnd_prior = self.window;
        // Fast convergence: leaves room for newer flows. Spec: RFC 9438 section 4.7.
        cubic.w_max = if self.window < cubic.w_max {
            self.window * (1.0 + BETA) / 2.0
        } else {
            self.window
        };
    }
}

impl Cubic {
    /// W_cubic at `elapsed_ns` after the epoch, for segments of `segment` bytes.
    fn at(&self, elapsed_ns: u64, segment: f64) -> f64 {
        let from_plateau = elapsed_ns as f64 / Time::SEC as f64 - self.k;
        C * segment * from_plateau * from_plateau * from_plateau + self.w_max
    }
}

/// The cube root of `x`, which is not negative, by Newton's method.
fn cube_root(x: f64) -> f64 {
    let mut root = x.max(1.0);
    // From above the root each step gets nearer, at first by a third, so 100 steps are enough up to
    // 1e50.
    for _ in 0..100 {
        root -= (root - x / (root * root)) / 3.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1_000;
    const RTT: u64 = 100_000_000;

    /// Windows in segments, round trip by round trip, after a loss at 100 segments.
    fn after_loss(algorithm: CongestionControl, round_trips: u64) -> Vec<f64> {
        let mut window = Window::new(algorithm, SEGMENT);
        window.acknowledged(Time(0), 90 * SEGMENT, RTT);
        assert_eq!(window.bytes(), 100 * SEGMENT, "slow start counts bytes");
        window.lost();
        let mut windows = Vec::new();
        for round in 0..round_trips {
            windows.push(window.bytes() as f64 / SEGMENT as f64);
            for _ in 0..window.bytes() / SEGMENT {
                window.acknowledged(Time(round * RTT), SEGMENT, RTT);
            }
        }
        windows
    }

    #[test]
    fn reno_halves_and_adds_one_segment_a_round_trip() {
        let windows = after_loss(CongestionControl::Reno, 51);
        assert_eq!(windows[0], 50.0);
        assert!((windows[50] - 100.0).abs() < 1.5, "{windows:?}");
    }

    #[test]
    fn cubic_is_at_its_plateau_after_k_seconds() {
        // K = cbrt(100 * 0.3 / 0.4) = 4.217 s.
        let windows = after_loss(CongestionControl::Cubic, 60);
        assert_eq!(windows[0], 70.0);
        assert!((windows[42] - 100.0).abs() < 0.5, "{windows:?}");
        assert!((windows[21] - (100.0 - 0.4 * 2.117_f64.powi(3))).abs() < 1.0);
        assert!(windows[59] > 100.5, "it probes beyond: {windows:?}");
    }

    #[test]
    fn cubic_is_no_slower_than_reno_would_be() {
        // At 1 ms the cubic function grows less than AIMD does.
        let mut window = Window::new(CongestionControl::Cubic, SEGMENT);
        window.lost();
        for round in 0..100 {
            for _ in 0..window.bytes() / SEGMENT {
                window.acknowledged(Time(round * 1_000_000), SEGMENT, 1_000_000);
            }
        }
        assert!(window.bytes() > (7 + 50) * SEGMENT, "{}", window.bytes());
    }

    #[test]
    fn a_timeout_starts_anew_from_one_segment() {
        let mut window = Window::new(CongestionControl::Reno, SEGMENT);
        window.timed_out(true);
        assert_eq!(window.bytes(), SEGMENT);
        window.timed_out(false);
        window.acknowledged(Time(0), 4 * SEGMENT, RTT);
        assert_eq!(window.bytes(), 5 * SEGMENT, "slow start up to half of 10");
        window.acknowledged(Time(0), SEGMENT, RTT);
        assert!(window.bytes() < 6 * SEGMENT);
    }

    #[test]
    fn cube_roots_are_those_of_the_library() {
        for x in [0.0, 1e-9, 0.5, 1.0, 75.0, 1e9, 1e18] {
            assert!((cube_root(x) - x.cbrt()).abs() <= 1e-9 * x.max(1.0), "{x}");
        }
    }
}
