//! Meters: how they are changed, and which band applies to a packet. Spec: OpenFlow 1.3.5 sections
//! 5.7, 6.6 and 7.3.4.4.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::RangeInclusive;

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::MeterModFailed;
use bofuss_oflib::message::meter_mod::{Band, BandKind, MeterFlags, MeterModCommand};
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::message::multipart::{MeterConfig, MeterFeatures, MeterStats};
use bofuss_oflib::message::{FlowRemovedReason, MeterMod};
use bofuss_oflib::types::{MeterId, TableId};

use crate::references::{count, meter};
use crate::tables::bulk_change::{BulkChange, EntryChange};
use crate::{Datapath, Entry, Sink, Time};

/// What a packet takes from a bucket of packets, and a kilobit from one of kilobits: a rate in one
/// of them a second adds itself each nanosecond, without rounding.
const UNIT: i64 = 1_000_000_000;
/// What a byte takes.
const BYTE: i64 = UNIT / 125;
/// What a bucket of a meter without BURST holds, in nanoseconds of its rate. A TCP stream with a
/// round trip below 1 ms gets half of the rate through 100 ms, and 0.95 of it through 300 ms;
/// a longer bucket would let more than 3 % above the rate pass in 10 s.
const DEFAULT_DEPTH_NANOS: i64 = 300_000_000;
/// The virtual meters, which no flow uses and which stay.
const VIRTUAL: [MeterId; 2] = [MeterId::SLOWPATH, MeterId::CONTROLLER];
/// The most that the drop precedence of a DSCP can be raised by. Spec: RFC 2597.
const MAX_LEVELS: u8 = 2;

/// The token bucket of a band.
#[derive(Clone, Debug)]
struct TokenBucket {
    /// The band's place in the meter.
    place: usize,
    rate: i64,
    /// The most tokens.
    depth: i64,
    /// Below 0, the rate is exceeded.
    tokens: i64,
}

/// One meter.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    config: MeterConfig,
    /// Its counters; of the flow count, the entries that use it.
    pub(crate) stats: MeterStats,
    /// Highest rate first.
    buckets: Vec<TokenBucket>,
    filled: Time,
    created: Time,
}

impl Meter {
    fn new(now: Time, meter_mod: &MeterMod) -> Self {
        let config = MeterConfig {
            flags: meter_mod.flags,
            meter_id: meter_mod.meter_id,
            bands: meter_mod.bands.clone(),
        };
        let bucket = |(place, band): (usize, &Band)| {
            let rate = i64::from(band.rate);
            let depth = if config.flags.has(MeterFlags::BURST) {
                i64::from(band.burst_size) * UNIT
            } else {
                rate * DEFAULT_DEPTH_NANOS
            };
            TokenBucket {
                place,
                rate,
                depth,
                tokens: depth,
            }
        };
        let mut buckets: Vec<_> = config.bands.iter().enumerate().map(bucket).collect();
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

    fn cost(&self, (packets, bytes): (u64, u64)) -> i64 {
        match self.config.flags.has(MeterFlags::PKTPS) {
            true => packets as i64 * UNIT,
            false => bytes as i64 * BYTE,
        }
    }

    /// Adds the tokens of the time that went by, up to the buckets' depth.
    fn refill(&mut self, now: Time) {
        let nanos = i64::try_from(now.since(self.filled)).unwrap_or(i64::MAX);
        self.filled = self.filled.max(now);
        for bucket in &mut self.buckets {
            let more = bucket.rate.saturating_mul(nanos);
            bucket.tokens = bucket.tokens.saturating_add(more).min(bucket.depth);
        }
    }

    /// Makes buckets hold at least so much. A burst that is shorter than the longest packet would
    /// lose the tokens that come in between packets.
    fn deepen(&mut self, least: i64) {
        for bucket in &mut self.buckets {
            bucket.depth = bucket.depth.max(least);
        }
    }

    /// Whether so many packets and bytes at once exceed no rate.
    pub(crate) fn covers(&mut self, now: Time, counts: (u64, u64)) -> bool {
        let cost = self.cost(counts);
        self.refill(now);
        self.buckets.iter().all(|bucket| bucket.tokens >= cost)
    }

    /// Counts a packet; the band that applies to it: that with the highest rate that is exceeded.
    ///
    /// What exceeds a rate exceeds the lower ones, too, and takes none of their tokens.
    pub(crate) fn judge(&mut self, now: Time, counts: (u64, u64)) -> Option<Band> {
        let cost = self.cost(counts);
        if self.config.flags.has(MeterFlags::BURST) {
            self.deepen(cost - 1);
        }
        self.refill(now);
        count(&mut self.stats.input, counts);
        for bucket in &mut self.buckets {
            if bucket.tokens < 0 || bucket.rate == 0 {
                count(&mut self.stats.bands[bucket.place], counts);
                return Some(self.config.bands[bucket.place]);
            }
            bucket.tokens -= cost;
        }
        None
    }
}

impl Datapath {
    /// Carries out a meter-mod, or changes nothing.
    ///
    /// Errors: METER_MOD_FAILED with any code but UNKNOWN and BAD_BURST.
    pub fn meter_mod<S: Sink>(
        &mut self,
        now: Time,
        meter_mod: &MeterMod,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        let id = meter_mod.meter_id;
        let exists = self.meters.contains_key(&id);
        match meter_mod.command {
            MeterModCommand::ADD if exists => return Err(MeterModFailed::METER_EXISTS),
            MeterModCommand::MODIFY if !exists => return Err(MeterModFailed::UNKNOWN_METER),
            MeterModCommand::ADD | MeterModCommand::MODIFY => self.check_meter(meter_mod)?,
            MeterModCommand::DELETE => return self.delete_meters(now, id, sink),
            _ => return Err(MeterModFailed::BAD_COMMAND),
        }
        let mut meter = Meter::new(now, meter_mod);
        if let Some(old) = self.meters.get(&id) {
            (meter.stats.flow_count, meter.stats.input) = (old.stats.flow_count, old.stats.input);
            meter.created = old.created;
        }
        self.meters.insert(id, meter);
        Ok(())
    }

