//! Meters: token buckets that decide which band applies to a packet. Spec: OpenFlow 1.3.5 sections
//! 5.7, 6.6 and 7.3.4.4.

#[cfg(feature = "bundles")]
mod replaced;
#[cfg(feature = "replicas")]
pub(crate) mod shared;
#[cfg(feature = "replicas")]
pub(crate) mod sharing;

use alloc::vec::Vec;
use core::cmp::Reverse;

use bofuss_oflib::message::MeterMod;
use bofuss_oflib::message::meter_mod::{Band, MeterFlags};
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::message::multipart::{MeterConfig, MeterStats};
use bofuss_oflib::types::MeterId;

use crate::Time;
use crate::references::count;

/// The tokens of one packet, or of one kilobit. With so many per unit, a rate in units per second
/// adds just its own number of tokens each nanosecond, without rounding.
///
/// So 63 bits have room for 9.2e9 packets or kilobits, more than a rate or a burst size of 32 bits.
const UNIT: i64 = 1_000_000_000;
/// The tokens of one byte in a bucket of kilobits.
const BYTE: i64 = UNIT / 125;
/// The depth of a bucket of a meter without BURST, in nanoseconds of its rate. A TCP stream with a
/// round trip below 1 ms gets half of the rate with 100 ms, and 0.95 of it with 300 ms. A deeper
/// bucket would let more than 3 % above the rate pass in 10 s.
const DEFAULT_DEPTH_NANOS: i64 = 300_000_000;
/// The virtual meters, which no flow uses and which cannot be deleted with all others.
pub(crate) const VIRTUAL: [MeterId; 2] = [MeterId::SLOWPATH, MeterId::CONTROLLER];
/// The most levels by which the drop precedence of a DSCP can be raised. Spec: RFC 2597.
pub(crate) const MAX_LEVELS: u8 = 2;

/// The token bucket of a band.
#[derive(Clone, Debug)]
struct TokenBucket {
    /// The band's place in the meter.
    place: usize,
    /// In kb/s or packets per second, which is also the number of tokens for each nanosecond.
    rate: i64,
    /// The rate by which it fills by itself: 0 if it is filled from a shared bucket.
    own_rate: i64,
    #[cfg(feature = "replicas")]
    shared: Option<shared::SharedBucket>,
    #[cfg(feature = "replicas")]
    outside: Option<shared::OutsideBucket>,
    /// The most tokens.
    depth: i64,
    /// The tokens that it has; below 0 if the rate is exceeded.
    tokens: i64,
}

/// One meter.
#[derive(Clone, Debug)]
pub struct Meter {
    pub(crate) config: MeterConfig,
    /// Its counters; `flow_count` counts the entries that use it.
    pub(crate) stats: MeterStats,
    /// The buckets of its bands, highest rate first.
    buckets: Vec<TokenBucket>,
    filled: Time,
    pub(crate) created: Time,
}

#[cfg(not(feature = "replicas"))]
impl TokenBucket {
    /// Without replicas, there is nothing to take tokens from.
    fn draw(&mut self, _: Time, _: i64) -> bool {
        false
    }
}

impl Meter {
    /// A copy whose packets take no tokens of other replicas.
    pub(crate) fn apart(&self) -> Self {
        let copy = self.clone();
        #[cfg(feature = "replicas")]
        let copy = copy.with_buckets_apart();
        copy
    }

    /// Makes a meter from a meter-mod that was checked. Its counters are 0.
    ///
    /// Buckets begin full. Spec: OpenFlow 1.3.5 section 7.3.4.4: without BURST, `burst_size` means
    /// nothing.
    pub(crate) fn new(now: Time, meter_mod: &MeterMod) -> Self {
        let config = MeterConfig {
            flags: meter_mod.flags,
            meter_id: meter_mod.meter_id,
            bands: meter_mod.bands.clone(),
        };
        let mut buckets = Vec::with_capacity(config.bands.len());
        for (place, band) in config.bands.iter().enumerate() {
            let rate = i64::from(band.rate);
            let depth = if config.flags.has(MeterFlags::BURST) {
                i64::from(band.burst_size) * UNIT
            } else {
                rate * DEFAULT_DEPTH_NANOS
            };
            buckets.push(TokenBucket {
                place,
                rate,
                own_rate: rate,
                #[cfg(feature = "replicas")]
                shared: None,
                #[cfg(feature = "replicas")]
                outside: None,
                depth,
                tokens: depth,
            });
        }
        buckets.sort_by_key(|bucket| Reverse(bucket.rate));
        let stats = MeterStats {
            meter_id: config.meter_id,
            bands: buckets.iter().map(|_| BucketCounter::default()).collect(),
            ..MeterStats::default()
        };
        Self {
            config,
            stats,
            buckets,
            filled: now,
            created: now,
        }
    }

    /// Returns how many tokens packets take. Bytes are those of frames without preamble, gap and
    /// FCS, as in the counters.
    fn cost(&self, (packets, bytes): (u64, u64)) -> i64 {
        if self.config.flags.has(MeterFlags::PKTPS) {
            packets as i64 * UNIT
        } else {
            bytes as i64 * BYTE
        }
    }

    /// Adds the tokens for the time since the last call, up to the buckets' depth.
    fn refill(&mut self, now: Time) {
        let nanos = i64::try_from(now.since(self.filled)).unwrap_or(i64::MAX);
        self.filled = self.filled.max(now);
        for bucket in &mut self.buckets {
            let more = bucket.own_rate.saturating_mul(nanos);
            bucket.tokens = bucket.tokens.saturating_add(more).min(bucket.depth);
        }
        #[cfg(feature = "replicas")]
        self.read_outside(now);
    }

    /// Raises the depth of buckets to at least `least`. A bucket smaller than the longest packet
    /// would lose the tokens that arrive between packets.
    fn deepen(&mut self, least: i64) {
        for bucket in &mut self.buckets {
            bucket.depth = bucket.depth.max(least);
        }
    }

    /// Returns true if `packets` and `bytes` together exceed no rate.
    ///
    /// Takes no tokens: [`Self::judge`] does, when the packet meets the meter.
    pub(crate) fn covers(&mut self, now: Time, counts: (u64, u64)) -> bool {
        let cost = self.cost(counts);
        self.refill(now);
        let mut buckets = self.buckets.iter_mut();
        buckets.all(|bucket| bucket.tokens >= cost || bucket.draw(now, cost))
    }

    /// Counts a packet. Returns the band that applies to it: of the bands whose rate is exceeded,
    /// that with the highest rate.
    ///
    /// A packet that exceeds a rate also exceeds the lower ones, and takes none of their tokens.
    pub(crate) fn judge(&mut self, now: Time, counts: (u64, u64)) -> Option<Band> {
        let cost = self.cost(counts);
        if self.config.flags.has(MeterFlags::BURST) {
            self.deepen(cost - 1);
        }
        self.refill(now);
        count(&mut self.stats.input, counts);
        for bucket in &mut self.buckets {
            // A packet passes unless the bucket is below 0, and may take more tokens than there
            // are: so the longest packet passes at any rate, and the average is right. A rate of 0
            // lets nothing pass.
            if (bucket.tokens < 0 && !bucket.draw(now, 0)) || bucket.rate == 0 {
                count(&mut self.stats.bands[bucket.place], counts);
                return Some(self.config.bands[bucket.place]);
            }
            bucket.tokens -= cost;
        }
        #[cfg(feature = "replicas")]
        self.take_outside(now);
        None
    }
}

#[cfg(test)]
mod tests;
