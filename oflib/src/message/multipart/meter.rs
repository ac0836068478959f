//! Multiparts about meters. Spec: OpenFlow 1.3.5 sections 7.3.5.12 to 7.3.5.14.

use alloc::vec::Vec;
use core::fmt;

use super::group::BucketCounter;
use crate::error::{BadRequest, DecodeError};
use crate::message::meter_mod::{Band, MeterFlags};
use crate::text::write_meter;
use crate::types::MeterId;
use crate::wire::{Reader, Wire, Writer, wire};

wire! {
    /// Which meter is asked for; ALL is all.
    pub struct MeterRequest {
        /// The meter.
        pub meter_id: MeterId => 4,
    }
}

/// What a meter did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeterStats {
    /// The meter.
    pub meter_id: MeterId,
    /// Flows that use it.
    pub flow_count: u32,
    /// Packets and bytes that entered it.
    pub input: BucketCounter,
    /// How long it exists: whole seconds,
    pub duration_sec: u32,
    /// and nanoseconds beyond.
    pub duration_nsec: u32,
    /// Packets and bytes in each band.
    pub bands: Vec<BucketCounter>,
}

impl Wire for MeterStats {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let meter_id = r.clone().at("meter_id").get()?;
        let mut body = r.at("meter stats").sized(4, 40, 8, BadRequest::BAD_LEN)?;
        body.take(12)?;
        Ok(Self {
            meter_id,
            flow_count: body.at("flow_count").get()?,
            input: body.get()?,
            duration_sec: body.at("duration_sec").get()?,
            duration_nsec: body.at("duration_nsec").get()?,
            bands: body.get()?,
        })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&self.meter_id)
            .put(&0u16)
            .pad(6)
            .put(&self.flow_count)
            .put(&self.input);
        w.put(&self.duration_sec)
            .put(&self.duration_nsec)
            .put(&self.bands);
        w.patch_length(start, start + 4);
    }
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "meter_id={},flow_count={},",
            self.meter_id, self.flow_count
        )?;
        self.input.text(f)?;
        write!(
            f,
            ",duration={}.{:09}s,bands=",
            self.duration_sec, self.duration_nsec
        )?;
        self.bands.text(f)
    }
}

/// A meter as it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeterConfig {
    /// Units and options.
    pub flags: MeterFlags,
    /// The meter.
    pub meter_id: MeterId,
    /// Its bands.
    pub bands: Vec<Band>,
}

impl Wire for MeterConfig {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r.at("meter config").sized(0, 8, 8, BadRequest::BAD_LEN)?;
        body.take(2)?;
        Ok(Self {
            flags: body.at("flags").get()?,
            meter_id: body.at("meter_id").get()?,
            bands: body.get()?,
        })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16)
            .put(&self.flags)
            .put(&self.meter_id)
            .put(&self.bands);
        w.patch_length(start, start);
    }
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_meter(self.meter_id, self.flags, &self.bands, f)
    }
}

wire! {
    /// What meters can do.
    #[derive(Copy)]
    pub struct MeterFeatures {
        /// The most meters.
        pub max_meter: u32,
        /// A bit for each band type.
        pub band_types: u32 as hex,
        /// Units and options.
        pub capabilities: u32 as hex,
        /// The most bands of a meter.
        pub max_bands: u8,
        /// The most colours.
        pub max_color: u8 => 2,
    }
}
