//! The events that a controller wants, those of roles, and requests of others. Spec: OpenFlow 1.4.1
//! sections 7.3.10, 7.4.4, 7.4.6.

use alloc::boxed::Box;

use super::V1_4;
use crate::error::{BadRequest, DecodeError};
use crate::forms::Form;
use crate::message::async_config::{AsyncConfig, AsyncMasks};
use crate::message::request_forward::RequestForward;
use crate::message::role::RoleStatus;
use crate::v1_3::bundle::{read_message, write_message};
use crate::v1_3::{EXPERIMENTER, Properties, properties, read_properties, with_properties};
use crate::version::Version;
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

/// The masks that a version has.
fn masks_of(version: Version) -> AsyncMasks {
    let newer = AsyncMasks::FLOW_STATS_SLAVE
        | AsyncMasks::FLOW_STATS
        | AsyncMasks::CONTROLLER_STATUS_SLAVE
        | AsyncMasks::CONTROLLER_STATUS;
    if version.has_stat_lists() {
        AsyncMasks::ALL
    } else {
        AsyncMasks::ALL.without(newer)
    }
}

impl AsyncConfig {
    /// The mask of a property of OpenFlow 1.4 and later, with its bit, if the version has it.
    fn mask(&mut self, ty: u16, version: Version) -> Option<(AsyncMasks, &mut u32)> {
        let mask = self.masks().into_iter().nth(ty.into());
        mask.filter(|(bit, _)| masks_of(version).has(*bit))
    }
}

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
            omitted: masks_of(r.version()),
            ..Self::default()
        };
        read_properties(&mut this, r)?;
        Ok(this)
    }
    fn write(&self, w: &mut Writer<'_>) {
        self.write_properties(w);
    }
}

impl Form<V1_4> for RequestForward {
    /// Errors: BAD_REQUEST with BAD_LEN, BAD_TYPE or BAD_VERSION, or the request's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (xid, request) = read_message(r, BadRequest::BAD_LEN, BadRequest::BAD_TYPE)?;
        Ok(Self {
            xid,
            request: Box::new(request),
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        write_message(self.xid, &self.request, w);
    }
}
