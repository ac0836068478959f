//! Ports and queues. Spec: OpenFlow 1.4.1 sections 7.2.1, 7.3.4.4, 7.3.5.7 to 7.3.5.10.

use super::V1_4;
use crate::error::{BadProperty, BadRequest, DecodeError};
use crate::forms::Form;
use crate::message::multipart::port::{OpticalStats, QueueDesc};
use crate::message::multipart::{PortStats, QueueStats};
use crate::message::port::{OpticalPort, OpticalPortMod, PortDesc, PortMod};
use crate::message::queue::QueueProperty;
use crate::v1_3::{EXPERIMENTER, layout, properties, with_properties};
use crate::wire::{Reader, Writer};

with_properties! {
    V1_4;
    PortDesc [4 40 0] { port_no => 4, hw_addr => 2, name, config, state }
    PortMod { port_no => 4, hw_addr => 2, config, mask }
    PortStats [0 80 4] {
        port_no, duration_sec, duration_nsec, rx_packets, tx_packets, rx_bytes, tx_bytes,
        rx_dropped, tx_dropped, rx_errors, tx_errors
    }
    QueueStats [0 48 8] {
        port_no, queue_id, tx_bytes, tx_packets, tx_errors, duration_sec, duration_nsec
    }
}

properties! {
    PortDesc {
        0 pad 4 fields curr, advertised, supported, peer, curr_speed, max_speed;
        1 pad 4 option optical;
        2 pad 0 option pipeline_input [since V1_5];
        3 pad 0 option pipeline_output [since V1_5];
        4 pad 0 option recirculate [since V1_5];
    }
    PortMod {
        0 pad 0 fields advertise;
        1 pad 0 option optical;
    }
    PortStats {
        0 pad 4 fields rx_frame_err, rx_over_err, rx_crc_err, collisions;
        1 pad 4 option optical;
    }
    QueueStats {}
}

layout! {
    V1_4;
    OpticalPort {
        supported, tx_min_freq_lmda, tx_max_freq_lmda, tx_grid_freq_lmda, rx_min_freq_lmda,
        rx_max_freq_lmda, rx_grid_freq_lmda, tx_pwr_min, tx_pwr_max
    }
    OpticalPortMod { configure, freq_lmda, fl_offset, grid_span, tx_pwr }
    OpticalStats {
        flags, tx_freq_lmda, tx_offset, tx_grid_span, rx_freq_lmda, rx_offset, rx_grid_span,
        tx_pwr, rx_pwr, bias_current, temperature
    }
}

impl Form<V1_4> for QueueDesc {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r.at("queue desc").sized(8, 16, 8, BadRequest::BAD_LEN)?;
        let port_no = body.at("port_no").get()?;
        let queue_id = body.at("queue_id").get()?;
        body.take(8)?;
        Ok(Self {
            port_no,
            queue_id,
            properties: body.get()?,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&self.port_no).put(&self.queue_id).pad(8);
        w.put(&self.properties).patch_length(start, start + 8);
    }
}

/// Property types of a queue.
const MIN_RATE: u16 = 1;
const MAX_RATE: u16 = 2;

impl Form<V1_4> for QueueProperty {
    /// Errors: BAD_PROPERTY with BAD_TYPE or BAD_LEN.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (at_type, ty, mut body) = r.at("queue property").property(BadProperty::BAD_LEN)?;
        let property = match ty {
            MIN_RATE | MAX_RATE => {
                let rate = body.at("rate").get()?;
                body.take(2)?;
                if ty == MIN_RATE {
                    Self::MinRate(rate)
                } else {
                    Self::MaxRate(rate)
                }
            }
            EXPERIMENTER => Self::Experimenter(body.get()?, body.get()?, body.get()?),
            _ => return Err(at_type.err(BadProperty::BAD_TYPE)),
        };
        body.finish()?;
        Ok(property)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let (ty, rate) = match self {
            Self::MinRate(rate) => (MIN_RATE, rate),
            Self::MaxRate(rate) => (MAX_RATE, rate),
            Self::Experimenter(id, exp_type, data) => {
                w.property(EXPERIMENTER, |w| {
                    w.put(id).put(exp_type).put(data);
                });
                return;
            }
        };
        w.property(ty, |w| {
            w.put(rate).pad(2);
        });
    }
}
