//! Why workers have stopped working together.

use core::fmt;

/// A worker failed. All others end, too, because a part of the flows would be lost silently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The thread of this worker has ended.
    Gone(usize),
    /// This worker has not answered for 10 s.
    Stalled(usize),
    /// This worker has other entries, groups or ports than worker 0.
    OutOfStep(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(worker) => write!(f, "the thread of worker {worker} has ended"),
            Self::Stalled(worker) => write!(f, "worker {worker} does not answer"),
            Self::OutOfStep(worker) => write!(f, "worker {worker} differs from worker 0"),
        }
    }
}

impl std::error::Error for Fault {}