    fn check_meter(&self, meter_mod: &MeterMod) -> Result<(), ErrorCode> {
        let (id, flags, bands) = (meter_mod.meter_id, meter_mod.flags, &meter_mod.bands);
        if (id == MeterId(0) || id > MeterId::MAX) && !VIRTUAL.contains(&id) {
            return Err(MeterModFailed::INVALID_METER);
        }
        let both = flags.has(MeterFlags::KBPS) && flags.has(MeterFlags::PKTPS);
        if both || flags.0 & !MeterFlags::ALL.0 != 0 {
            return Err(MeterModFailed::BAD_FLAGS);
        }
        if bands.len() > self.config.max_bands.into() {
            return Err(MeterModFailed::OUT_OF_BANDS);
        }
        for (place, band) in bands.iter().enumerate() {
            match band.kind {
                BandKind::Drop | BandKind::DscpRemark(1..=MAX_LEVELS) => {}
                BandKind::DscpRemark(_) => return Err(MeterModFailed::BAD_BAND_VALUE),
                BandKind::Experimenter(_) => return Err(MeterModFailed::BAD_BAND),
            }
            if bands[..place].iter().any(|other| other.rate == band.rate) {
                return Err(MeterModFailed::BAD_RATE);
            }
        }
        let room = self.meters.len() < self.config.max_meters as usize;
        let fits = room || self.meters.contains_key(&id);
        fits.then_some(()).ok_or(MeterModFailed::OUT_OF_METERS)
    }

    /// Deletes a meter, or all that flows use, and these flows.
    fn delete_meters<S: Sink>(
        &mut self,
        now: Time,
        id: MeterId,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        let gone = match id {
            MeterId::ALL => MeterId(0)..=MeterId::MAX,
            id if VIRTUAL.contains(&id) => return Err(MeterModFailed::INVALID_METER),
            id => id..=id,
        };
        let mut flows = 0;
        while let Some((&id, meter)) = self.meters.range(gone.clone()).next() {
            flows += meter.stats.flow_count;
            self.meters.remove(&id);
        }
        if flows > 0 {
            let uses = move |e: &Entry| meter(&e.instructions).is_some_and(|id| gone.contains(&id));
            let gone = EntryChange::Delete(FlowRemovedReason::DELETE, true);
            return self.begin_bulk_change(now, BulkChange::new(TableId::ALL, uses, gone), sink);
        }
        Ok(())
    }

    /// Whether a meter exists.
    pub fn has_meter(&self, id: MeterId) -> bool {
        self.meters.contains_key(&id)
    }

    /// The statistics of the meters with these numbers.
    pub fn meter_stats(
        &self,
        now: Time,
        ids: RangeInclusive<MeterId>,
    ) -> impl Iterator<Item = MeterStats> {
        self.meters.range(ids).map(move |(_, meter)| {
            let (duration_sec, duration_nsec) = now.duration(meter.created);
            MeterStats {
                duration_sec,
                duration_nsec,
                ..meter.stats.clone()
            }
        })
    }

    /// The meters with these numbers, as they were made.
    pub fn meter_configs(&self, ids: RangeInclusive<MeterId>) -> impl Iterator<Item = MeterConfig> {
        self.meters
            .range(ids)
            .map(|(_, meter)| meter.config.clone())
    }

    /// What meters can do.
    pub fn meter_features(&self) -> MeterFeatures {
        MeterFeatures {
            max_meter: self.config.max_meters,
            band_types: 1 << BandKind::Drop.number() | 1 << BandKind::DscpRemark(1).number(),
            capabilities: MeterFlags::ALL.0.into(),
            max_bands: self.config.max_bands,
            max_color: 0,
        }
    }
}

#[cfg(test)]
mod tests;
