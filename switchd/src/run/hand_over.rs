//! Hands a switch over to another process, and follows one that was taken over.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;

use bofuss_embed::saved::{SavedState, Since};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use super::{DataPlaneQueue, Running};
use crate::control::CommandRequest;
use crate::dataplane::{Answer, CollectedSwitch, Collection, Input, SuccessorInput};
use crate::error::{Error, Result, context};
use crate::successor::{LEAVE, Predecessor, Successor};

/// The most things that a slice of the last news gives.
const SLICE: usize = 256;

impl Running {
    /// Begins to hand the switch over to the peer of this connection, in a thread of its own, which
    /// asks for [`LEAVE`] when the peer is ready.
    ///
    /// Errors: the switch cannot be handed over, which the peer learns, too.
    pub fn hand_over(
        &self,
        connection: UnixStream,
        requests: mpsc::Sender<CommandRequest>,
    ) -> Answer {
        let successor = Successor::new(connection)?;
        if let Some(why) = self.config.why_not_handed_over() {
            successor.refuse(&why.into());
            return Ok(String::new());
        }
        let (name, queue) = (self.name.clone(), self.queue.clone());
        let listeners = self.listeners.iter().filter_map(|(address, listener)| {
            let socket = listener.socket()?;
            Some((address.to_string(), socket))
        });
        let listeners = listeners.collect();
        let spawned = thread::Builder::new()
            .name("hand-over".into())
            .spawn(move || {
                if let Err(error) = give(&name, successor, listeners, &queue, &requests) {
                    let goes_on = "it goes on, as the process that was to take over gave up";
                    warn!("switch {name}: {goes_on}: {error}");
                    // If the data plane has ended, nothing waits for it.
                    let _ = queue
                        .0
                        .blocking_send(Input::Successor(SuccessorInput::GaveUp));
                }
            });
        spawned.map_err(context("hand-over thread"))?;
        Ok(String::new())
    }
}

/// Hands a switch over. Errors: the successor has given up.
fn give(
    name: &str,
    successor: Successor,
    listeners: Vec<(String, OwnedFd)>,
    queue: &DataPlaneQueue,
    requests: &mpsc::Sender<CommandRequest>,
) -> Result<()> {
    info!("switch {name}: another process wants to take it over");
    let ended = |_| Error::from("the switch is ending");
    let (reply, left) = oneshot::channel();
    let _ = queue
        .0
        .blocking_send(Input::Successor(SuccessorInput::Ports(reply)));
    let mut left = left.blocking_recv().map_err(ended)?;
    left.listeners = listeners;
    let (reply, state) = oneshot::channel();
    let _ = queue
        .0
        .blocking_send(Input::Successor(SuccessorInput::Save(reply)));
    let state = match state.blocking_recv().map_err(ended)? {
        Ok(state) => state,
        Err(error) => {
            successor.refuse(&error);
            return Ok(());
        }
    };
    let connection = successor.prepare(&left, state)?;
    let (reply, _) = oneshot::channel();
    let request = CommandRequest {
        switch: name.into(),
        name: LEAVE,
        argument: String::new(),
        file: Some(OwnedFd::from(connection).into()),
        reply,
    };
    // If the process is ending, so is this switch.
    let _ = requests.blocking_send(request);
    Ok(())
}

/// What happened in the predecessor since the state from which this switch goes on.
struct News(Since);

impl Collection for News {
    fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    fn add_slice(&mut self, switch: CollectedSwitch<'_>) {
        switch.give_news(&mut self.0, SLICE);
    }
}

impl DataPlaneQueue {
    /// Gives a switch that goes on from the first state of its predecessor what happened there
    /// since.
    pub async fn follow(self, mut predecessor: Predecessor) {
        let read = spawn_blocking(move || {
            let last = predecessor.last_state()?;
            let wrong = |error| Error::from(format!("--replace: the last state: {error}"));
            let first = SavedState::read(&predecessor.state).map_err(wrong)?;
            let last = SavedState::read(&last).map_err(wrong)?;
            Ok::<_, Error>(last.since(&first))
        });
        match read.await {
            Ok(Ok(since)) => {
                // The switch may be ending.
                let _ = self.collect(News(since)).await;
                info!("it has all that its predecessor counted");
            }
            Ok(Err(error)) => {
                warn!("{error}: what packets did while the switch started is not counted")
            }
            Err(error) => warn!("--replace: {error}"),
        }
    }
}
