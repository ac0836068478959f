//! Takes frames from a packet socket's queue by system calls, many in one.

use std::os::fd::{AsFd, AsRawFd};

use bofuss_frame::{Frame, Pool};

use super::{AfPacket, MIN_PLACES};
use crate::{BATCH_BYTES, BATCH_FRAMES, DriverDropReason, PortError, frame_pairs::Place, vnet};

impl AfPacket {
    /// Takes up to `max` frames out of the socket's queue. Returns how many, dropped frames among
    /// them.
    pub(super) fn recv_queue(
        &mut self,
        pool: &Pool,
        out: &mut Vec<Frame>,
        max: usize,
    ) -> Result<usize, PortError> {
        let mut left = max;
        let mut left_bytes = BATCH_BYTES;
        while left > 0 && left_bytes > 0 {
            let base = out.len();
            let armed = left.min(self.places);
            let (taken, is_empty) = self.recv_places(pool, out, armed, Place::Pair)?;
            let frames = out.len() - base;
            let bytes: usize = out[base..].iter().map(Frame::len).sum();
            let fitting = (frames * BATCH_BYTES).checked_div(bytes);
            let more = (2 * taken).clamp(MIN_PLACES, BATCH_FRAMES);
            self.places = more.min(fitting.unwrap_or(more)).max(1);
            left -= taken;
            if is_empty {
                break;
            }
            left_bytes = left_bytes.saturating_sub(bytes);
        }
        Ok(max - left)
    }

    /// Takes the `count` frames out of the queue of which the ring says that they wait there.
    pub(super) fn recv_queued(
        &mut self,
        pool: &Pool,
        out: &mut Vec<Frame>,
        count: usize,
    ) -> Result<(), PortError> {
        let mut left = count;
        while left > 0 {
            match self.recv_places(pool, out, left.min(BATCH_FRAMES), Place::Large)? {
                (0, _) => break,
                (taken, _) => left -= taken,
            }
        }
        Ok(())
    }

    /// Takes up to `wanted` frames out of the queue by one system call. Returns how many left it,
    /// dropped frames among them, and whether there are no more.
    fn recv_places(
        &mut self,
        pool: &Pool,
        out: &mut Vec<Frame>,
        wanted: usize,
        place: Place,
    ) -> Result<(usize, bool), PortError> {
        let base = out.len();
        let armed = place.arm(pool, out, wanted);
        if armed == 0 {
            let count = self.discard(wanted);
            return Ok((count, count < wanted));
        }
        loop {
            let socket = self.socket.fd.as_fd();
            let error = match self.batch.recv(socket, &mut out[base..], place) {
                Ok(filled) => {
                    self.down = false;
                    self.accept(out, base, filled, place);
                    return Ok((filled, filled < armed));
                }
                Err(error) => error,
            };
            let code = error.raw_os_error();
            match code {
                Some(libc::EINTR) => continue,
                Some(libc::ENETDOWN) => {
                    self.down = true;
                    continue;
                }
                _ => out.truncate(base),
            }
            return match code {
                Some(libc::EAGAIN) => Ok((0, true)),
                // The kernel dropped this frame: its offload header cannot express it.
                Some(libc::EINVAL) => {
                    self.counters.drop_some(DriverDropReason::RxShape, 1);
                    Ok((1, false))
                }
                _ => Err(error.into()),
            };
        }
    }

    /// Takes up to `max` frames out of the kernel for which there is no buffer, and returns how
    /// many there were.
    fn discard(&mut self, max: usize) -> usize {
        let mut header = [0u8; vnet::HEADER_BYTES];
        for count in 0..max {
            let fd = self.socket.fd.as_raw_fd();
            let to = header.as_mut_ptr().cast();
            // SAFETY: the kernel writes at most the header's size; the frame's rest is cut off.
            let result = unsafe { libc::recv(fd, to, header.len(), libc::MSG_DONTWAIT) };
            if result < 0 {
                return count;
            }
            self.counters.drop_some(DriverDropReason::RxNoBuffer, 1);
        }
        max
    }

    /// Keeps what the kernel put into the first `filled` places at `base`, and returns the rest to
    /// the pool.
    fn accept(&mut self, out: &mut Vec<Frame>, base: usize, filled: usize, place: Place) {
        let mut at = base;
        for slot in 0..filled {
            let received = self.batch.received(slot);
            if received.is_cut {
                self.counters.drop_some(DriverDropReason::RxTooLong, 1);
                continue;
            }
            place.keep(out, base, slot, at, received.len);
            let frame = &mut out[at];
            if vnet::complete(frame, received.header, received.tag) {
                self.counters.received(frame.len());
                at += 1;
            } else {
                self.counters.drop_some(DriverDropReason::RxShape, 1);
            }
        }
        out.truncate(at);
    }
}
