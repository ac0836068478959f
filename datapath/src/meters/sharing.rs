//! Meters with one rate for several: replicas, or the switch and what judges packets outside of it.
//! One whose own tokens are used up takes some in advance from a bucket that they share.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bofuss_oflib::message::meter_mod::{BandKind, MeterFlags};
use bofuss_oflib::types::MeterId;

use super::shared::{BucketPlace, OutsideBucket, SharedBucket};
use super::{BYTE, Meter, TokenBucket, UNIT};
use crate::Time;
use crate::references::count;

/// The part of a bucket's depth that a replica takes in advance. What replicas hold that have no
/// packets is lost to the others: with 64 of them, a quarter of the depth, once.
const ADVANCES_PER_DEPTH: i64 = 256;

/// The shared buckets of a meter, for its other replicas.
#[derive(Clone, Debug)]
pub struct MeterShare {
    pub(crate) meter: MeterId,
    buckets: Vec<SharedBucket>,
}

/// A meter that drops packets above one rate, for what judges them outside of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropBand {
    /// The tokens that it gets in a nanosecond.
    pub rate: u32,
    /// The time in which a bucket that is empty becomes full, in nanoseconds.
    pub depth_ns: u64,
    /// The tokens of a packet, and those of a byte of it; one of these is 0.
    pub per_packet: u64,
    /// See `per_packet`.
    pub per_byte: u64,
    /// A bucket that is smaller than a packet becomes as deep as that.
    pub deepens: bool,
}

fn nanos(time: Time) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

impl TokenBucket {
    /// Takes tokens from the shared bucket, if there is one, so that this one has at least
    /// `wanted`. Returns true if it has.
    pub(super) fn draw(&mut self, now: Time, wanted: i64) -> bool {
        if let Some(shared) = self.shared.as_ref().filter(|_| self.rate > 0) {
            let missing = wanted.saturating_sub(self.tokens).max(1) as u64;
            let least = missing.div_ceil(self.rate as u64) as i64;
            // A bucket that is smaller than a packet has to become as deep as that.
            let depth = (self.depth / self.rate).max(least);
            let most = least.max(depth / ADVANCES_PER_DEPTH);
            let taken = shared.take(nanos(now), depth, (least, most));
            self.tokens = self.tokens.saturating_add(taken.saturating_mul(self.rate));
        }
        self.tokens >= wanted
    }

    /// Uses a shared bucket from now on.
    fn join(&mut self, shared: SharedBucket) {
        self.shared = Some(shared);
        self.own_rate = 0;
        self.tokens = 0;
    }

    /// The time up to which its rate has been handed out, if it was filled at this time.
    fn until(&self, filled: Time) -> i64 {
        let unused = self.tokens.div_euclid(self.rate.max(1));
        nanos(filled).saturating_sub(unused)
    }
}

impl Meter {
    /// Moves its tokens to buckets that other replicas can share. Returns these; `None` if it has
    /// no buckets, or shares them already.
    pub(crate) fn share(&mut self, now: Time) -> Option<MeterShare> {
        if self.buckets.iter().all(|bucket| bucket.shared.is_some()) {
            return None;
        }
        self.refill(now);
        let share = |bucket: &mut TokenBucket| {
            let shared = SharedBucket::new(bucket.until(now));
            bucket.join(shared.clone());
            shared
        };
        Some(MeterShare {
            meter: self.config.meter_id,
            buckets: self.buckets.iter_mut().map(share).collect(),
        })
    }

    /// What it does, if it has one band, which drops packets and lets some pass.
    pub fn drop_band(&self) -> Option<DropBand> {
        let ([bucket], [band]) = (&self.buckets[..], &self.config.bands[..]) else {
            return None;
        };
        let flags = self.config.flags;
        let counts_packets = flags.has(MeterFlags::PKTPS);
        (band.kind == BandKind::Drop && band.rate > 0).then_some(DropBand {
            rate: band.rate,
            depth_ns: (bucket.depth / bucket.rate) as u64,
            per_packet: if counts_packets { UNIT as u64 } else { 0 },
            per_byte: if counts_packets { 0 } else { BYTE as u64 },
            deepens: flags.has(MeterFlags::BURST),
        })
    }

