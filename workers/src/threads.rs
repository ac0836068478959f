//! Threads and the queues between them: the system's, and in the tests of this crate's inside those
//! of a scheduler that chooses whose next step it is.

#[cfg(not(test))]
pub(crate) use std::{sync::mpsc, thread};

#[cfg(test)]
pub(crate) use shuttle::{sync::mpsc, thread};
