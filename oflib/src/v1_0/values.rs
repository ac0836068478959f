//! The small values that 1.0 numbers otherwise: ports, commands, reasons, bits.

use super::V1_0;
use crate::error::DecodeError;
use crate::forms::Form;
use crate::message::features::Capabilities;
use crate::message::port::{PortConfig, PortFeatures, PortState};
use crate::message::{Hello, PacketInReason};
use crate::types::PortNo;
use crate::wire::{Reader, Writer};

/// The first of the port numbers that mean something else than a port; in the model they are the
/// highest of 32 bits. Spec: OpenFlow 1.0.2 section 5.2.1.
const FIRST_RESERVED: u16 = PortNo::MAX.0 as u16;
/// The bits above the 16 of a reserved port in the model.
const RESERVED: u32 = 0xffff_0000;

impl Form<V1_0> for PortNo {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.get::<u16>().map(port)
    }
    fn write(&self, w: &mut Writer<'_>) {
        match port_number(*self) {
            Ok(number) => {
                w.put(&number);
            }
            Err(what) => w.unsupported(what),
        }
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
    if port(low) == number {
        Ok(low)
    } else {
        Err("a port number above 65,279")
    }
}

/// NO_FLOOD on the wire.
const NO_FLOOD: u32 = 0x10;
/// The bits of a port's configuration about the spanning tree protocol, which the switch does not
/// speak; and NO_FLOOD, which has another place in the model.
const NOT_SAME: u32 = 0x02 | 0x08 | NO_FLOOD;

impl Form<V1_0> for PortConfig {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bits: u32 = r.get()?;
        let same = Self((bits & !NOT_SAME).into());
        Ok(match bits & NO_FLOOD {
            0 => same,
            _ => same | Self::NO_FLOOD,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let flood = if self.has(Self::NO_FLOOD) {
            NO_FLOOD
        } else {
            0
        };
        w.put(&(self.0 as u32 & !NOT_SAME | flood));
    }
}

/// The spanning tree state of a port that blocks: the one state that the model has.
const STP_BLOCK: u32 = 3 << 8;

impl Form<V1_0> for PortState {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bits: u32 = r.get()?;
        let down = Self(bits & Self::LINK_DOWN.0);
        Ok(match bits & STP_BLOCK {
            STP_BLOCK => down | Self::BLOCKED,
            _ => down,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let blocked = if self.has(Self::BLOCKED) {
            STP_BLOCK
        } else {
            0
        };
        w.put(&(self.0 & Self::LINK_DOWN.0 | blocked));
    }
}

/// The speeds up to 10 Gb/s, which have the same bits in all versions.
const SPEEDS: u32 = 0x7f;
/// The number of bits by which the kinds of medium moved up when speeds were added.
const MEDIUM_SHIFT: u32 = 4;
/// The kinds of medium in 1.0.
const MEDIA: u32 = 0xf80;

impl Form<V1_0> for PortFeatures {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bits: u32 = r.get()?;
        Ok(Self(bits & SPEEDS | (bits & MEDIA) << MEDIUM_SHIFT))
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&(self.0 & SPEEDS | self.0 >> MEDIUM_SHIFT & MEDIA));
    }
}

impl Form<V1_0> for Hello {
    /// Skips whatever the body holds. Spec: OpenFlow 1.0.2 section 5.5.1.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.rest();
        Ok(Self::default())
    }
    fn write(&self, _: &mut Writer<'_>) {}
}

/// The capabilities that mean the same in every version.
const SAME_CAPABILITIES: u32 = 0x67;
/// The capability to match the addresses within ARP.
const ARP_MATCH_IP: u32 = 0x80;

/// Reads capabilities, of which the bits of `same` mean the same in every version.
pub(crate) fn read_capabilities(
    same: u32,
    r: &mut Reader<'_>,
) -> Result<Capabilities, DecodeError> {
    let bits: u32 = r.get()?;
    let same = Capabilities((bits & same).into());
    Ok(match bits & ARP_MATCH_IP {
        0 => same,
        _ => same | Capabilities::ARP_MATCH_IP,
    })
}

/// Appends capabilities, of which the bits of `same` mean the same in every version.
pub(crate) fn write_capabilities(capabilities: Capabilities, same: u32, w: &mut Writer<'_>) {
    let arp = if capabilities.has(Capabilities::ARP_MATCH_IP) {
        ARP_MATCH_IP
    } else {
        0
    };
    w.put(&(capabilities.0 as u32 & same | arp));
}

impl Form<V1_0> for Capabilities {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        read_capabilities(SAME_CAPABILITIES, r)
    }
    fn write(&self, w: &mut Writer<'_>) {
        write_capabilities(*self, SAME_CAPABILITIES, w);
    }
}

impl Form<V1_0> for PacketInReason {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.get().map(|number| without_ttl(Self(number)))
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&without_ttl(*self).0);
    }
}

/// The reason that stands for one in 1.0, where TTLs are not looked at.
fn without_ttl(reason: PacketInReason) -> PacketInReason {
    match reason {
        PacketInReason::INVALID_TTL => PacketInReason::ACTION,
        _ => reason,
    }
}
