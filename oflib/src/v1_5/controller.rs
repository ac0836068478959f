//! Controllers: their roles and short ids, their status, what the switch can do for them. Spec:
//! OpenFlow 1.5.1 sections 7.3.1, 7.3.5.20, 7.3.8.

use super::V1_5;
use crate::error::DecodeError;
use crate::forms::Form;
use crate::message::ControllerStatus;
use crate::message::controller_status::Uri;
use crate::message::features::Capabilities;
use crate::message::role::Role;
use crate::v1_3::{layout, properties, with_properties};
use crate::wire::{Reader, Writer, text_of};

layout! {
    V1_5;
    Role { role, short_id => 2, generation_id }
}

with_properties! {
    V1_5;
    ControllerStatus [0 16 2] { short_id, role, reason, channel_status => 6 }
}

properties! {
    ControllerStatus {
        0 pad 0 option uri;
    }
}

impl Form<V1_5> for Uri {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(text_of(r.rest())))
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.raw(self.0.as_bytes());
    }
}

/// The bits of capabilities that came with 1.5, in the model and on the wire.
const CAPABILITIES: [(Capabilities, u32); 2] = [
    (Capabilities::BUNDLES, 1 << 9),
    (Capabilities::FLOW_MONITORING, 1 << 10),
];

impl Form<V1_5> for Capabilities {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut wire: u32 = r.get()?;
        let mut all = Self::default();
        for (capability, bit) in CAPABILITIES {
            if wire & bit != 0 {
                all = all | capability;
                wire &= !bit;
            }
        }
        Ok(all | Self(wire.into()))
    }
    fn write(&self, w: &mut Writer<'_>) {
        let mut wire = self.0 as u32;
        for (capability, bit) in CAPABILITIES {
            if self.has(capability) {
                wire |= bit;
            }
        }
        w.put(&wire);
    }
}
