//! Doors for frames: what carries bytes between a switch and a network interface, file or test.
//!
//! Knows Ethernet tags and offload headers as far as the kernel forces it to; does not know
//! OpenFlow. Start with [`PortDriver`]; its kinds are [`AfPacket`], [`Tap`], [`PcapFile`] and
//! [`Memory`]. [`Link`] describes an interface, [`LinkMonitor`] reports how it changes.
//!
//! ```
//! use bofuss_frame::Pool;
//! use bofuss_ports::{Memory, PortDriver};
//!
//! let pool = Pool::new(1 << 20);
//! let (mut near, mut far) = Memory::pair();
//! let mut frames = vec![pool.frame(&[0; 64]).expect("within the limit")];
//! assert_eq!(near.send(&mut frames).expect("the other end is there"), 1);
//! assert_eq!(far.recv(&pool, &mut frames, 32).expect("it is open"), 1);
//! ```
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

mod af_packet;
#[cfg(feature = "allocator")]
mod allocator;
mod batch;
mod capture;
mod counters;
mod error;
mod fanout;
mod frame_pairs;
mod huge_pages;
mod inherited;
mod interface_settings;
mod landlock;
mod link;
mod memory;
#[cfg(all(target_arch = "x86_64", any(target_env = "musl", test)))]
mod memory_copy;
mod monitor;
mod netlink;
mod netns;
mod packet_socket;
mod pcap;
mod ring;
mod seccomp;
mod sys;
mod tap;
mod thread_time;
mod time_stamps;
mod vnet;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use bofuss_frame::{Frame, Pool};

pub use af_packet::{AfPacket, AfPacketOptions};
#[cfg(feature = "allocator")]
pub use allocator::{Allocator, allocator, return_memory_at_once, return_memory_in_background};
pub use bofuss_frame::OffloadCapabilities;
pub use capture::{CaptureFile, CaptureReader, CaptureSource, CaptureStamp, Direction, LinkType};
pub use counters::{Counters, DriverDropReason};
pub use error::{OpenError, PortError};
pub use fanout::{Fanout, FanoutHeader, FanoutRule, FanoutWord, MAX_VLAN_TAGS};
pub use huge_pages::HugePageAllocator;
pub use inherited::inherited;
pub use interface_settings::{keep_settings_in, restore_settings_left};
pub use landlock::{Access, Landlock};
pub use link::{Link, LinkModes, advertise, set_link};
pub use memory::Memory;
pub use monitor::{LinkEvent, LinkMonitor};
pub use netns::NetNs;
pub use pcap::PcapFile;
pub use seccomp::restrict_calls;
pub use tap::Tap;
pub use thread_time::thread_time;
pub use time_stamps::{StampOffer, StampSource, StampedFrame, StampedSocket};

/// Frames that one call moves in one batch at most.
pub const BATCH_FRAMES: usize = 32;
/// Bytes after which a batch ends: some super-frames, so that they are still in the processor's
/// cache when they are sent.
pub const BATCH_BYTES: usize = 128 << 10;
/// The shortest frame on an Ethernet wire, without FCS; shorter frames are padded.
pub const MIN_FRAME_BYTES: usize = 60;

/// The room that a port has for frames that have arrived and wait to be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveRoom {
    /// The most frames that can wait.
    pub frames: usize,
    /// True if more than half as many do.
    pub is_half_full: bool,
}

/// A port: batches of frames in and out, never blocking.
pub trait PortDriver {
    /// The descriptor to poll, level-triggered: readable means [`PortDriver::recv`] has something,
    /// writable that [`PortDriver::send`] has room. `None`: ask at every turn.
    fn fd(&self) -> Option<BorrowedFd<'_>>;

    /// Appends up to `max` received frames, VLAN tags in place and offload record filled, and
    /// returns how many. When the pool is exhausted, frames are dropped and counted; so are those
    /// that did not come whole, and then none may be returned although others wait.
    ///
    /// Errors: [`PortError::Gone`] once the interface has disappeared; the port is then to be
    /// dropped. What came before an error is in `out`; the next call has the error again.
    fn recv(&mut self, pool: &Pool, out: &mut Vec<Frame>, max: usize) -> Result<usize, PortError>;

    /// Hands frames over from the front and returns how many went. Sent and refused frames leave
    /// `frames`, the latter counted by reason; what remains, in order, waits for room.
    ///
    /// Errors: [`PortError::Gone`] as for [`PortDriver::recv`]; `frames` is then empty.
    fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError>;

    /// Returns what the port has moved and dropped since it was opened.
    fn counters(&mut self) -> Counters;

    /// Returns the work that the port takes off the caller.
    fn capabilities(&self) -> OffloadCapabilities;

    /// Lets a program of the kernel (BPF, a socket filter) choose the frames that the port
    /// receives.
    ///
    /// Errors: the port has no packet socket, the host's stack receives the same frames, or the
    /// system's.
    fn set_filter(&mut self, _program: &Arc<OwnedFd>) -> io::Result<()> {
        Err(io::Error::other("it has no packet socket"))
    }

    /// Receives all frames again, if a program chose them. Errors: the system's.
    fn clear_filter(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if no frame that the kernel has received for the port waits there, and none is
    /// left of what a port without a descriptor receives. False if that is not known.
    fn is_drained(&self) -> bool {
        false
    }

    /// Returns the room for frames that are received in the order in which they arrived; `None` if
    /// that is not known, or is just changing.
    fn receive_room(&self) -> Option<ReceiveRoom> {
        None
    }

    /// Tells the port the interface's MTU in bytes after a change; a port without an MTU ignores
    /// it.
    fn set_mtu(&mut self, mtu_bytes: u32);

    /// A copy of the descriptor with which the interface goes. A successor that has it has the
    /// port; `None` if it opens the interface itself.
    fn descriptor(&self) -> Option<OwnedFd> {
        None
    }

    /// Receives beside a predecessor what its program leaves to switches, if the port was opened to
    /// wait because that has the interface. All that arrives before [`Self::begin_reception`] is
    /// the predecessor's. Errors: the system's.
    fn receive_beside(&mut self, _program: &Arc<OwnedFd>) -> io::Result<()> {
        Ok(())
    }

    /// Receives from now on, if the port was opened to wait for this because another switch has the
    /// interface; others receive already. Returns true if the frames that it has received are the
    /// predecessor's, and have to be dropped. Errors: the system's.
    fn begin_reception(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    /// Receives by its own filter, and no longer by a predecessor's program. Errors: the system's.
    fn receive_alone(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Claims the interface that a predecessor has left. Errors: somebody else has claimed it
    /// meanwhile, or the system's.
    fn take_over(&mut self) -> Result<(), OpenError> {
        Ok(())
    }

    /// Leaves the port to a successor: the settings of the interface stay as they are when the port
    /// is closed. Returns true if what has arrived is still to be received here, and nothing else
    /// will arrive; otherwise the successor receives all.
    ///
    /// Errors: the system's.
    fn leave(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    /// Sets the most slots of the receive ring, if there is one, and whether frames are padded to
    /// [`MIN_FRAME_BYTES`] on transmit. A frame that arrives between the two
    /// system calls by which another ring takes over may be lost.
    fn tune(&mut self, _ring_slots: usize, _pad_runts: bool) {}
}