    /// Moves the tokens of its only band to a bucket at this place, unless they are there already.
    /// From there, the switch takes those of each packet from now on. Returns false if it shares
    /// them elsewhere.
    pub fn share_at(&mut self, place: &Arc<dyn BucketPlace>) -> bool {
        let [bucket] = &mut self.buckets[..] else {
            return false;
        };
        if bucket.shared.is_none() && bucket.outside.is_none() {
            let until = bucket.until(self.filled);
            bucket.outside = Some(OutsideBucket {
                shared: SharedBucket::at(Arc::clone(place), until),
                seen: until,
                rest: bucket.tokens.rem_euclid(bucket.rate.max(1)),
            });
            bucket.own_rate = 0;
        }
        self.is_shared_at(place)
    }

    /// Returns true if its tokens are in a bucket at this place.
    pub fn is_shared_at(&self, place: &Arc<dyn BucketPlace>) -> bool {
        let mut outside = self.buckets.iter().filter_map(|one| one.outside.as_ref());
        outside.any(|outside| outside.shared.is_at(place))
    }

    /// Learns how many tokens there are in buckets that are used outside of the switch, too.
    pub(super) fn read_outside(&mut self, now: Time) {
        for bucket in &mut self.buckets {
            if let Some(outside) = &mut bucket.outside {
                outside.seen = outside.shared.until();
                let unused = nanos(now).saturating_sub(outside.seen);
                let tokens = unused.saturating_mul(bucket.rate);
                bucket.tokens = tokens.saturating_add(outside.rest).min(bucket.depth);
            }
        }
    }

    /// Takes from such buckets what was taken from their tokens since [`Self::read_outside`].
    pub(super) fn take_outside(&mut self, now: Time) {
        for bucket in &mut self.buckets {
            if let Some(outside) = &mut bucket.outside {
                outside.rest = bucket.tokens.rem_euclid(bucket.rate);
                let unused = bucket.tokens.div_euclid(bucket.rate);
                let until = nanos(now).saturating_sub(unused);
                outside.shared.add(until.saturating_sub(outside.seen));
            }
        }
    }

    /// Counts packets and bytes that were judged outside of the switch, and which of these its only
    /// band, if it still is that one, dropped.
    pub fn count(&mut self, input: (u64, u64), dropped: Option<(u64, u64)>) {
        count(&mut self.stats.input, input);
        if let (Some(dropped), [band]) = (dropped, &mut self.stats.bands[..]) {
            count(band, dropped);
        }
    }

    /// The same, with buckets that no other replica shares.
    pub(super) fn with_buckets_apart(mut self) -> Self {
        for bucket in &mut self.buckets {
            let apart = |one: &SharedBucket| SharedBucket::new(one.until());
            bucket.shared = bucket.shared.as_ref().map(apart);
            if let Some(outside) = &mut bucket.outside {
                outside.shared = apart(&outside.shared);
            }
        }
        self
    }

