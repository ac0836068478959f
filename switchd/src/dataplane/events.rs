//! Handles the events of connections, in turn with frames.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bofuss_channel::Event;
use bofuss_datapath::Time;

use super::{DataPlane, Input};
use crate::plane_io::conn_id;

/// How long messages are handled at a time, before frames are received again.
const CONTROL_SLICE_NS: u64 = 100_000;
/// Events that are taken from the queue at a time.
const TAKEN_EVENTS: usize = 64;
/// Events handled between two readings of the clock.
const EVENTS_AT_ONCE: usize = 8;

/// Wakes the data-plane thread.
pub(super) struct Wake(pub(super) OwnedFd);

impl std::task::Wake for Wake {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

impl DataPlane {
    /// Handles messages for one slice of time and advances `now`. Returns false when the switch is
    /// to end.
    pub(super) fn take_events(&mut self, now: &mut Time) -> bool {
        let until = Time(now.0 + CONTROL_SLICE_NS);
        let waker = Waker::from(Arc::clone(&self.wake));
        let mut context = Context::from_waker(&waker);
        while let Poll::Ready(input) = self.inputs.poll_recv(&mut context) {
            match input {
                Some(Input::Command(command)) => self.command(command),
                Some(Input::Scrape(mut scrape, reply)) => {
                    self.scrape(&mut scrape);
                    // The requester may be gone.
                    let _ = reply.send(scrape);
                }
                Some(Input::End) | None => return false,
            }
            *now = self.now();
        }
        if !self.backlog.is_empty() {
            self.take_backlog(until);
            *now = self.now();
        }
        let mut batch = Vec::new();
        while *now < until {
            if self.taken.is_empty() {
                self.served = None;
                let polled = self
                    .events
                    .poll_recv_many(&mut context, &mut batch, TAKEN_EVENTS);
                let Poll::Ready(1..) = polled else {
                    return true;
                };
                self.taken.extend(batch.drain(..));
            }
            for _ in 0..EVENTS_AT_ONCE {
                let Some(event) = self.taken.pop_front() else {
                    break;
                };
                self.take_event(event);
            }
            *now = self.now();
        }
        self.served = None;
        // Nothing else wakes the thread for the remaining events.
        waker.wake_by_ref();
        true
    }

    /// Handles messages that waited for the previous reply of their connection, round robin: the
    /// next turn begins after the connection that was served last.
    fn take_backlog(&mut self, until: Time) {
        let mut ids: Vec<_> = self.backlog.keys().copied().collect();
        let behind = ids.partition_point(|id| *id <= self.last_of_backlog);
        ids.rotate_left(behind);
        for id in ids {
            if self.now() >= until {
                break;
            }
            self.last_of_backlog = id;
            while self.now() < until && self.switch.is_ready(conn_id(id), &self.io) {
                let Some(waiting) = self.backlog.get_mut(&id) else {
                    break;
                };
                match waiting.pop_front() {
                    Some(event) => self.handle(event),
                    None => {
                        self.backlog.remove(&id);
                        break;
                    }
                }
            }
        }
    }

    fn take_event(&mut self, event: Event) {
        let conn = match &event {
            Event::Message { conn, .. } | Event::BadMessage { conn, .. } => *conn,
            Event::Down { conn, .. } => {
                self.backlog.remove(conn);
                return self.handle(event);
            }
            Event::Up { .. }
            | Event::Unsent { .. }
            | Event::Room { .. }
            | Event::TlsFiles(_)
            | Event::Failed { .. } => {
                return self.handle(event);
            }
        };
        if self.backlog.contains_key(&conn) || !self.switch.is_ready(conn_id(conn), &self.io) {
            self.backlog.entry(conn).or_default().push_back(event);
        } else {
            self.handle(event);
        }
    }
}
