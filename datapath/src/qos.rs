//! What a packet is entitled to when it waits at a port: its queue, and a QoS record.

use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;

use crate::DropReason;

/// Strict priority levels of QoS records.
pub const PRIORITIES: usize = 4;

/// The rights of a microflow or an aggregate at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entitlement {
    /// Its share among its siblings; 0 counts as 1.
    pub weight: u16,
    /// The guaranteed rate in kb/s, on top of its share, as far as it has enough to send; 0 is
    /// none.
    pub guaranteed_kbps: u32,
    /// The maximum rate in kb/s; 0 is no limit.
    pub max_kbps: u32,
}

impl Entitlement {
    /// A share of weight 1.
    pub const DEFAULT: Self = Self {
        weight: 1,
        guaranteed_kbps: 0,
        max_kbps: 0,
    };
}

impl Default for Entitlement {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The extension that is informed when a packet is dropped at its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOwner {
    /// The name of the extension.
    pub extension: &'static str,
    /// A number of its choice, such as that of the microflow.
    pub number: u64,
}

/// A report that packets with a QoS record were dropped at a port, or between the tables and the
/// port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressDrop {
    /// The number of their owner's choice.
    pub number: u64,
    /// The number of packets, counted on the wire.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Why.
    pub reason: DropReason,
}

/// A QoS record: what fair disciplines know of a packet besides its headers. A packet without one
/// belongs to the aggregate of its destination, with weight 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qos {
    /// The rights of its microflow within its aggregate.
    pub flow: Entitlement,
    /// The rights of its aggregate at the port; `None` leaves them unchanged.
    pub aggregate: Option<Entitlement>,
    /// The aggregate that its microflow belongs to, by a number of the owner's choice; `None` is
    /// that of its destination.
    pub aggregate_id: Option<u64>,
    /// Its microflow, by a number of the owner's choice; `None` is that of its headers.
    pub flow_id: Option<u64>,
    /// The strict priority of its microflow, below [`PRIORITIES`]; a greater one counts as the
    /// greatest. The higher goes first.
    pub priority: u8,
    /// The extension to which drops at the port [are reported](crate::Hook::on_egress_drop).
    pub owner: Option<PacketOwner>,
}

impl Qos {
    /// The record of packets without one.
    pub const DEFAULT: Self = Self {
        flow: Entitlement::DEFAULT,
        aggregate: None,
        aggregate_id: None,
        flow_id: None,
        priority: 0,
        owner: None,
    };
}

/// The queue and the QoS record with which a packet waits at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueClass {
    /// Its ingress port.
    pub ingress: PortNo,
    /// The queue, for disciplines that have several.
    pub queue: QueueId,
    /// The QoS record, for those that share a port fairly.
    pub qos: Option<Qos>,
}

impl QueueClass {
    /// The class of packets without a queue and a record.
    pub const DEFAULT: Self = Self::of(QueueId(0));

    /// The class of packets that arrived on a port, without a queue and a record.
    pub const fn arrived(ingress: PortNo) -> Self {
        Self {
            ingress,
            ..Self::DEFAULT
        }
    }

    /// The class of packets with a queue and without a record.
    pub const fn of(queue: QueueId) -> Self {
        Self {
            ingress: PortNo(0),
            queue,
            qos: None,
        }
    }

    /// Its QoS record.
    pub fn qos(&self) -> &Qos {
        self.qos.as_ref().unwrap_or(&Qos::DEFAULT)
    }
}
