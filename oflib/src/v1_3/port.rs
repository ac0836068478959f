//! Ports and queues, and their statistics. Spec: OpenFlow 1.3.5 sections 7.2.1, 7.2.2, 7.3.4.3,
//! 7.3.5.6 to 7.3.5.8, 7.3.6, 7.4.3.

use super::session::low_bits;
use super::{V1_3, layout};
use crate::error::{BadRequest, DecodeError};
use crate::forms::Form;
use crate::message::multipart::{
    PortDescRequest, PortRequest, PortStats, QueueStats, QueueStatsRequest,
};
use crate::message::port::{PortConfig, PortDesc, PortMod, PortStatus};
use crate::message::queue::{PacketQueue, QueueConfig, QueueConfigRequest, QueueProperty};
use crate::wire::{Reader, Writer};

low_bits! { PortConfig as u32; }

layout! {
    V1_3;
    PortDesc {
        port_no => 4, hw_addr => 2, name, config, state, curr, advertised, supported, peer,
        curr_speed, max_speed;
        ..default
    }
    PortStatus { reason => 7, desc }
    PortMod {
        port_no => 4, hw_addr => 2, config, mask, advertise => 4;
        ..default [optical, experimenters]
    }
    PortRequest { port_no => 4 }
    PortStats {
        port_no => 4, rx_packets, tx_packets, rx_bytes, tx_bytes, rx_dropped, tx_dropped,
        rx_errors, tx_errors, rx_frame_err, rx_over_err, rx_crc_err, collisions, duration_sec,
        duration_nsec;
        ..default
    }
    QueueStatsRequest { port_no, queue_id }
    QueueStats {
        port_no, queue_id, tx_bytes, tx_packets, tx_errors, duration_sec, duration_nsec;
        ..default
    }
    QueueConfigRequest { port => 4 }
    QueueConfig { port => 4, queues }
}

impl Form<V1_3> for PortDescRequest {
    fn read(_: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self::ALL)
    }
    fn write(&self, w: &mut Writer<'_>) {
        if *self != Self::ALL {
            w.unsupported("port_no");
        }
    }
}

/// Property types of a queue.
const MIN_RATE: u16 = 1;
const MAX_RATE: u16 = 2;
const EXPERIMENTER: u16 = 0xffff;

impl Form<V1_3> for QueueProperty {
    /// Errors: BAD_REQUEST/BAD_LEN, also for an unknown property.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bad = BadRequest::BAD_LEN;
        let mut body = r.at("queue property").sized(2, 16, 8, bad)?;
        let ty: u16 = body.get()?;
        body.take(6)?;
        let property = match ty {
            MIN_RATE | MAX_RATE => {
                let rate = body.at("rate").get()?;
                body.take(6)?;
                if ty == MIN_RATE {
                    Self::MinRate(rate)
                } else {
                    Self::MaxRate(rate)
                }
            }
            EXPERIMENTER => {
                let experimenter = body.at("experimenter").get()?;
                body.take(4)?;
                Self::Experimenter(experimenter, 0, body.get()?)
            }
            _ => return Err(body.short()),
        };
        body.finish()?;
        Ok(property)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        match self {
            Self::MinRate(rate) => w.put(&MIN_RATE).pad(6).put(rate).pad(6),
            Self::MaxRate(rate) => w.put(&MAX_RATE).pad(6).put(rate).pad(6),
            Self::Experimenter(id, _, data) => w.put(&EXPERIMENTER).pad(6).put(id).pad(4).put(data),
        };
        w.align8(start).patch_length(start, start + 2);
    }
}

impl Form<V1_3> for PacketQueue {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r.at("queue").sized(8, 16, 8, BadRequest::BAD_LEN)?;
        let queue_id = body.at("queue_id").get()?;
        let port = body.at("port").get()?;
        body.take(8)?;
        Ok(Self {
            queue_id,
            port,
            properties: body.get()?,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&self.queue_id).put(&self.port).pad(8);
        w.put(&self.properties).patch_length(start, start + 8);
    }
}
