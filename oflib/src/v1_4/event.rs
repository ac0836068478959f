//! Which events a controller wants, and those of roles. Spec: OpenFlow 1.4.1 sections 7.3.10,
//! 7.4.4.

use super::properties::EXPERIMENTER;
use super::{Properties, V1_4, properties, read_properties, with_properties};
use crate::error::DecodeError;
use crate::forms::Form;
use crate::message::async_config::{AsyncConfig, AsyncMasks};
use crate::message::role::RoleStatus;
use crate::wire::{Reader, Writer};

with_properties! {
    V1_4;
    RoleStatus { role, reason => 3, generation_id }
}

properties! {
    RoleStatus {}
}

/// The type of experimenters' properties that are for slaves.
const EXPERIMENTER_SLAVE: u16 = EXPERIMENTER - 1;

impl Properties for AsyncConfig {
    fn read_property(&mut self, ty: u16, r: &mut Reader<'_>) -> Result<bool, DecodeError> {
        match ty {
            EXPERIMENTER => self.experimenters.push(r.get()?),
            EXPERIMENTER_SLAVE => self.experimenters_slave.push(r.get()?),
            _ => {
                let Some((bit, mask)) = self.mask(ty, r.version()) else {
                    return Ok(false);
                };
                *mask = r.at("mask").get()?;
                self.omitted = self.omitted.without(bit);
            }
        }
        Ok(true)
    }
    fn write_properties(&self, w: &mut Writer<'_>) {
        let mut this = self.clone();
        let mut ty = 0;
        while let Some((bit, mask)) = this.mask(ty, w.version()) {
            if !self.omitted.has(bit) {
                w.property(ty, |w| {
                    w.put(mask);
                });
            }
            ty += 1;
        }
        for (ty, list) in [
            (EXPERIMENTER_SLAVE, &self.experimenters_slave),
            (EXPERIMENTER, &self.experimenters),
        ] {
            for one in list {
                w.property(ty, |w| {
                    w.put(one);
                });
            }
        }
    }
}

impl Form<V1_4> for AsyncConfig {
    /// Errors: BAD_PROPERTY's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut this = Self {
            omitted: AsyncMasks::of(r.version()),
            ..Self::default()
        };
        read_properties(&mut this, r)?;
        Ok(this)
    }
    fn write(&self, w: &mut Writer<'_>) {
        self.write_properties(w);
    }
}
