//! Ports and queues, and their statistics. Spec: OpenFlow 1.3.5 sections 7.2.1, 7.2.2, 7.3.4.3,
//! 7.3.5.6 to 7.3.5.8, 7.3.6, 7.4.3.

use super::session::low_bits;
use super::{V1_3, layout};
#[cfg(feature = "connections")]
use crate::error::BadRequest;
use crate::error::DecodeError;
use crate::forms::Form;
use crate::message::multipart::{
    PortDescRequest, PortRequest, PortStats, QueueStats, QueueStatsRequest,
};
use crate::message::port::{PortConfig, PortDesc, PortMod, PortStatus};
use crate::message::queue::{PacketQueue, QueueConfig, QueueConfigRequest, QueueProperty};
use crate::wire::{Reader, Writer};

// The bits of 1.3 are the lowest of the model's.
low_bits! { PortConfig as u32; }

layout! {
    V1_3;
    // 64 bytes. The four sets of `OFPPF_*` bits and the speeds in kb/s describe an Ethernet port;
    // other kinds of ports came with 1.4.
    PortDesc {
        port_no => 4, hw_addr => 2, name, config, state, curr, advertised, supported, peer,
        curr_speed, max_speed;
        ..default
    }
    PortStatus { reason => 7, desc }
    PortMod {
        // `mask` selects the bits of `config` that change; `hw_addr` must be the port's, as a check
        // that the controller means this port. An `advertise` of 0 changes nothing.
        port_no => 4, hw_addr => 2, config, mask, advertise => 4;
        ..default [optical, experimenters]
    }
    PortRequest { port_no => 4 }
    PortStats {
        // A counter that the switch does not keep is all ones.
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

/// The request has no body before 1.5, so that it always asks for all ports.
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
///
/// A rate of a queue is in units of 1/10 of a percent of the port's speed.
const MIN_RATE: u16 = 1;
const MAX_RATE: u16 = 2;
const EXPERIMENTER: u16 = 0xffff;

/// Type and length, 4 bytes of padding, and the contents. Before 1.4 the padding to 8 bytes is
/// part of the property and of its length. Spec: OpenFlow 1.3.5 section 7.2.2.
impl Form<V1_3> for QueueProperty {
    /// Errors: BAD_REQUEST/BAD_LEN, also for an unknown property.
    #[cfg(feature = "connections")]
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bad = BadRequest::BAD_LEN;
        // All properties of 1.3 have at least 16 bytes.
        let mut body = r.at("queue property").sized(2, 16, 8, bad)?;
        let ty: u16 = body.get()?;
        // The length, which the window has checked, and 4 bytes of padding.
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
                // Before 1.4 an experimenter's properties have no types: 0 stands for that.
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

/// The length stands at byte 8, after the queue's id and port; the properties go up to it.
impl Form<V1_3> for PacketQueue {
    #[cfg(feature = "connections")]
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
