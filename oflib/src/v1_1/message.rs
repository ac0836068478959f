//! The other messages of OpenFlow 1.1: packets to the controller, queues, capabilities.
//! Spec: OpenFlow 1.1.0 sections A.3.1, A.3.7, A.4.1.

use alloc::vec;

use super::V1_1;
use crate::error::{DecodeError, QueueOpFailed};
use crate::field::{IN_PHY_PORT, IN_PORT};
use crate::forms::Form;
use crate::matching::{FieldMatch, Match};
use crate::message::features::Capabilities;
use crate::message::{PacketIn, QueueConfig, QueueConfigRequest};
use crate::types::PortNo;
use crate::v1_0::values::{read_capabilities, write_capabilities};
use crate::v1_3::V1_3;
use crate::wire::{Reader, Writer};

/// The capabilities that mean the same in later versions.
const SAME_CAPABILITIES: u32 = 0x6f;

impl Form<V1_1> for Capabilities {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        read_capabilities(SAME_CAPABILITIES, r)
    }
    fn write(&self, w: &mut Writer<'_>) {
        write_capabilities(*self, SAME_CAPABILITIES, w);
    }
}

impl Form<V1_1> for PacketIn {
    /// The physical port is a field of the model where it differs from the ingress port.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let buffer_id = r.at("buffer_id").get()?;
        let in_port: PortNo = r.at("in_port").get()?;
        let physical: PortNo = r.at("in_phy_port").get()?;
        let mut fields = vec![FieldMatch::exact(IN_PORT, in_port.0.into())];
        if physical != in_port {
            fields.push(FieldMatch::exact(IN_PHY_PORT, physical.0.into()));
        }
        Ok(Self {
            buffer_id,
            total_len: r.at("total_len").get()?,
            reason: r.at("reason").get()?,
            table_id: r.at("table_id").get()?,
            fields: Match::new(&fields).expect("the ingress port is there"),
            data: r.at("data").get()?,
            ..Self::without_cookie()
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let Some(in_port) = self.fields.get(IN_PORT) else {
            return w.unsupported("no in_port");
        };
        let in_phy_port = self.fields.get(IN_PHY_PORT).unwrap_or(in_port);
        w.put(&self.buffer_id);
        w.put(&PortNo(in_port.number() as u32));
        w.put(&PortNo(in_phy_port.number() as u32));
        w.put(&self.total_len).put(&self.reason);
        w.put(&self.table_id).put(&self.data);
    }
}

impl Form<V1_1> for QueueConfigRequest {
    /// Errors: QUEUE_OP_FAILED/BAD_PORT for what is no port: the reply has the queues of one.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_port = r.at("port").clone();
        let request = <Self as Form<V1_3>>::read(r)?;
        if request.port.is_port() {
            Ok(request)
        } else {
            Err(at_port.err(QueueOpFailed::BAD_PORT))
        }
    }
    fn write(&self, w: &mut Writer<'_>) {
        if !self.port.is_port() {
            return w.unsupported("queues of all ports");
        }
        <Self as Form<V1_3>>::write(self, w);
    }
}

impl Form<V1_1> for QueueConfig {
    /// The queues do not name their port.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut config = <Self as Form<V1_3>>::read(r)?;
        let port = config.port;
        config.queues.iter_mut().for_each(|queue| queue.port = port);
        Ok(config)
    }
    fn write(&self, w: &mut Writer<'_>) {
        <Self as Form<V1_3>>::write(self, w);
    }
}
