//! What a packet is entitled to where it waits for a port: its queue, and a QoS record.

use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;

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
}

impl Qos {
    /// The record of packets without one.
    pub const DEFAULT: Self = Self {
        flow: Entitlement::DEFAULT,
        aggregate: None,
        aggregate_id: None,
        priority: 0,
    };
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
