//! The room that requests may take, so that no controller fills the memory.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bofuss_channel::PeerSource;
use http_body::Frame;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tonic::body::Body;
use tonic::{Code, Status};

use crate::error::{Refusal, Result};

/// What all requests may take together, in bytes.
const ALL: usize = 256 << 20;
/// What the requests of a connection may take of it, in bytes: one with the largest program, and
/// others beside it.
const OF_CONNECTION: usize = 64 << 20;
/// What a request takes without asking, in bytes, so that others leave room for usual ones.
const FREE: usize = 64 << 10;
/// How long a request may take to arrive.
const ARRIVES_WITHIN: Duration = Duration::from_secs(30);

/// A bounded number of bytes. Clones share it.
#[derive(Clone)]
pub struct Room(Arc<Semaphore>);

impl Room {
    /// For all requests.
    pub fn of_all() -> Self {
        Self(Arc::new(Semaphore::new(ALL)))
    }

    /// For the requests of a connection.
    pub fn of_connection() -> Self {
        Self(Arc::new(Semaphore::new(OF_CONNECTION)))
    }
}

/// What requests know of the connection on which they come.
#[derive(Clone)]
pub struct Peer {
    /// Where it comes from.
    pub source: PeerSource,
    /// What all of its requests may take.
    pub room: Room,
}

impl Peer {
    /// That of a request, by its extensions.
    pub fn of(extensions: &http::Extensions) -> Option<&Self> {
        extensions.get::<Self>()
    }
}

/// What one request has taken. Clones share it; with the last, it is given back.
#[derive(Clone)]
pub struct Share(Arc<Mutex<Taken>>);

struct Taken {
    rooms: Vec<Room>,
    free: usize,
    permits: Vec<OwnedSemaphorePermit>,
}

impl Share {
    /// Nothing yet, of each of these rooms.
    pub fn new(rooms: Vec<Room>) -> Self {
        let free = FREE;
        let permits = Vec::new();
        Self(Arc::new(Mutex::new(Taken {
            rooms,
            free,
            permits,
        })))
    }

    /// Takes `bytes` more. Errors: there is no room.
    pub fn take(&self, bytes: usize) -> Result<()> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = taken.free.min(bytes);
        taken.free -= free;
        let Ok(bytes) = u32::try_from(bytes - free) else {
            return Err(none());
        };
        if bytes == 0 {
            return Ok(());
        }
        let rooms = taken.rooms.iter();
        let permits = rooms.map(|room| room.0.clone().try_acquire_many_owned(bytes));
        let permits: std::result::Result<Vec<_>, _> = permits.collect();
        let permits = permits.map_err(|_| none())?;
        if taken.permits.is_empty() {
            taken.permits = permits;
            return Ok(());
        }
        for (held, permit) in taken.permits.iter_mut().zip(permits) {
            held.merge(permit);
        }
        Ok(())
    }
}

fn none() -> Refusal {
    let what = "other requests take all room; try again later";
    Refusal::new(Code::ResourceExhausted, what)
}

/// The body of a request, which takes what has arrived of it.
pub struct Metered {
    body: Body,
    share: Share,
    late: Pin<Box<Sleep>>,
}

impl Metered {
    /// A body that is to be whole in time.
    pub fn new(body: Body, share: Share) -> Self {
        let late = Box::pin(sleep(ARRIVES_WITHIN));
        Self { body, share, late }
    }
}

impl http_body::Body for Metered {
    type Data = <Body as http_body::Body>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Self::Data>, Status>>> {
        let frame = match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending if self.late.as_mut().poll(cx).is_ready() => {
                let what = "the request did not arrive in time";
                return Poll::Ready(Some(Err(Status::new(Code::DeadlineExceeded, what))));
            }
            Poll::Pending => return Poll::Pending,
        };
        let Some(Ok(frame)) = frame else {
            return Poll::Ready(frame);
        };
        let bytes = frame.data_ref().map_or(0, |data| data.len());
        let taken = self.share.take(bytes).map_err(Status::from);
        Poll::Ready(Some(taken.map(|()| frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_leaves_room_for_others_and_all_have_a_little() {
        let all = Room::of_all();
        let share = |own: &Room| Share::new(vec![own.clone(), all.clone()]);
        let own = [(); 5].map(|()| Room::of_connection());
        let mut held = Vec::new();
        for own in &own[..4] {
            let share = share(own);
            share.take(FREE + OF_CONNECTION).expect("its own");
            share.take(1).expect_err("no more");
            held.push(share);
        }
        let last = share(&own[4]);
        last.take(FREE).expect("without asking");
        last.take(1).expect_err("others have all");
        held.pop();
        last.take(OF_CONNECTION).expect("it was given back");
        assert_eq!(last.take(usize::MAX).expect_err("absurd"), none());
    }
}