    /// Uses the buckets of another replica, which has the same bands.
    pub(crate) fn join(&mut self, share: &MeterShare) {
        for (bucket, shared) in self.buckets.iter_mut().zip(&share.buckets) {
            bucket.join(shared.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use bofuss_oflib::message::meter_mod::MeterModCommand;
    use bofuss_oflib::text::parse_meter;

    use super::*;

    /// A meter, and as many replicas of it, which share its buckets.
    fn made(text: &str, replicas: usize) -> (Meter, Vec<Meter>) {
        let meter_mod = parse_meter(text, MeterModCommand::ADD).expect("a right meter");
        let meter = Meter::new(Time(0), &meter_mod);
        let mut shared: Vec<Meter> = (0..replicas).map(|_| meter.clone()).collect();
        let share = shared[0].share(Time(0)).expect("it has a bucket");
        shared[1..].iter_mut().for_each(|one| one.join(&share));
        assert!(shared.iter_mut().all(|one| one.share(Time(0)).is_none()));
        (meter, shared)
    }

    /// How much passes in each of eight seconds, in packets or bytes: through one meter, and
    /// through replicas of which `who` gets a packet, by its number.
    fn passed(
        text: &str,
        (replicas, packets): (usize, u64),
        who: impl Fn(u64) -> usize,
    ) -> [[u64; 8]; 2] {
        let (mut alone, mut shared) = made(text, replicas);
        let mut passed = [[0; 8]; 2];
        for number in 0..8 * packets {
            let now = Time(Time::SEC / packets * number);
            let second = (number / packets) as usize;
            let bytes = 60 + number % 7 * 200;
            let units = if text.contains("kbps") { bytes } else { 1 };
            let judged = [
                alone.judge(now, (1, bytes)),
                shared[who(number)].judge(now, (1, bytes)),
            ];
            for (count, band) in passed.iter_mut().zip(judged) {
                count[second] += u64::from(band.is_none()) * units;
            }
        }
        passed
    }

    #[test]
    fn replicas_have_the_rate_of_one_meter_wherever_its_packets_are() {
        let meters = [
            "meter=1,pktps,bands=type=drop,rate=1000",
            "meter=1,kbps,bands=type=drop,rate=8000",
            "meter=1,kbps,burst,bands=type=drop,rate=8000,burst_size=400",
            "meter=1,pktps,burst,bands=type=drop,rate=2000,burst_size=200",
        ];
        for text in meters {
            for replicas in [2, 5] {
                let demands: [(&str, &dyn Fn(u64) -> usize); 5] = [
                    ("in one", &|_| 1),
                    ("equal", &|number| number as usize % replicas),
                    ("unequal", &|number| usize::from(number % 50 == 0)),
                    ("moves each 7 ms", &|number| number as usize / 70 % replicas),
                    ("moves each 2 s", &|number| {
                        number as usize / 20_000 % replicas
                    }),
                ];
                for (demand, who) in demands {
                    let [alone, shared] = passed(text, (replicas, 10_000), who);
                    for (second, (alone, shared)) in alone.iter().zip(&shared).enumerate() {
                        let limit = alone / 100;
                        assert!(
                            alone.abs_diff(*shared) <= limit,
                            "{text}, {replicas}, {demand}, {second}: {shared}, not {alone}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_low_rate_passes_one_packet_more_of_each_replica_at_most() {
        for text in [
            "meter=1,pktps,bands=type=drop,rate=1",
            "meter=1,kbps,bands=type=drop,rate=8",
        ] {
            let (mut alone, mut shared) = made(text, 3);
            let mut passed = [0_u64; 2];
            for number in 0..60_000 {
                let now = Time(number * Time::SEC / 1000);
                let one = &mut shared[number as usize % 3];
                passed[0] += u64::from(alone.judge(now, (1, 1000)).is_none());
                passed[1] += u64::from(one.judge(now, (1, 1000)).is_none());
            }
            assert!((55..=62).contains(&passed[0]), "{text}: {passed:?}");
            assert!(
                (passed[0] - 1..=passed[0] + 3).contains(&passed[1]),
                "{text}: {passed:?}"
            );
        }
    }

    #[test]
    fn less_than_the_rate_passes_whole_and_bands_apply_in_their_order() {
        let text = "meter=1,pktps,bands=type=drop,rate=1000,\
                    type=dscp_remark,prec_level=1,rate=100";
        let [alone, shared] = passed(text, (2, 500), |number| number as usize % 2);
        for (alone, shared) in alone.iter().zip(&shared).skip(1) {
            assert!(alone.abs_diff(*shared) <= 1, "{alone}, {shared}");
        }
        let text = "meter=1,pktps,bands=type=drop,rate=600";
        let [_, shared] = passed(text, (2, 500), |n| n as usize % 2);
        assert_eq!(shared, [500; 8]);
    }

    #[test]
    fn super_frames_pass_whole_as_far_as_the_rate_goes_and_a_trace_takes_nothing() {
        let text = "meter=1,pktps,burst,bands=type=drop,rate=1000,burst_size=500";
        let (mut alone, mut shared) = made(text, 2);
        for number in 0..1000 {
            let now = Time(number * 10 * Time::SEC / 1000);
            let counts = (40, 40_000);
            assert_eq!(alone.covers(now, counts), shared[1].covers(now, counts));
            let until = |meter: &Meter| {
                let bucket = meter.buckets[0].shared.as_ref();
                bucket.map(SharedBucket::until)
            };
            let before = until(&shared[1]);
            shared[1].apart().judge(now, counts);
            let after = until(&shared[1]);
            assert_eq!(before, after);
            assert_eq!(alone.judge(now, counts), shared[1].judge(now, counts));
        }
        let most = u32::MAX;
        let text = std::format!("meter=1,kbps,burst,bands=type=drop,rate={most},burst_size={most}");
        let (_, mut shared) = made(&text, 2);
        for at in [0, 1, u64::MAX, 5, u64::MAX] {
            assert_eq!(shared[1].judge(Time(at), (1, 65_000)), None);
        }
    }
}
