//! QUEUE_GET_CONFIG: the queues of a port and their properties. Spec: OpenFlow 1.3.5 sections
//! 7.2.2, 7.3.6.

use alloc::vec::Vec;
use core::fmt;

use crate::error::{BadRequest, DecodeError};
use crate::types::{PortNo, QueueId};
use crate::wire::{Bytes, Reader, Wire, Writer, wire};

wire! {
    /// Asks for the queues of a port, or of ANY.
    pub struct QueueConfigRequest {
        /// The port.
        pub port: PortNo => 4,
    }
}

/// One property of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueProperty {
    /// Guaranteed rate, in 1/1000 of the port's; above 1000 is none.
    MinRate(u16),
    /// Rate limit, in 1/1000 of the port's; above 1000 is none.
    MaxRate(u16),
    /// An experimenter's.
    Experimenter(u32, Bytes),
}

impl Wire for QueueProperty {
    /// Errors: BAD_REQUEST/BAD_LEN, also for an unknown property.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r
            .at("queue property")
            .sized(2, 16, 8, BadRequest::BAD_LEN)?;
        let ty: u16 = body.get()?;
        body.take(6)?;
        let property = match ty {
            1 | 2 => {
                let rate = body.at("rate").get()?;
                body.take(6)?;
                if ty == 1 {
                    Self::MinRate(rate)
                } else {
                    Self::MaxRate(rate)
                }
            }
            0xffff => {
                let experimenter = body.at("experimenter").get()?;
                body.take(4)?;
                Self::Experimenter(experimenter, body.get()?)
            }
            _ => return Err(body.short()),
        };
        body.finish()?;
        Ok(property)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        match self {
            Self::MinRate(rate) => w.put(&1u16).pad(6).put(rate).pad(6),
            Self::MaxRate(rate) => w.put(&2u16).pad(6).put(rate).pad(6),
            Self::Experimenter(id, data) => w.put(&0xffffu16).pad(6).put(id).pad(4).put(data),
        };
        w.align8(start).patch_length(start, start + 2);
    }
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinRate(rate) => write!(f, "min_rate={rate}"),
            Self::MaxRate(rate) => write!(f, "max_rate={rate}"),
            Self::Experimenter(id, data) => {
                write!(f, "experimenter={id:#x},data=")?;
                data.text(f)
            }
        }
    }
}

/// One queue with its properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketQueue {
    /// The queue.
    pub queue_id: QueueId,
    /// Its port.
    pub port: PortNo,
    /// Its properties.
    pub properties: Vec<QueueProperty>,
}

impl Wire for PacketQueue {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r.at("queue").sized(8, 16, 8, BadRequest::BAD_LEN)?;
        let (queue_id, port) = (body.at("queue_id").get()?, body.at("port").get()?);
        body.take(8)?;
        Ok(Self {
            queue_id,
            port,
            properties: body.get()?,
        })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&self.queue_id)
            .put(&self.port)
            .pad(8)
            .put(&self.properties);
        w.patch_length(start, start + 8);
    }
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "queue_id={},port={},properties=",
            self.queue_id, self.port
        )?;
        self.properties.text(f)
    }
}

wire! {
    /// The queues of a port.
    pub struct QueueConfig {
        /// The port asked for.
        pub port: PortNo => 4,
        /// Its queues.
        pub queues: Vec<PacketQueue>,
    }
}
