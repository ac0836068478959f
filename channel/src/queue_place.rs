//! The places of messages of one connection that wait for its owner.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The number of a connection's messages that may wait for its owner, in places: each takes one,
/// and one more for each `PLACE_BYTES` that it has.
pub const MAX_WAITING: u32 = 256;
/// Bytes of a place.
const PLACE_BYTES: usize = 1024;

/// The places of a connection.
pub(crate) struct QueuePlaces(Arc<Semaphore>);

impl QueuePlaces {
    /// All places, free.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_WAITING as usize)))
    }

    /// A place for a message of this many bytes, if there is one now.
    pub(crate) fn try_take(&self, bytes: usize) -> Option<QueuePlace> {
        let held = self.0.clone().try_acquire_many_owned(size(bytes));
        held.ok().map(QueuePlace)
    }

    /// Waits until there is a place for a message of this many bytes.
    pub(crate) async fn take(&self, bytes: usize) -> QueuePlace {
        let held = self.0.clone().acquire_many_owned(size(bytes)).await;
        QueuePlace(held.expect("the places are never closed"))
    }
}

/// The places of a message of this many bytes.
fn size(bytes: usize) -> u32 {
    1 + (bytes / PLACE_BYTES) as u32
}

/// A place of a message that waits for its owner. When it is dropped, another may come.
#[derive(Debug)]
pub struct QueuePlace(OwnedSemaphorePermit);

impl QueuePlace {
    /// Releases a place together with `others` of the same connection: its task is woken once, and
    /// reads as many messages. Places of another connection are released at once.
    pub fn join(self, others: &mut Option<Self>) {
        match others {
            Some(Self(held)) if Arc::ptr_eq(held.semaphore(), self.0.semaphore()) => {
                held.merge(self.0);
            }
            _ => *others = Some(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_connection_are_given_back_together() {
        let [ours, others] = [0; 2].map(|_| Arc::new(Semaphore::new(3)));
        let free = || [&ours, &others].map(|places| places.available_permits());
        let take =
            |places: &Arc<Semaphore>| QueuePlace(places.clone().try_acquire_owned().unwrap());
        let mut held = None;
        (0..2).for_each(|_| take(&ours).join(&mut held));
        assert_eq!(free(), [1, 3]);
        take(&others).join(&mut held);
        assert_eq!(free(), [3, 2]);
        drop(held);
        assert_eq!(free(), [3, 3]);
    }
}
