//! Buffered packets: those that the switch holds for a connection until its controller decides.
//!
//! They are copies: the packet itself goes on, or is dropped, as its entry says. A controller that
//! never asks for them blocks no more than its own buffers.

use alloc::collections::VecDeque;

use bofuss_datapath::Time;
use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::types::BufferId;
use bofuss_packet::Packet;

/// The most packets held for one connection; FEATURES_REPLY reports it as `n_buffers`.
pub(crate) const MAX_BUFFERS: usize = 256;
/// A held packet expires after this time.
const HOLD_NS: u64 = 5 * Time::SEC;

/// The packets held for one connection, oldest first.
#[derive(Default)]
pub(crate) struct Buffers {
    /// Each packet with its number and the time when it was held.
    held: VecDeque<(u32, Time, Packet)>,
    /// The number of the next packet; NO_BUFFER is left out.
    next: u32,
}

impl Buffers {
    /// Holds a copy of a packet. Returns `None` if all buffers are in use, or too much of the pool
    /// is.
    pub(crate) fn hold(&mut self, now: Time, packet: &Packet) -> Option<BufferId> {
        // Expired packets are freed only here, from the old end: without a further packet they stay
        // in the pool.
        let is_old = |(_, at, _): &(u32, Time, Packet)| now.since(*at) > HOLD_NS;
        while self.held.front().is_some_and(is_old) {
            self.held.pop_front();
        }
        if self.held.len() >= MAX_BUFFERS || !packet.frame.may_be_kept() {
            return None;
        }
        let id = self.next;
        self.held.push_back((id, now, packet.try_clone()?));
        self.next = (id + 1) % BufferId::NO_BUFFER.0;
        Some(BufferId(id))
    }

    /// Checks that [`Buffers::take`] would succeed. Errors: the same.
    pub(crate) fn check(&self, now: Time, id: BufferId) -> Result<(), ErrorCode> {
        match self.held.iter().find(|(held, ..)| *held == id.0) {
            Some((_, at, _)) if now.since(*at) <= HOLD_NS => Ok(()),
            Some(_) => Err(BadRequest::BUFFER_EMPTY),
            // It was held once, unless the numbers have begun anew since.
            None if id.0 < self.next => Err(BadRequest::BUFFER_EMPTY),
            None => Err(BadRequest::BUFFER_UNKNOWN),
        }
    }

    /// Removes a held packet and returns it.
    ///
    /// Errors: BAD_REQUEST/BUFFER_EMPTY if it was taken already or has expired, BUFFER_UNKNOWN if
    /// there never was one with this id.
    pub(crate) fn take(&mut self, now: Time, id: BufferId) -> Result<Packet, ErrorCode> {
        self.check(now, id)?;
        let at = self.held.iter().position(|(held, ..)| *held == id.0);
        let taken = at.and_then(|at| self.held.remove(at));
        taken
            .map(|(.., packet)| packet)
            .ok_or(BadRequest::BUFFER_EMPTY)
    }
}
