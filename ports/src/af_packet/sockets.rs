//! Other sockets take the place of a port's: with larger rings, and those of another process.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::Instant;

use super::options::FIRST_RING_SLOTS;
use super::{AfPacket, RING_GROWTH};
use crate::ring::BLOCK_SLOTS;
use crate::{OpenError, PortError};

impl AfPacket {
    /// Begins to open a larger ring, if the limit allows one.
    pub(super) fn grow(&mut self, slots: usize) {
        let wanted = self.max_slots.min(RING_GROWTH * slots);
        if wanted > slots {
            self.replace(wanted);
        }
    }

    /// Begins to open a ring of the right size if this ring is too large, or missing.
    pub(super) fn fit_ring(&mut self) {
        let slots = self.ring_slots();
        let most = self.max_slots.next_multiple_of(BLOCK_SLOTS);
        if slots > most || slots == 0 && most > 0 {
            self.replace(self.max_slots.min(FIRST_RING_SLOTS));
        }
    }

    /// Begins to open a socket with another ring, or without one. Not while frames come by the
    /// program of a predecessor, which the new socket would not have.
    fn replace(&mut self, ring_slots: usize) {
        if self.opening.is_none() && self.successor.is_none() && !self.is_beside {
            self.socket_options.ring_slots = ring_slots;
            let spare = self.spares.pop();
            let successor = self.socket.open_successor(spare, self.socket_options);
            self.opening = Some(successor);
        }
    }

    /// Moves reception to the new socket if it is open by now.
    pub(super) fn use_successor(&mut self) -> Result<(), PortError> {
        let opened = self.opening.as_ref().map(mpsc::Receiver::try_recv);
        match opened {
            None | Some(Err(mpsc::TryRecvError::Empty)) => return Ok(()),
            Some(Ok(Ok(successor))) => {
                self.socket
                    .move_reception_to(&successor, self.filter.as_deref())?;
                self.successor = Some((successor, Instant::now()));
            }
            // As a rule there is no memory for it: what there is must do.
            Some(Ok(Err(_)) | Err(mpsc::TryRecvError::Disconnected)) => {
                self.max_slots = self.ring_slots();
            }
        }
        self.opening = None;
        Ok(())
    }

    /// Receives from now on what its filter leaves to it, or all.
    pub(super) fn unmute(&self) -> io::Result<()> {
        match &self.filter {
            Some(program) => self.receiving().set_filter(program),
            None => self.receiving().begin_reception(),
        }
    }

    /// Claims the interface if another switch has left it. Errors: somebody else has claimed it.
    pub(super) fn claim_left(&mut self) -> Result<(), OpenError> {
        // A port that waits is the only one of its interface.
        match Arc::get_mut(&mut self.claim) {
            Some(claim) => claim.take_over(&self.link),
            None => Ok(()),
        }
    }

    /// Receives nothing more that arrives, for good, and leaves the interface.
    pub(super) fn mute(&mut self) -> io::Result<()> {
        // No other socket takes its place any more.
        self.opening = None;
        self.max_slots = self.ring_slots();
        self.receiving().stop_reception()?;
        if let Some(claim) = Arc::get_mut(&mut self.claim) {
            claim.leave();
        }
        Ok(())
    }
}
