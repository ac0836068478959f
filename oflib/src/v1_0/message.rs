//! The other messages of OpenFlow 1.0: features, ports, packets, queues, roles.
//! Spec: OpenFlow 1.0.2 sections 5.2, 5.3, 5.4.

use alloc::vec::Vec;

use super::V1_0;
use super::action::{read_list, write_list};
use crate::error::{BadAction, BadRequest, DecodeError, QueueOpFailed};
use crate::field::IN_PORT;
use crate::forms::Form;
use crate::matching::{FieldMatch, Match};
use crate::message::queue::{PacketQueue, QueueProperty};
use crate::message::{
    ControllerRole, Features, PacketIn, PacketOut, PortDesc, PortMod, QueueConfig,
    QueueConfigRequest, Role,
};
use crate::types::PortNo;
use crate::v1_3::layout;
use crate::wire::{Reader, Writer};

layout! {
    V1_0;
    PortDesc {
        port_no, hw_addr, name, config, state, curr, advertised, supported, peer;
        ..default
    }
    PortMod { port_no, hw_addr, config, mask, advertise => 4; ..default [optical, experimenters] }
}

impl Form<V1_0> for QueueConfigRequest {
    /// Errors: QUEUE_OP_FAILED/BAD_PORT for what is no port: the reply has the queues of one.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_port = r.at("port").clone();
        let port = r.get::<PortNo>()?;
        if !port.is_port() {
            return Err(at_port.err(QueueOpFailed::BAD_PORT));
        }
        r.take(2)?;
        Ok(Self { port })
    }
    fn write(&self, w: &mut Writer<'_>) {
        if !self.port.is_port() {
            return w.unsupported("queues of all ports");
        }
        w.put(&self.port).pad(2);
    }
}

impl Form<V1_0> for Features {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let datapath_id = r.at("datapath_id").get()?;
        let n_buffers = r.at("n_buffers").get()?;
        let n_tables = r.at("n_tables").get()?;
        r.take(3)?;
        Ok(Self {
            datapath_id,
            n_buffers,
            n_tables,
            capabilities: r.at("capabilities").get()?,
            actions: r.at("actions").get()?,
            ports: r.at("ports").get()?,
            ..Self::default()
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.leaves_out = true;
        w.put(&self.datapath_id).put(&self.n_buffers);
        w.put(&self.n_tables).pad(3).put(&self.capabilities);
        w.put(&self.actions).put(&self.ports);
    }
}

impl Form<V1_0> for PacketIn {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let buffer_id = r.at("buffer_id").get()?;
        let total_len = r.at("total_len").get()?;
        let in_port = FieldMatch::exact(IN_PORT, r.at("in_port").get::<PortNo>()?.0.into());
        let reason = r.at("reason").get()?;
        r.take(1)?;
        Ok(Self {
            buffer_id,
            total_len,
            reason,
            fields: Match::new(&[in_port]).expect("the ingress port needs no other field"),
            data: r.at("data").get()?,
            cookie: u64::MAX,
            ..Self::default()
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let Some(in_port) = self.in_port() else {
            return w.unsupported("no in_port");
        };
        w.put(&self.buffer_id).put(&self.total_len).put(&in_port);
        w.put(&self.reason).pad(1).put(&self.data);
    }
}

impl Form<V1_0> for PacketOut {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let buffer_id = r.at("buffer_id").get()?;
        let in_port = r.at("in_port").get()?;
        let bytes: u16 = r.at("actions_len").get()?;
        let mut list = r.at("actions").sub(bytes.into(), BadAction::BAD_LEN)?;
        Ok(Self {
            buffer_id,
            in_port,
            actions: read_list(&mut list, None)?,
            data: r.at("data").get()?,
            ..Self::default()
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        self.say_no_fields(w);
        w.put(&self.buffer_id);
        w.put(&self.in_port).put(&0u16);
        let start = w.bytes.len();
        write_list(&self.actions, None, w);
        w.patch_length(start, start - 2);
        w.put(&self.data);
    }
}

/// Property types of a queue, and the bytes of one that has none.
const NO_PROPERTY: u16 = 0;
const MIN_RATE: u16 = 1;
/// Bytes of a queue in front of its properties, and the least of a property.
const QUEUE_HEAD_BYTES: usize = 8;

impl Form<V1_0> for QueueProperty {
    fn read(body: &mut Reader<'_>) -> Result<Self, DecodeError> {
        body.take(6)?;
        let rate = body.at("rate").get()?;
        body.take(6)?;
        Ok(Self::MinRate(rate))
    }
    fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::MinRate(rate) => {
                w.put(&MIN_RATE).put(&16u16).pad(4).put(rate).pad(6);
            }
            Self::MaxRate(_) => w.unsupported("max_rate"),
            Self::Experimenter(..) => w.unsupported("an experimenter's property"),
        }
    }
}

impl Form<V1_0> for PacketQueue {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bad = BadRequest::BAD_LEN;
        let mut body = r.at("queue").sized(4, QUEUE_HEAD_BYTES, 8, bad)?;
        let queue_id = body.at("queue_id").get()?;
        body.take(4)?;
        let mut properties = Vec::new();
        while !body.is_empty() {
            let mut one = body.at("property").sized(2, 8, 8, bad)?;
            match one.get()? {
                NO_PROPERTY => one.take(6).map(|_| ())?,
                MIN_RATE => properties.push(one.get()?),
                _ => return Err(one.short()),
            }
            one.finish()?;
        }
        Ok(Self {
            queue_id,
            properties,
            ..Self::default()
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&self.queue_id).put(&0u16).pad(2);
        for property in &self.properties {
            if matches!(property, QueueProperty::MinRate(_)) {
                w.put(property);
            }
        }
        w.patch_length(start, start + 4);
    }
}

impl Form<V1_0> for QueueConfig {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = r.at("port").get()?;
        r.take(6)?;
        let mut queues: Vec<PacketQueue> = r.get()?;
        queues.iter_mut().for_each(|queue| queue.port = port);
        Ok(Self { port, queues })
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.port).pad(6).put(&self.queues);
    }
}

impl Form<V1_0> for Role {
    /// Nicira's role message behind its subtype; it has no generation id.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_role = r.at("role").clone();
        let number = r.get::<u32>()?.checked_add(ControllerRole::EQUAL.0);
        let role = number.map(ControllerRole).filter(|r| r.name().is_some());
        Ok(Self {
            role: role.ok_or_else(|| at_role.err(BadRequest::EPERM))?,
            ..Self::default()
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let number = self.role.0.checked_sub(ControllerRole::EQUAL.0);
        match number {
            Some(number) => {
                w.put(&number);
            }
            None => w.unsupported("role nochange"),
        }
    }
}
