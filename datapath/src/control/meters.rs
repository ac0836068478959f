//! Meters: meter-mods and statistics. Spec: OpenFlow 1.3.5 sections 6.6 and 7.3.4.4.

use alloc::collections::BTreeMap;
use core::ops::RangeInclusive;

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::MeterModFailed;
use bofuss_oflib::message::meter_mod::{BandKind, MeterFlags, MeterModCommand};
use bofuss_oflib::message::multipart::{MeterConfig, MeterFeatures, MeterStats};
use bofuss_oflib::message::{FlowRemovedReason, MeterMod};
use bofuss_oflib::types::{MeterId, TableId};

use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::control::staged_bundle::StagedBundle;
use crate::frame_engine::FrameEngine;
use crate::meters::{MAX_LEVELS, Meter, VIRTUAL};
use crate::references::meters;
use crate::{Config, Datapath, Sink, Time};

/// The meters as reads show them: while a bundle is in progress, those before it.
pub struct MetersView<'a> {
    meters: &'a BTreeMap<MeterId, Meter>,
    config: &'a Config,
}

impl<'a> MetersView<'a> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.meters.len()
    }

    /// Whether a meter exists.
    pub fn has(&self, id: MeterId) -> bool {
        self.meters.contains_key(&id)
    }

    /// The statistics of the meters with these numbers.
    pub fn stats(
        &self,
        now: Time,
        ids: RangeInclusive<MeterId>,
    ) -> impl Iterator<Item = MeterStats> + use<'a> {
        self.meters.range(ids).map(move |(_, meter)| {
            let (duration_sec, duration_nsec) = now.duration(meter.created);
            MeterStats {
                duration_sec,
                duration_nsec,
                ..meter.stats.clone()
            }
        })
    }

    /// The configurations of the meters with these numbers.
    pub fn configs(
        &self,
        ids: RangeInclusive<MeterId>,
    ) -> impl Iterator<Item = MeterConfig> + use<'a> {
        self.meters
            .range(ids)
            .map(|(_, meter)| meter.config.clone())
    }

    /// The features of meters.
    pub fn features(&self) -> MeterFeatures {
        MeterFeatures {
            max_meter: self.config.max_meters,
            band_types: 1 << BandKind::Drop.number() | 1 << BandKind::DscpRemark(1).number(),
            capabilities: MeterFlags::ALL.0.into(),
            max_bands: self.config.max_bands,
            max_color: 0,
            ..MeterFeatures::default()
        }
    }
}

impl<E: FrameEngine> Datapath<E> {
    /// Executes a meter-mod, or changes nothing.
    ///
    /// Errors: METER_MOD_FAILED with any code but UNKNOWN and BAD_BURST.
    pub fn meter_mod<S: Sink>(
        &mut self,
        now: Time,
        meter_mod: &MeterMod,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        let id = meter_mod.meter_id;
        if let Some((bundle, _)) = self.staging()
            && let Some(groups) = bundle.groups()
        {
            groups.note_meter_mod(meter_mod);
        }
        let exists = self.pipeline.meters.contains_key(&id);
        match meter_mod.command {
            MeterModCommand::ADD if exists => return Err(MeterModFailed::METER_EXISTS),
            MeterModCommand::MODIFY if !exists => return Err(MeterModFailed::UNKNOWN_METER),
            MeterModCommand::ADD | MeterModCommand::MODIFY => self.check_meter(meter_mod)?,
            MeterModCommand::DELETE => return self.delete_meters(now, id, sink),
            _ => return Err(MeterModFailed::BAD_COMMAND),
        }
        let mut meter = Meter::new(now, meter_mod);
        if let Some(old) = self.pipeline.meters.get(&id) {
            (meter.stats.flow_count, meter.stats.input) = (old.stats.flow_count, old.stats.input);
            meter.created = old.created;
        }
        self.pipeline.meters.insert(id, meter);
        Ok(())
    }

    fn check_meter(&self, meter_mod: &MeterMod) -> Result<(), ErrorCode> {
        let id = meter_mod.meter_id;
        let flags = meter_mod.flags;
        let bands = &meter_mod.bands;
        if (id == MeterId(0) || id > MeterId::MAX) && !VIRTUAL.contains(&id) {
            return Err(MeterModFailed::INVALID_METER);
        }
        let both = flags.has(MeterFlags::KBPS) && flags.has(MeterFlags::PKTPS);
        if both || flags.0 & !MeterFlags::ALL.0 != 0 {
            return Err(MeterModFailed::BAD_FLAGS);
        }
        if bands.len() > self.pipeline.config.max_bands.into() {
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
        let has_room = self.pipeline.meters.len() < self.pipeline.config.max_meters as usize;
        if has_room || self.pipeline.meters.contains_key(&id) {
            Ok(())
        } else {
            Err(MeterModFailed::OUT_OF_METERS)
        }
    }

    /// Deletes a meter, or all ordinary ones, and the entries that use it.
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
        // How many entries use the meters; for all meters, a sum would take too long.
        let flows = if id == MeterId::ALL {
            self.deleted.begin_meters(&mut self.pipeline);
            u32::MAX
        } else {
            let meter = self.pipeline.meters.remove(&id);
            meter.map_or(0, |meter| meter.stats.flow_count)
        };
        if flows > 0 {
            let bulk = BulkChange::new(
                TableId::ALL,
                move |entry| meters(&entry.instructions).any(|id| gone.contains(&id)),
                EntryChange::Delete(FlowRemovedReason::METER_DELETE, true),
            );
            return self.begin_bulk_change(now, bulk, sink);
        }
        Ok(())
    }

    /// The meters, for reading.
    pub fn meters(&self) -> MetersView<'_> {
        let before = self.bundle.as_ref().and_then(StagedBundle::groups_before);
        MetersView {
            meters: before.map_or(&self.pipeline.meters, |before| &before.meters),
            config: &self.pipeline.config,
        }
    }
}
