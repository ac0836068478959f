//! Leaves the ports and the state to a successor, another process, or takes the ports over.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bofuss_embed::saved::SavedState;
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::DataPlane;
use super::live_switch::LiveSwitch;
use super::saving::warn_of;
use crate::capture;
use crate::error::Result;
use crate::successor::{self, Left, Predecessor};

/// The most batches of a port that had arrived before it was left.
const LAST_BATCHES: usize = 1024;
/// The time that the last frames may take to leave.
const LAST_FRAMES: Duration = Duration::from_millis(5);

/// What the process that takes the switch over tells the data plane.
pub enum SuccessorInput {
    /// It wants the state, and from now on only packets change it.
    Save(oneshot::Sender<Result<Vec<u8>>>),
    /// It wants to know the ports, and those descriptors that it cannot open itself.
    Ports(oneshot::Sender<Left>),
    /// It has given up: the switch goes on.
    GaveUp,
    /// It is ready: the switch leaves its ports, says so, and then what happened since the state.
    Begins(UnixStream),
}

impl DataPlane {
    /// Follows what the successor tells. Returns false when the switch is to end.
    pub(super) fn serve_successor(&mut self, input: SuccessorInput) -> bool {
        match input {
            SuccessorInput::Save(reply) => self.saver.save_for_successor(&mut self.live, reply),
            SuccessorInput::Ports(reply) => {
                // It may be gone.
                let _ = reply.send(self.left());
            }
            SuccessorInput::GaveUp => {
                self.saver.forget_successor(&mut self.live);
            }
            SuccessorInput::Begins(successor) => {
                self.saver.forget_successor(&mut self.live);
                self.successor = Some(successor);
                return false;
            }
        }
        true
    }

    /// What a successor gets beside the state.
    fn left(&mut self) -> Left {
        let mut left = Left::default();
        left.below = self.live.accelerator().share();
        for port in self.live.io().ports.all() {
            if let Some(name) = port.interface() {
                left.add(name, port.driver.descriptor());
            }
        }
        let writer = self.saver.writer();
        left.state_folder = writer.and_then(|writer| writer.folder().ok());
        left
    }

    /// Takes the ports over from a predecessor: first their frames, while that sends its last ones;
    /// then the states of extensions, which these have changed. Flows that the predecessor's
    /// accelerator knows it forwards on, until [`Self::forward_alone`].
    ///
    /// Errors: it is gone, or the system's.
    pub fn take_over(&mut self, predecessor: &mut Predecessor) -> Result<()> {
        if let Some(below) = predecessor.below() {
            self.live.io_mut().ports.receive_beside(below)?;
        }
        predecessor.begin()?;
        let pool = self.live.pool().clone();
        self.live.io_mut().ports.begin_reception(&pool)?;
        predecessor.wait()?;
        self.live.io_mut().ports.take_over();
        let states = predecessor.last_state()?;
        let states = SavedState::read(&states).map_err(|error| format!("--replace: {error}"))?;
        let now = self.live.now();
        warn_of(&states.restore_states(now, self.live.unrecorded().0));
        Ok(())
    }

    /// Forwards all frames from now on, those of flows that the predecessor's accelerator knows,
    /// too. Errors: it is gone, or the system's.
    pub fn forward_alone(&mut self, predecessor: &mut Predecessor) -> Result<()> {
        self.live.io_mut().ports.receive_alone()?;
        predecessor.done()
    }

    /// Ends: saves the state, or leaves it and the ports to a successor.
    pub(super) fn end(&mut self) {
        match self.successor.take() {
            Some(successor) => self.leave(successor),
            None => {
                let queues = &self.config.current.queues;
                self.saver.save_at_end(queues, &mut self.live);
            }
        }
        self.exports.end(&mut self.live);
    }

    /// Leaves the ports to the successor, and then tells it what happened since it got the state.
    fn leave(&mut self, mut successor: UnixStream) {
        self.live.accelerator().take_no_more();
        let waiting = self.live.io_mut().ports.leave();
        // What arrives now waits there.
        let told = successor.write_all(successor::STOPPED);
        send_last_frames(&mut self.live, waiting);
        // The successor may begin files of the same names.
        self.live.io_mut().ports.copiers.clear();
        if !capture::are_written(None) {
            warn!("captures are still being written while another process takes over");
        }
        let left = Instant::now();
        let told = told.and_then(|()| successor.write_all(successor::LEFT));
        let told = told.and_then(|()| {
            let states = self.saver.collect_states(&mut self.live);
            successor::send_last_state(&mut successor, states)?;
            successor::await_done(&mut successor)?;
            self.live.accelerator().end();
            let queues = &self.config.current.queues;
            let state = self.saver.collect_at_once(queues, &mut self.live);
            successor::send_last_state(&mut successor, state)
        });
        match told {
            Ok(()) => info!(
                "another process has taken over; told it the rest in {:?}",
                left.elapsed()
            ),
            Err(error) => warn!("the process that takes over does not listen: {error}"),
        }
    }
}

/// Processes and sends the frames that have arrived, also those that wait in queues, whose
/// rates do not count for once.
fn send_last_frames(live: &mut LiveSwitch, waiting: Vec<PortNo>) {
    let mut frames: Vec<Frame> = Vec::new();
    for number in waiting {
        for _ in 0..LAST_BATCHES {
            let now = live.now();
            frames.clear();
            live.serve_port(now, number, &mut frames);
            let has_backlog = live.switch().datapath().lane().backlog.has(number);
            if !has_backlog && live.io().ports.is_drained(number) {
                break;
            }
            live.work(now, None);
        }
    }
    let now = live.now();
    let (switch, io) = live.unrecorded();
    switch.ports(now, io, |ports| ports.send_waiting());
    let begin = Instant::now();
    while !live.io_mut().ports.send_all() && begin.elapsed() < LAST_FRAMES {
        std::thread::yield_now();
    }
}
