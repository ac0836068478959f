//! METER_MOD: a change of meters. Spec: OpenFlow 1.3.5 section 7.3.4.4.

use alloc::vec::Vec;

use crate::error::MeterModFailed;
use crate::model::{flags, model, named};
use crate::types::MeterId;

named! {
    /// The commands of a meter-mod (`OFPMC_*`).
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

/// The effect of a band on the packets above its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// One band of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Band {
    /// The effect.
    pub kind: BandKind,
    /// The rate above which it applies, in the meter's unit.
    pub rate: u32,
    /// The burst that may pass at once, in kilobits or packets.
    pub burst_size: u32,
}

model! {
    /// A change of meters.
    pub struct MeterMod text write_meter_mod {
        /// The command.
        pub command: MeterModCommand,
        /// Units and options.
        pub flags: MeterFlags,
        /// The meter.
        pub meter_id: MeterId,
        /// Its bands.
        pub bands: Vec<Band>,
    }
}
