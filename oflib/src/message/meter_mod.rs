//! METER_MOD: a change of meters. Spec: OpenFlow 1.3.5 section 7.3.4.4.

use alloc::vec::Vec;
use core::fmt;

use crate::error::{DecodeError, MeterModFailed};
use crate::text::write_meter_mod;
use crate::types::MeterId;
use crate::wire::{Reader, Wire, Writer, flags, named, wire};

named! {
    /// What a meter-mod does (`OFPMC_*`).
    pub struct MeterModCommand(u16) else MeterModFailed::BAD_COMMAND {
        /// Adds a meter.
        ADD = 0 "add",
        /// Replaces a meter's flags and bands.
        MODIFY = 1 "modify",
        /// Removes a meter.
        DELETE = 2 "delete",
    }
}

flags! {
    /// Units and options of a meter (`OFPMF_*`).
    pub struct MeterFlags(u16) {
        /// Rates are in kb/s.
        KBPS = 0x1 "kbps",
        /// Rates are in packets/s.
        PKTPS = 0x2 "pktps",
        /// Bands have a burst size.
        BURST = 0x4 "burst",
        /// Collect statistics.
        STATS = 0x8 "stats",
    }
}

/// What a band does to the packets above its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandKind {
    /// Drops them.
    Drop,
    /// Raises the drop precedence of their DSCP by this many levels.
    DscpRemark(u8),
    /// An experimenter's doing.
    Experimenter(u32),
}

impl BandKind {
    /// The type on the wire (`OFPMBT_*`).
    pub fn number(self) -> u16 {
        match self {
            Self::Drop => 1,
            Self::DscpRemark(_) => 2,
            Self::Experimenter(_) => 0xffff,
        }
    }
}

/// Bytes of a band on the wire.
const BAND_BYTES: usize = 16;

/// One band of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// What it does.
    pub kind: BandKind,
    /// Where it begins, in the meter's unit.
    pub rate: u32,
    /// How much may pass at once, in kilobits or packets.
    pub burst_size: u32,
}

impl Wire for Band {
    /// Errors: METER_MOD_FAILED/BAD_BAND for an unknown type or a wrong length.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bad = MeterModFailed::BAD_BAND;
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
            0xffff => BandKind::Experimenter(body.at("experimenter").get()?),
            _ => return Err(at_type.err(bad)),
        };
        if body.is_empty() {
            Ok(Self {
                kind,
                rate,
                burst_size,
            })
        } else {
            Err(body.err(bad))
        }
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.kind.number())
            .put(&(BAND_BYTES as u16))
            .put(&self.rate)
            .put(&self.burst_size);
        match self.kind {
            BandKind::Drop => w.pad(4),
            BandKind::DscpRemark(levels) => w.put(&levels).pad(3),
            BandKind::Experimenter(id) => w.put(&id),
        };
    }
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            BandKind::Drop => f.write_str("type=drop")?,
            BandKind::DscpRemark(levels) => write!(f, "type=dscp_remark,prec_level={levels}")?,
            BandKind::Experimenter(id) => write!(f, "type=experimenter,experimenter={id:#x}")?,
        }
        write!(f, ",rate={},burst_size={}", self.rate, self.burst_size)
    }
}

wire! {
    /// A change of meters.
    pub struct MeterMod text write_meter_mod {
        /// What to do.
        pub command: MeterModCommand,
        /// Units and options.
        pub flags: MeterFlags,
        /// The meter.
        pub meter_id: MeterId,
        /// Its bands.
        pub bands: Vec<Band>,
    }
}
