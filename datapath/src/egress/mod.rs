//! Egress: the queues of ports, and the contract of the disciplines that order their frames.
//!
//! A port without queues has no `Egress`, and its frames are sent at once. `pipeline/queueing.rs`
//! passes frames to queues and takes them from there; `control/queues.rs` makes and deletes queues.

mod classes;
mod discipline;
#[cfg(feature = "microflows")]
mod microflow;
mod queue;
mod weighted_priority;

pub use discipline::{Discipline, DisciplineRow, Egress};
#[cfg(feature = "microflows")]
pub use microflow::{Aggregate, Guarantees, MAX_MICROFLOWS, Microflow, Standing};
pub use queue::{
    AHEAD_NS, DEFAULT_QUEUE, MAX_QUEUE_BYTES, MAX_QUEUE_PACKETS, Pace, Queue, QueueSpec, Rate,
    duration_ns,
};
pub use weighted_priority::WEIGHTED_PRIORITY;

pub use crate::qos::QueueClass;
