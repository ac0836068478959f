//! Many frames in one system call through a packet socket: `recvmmsg` and `sendmmsg`.

use std::{
    io, mem,
    os::fd::{AsRawFd, BorrowedFd},
    ptr,
};

use bofuss_frame::Frame;
use libc::c_uint;

use crate::{
    BATCH_FRAMES,
    frame_pairs::{self, Place},
    sys, vnet,
};

/// Room for one `tpacket_auxdata` control message (16 + 20 bytes, aligned).
const CONTROL_BYTES: usize = 40;

/// The headers that the kernel reads and writes besides the frame of one slot.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Side {
    control: [u8; CONTROL_BYTES],
    header: [u8; vnet::HEADER_BYTES],
}

/// The argument of `recvmmsg` and `sendmmsg`, kept so that it need not be cleared for each call.
pub(crate) struct Batch {
    messages: [libc::mmsghdr; BATCH_FRAMES],
    vectors: [[libc::iovec; 3]; BATCH_FRAMES],
    sides: [Side; BATCH_FRAMES],
}

/// The report of the kernel on a received frame.
pub(crate) struct ReceivedFrame<'a> {
    /// Its offload header.
    pub(crate) header: &'a [u8; vnet::HEADER_BYTES],
    /// The number of its bytes.
    pub(crate) len: usize,
    /// True if it was longer than its place.
    pub(crate) is_cut: bool,
    /// The tag that the kernel took out: TPID and TCI.
    pub(crate) tag: Option<(u16, u16)>,
}

// SAFETY: the pointers in it are written before each call and never followed after it.
unsafe impl Send for Batch {}

impl Batch {
    /// Room for a batch.
    pub(crate) fn new() -> Self {
        let side = Side {
            control: [0; CONTROL_BYTES],
            header: [0; vnet::HEADER_BYTES],
        };
        Self {
            // SAFETY: zero is a value of every field.
            messages: unsafe { mem::zeroed() },
            // SAFETY: as above.
            vectors: unsafe { mem::zeroed() },
            sides: [side; BATCH_FRAMES],
        }
    }

    /// Receives into places, which `frames` are, and returns how many were used.
    pub(crate) fn recv(
        &mut self,
        socket: BorrowedFd<'_>,
        frames: &mut [Frame],
        place: Place,
    ) -> io::Result<usize> {
        let count = frames.len() / place.frames();
        for (slot, frames) in frames.chunks_exact_mut(place.frames()).enumerate() {
            let [first, second] = frame_pairs::parts(frames);
            let side = &mut self.sides[slot];
            self.vectors[slot] = [vector(&mut side.header), vector(first), vector(second)];
            let message = &mut self.messages[slot].msg_hdr;
            message.msg_iov = self.vectors[slot].as_mut_ptr();
            message.msg_iovlen = 3;
            message.msg_control = side.control.as_mut_ptr().cast();
            message.msg_controllen = CONTROL_BYTES as _;
        }
        // SAFETY: the first `count` messages point to three places each, of the lengths given, in
        // frames that are borrowed until the call returns and in `self`.
        let result = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                count as c_uint,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        Ok(sys::check(result)? as usize)
    }

    /// Returns what came into place `slot` of the last [`Batch::recv`].
    pub(crate) fn received(&self, slot: usize) -> ReceivedFrame<'_> {
        let message = &self.messages[slot];
        ReceivedFrame {
            header: &self.sides[slot].header,
            len: (message.msg_len as usize).saturating_sub(vnet::HEADER_BYTES),
            is_cut: message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            tag: stripped_tag(&message.msg_hdr),
        }
    }

    /// Sends up to a batch of prepared frames and returns how many went before one was disliked.
    pub(crate) fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        frames: &mut [Frame],
    ) -> io::Result<usize> {
        let count = frames.len().min(BATCH_FRAMES);
        for (slot, frame) in frames.iter_mut().take(count).enumerate() {
            let side = &mut self.sides[slot];
            side.header = vnet::encode(frame).expect("prepared frames can be said");
            let vectors = &mut self.vectors[slot];
            vectors[0] = vector(&mut side.header);
            vectors[1] = vector(frame.bytes_mut());
            let message = &mut self.messages[slot].msg_hdr;
            message.msg_iov = vectors.as_mut_ptr();
            message.msg_iovlen = 2;
            message.msg_control = ptr::null_mut();
            message.msg_controllen = 0;
        }
        // SAFETY: the first `count` messages point to two places each, of the lengths given, in
        // frames that are borrowed until the call returns and in `self`.
        let result = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                count as c_uint,
                libc::MSG_DONTWAIT as _,
            )
        };
        Ok(sys::check(result)? as usize)
    }
}

fn vector(bytes: &mut [u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    }
}

/// The tag (TPID and TCI) that the kernel removed from a received frame, if it did.
fn stripped_tag(message: &libc::msghdr) -> Option<(u16, u16)> {
    // SAFETY: the kernel has just filled the control buffer, which `message` still points to, and
    // its length.
    let auxdata = unsafe {
        let control = libc::CMSG_FIRSTHDR(message).as_ref()?;
        if (control.cmsg_level, control.cmsg_type) != (libc::SOL_PACKET, libc::PACKET_AUXDATA) {
            return None;
        }
        ptr::read_unaligned(libc::CMSG_DATA(control).cast::<libc::tpacket_auxdata>())
    };
    vnet::stripped_tag(auxdata.tp_status, auxdata.tp_vlan_tpid, auxdata.tp_vlan_tci)
}
