//! What a packet is entitled to where it waits for a port: its queue, and a QoS record.

use core::fmt;

use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;

use crate::DropReason;

/// Strict priority levels of QoS records.
pub const PRIORITIES: usize = 4;

/// What a microflow or an aggregate of microflows may have of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entitlement {
    /// Its share among its siblings; 0 counts as 1.
    pub weight: u16,
    /// Kb/s that it gets on top of its share, if it has so much to send; 0 is none.
    pub guaranteed_kbps: u32,
    /// Kb/s that it gets at most; 0 is no limit.
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

/// Who wants to know what becomes of a packet at its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOwner {
    /// The name of the extension.
    pub extension: &'static str,
    /// A number of its choice, such as that of the microflow.
    pub number: u64,
}

/// Packets with a QoS record were dropped at a port, or on the way there from the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressDrop {
    /// The number of their owner's choice.
    pub number: u64,
    /// How many they are on the wire.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Why.
    pub reason: DropReason,
}

/// A QoS record: what disciplines that share a port fairly know of a packet apart from its
/// headers. A packet without one counts for the aggregate of its destination, with weight 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qos {
    /// What its microflow may have of its aggregate's part.
    pub flow: Entitlement,
    /// What its aggregate may have of the port; `None` leaves that as it is.
    pub aggregate: Option<Entitlement>,
    /// The aggregate that its microflow belongs to, by a number of the owner's choice; `None` is
    /// that of its destination.
    pub aggregate_id: Option<u64>,
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
        priority: 0,
        owner: None,
    };
}

/// The frames of one conversation in one direction: addresses, protocol and ports of IP. All
/// fragments of a datagram, the first too, and protocols without ports have 0 as ports. What is
/// not IP, or has no whole header of it, has the addresses of Ethernet and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Microflow {
    /// The source; an address of IPv4 or Ethernet in the low bits.
    pub source: u128,
    /// The destination.
    pub destination: u128,
    /// Whether the addresses are those of IP.
    pub is_ip: bool,
    /// The Ethernet type.
    pub eth_type: u16,
    /// The protocol of IP.
    pub ip_proto: u8,
    /// The source and the destination port.
    pub ports: [u16; 2],
}

/// What a port's discipline knows of a microflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Kb/s that it may have now, and that its aggregate may have; 0 where the discipline sets no
    /// rates.
    pub share_kbps: u64,
    /// The same of its aggregate.
    pub aggregate_kbps: u64,
    /// Kb/s that it is guaranteed, as far as the port could grant it.
    pub guaranteed_kbps: u64,
    /// Nanoseconds until its expected time of arrival; 0 if that has come.
    pub eta_ns: u64,
    /// Whether a frame that came now would be too early.
    pub is_early: bool,
    /// Bytes of it that wait.
    pub waiting_bytes: u64,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of its microflow wait", self.waiting_bytes)?;
        if self.share_kbps > 0 {
            let (own, all) = (self.share_kbps, self.aggregate_kbps);
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

/// What a port has promised by QoS records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guarantees {
    /// Kb/s that are promised.
    pub granted_kbps: u64,
    /// Kb/s that are left to promise.
    pub free_kbps: u64,
    /// How many guarantees did not fit when a record asked for them.
    pub refused: u64,
}

/// How a packet is to wait for a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueClass {
    /// The port that it came in through.
    pub(crate) ingress: PortNo,
    /// The queue, for disciplines that have several.
    pub(crate) queue: QueueId,
    /// The QoS record, for those that share a port fairly.
    pub(crate) qos: Option<Qos>,
}

impl QueueClass {
    /// That of packets of which nothing is said.
    pub(crate) const DEFAULT: Self = Self::of(QueueId(0));

    /// That of packets that came in through a port and of which nothing else is said.
    pub(crate) const fn arrived(ingress: PortNo) -> Self {
        Self {
            ingress,
            ..Self::DEFAULT
        }
    }

    /// That of packets with a queue and without a record.
    pub(crate) const fn of(queue: QueueId) -> Self {
        Self {
            ingress: PortNo(0),
            queue,
            qos: None,
        }
    }

    /// Its QoS record.
    pub(crate) fn qos(&self) -> &Qos {
        self.qos.as_ref().unwrap_or(&Qos::DEFAULT)
    }
}
