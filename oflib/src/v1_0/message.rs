//! The other messages of OpenFlow 1.0: features, ports, packets, queues, roles.
//! Spec: OpenFlow 1.0.2 sections 5.2, 5.3, 5.4.

use alloc::vec::Vec;

use super::action::{read_list, write_list};
use super::layout::{Old, Said, layout};
use crate::error::{BadAction, BadRequest, DecodeError, QueueOpFailed};
use crate::field::IN_PORT;
use crate::matching::{FieldMatch, Match};
use crate::message::features::Capabilities;
use crate::message::queue::{PacketQueue, QueueProperty};
use crate::message::{
    ControllerRole, Features, PacketIn, PacketInReason, PacketOut, PortDesc, PortMod, PortStatus,
    QueueConfig, QueueConfigRequest, Role,
};
use crate::types::PortNo;
use crate::wire::{Reader, Writer};

/// The capabilities that mean the same in every version.
const SAME_CAPABILITIES: u32 = 0x67;
/// The capability to match the addresses within ARP; and how far from there the bit is that says
/// in the model that it lacks.
const ARP_MATCH_IP: u32 = 0x80;
const LACKS_ARP_SHIFT: u32 = 24;
/// One bit for each action type, from OUTPUT to ENQUEUE.
const ALL_ACTIONS: u32 = 0xfff;

layout! {
    PortDesc {
        port_no, hw_addr, name, config, state, curr, advertised, supported, peer;
        ..default
    }
    PortStatus { reason => 7, desc }
    PortMod { port_no, hw_addr, config, mask, advertise => 4 }
}

impl Old for QueueConfigRequest {
    /// Errors: QUEUE_OP_FAILED/BAD_PORT for what is no port: the reply has the queues of one.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_port = r.at("port").clone();
        let port = PortNo::read(r)?;
        if !port.is_port() {
            return Err(at_port.err(QueueOpFailed::BAD_PORT));
        }
        r.take(2)?;
        Ok(Self { port })
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        if !self.port.is_port() {
            return Err("queues of all ports");
        }
        self.port.write(w)?;
        w.pad(2);
        Ok(())
    }
}

impl Old for Features {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let datapath_id = r.at("datapath_id").get()?;
        let n_buffers = r.at("n_buffers").get()?;
        let n_tables = r.at("n_tables").get()?;
        r.take(3)?;
        let capabilities: u32 = r.at("capabilities").get()?;
        let lacks_arp = (!capabilities & ARP_MATCH_IP) << LACKS_ARP_SHIFT;
        Ok(Self {
            datapath_id,
            n_buffers,
            n_tables,
            capabilities: Capabilities(capabilities & SAME_CAPABILITIES),
            reserved: !r.at("actions").get::<u32>()? & ALL_ACTIONS | lacks_arp,
            ports: Vec::read(r.at("ports"))?,
            ..Self::default()
        })
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        w.put(&self.datapath_id).put(&self.n_buffers);
        w.put(&self.n_tables).pad(3);
        let arp = !(self.reserved >> LACKS_ARP_SHIFT) & ARP_MATCH_IP;
        w.put(&(self.capabilities.0 & SAME_CAPABILITIES | arp));
        w.put(&(!self.reserved & ALL_ACTIONS));
        self.ports.write(w)
    }
}

impl Old for PacketIn {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let buffer_id = r.at("buffer_id").get()?;
        let total_len = r.at("total_len").get()?;
        let in_port = FieldMatch::exact(IN_PORT, PortNo::read(r.at("in_port"))?.0.into());
        let reason = without_ttl(r.at("reason").get()?);
        r.take(1)?;
        Ok(Self {
            buffer_id,
            total_len,
            reason,
            cookie: u64::MAX,
            fields: Match::new(&[in_port]).expect("the ingress port needs no other field"),
            data: r.at("data").get()?,
            ..Self::default()
        })
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        let in_port = self.fields.get(IN_PORT).ok_or("no in_port")?;
        w.put(&self.buffer_id).put(&self.total_len);
        PortNo(in_port.number() as u32).write(w)?;
        w.put(&without_ttl(self.reason)).pad(1).put(&self.data);
        Ok(())
    }
}

/// The reason that stands for one in 1.0, where TTLs are not looked at.
fn without_ttl(reason: PacketInReason) -> PacketInReason {
    match reason {
        PacketInReason::INVALID_TTL => PacketInReason::ACTION,
        _ => reason,
    }
}

impl Old for PacketOut {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let buffer_id = r.at("buffer_id").get()?;
        let in_port = PortNo::read(r.at("in_port"))?;
        let bytes: u16 = r.at("actions_len").get()?;
        let mut list = r.at("actions").sub(bytes.into(), BadAction::BAD_LEN)?;
        Ok(Self {
            buffer_id,
            in_port,
            actions: read_list(&mut list, None)?,
            data: r.at("data").get()?,
        })
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        w.put(&self.buffer_id);
        self.in_port.write(w)?;
        w.put(&0u16);
        let start = w.bytes.len();
        write_list(&self.actions, None, w)?;
        w.patch_length(start, start - 2);
        w.put(&self.data);
        Ok(())
    }
}

/// Property types of a queue, and the bytes of one that has none.
const NO_PROPERTY: u16 = 0;
const MIN_RATE: u16 = 1;
/// Bytes of a queue in front of its properties, and the least of a property.
const QUEUE_HEAD_BYTES: usize = 8;

impl Old for QueueProperty {
    fn read(body: &mut Reader<'_>) -> Result<Self, DecodeError> {
        body.take(6)?;
        let rate = body.at("rate").get()?;
        body.take(6)?;
        Ok(Self::MinRate(rate))
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        match self {
            Self::MinRate(rate) => w.put(&MIN_RATE).put(&16u16).pad(4).put(rate).pad(6),
            Self::MaxRate(_) => return Err("max_rate"),
            Self::Experimenter(..) => return Err("an experimenter's property"),
        };
        Ok(())
    }
}

impl Old for PacketQueue {
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
                MIN_RATE => properties.push(QueueProperty::read(&mut one)?),
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
    fn write(&self, w: &mut Writer<'_>) -> Said {
        let start = w.bytes.len();
        w.put(&self.queue_id).put(&0u16).pad(2);
        self.properties.write(w)?;
        w.patch_length(start, start + 4);
        Ok(())
    }
}

impl Old for QueueConfig {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = PortNo::read(r.at("port"))?;
        r.take(6)?;
        let mut queues = Vec::<PacketQueue>::read(r)?;
        queues.iter_mut().for_each(|queue| queue.port = port);
        Ok(Self { port, queues })
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        self.port.write(w)?;
        w.pad(6);
        self.queues.write(w)
    }
}

impl Old for Role {
    /// Nicira's role message behind its subtype; it has no generation id.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_role = r.at("role").clone();
        let number = r.get::<u32>()?.checked_add(ControllerRole::EQUAL.0);
        let role = number.map(ControllerRole).filter(|r| r.name().is_some());
        Ok(Self {
            role: role.ok_or_else(|| at_role.err(BadRequest::EPERM))?,
            generation_id: 0,
        })
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        let number = self.role.0.checked_sub(ControllerRole::EQUAL.0);
        w.put(&number.ok_or("role nochange")?);
        Ok(())
    }
}
