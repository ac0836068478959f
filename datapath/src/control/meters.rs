//! Meters: meter-mods and statistics. Spec: OpenFlow 1.3.5 sections 6.6 and 7.3.4.4.

use alloc::collections::BTreeMap;
use core::ops::RangeInclusive;

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::MeterModFailed;
use bofuss_oflib::message::meter_mod::{BandKind, MeterFlags, MeterModCommand};
use bofuss_oflib::message::multipart::{MeterConfig, MeterFeatures, MeterStats};
use bofuss_oflib::message::{FlowRemovedReason, MeterMod};
use bofuss_oflib::types::{MeterId, TableId};

use crate::control::Control;
use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::control::changes::Changes;
use crate::frame_engine::FrameEngine;
use crate::meters::{MAX_LEVELS, Meter, VIRTUAL};
use crate::pipeline::context::Pipeline;
use crate::references::meters;
use crate::{Config, Sink, Time};

/// The meters as reads show them: while a bundle is in progress, those before it.
pub struct MetersView<'a> {
    meters: &'a BTreeMap<MeterId, Meter>,
    config: &'a Config,
}

impl<'a> MetersView<'a> {
    pub(crate) fn new<E: FrameEngine>(pipeline: &'a Pipeline<E>, changes: &'a Changes<E>) -> Self {
        let before = changes.groups_before();
        Self {
            meters: before.map_or(&pipeline.meters, |before| &before.meters),
            config: &pipeline.config,
        }
    }

    /// Returns how many there are.
    ///
    /// Virtual meters are among them once they were added.
    pub fn count(&self) -> usize {
        self.meters.len()
    }

    /// Returns true if a meter exists.
    pub fn has(&self, id: MeterId) -> bool {
        self.meters.contains_key(&id)
    }

    /// The statistics of the meters with these numbers.
    ///
    /// The counters have to be settled first. Durations are since the meter was added; a modify
    /// does not begin them anew.
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
    ///
    /// In `band_types`, the bit of a band's type number is set. `max_color` is 0, as no band here
    /// uses colours.
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

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Executes a meter-mod, or changes nothing.
    ///
    /// A meter that is modified keeps its age, its entries and its input counters. Its bands begin
    /// with counters at 0 and with full buckets.
    ///
    /// Errors: METER_MOD_FAILED with any code but UNKNOWN and BAD_BURST.
    pub fn meter_mod(&mut self, meter_mod: &MeterMod) -> Result<(), ErrorCode> {
        let id = meter_mod.meter_id;
        if let Some(groups) = self.changes.prepared_groups() {
            groups.note_meter_mod(meter_mod);
        }
        let exists = self.cx.pipeline.meters.contains_key(&id);
        match meter_mod.command {
            MeterModCommand::ADD if exists => return Err(MeterModFailed::METER_EXISTS),
            MeterModCommand::MODIFY if !exists => return Err(MeterModFailed::UNKNOWN_METER),
            MeterModCommand::ADD | MeterModCommand::MODIFY => {
                check_meter(self.cx.pipeline, meter_mod)?
            }
            MeterModCommand::DELETE => return self.delete_meters(id),
            _ => return Err(MeterModFailed::BAD_COMMAND),
        }
        let mut meter = Meter::new(self.cx.now, meter_mod);
        if let Some(old) = self.cx.pipeline.meters.get(&id) {
            (meter.stats.flow_count, meter.stats.input) = (old.stats.flow_count, old.stats.input);
            meter.created = old.created;
        }
        self.cx.pipeline.meters.insert(id, meter);
        Ok(())
    }

    /// Deletes a meter, or all ordinary ones, and the entries that use it.
    ///
    /// Spec: OpenFlow 1.3.5 section 6.6: a meter that does not exist is no error, and a virtual
    /// meter can never be deleted.
    ///
    /// Errors: METER_MOD_FAILED/INVALID_METER for a virtual meter.
    fn delete_meters(&mut self, id: MeterId) -> Result<(), ErrorCode> {
        let gone = match id {
            MeterId::ALL => MeterId(0)..=MeterId::MAX,
            id if VIRTUAL.contains(&id) => return Err(MeterModFailed::INVALID_METER),
            id => id..=id,
        };
        // The number of entries that use the meters; for all meters, a sum would take too long.
        // An entry that is not removed yet drops its packets with NoMeter.
        let flows = if id == MeterId::ALL {
            self.changes.deleted.begin_meters(self.cx.pipeline);
            u32::MAX
        } else {
            let meter = self.cx.pipeline.meters.remove(&id);
            meter.map_or(0, |meter| meter.stats.flow_count)
        };
        if flows > 0 {
            let bulk = BulkChange::new(
                TableId::ALL,
                move |entry| meters(&entry.instructions).any(|id| gone.contains(&id)),
                EntryChange::Delete(FlowRemovedReason::METER_DELETE, true),
            );
            return self.begin_bulk_change(bulk);
        }
        Ok(())
    }
}

/// Errors: why a meter cannot be as requested.
///
/// Choice: two bands with one rate are refused, as the text does not say which band applies.
fn check_meter(
    pipeline: &Pipeline<impl FrameEngine>,
    meter_mod: &MeterMod,
) -> Result<(), ErrorCode> {
    let id = meter_mod.meter_id;
    let flags = meter_mod.flags;
    let bands = &meter_mod.bands;
    if (id == MeterId(0) || id > MeterId::MAX) && !VIRTUAL.contains(&id) {
        return Err(MeterModFailed::INVALID_METER);
    }
    // Neither flag is no error: then the unit is kb/s, the default.
    let both = flags.has(MeterFlags::KBPS) && flags.has(MeterFlags::PKTPS);
    if both || flags.0 & !MeterFlags::ALL.0 != 0 {
        return Err(MeterModFailed::BAD_FLAGS);
    }
    if bands.len() > pipeline.config.max_bands.into() {
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
    // A modify needs no further place.
    let has_room = pipeline.meters.len() < pipeline.config.max_meters as usize;
    if has_room || pipeline.meters.contains_key(&id) {
        Ok(())
    } else {
        Err(MeterModFailed::OUT_OF_METERS)
    }
}
