//! Statistics as lists of fields (OXS). Spec: OpenFlow 1.5.1 section 7.2.4.

use super::V1_5;
use crate::error::{BadInstruction, BadRequest, DecodeError, ErrorCode};
use crate::forms::Form;
use crate::message::multipart::AggregateStats;
use crate::message::stats::{StatTime, Stats};
use crate::stat_trigger::StatTrigger;
use crate::v1_3::layout;
use crate::wire::{Reader, Wire, Writer};

layout! {
    V1_5;
    StatTime { sec, nsec }
}

/// The class of the specification's fields.
const CLASS_BASIC: u16 = 0x8002;

/// Number, name in the model, and bytes of each field.
macro_rules! fields {
    ($($number:literal $f:ident $bytes:literal;)*) => {
        /// Reads the value of a field into its place; `false` if it is none of the specification's
        /// or was there.
        fn read_field(
            stats: &mut Stats,
            number: u8,
            r: &mut Reader<'_>,
        ) -> Result<bool, DecodeError> {
            let is_new = match number {
                $($number => {
                    let value = r.at(stringify!($f)).get()?;
                    r.finish()?;
                    stats.$f.replace(value).is_none()
                })*
                _ => false,
            };
            Ok(is_new)
        }
        fn write_fields(stats: &Stats, w: &mut Writer<'_>) {
            $(if let Some(value) = &stats.$f {
                w.put(&CLASS_BASIC).raw(&[$number << 1, $bytes]).put(value);
            })*
        }
    };
}

fields! {
    0 duration 8;
    1 idle_time 8;
    3 flow_count 4;
    4 packet_count 8;
    5 byte_count 8;
}

/// Reads a list of statistics, with its header and padding; `bad_len` is the error of lengths, and
/// `refused` that of a field that is not known or stands twice; if none, the first is skipped, and
/// of the second the last counts.
fn read_list(
    r: &mut Reader<'_>,
    bad_len: ErrorCode,
    refused: Option<ErrorCode>,
) -> Result<Stats, DecodeError> {
    let start = r.position();
    let mut list = r.at("statistics").sized(2, 4, 0, bad_len)?;
    let length = r.position() - start;
    list.take(4)?;
    let mut stats = Stats::default();
    while !list.is_empty() {
        let at_field = list.at("oxs field").clone();
        let class: u16 = list.get()?;
        let number = list.get::<u8>()? >> 1;
        let bytes: u8 = list.at("oxs_length").get()?;
        let mut value = list.sub(bytes.into(), bad_len)?;
        let is_new = class == CLASS_BASIC && read_field(&mut stats, number, &mut value)?;
        if let (false, Some(error)) = (is_new, refused) {
            return Err(at_field.err(error));
        }
    }
    r.at("padding of statistics")
        .take(length.next_multiple_of(8) - length)?;
    Ok(stats)
}

impl Form<V1_5> for Stats {
    /// Choice: what is no field of the specification is skipped, and of two of a kind the last
    /// counts, as of a reply that says more than was asked for.
    ///
    /// Errors: BAD_REQUEST/BAD_LEN.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        read_list(r, BadRequest::BAD_LEN, None)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16).put(&0u16);
        write_fields(self, w);
        w.patch_length(start, start + 2);
        w.align8(start);
    }
}

impl Form<V1_5> for AggregateStats {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let stats = Stats::decode(r)?;
        Ok(Self {
            packet_count: stats.packets(),
            byte_count: stats.bytes(),
            flow_count: stats.flow_count.unwrap_or_default(),
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&Stats {
            flow_count: Some(self.flow_count),
            ..Stats::counted(self.packet_count, self.byte_count)
        });
    }
}

impl Form<V1_5> for StatTrigger {
    /// Errors: BAD_INSTRUCTION/BAD_LEN; BAD_INSTRUCTION/UNSUP_INST for a threshold of something
    /// else than the specification's statistics, or a second one of a kind.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let flags = r.at("flags").get()?;
        let refused = Some(BadInstruction::UNSUP_INST);
        let thresholds = read_list(r, BadInstruction::BAD_LEN, refused)?;
        Ok(Self {
            flags,
            thresholds: thresholds.into(),
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.flags).put(&*self.thresholds);
    }
}
