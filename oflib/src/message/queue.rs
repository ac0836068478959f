//! QUEUE_GET_CONFIG: the queues of a port and their properties. Spec: OpenFlow 1.3.5 sections
//! 7.2.2, 7.3.6.

use alloc::vec::Vec;

use crate::model::model;
use crate::types::{PortNo, QueueId};
use crate::wire::Bytes;

model! {
    /// Asks for the queues of a port, or of ANY.
    pub struct QueueConfigRequest {
        /// The port.
        pub port: PortNo,
    }
}

/// One property of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QueueProperty {
    /// Guaranteed rate, in 1/1000 of the port's; above 1000 is none.
    MinRate(u16),
    /// Rate limit, in 1/1000 of the port's; above 1000 is none.
    MaxRate(u16),
    /// An experimenter's: its number, its type of property, which is 0 in the versions that have no
    /// such type here (up to OpenFlow 1.3), and its data.
    Experimenter(u32, u32, Bytes),
}

/// One queue with its properties.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PacketQueue {
    /// The queue.
    pub queue_id: QueueId,
    /// Its port.
    pub port: PortNo,
    /// Its properties.
    pub properties: Vec<QueueProperty>,
}

model! {
    /// The queues of a port.
    pub struct QueueConfig {
        /// The port asked for.
        pub port: PortNo,
        /// Its queues.
        pub queues: Vec<PacketQueue>,
    }
}
