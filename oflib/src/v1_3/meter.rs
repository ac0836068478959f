//! Meters, and their statistics. Spec: OpenFlow 1.3.5 sections 7.3.4.4, 7.3.5.12 to 7.3.5.14.

use super::{V1_3, layout};
#[cfg(feature = "connections")]
use crate::error::BadRequest;
use crate::error::{DecodeError, MeterModFailed};
use crate::forms::Form;
use crate::message::meter_mod::{Band, BandKind, MeterMod};
use crate::message::multipart::meter::{MeterConfig, MeterFeatures, MeterRequest, MeterStats};
use crate::wire::{Reader, Writer};

layout! {
    V1_3;
    // The bands fill the rest of the message: there is no length for all of them.
    MeterMod { command, flags, meter_id, bands }
    MeterRequest { meter_id => 4 }
    MeterFeatures {
        // Bit N of `band_types` is the band of type N; `capabilities` are bits of `MeterFlags`.
        max_meter, band_types, capabilities, max_bands, max_color => 2;
        ..default
    }
}

/// Bytes of a band.
/// The head of 12 bytes and 4 that depend on the type. All bands of 1.3 have this size, so that
/// the length on the wire only confirms the type.
const BAND_BYTES: usize = 16;

/// Type, length, rate and burst size, then what the type has: DROP nothing, DSCP_REMARK the levels
/// by which it raises the drop precedence, EXPERIMENTER the id. `rate` is in kb/s or packets/s,
/// `burst_size` in kilobits or packets, as the meter's flags say.
impl Form<V1_3> for Band {
    /// Errors: METER_MOD_FAILED/BAD_BAND for an unknown type or a wrong length.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bad = MeterModFailed::BAD_BAND;
        // BAD_BAND also for lengths: METER_MOD_FAILED has no code for these.
        let mut body = r.at("band").sized(2, BAND_BYTES, 8, bad)?;
        let at_type = body.at("band type").clone();
        let ty: u16 = body.get()?;
        body.take(2)?;
        let rate = body.at("rate").get()?;
        let burst_size = body.at("burst_size").get()?;
        let kind = match ty {
            1 => {
                body.take(4)?;
                BandKind::Drop
            }
            2 => {
                let levels = body.at("prec_level").get()?;
                body.take(3)?;
                BandKind::DscpRemark(levels)
            }
            // The experimenter's id stands where other bands have padding or levels.
            0xffff => BandKind::Experimenter(body.at("experimenter").get()?),
            _ => return Err(at_type.err(bad)),
        };
        // A longer band, such as an experimenter's with data of its own, is refused: the model has
        // no place for the data, and would lose it when the band is listed.
        if !body.is_empty() {
            return Err(body.err(bad));
        }
        Ok(Self {
            kind,
            rate,
            burst_size,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.kind.number()).put(&(BAND_BYTES as u16));
        w.put(&self.rate).put(&self.burst_size);
        match self.kind {
            BandKind::Drop => w.pad(4),
            BandKind::DscpRemark(levels) => w.put(&levels).pad(3),
            BandKind::Experimenter(id) => w.put(&id),
        };
    }
}

/// The length stands after the meter's id, and counts from there back to the id. The bands'
/// counters go up to this length.
impl Form<V1_3> for MeterStats {
    #[cfg(feature = "connections")]
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        // The id comes before the length, so it is read ahead, and skipped with the length and its
        // padding.
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
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&self.meter_id).put(&0u16).pad(6);
        w.put(&self.flow_count).put(&self.input);
        w.put(&self.duration_sec).put(&self.duration_nsec);
        w.put(&self.bands).patch_length(start, start + 4);
    }
}

/// The length of 16 bits comes first and counts the bands, too.
impl Form<V1_3> for MeterConfig {
    #[cfg(feature = "connections")]
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r.at("meter config").sized(0, 8, 8, BadRequest::BAD_LEN)?;
        body.take(2)?;
        Ok(Self {
            flags: body.at("flags").get()?,
            meter_id: body.at("meter_id").get()?,
            bands: body.get()?,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16).put(&self.flags);
        w.put(&self.meter_id).put(&self.bands);
        w.patch_length(start, start);
    }
}

#[cfg(test)]
mod tests {
    use alloc::{sync::Arc, vec, vec::Vec};

    use super::*;
    use crate::error::BadRequest;
    use crate::message::Message;
    use crate::message::multipart::{MultipartReply, ReplyBody};
    use crate::{Codec, Version};

    #[test]
    fn a_list_of_a_switch_is_written_always_and_read_at_the_ends_of_connections() {
        let codec = Codec::new(Version::V1_3, Arc::default());
        let list = ReplyBody::MeterConfig(vec![MeterConfig::default()]);
        let reply = Message::MultipartReply(MultipartReply::from(list));
        let mut bytes = Vec::new();
        let written = codec.encode(1, &reply, &mut bytes);
        assert_eq!(written, Ok(()));
        let wanted = if cfg!(feature = "connections") {
            Ok((1, reply))
        } else {
            Err(BadRequest::BAD_TYPE)
        };
        assert_eq!(codec.decode(&bytes).map_err(|error| error.error), wanted);
    }
}
