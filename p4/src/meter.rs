//! Meters of two rates and three colours: RFC 2698, colour-blind.

use alloc::boxed::Box;

/// The colour of a packet, as v1model numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Green = 0,
    Yellow = 1,
    Red = 2,
}

/// What a meter lets pass. The units are bytes or packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterConfig {
    /// The committed rate, in units a second.
    pub committed_rate: u64,
    /// The committed burst, in units.
    pub committed_burst: u64,
    /// The peak rate, in units a second.
    pub peak_rate: u64,
    /// The peak burst, in units.
    pub peak_burst: u64,
}

/// A meter. Without a configuration, all is green, and it takes no memory of its own.
#[derive(Clone, Debug, Default)]
pub struct Meter(Option<Box<Buckets>>);

/// A meter with a configuration.
#[derive(Clone, Debug)]
struct Buckets {
    config: MeterConfig,
    /// Millionths of units.
    committed: u128,
    peak: u128,
    /// When both were filled last, in microseconds.
    filled: u64,
}

/// Millionths in a unit: a rate in units a second fills so many in a microsecond.
const MILLIONTHS: u128 = 1_000_000;

impl Meter {
    /// Its configuration.
    pub fn config(&self) -> Option<MeterConfig> {
        self.0.as_ref().map(|buckets| buckets.config)
    }

    /// Sets or removes the configuration. The buckets are full then.
    pub fn configure(&mut self, config: Option<MeterConfig>, now: u64) {
        self.0 = config.map(|config| {
            Box::new(Buckets {
                config,
                committed: u128::from(config.committed_burst) * MILLIONTHS,
                peak: u128::from(config.peak_burst) * MILLIONTHS,
                filled: now,
            })
        });
    }

    /// The colour of a packet of `units` at `now`, in microseconds.
    pub fn execute(&mut self, units: u64, now: u64) -> Color {
        let buckets = self.0.as_mut();
        buckets.map_or(Color::Green, |buckets| buckets.execute(units, now))
    }
}

impl Buckets {
    fn execute(&mut self, units: u64, now: u64) -> Color {
        let config = self.config;
        let elapsed = u128::from(now.saturating_sub(self.filled));
        self.filled = self.filled.max(now);
        let fill = |tokens: u128, rate: u64, burst: u64| {
            let more = u128::from(rate).saturating_mul(elapsed);
            tokens
                .saturating_add(more)
                .min(u128::from(burst) * MILLIONTHS)
        };
        self.committed = fill(
            self.committed,
            config.committed_rate,
            config.committed_burst,
        );
        self.peak = fill(self.peak, config.peak_rate, config.peak_burst);
        let taken = u128::from(units) * MILLIONTHS;
        if self.peak < taken {
            return Color::Red;
        }
        self.peak -= taken;
        if self.committed < taken {
            return Color::Yellow;
        }
        self.committed -= taken;
        Color::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_above_each_rate_have_its_colour_until_time_passes() {
        let mut meter = Meter::default();
        assert_eq!(meter.execute(1_000_000, 0), Color::Green);
        let config = MeterConfig {
            committed_rate: 1,
            committed_burst: 1,
            peak_rate: 2,
            peak_burst: 2,
        };
        meter.configure(Some(config), 0);
        let colors = [0, 0, 0, 500_000, 1_000_000].map(|now| meter.execute(1, now));
        use Color::{Green, Red, Yellow};
        assert_eq!(colors, [Green, Yellow, Red, Yellow, Green]);
    }
}
