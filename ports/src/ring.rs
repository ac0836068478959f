//! The receive ring of a packet socket (`TPACKET_V2`): frames in memory shared with the kernel.
//!
//! A slot holds a small frame. Of a longer one it holds the beginning, and the whole waits in the
//! socket's queue (the copy threshold): in the queue's order, which is that of such slots.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::{self, NonNull},
    sync::atomic::{AtomicU32, Ordering},
};

use libc::{c_int, c_uint, tpacket_req, tpacket2_hdr};

use crate::{sys, vnet};

/// Bytes of a slot: the kernel's header, the offload header, and a frame of MTU 1,500 with tags.
const SLOT_BYTES: usize = 2048;
/// The size that the kernel allocates in one piece.
const BLOCK_BYTES: usize = 1 << 16;
/// Slots of a ring come in multiples of this.
pub(crate) const BLOCK_SLOTS: usize = BLOCK_BYTES / SLOT_BYTES;

/// A ring. It must go before its socket.
pub(crate) struct Ring {
    base: NonNull<u8>,
    slots: usize,
    /// The slot that the kernel fills next, once those before it are released.
    next: usize,
}

// SAFETY: the memory is the ring's alone, and the kernel's, wherever the ring is.
unsafe impl Send for Ring {}

/// A frame in a slot, or its beginning.
pub(crate) struct RingSlot<'a> {
    /// The offload header.
    pub(crate) header: &'a [u8; vnet::HEADER_BYTES],
    /// The frame, or its beginning, without the tag that the kernel took out.
    pub(crate) bytes: &'a [u8],
    /// The number of bytes of the whole frame.
    pub(crate) len: usize,
    /// The tag that the kernel removed: TPID and TCI.
    pub(crate) tag: Option<(u16, u16)>,
    /// True if there is more of the frame than fits here.
    pub(crate) is_cut: bool,
    /// True if the whole frame waits in the socket's queue.
    pub(crate) is_queued: bool,
    /// True if frames were lost for want of slots since somebody asked how many.
    pub(crate) follows_loss: bool,
}

impl Ring {
    /// Makes a ring of at least `slots` slots for a socket that is not bound yet.
    ///
    /// Errors: the system's, for want of memory as a rule.
    pub(crate) fn new(socket: BorrowedFd<'_>, slots: usize) -> io::Result<Self> {
        let blocks = slots.div_ceil(BLOCK_SLOTS).max(1);
        let slots = blocks * BLOCK_SLOTS;
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        sys::set_packet_option(socket, libc::PACKET_VERSION, version)?;
        sys::set_packet_option(socket, libc::PACKET_COPY_THRESH, 1)?;
        let request = tpacket_req {
            tp_block_size: BLOCK_BYTES as c_uint,
            tp_block_nr: blocks as c_uint,
            tp_frame_size: SLOT_BYTES as c_uint,
            tp_frame_nr: slots as c_uint,
        };
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        // SAFETY: asks for new memory; nothing that exists is touched.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                slots * SLOT_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            base: NonNull::new(address.cast()).expect("the kernel does not map the null page"),
            slots,
            next: 0,
        })
    }

    /// The number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// The frame that waits longest, if one does.
    pub(crate) fn front(&self) -> Option<RingSlot<'_>> {
        self.slot(self.next)
    }

    /// Returns true if more than half of the slots are filled.
    pub(crate) fn is_half_full(&self) -> bool {
        let middle = (self.next + self.slots / 2) % self.slots;
        self.slot(middle).is_some()
    }

    /// Returns how many of the frames that wait longest wait in the queue, one after the other, and
    /// their bytes; none more than `max`, and none after those that have `max_bytes`.
    pub(crate) fn queued_in_front(&self, max: usize, max_bytes: usize) -> (usize, usize) {
        let mut count = 0;
        let mut bytes = 0;
        while count < max.min(self.slots) && bytes < max_bytes {
            let slot = self.slot((self.next + count) % self.slots);
            let Some(queued) = slot.filter(|slot| slot.is_queued) else {
                break;
            };
            count += 1;
            bytes += queued.len;
        }
        (count, bytes)
    }

    /// Returns the first `count` slots, which are filled, to the kernel.
    pub(crate) fn release(&mut self, count: usize) {
        for _ in 0..count {
            let status = self.status(self.next);
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
    }

    /// The first byte of a slot.
    fn at(&self, slot: usize) -> *mut u8 {
        debug_assert!(slot < self.slots, "slots are counted modulo their number");
        // SAFETY: the mapping has SLOT_BYTES for each of `slots` slots.
        unsafe { self.base.as_ptr().add(slot * SLOT_BYTES) }
    }

    /// The word by which a slot changes hands.
    fn status(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: a slot begins, aligned, with its status, and the memory lives as long as `self`;
        // the kernel's accesses to the word are atomic, too.
        unsafe { AtomicU32::from_ptr(self.at(slot).cast()) }
    }

    /// Returns what is in a slot, if it is ours now.
    fn slot(&self, slot: usize) -> Option<RingSlot<'_>> {
        let status = self.status(slot).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let start = self.at(slot);
        // SAFETY: after the status that was just read, the slot is filled and the kernel does not
        // write to it until it is released, which needs `&mut self`. It begins with this header.
        let kernel_header = unsafe { ptr::read(start.cast::<tpacket2_hdr>()) };
        let mac = usize::from(kernel_header.tp_mac);
        let len = kernel_header.tp_snaplen as usize;
        let from = mac.checked_sub(vnet::HEADER_BYTES)?;
        assert!(mac + len <= SLOT_BYTES, "the kernel stays within a slot");
        // SAFETY: as above, and the offload header and the frame lie within the slot.
        let filled =
            unsafe { std::slice::from_raw_parts(start.add(from), vnet::HEADER_BYTES + len) };
        let (header, bytes) = filled.split_first_chunk().expect("it was just added");
        Some(RingSlot {
            header,
            bytes,
            len: kernel_header.tp_len as usize,
            tag: vnet::stripped_tag(
                status,
                kernel_header.tp_vlan_tpid,
                kernel_header.tp_vlan_tci,
            ),
            is_cut: kernel_header.tp_snaplen < kernel_header.tp_len,
            is_queued: status & libc::TP_STATUS_COPY != 0,
            follows_loss: status & libc::TP_STATUS_LOSING != 0,
        })
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is this ring's, and nothing that borrows from it outlives it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.slots * SLOT_BYTES) };
    }
}
