//! What a packet is entitled to when it waits at a port: its queue, and a QoS record.

use core::fmt;
use core::hash::{Hash, Hasher};

use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;

use crate::DropReason;

/// Strict priority levels of QoS records.
pub const PRIORITIES: usize = 4;

/// The most microflows that a port's discipline knows; beyond that, idle ones are forgotten early.
pub const MAX_MICROFLOWS: usize = 1 << 20;

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

/// Identifies the frames of one conversation in one direction: a number in their QoS records, or
/// else their VLAN, and addresses, protocol and ports of IP. The ports are 0 for all fragments of a
/// datagram (also the first) and for protocols without ports. A frame that is not IP, or has no
/// complete IP header, has the addresses and the type of Ethernet.
#[derive(Clone, Copy, Debug, Eq)]
pub struct Microflow {
    /// The number in QoS records; microflows that have one differ in nothing else.
    pub id: Option<u64>,
    /// The VLAN_VID of the outermost tag; 0 if there is none.
    pub vlan: u16,
    /// The source; an address of IPv4 or Ethernet in the low bits.
    pub source: u128,
    /// The destination.
    pub destination: u128,
    /// True if the addresses are those of IP.
    pub is_ip: bool,
    /// The Ethernet type.
    pub eth_type: u16,
    /// The protocol of IP.
    pub ip_proto: u8,
    /// The source and the destination port.
    pub ports: [u16; 2],
}

impl Microflow {
    /// Returns what tells it from others.
    fn key(&self) -> impl Hash + Eq {
        let headers = (
            [self.source, self.destination],
            [self.vlan, self.eth_type, self.ports[0], self.ports[1]],
            (self.is_ip, self.ip_proto),
        );
        (self.id, self.id.is_none().then_some(headers))
    }
}

impl PartialEq for Microflow {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Hash for Microflow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The state of a microflow at a port, as its discipline knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The rate in kb/s that it may have now; 0 if the discipline sets no rates.
    pub share_kbps: u64,
    /// The rate in kb/s that its aggregate may have now.
    pub aggregate_kbps: u64,
    /// Its guaranteed rate in kb/s, as far as the port could grant it.
    pub guaranteed_kbps: u64,
    /// Nanoseconds until its expected time of arrival; 0 if that has passed.
    pub eta_ns: u64,
    /// True if a frame that arrives now would be too early.
    pub is_early: bool,
    /// The number of its bytes that wait.
    pub waiting_bytes: u64,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of its microflow wait", self.waiting_bytes)?;
        if self.share_kbps > 0 {
            let own = self.share_kbps;
            let all = self.aggregate_kbps;
            let eta_us = self.eta_ns / 1_000;
            write!(
                f,
                ", its share is {own} kb/s of {all}, its ETA in {eta_us} us"
            )?;
        }
        if self.guaranteed_kbps > 0 {
            write!(f, ", {} kb/s are guaranteed", self.guaranteed_kbps)?;
        }
        Ok(())
    }
}

/// The guaranteed rates that a port has granted to QoS records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guarantees {
    /// The sum of granted rates, in kb/s.
    pub granted_kbps: u64,
    /// The rate that can still be granted, in kb/s.
    pub free_kbps: u64,
    /// The number of guarantees that were refused because they did not fit.
    pub refused: u64,
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
