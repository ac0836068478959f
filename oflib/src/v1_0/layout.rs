//! What the 1.0 forms have in common: a trait, a macro for plain structures, the small values.

use alloc::vec::Vec;

use crate::error::DecodeError;
use crate::message::port::{PortConfig, PortFeatures, PortState};
use crate::message::{Empty, Hello, PortStatusReason, SwitchConfig};
use crate::types::{BufferId, MaxLen, PortNo, QueueId, TableId};
use crate::wire::{Bytes, FixedStr, Reader, Wire, Writer};
use crate::{ExtValue, Mac};

/// Whether a value was written; if not, what of it cannot be said in OpenFlow 1.0.
pub(super) type Said = Result<(), &'static str>;

/// A value's form in OpenFlow 1.0.
///
/// Invariant: what was read can be written, and gives the same value again.
pub(super) trait Old: Sized {
    /// Reads the value. Errors: as [`Wire::decode`].
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError>;
    /// Appends it. Errors: what cannot be said.
    fn write(&self, w: &mut Writer<'_>) -> Said;
}

/// Values that look the same in every version.
macro_rules! same {
    ($($T:ty)*) => { $(
        impl Old for $T {
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Wire::decode(r)
            }
            fn write(&self, w: &mut Writer<'_>) -> Said {
                Wire::encode(self, w);
                Ok(())
            }
        }
    )* };
}
same! {
    u8 u16 u32 u64 Mac BufferId MaxLen QueueId TableId Bytes Empty ExtValue PortStatusReason
    SwitchConfig crate::message::multipart::Desc crate::message::multipart::AggregateStats
    crate::message::multipart::ExtBody
}

impl<const N: usize> Old for FixedStr<N> {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Wire::decode(r)
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        Wire::encode(self, w);
        Ok(())
    }
}

/// Gives structures of the model their 1.0 form: the fields in wire order, `=> N` bytes of padding
/// behind one. Fields behind `..` have no place in 1.0: they are read as nothing.
macro_rules! layout {
    ($($T:ident { $($f:ident $(=> $pad:literal)?),* $(; ..$rest:ident)? })*) => { $(
        impl $crate::v1_0::layout::Old for $T {
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self {
                    $($f: {
                        let value = $crate::v1_0::layout::Old::read(r.at(stringify!($f)))?;
                        $(r.take($pad)?;)?
                        value
                    },)*
                    $(..Self::$rest())?
                })
            }
            fn write(&self, w: &mut Writer<'_>) -> $crate::v1_0::layout::Said {
                $(
                    $crate::v1_0::layout::Old::write(&self.$f, w)?;
                    $(w.pad($pad);)?
                )*
                Ok(())
            }
        }
    )* };
}
pub(super) use layout;

/// A list; what cannot be said is left out of it.
impl<T: Old> Old for Vec<T> {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut items = Self::new();
        while !r.is_empty() {
            items.push(T::read(r)?);
        }
        Ok(items)
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        for item in self {
            let start = w.bytes.len();
            match item.write(w) {
                Ok(()) => w.item_starts.push(start),
                Err(_) => w.bytes.truncate(start),
            }
        }
        Ok(())
    }
}

/// The first of the port numbers that mean something else than a port; in the model they are the
/// highest of 32 bits. Spec: OpenFlow 1.0.2 section 5.2.1.
const FIRST_RESERVED: u16 = PortNo::MAX.0 as u16;
/// What stands above the 16 bits of a reserved port in the model.
const RESERVED: u32 = 0xffff_0000;

impl Old for PortNo {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.get::<u16>().map(port)
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        w.put(&port_number(*self)?);
        Ok(())
    }
}

/// The port of a 16-bit number.
pub(super) fn port(number: u16) -> PortNo {
    let reserved = if number >= FIRST_RESERVED {
        RESERVED
    } else {
        0
    };
    PortNo(u32::from(number) | reserved)
}

/// The 16-bit number of a port. Errors: it has none.
pub(super) fn port_number(number: PortNo) -> Result<u16, &'static str> {
    let low = number.0 as u16;
    match port(low) == number {
        true => Ok(low),
        false => Err("a port number above 65,279"),
    }
}

/// NO_FLOOD on the wire.
const NO_FLOOD: u32 = 0x10;
/// The bits of a port's configuration about the spanning tree protocol, which the switch does not
/// speak; and NO_FLOOD, which has another place in the model.
const NOT_SAME: u32 = 0x02 | 0x08 | NO_FLOOD;

impl Old for PortConfig {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bits: u32 = r.get()?;
        let same = Self((bits & !NOT_SAME).into());
        Ok(match bits & NO_FLOOD {
            0 => same,
            _ => same | Self::NO_FLOOD,
        })
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        let flood = if self.has(Self::NO_FLOOD) {
            NO_FLOOD
        } else {
            0
        };
        w.put(&(self.0 as u32 & !NOT_SAME | flood));
        Ok(())
    }
}

/// The spanning tree state of a port that blocks: the one state that the model has.
const STP_BLOCK: u32 = 3 << 8;

impl Old for PortState {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bits: u32 = r.get()?;
        let down = Self(bits & Self::LINK_DOWN.0);
        Ok(match bits & STP_BLOCK {
            STP_BLOCK => down | Self::BLOCKED,
            _ => down,
        })
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        let blocked = if self.has(Self::BLOCKED) {
            STP_BLOCK
        } else {
            0
        };
        w.put(&(self.0 & Self::LINK_DOWN.0 | blocked));
        Ok(())
    }
}

/// The speeds up to 10 Gb/s, which have the same bits in all versions.
const SPEEDS: u32 = 0x7f;
/// How far the kinds of medium moved up when speeds were added.
const MEDIUM_SHIFT: u32 = 4;
/// The kinds of medium in 1.0.
const MEDIA: u32 = 0xf80;

impl Old for PortFeatures {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bits: u32 = r.get()?;
        Ok(Self(bits & SPEEDS | (bits & MEDIA) << MEDIUM_SHIFT))
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        w.put(&(self.0 & SPEEDS | self.0 >> MEDIUM_SHIFT & MEDIA));
        Ok(())
    }
}

impl Old for Hello {
    /// Skips whatever the body holds. Spec: OpenFlow 1.0.2 section 5.5.1.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.rest();
        Ok(Self::default())
    }
    fn write(&self, _: &mut Writer<'_>) -> Said {
        Ok(())
    }
}
