//! How other threads reach a P4 switch.

use tokio::sync::{mpsc, oneshot};

use super::plane::{Input, P4Plane};
use crate::error::{Error, Result};

/// The queue to the data-plane thread.
#[derive(Clone)]
pub struct P4Queue(pub mpsc::Sender<Input>);

impl P4Queue {
    /// Does `job` in the thread, between two bursts, and returns what it returns. Errors: the
    /// switch is ending.
    pub async fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut P4Plane) -> T + Send + 'static,
    ) -> Result<T> {
        let (reply, answered) = oneshot::channel();
        let job = Box::new(move |plane: &mut P4Plane| {
            // Who asked may be gone.
            let _ = reply.send(job(plane));
        });
        // If the thread has ended, the answer channel is closed.
        let _ = self.0.send(Input::Job(job)).await;
        answered
            .await
            .map_err(|_| Error::from("the switch is ending"))
    }
}
