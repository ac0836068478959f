//! What waits to leave: the queues of the ports, and which of their frames goes next.

pub(crate) mod discipline;
pub(crate) mod scheduler;
