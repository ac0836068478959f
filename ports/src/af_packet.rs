//! A port on a network interface through an `AF_PACKET` socket, with offload headers both ways.
//!
//! It undoes what the kernel does to frames: it reinserts outer VLAN tags, ignores frames that it
//! sent itself, keeps promiscuous mode on, and keeps the host's own stack out (see
//! `interface_settings`). Whatever thread uses it, it stays in the network namespace where it was
//! opened, from Linux 5.14 on.

mod claim;
mod group;
mod options;
mod queue;
mod sockets;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use std::{io, mem};

use bofuss_frame::{Frame, Pool};
use rustix::io::ioctl_fionread;

use claim::Claim;

pub use options::AfPacketOptions;

use crate::{
    BATCH_BYTES, Counters, DriverDropReason, Link, OffloadCapabilities, OpenError, PortDriver,
    PortError, ReceiveRoom,
    batch::Batch,
    packet_socket::{PacketSocket, SocketOptions},
    ring::{Ring, RingSlot},
    sys, vnet,
};

/// By how much a receive ring grows when frames are lost for want of slots.
const RING_GROWTH: usize = 16;
/// Places that a quiet port offers to the kernel; a busy one doubles them up to a batch.
const MIN_PLACES: usize = 4;
/// Times that a socket is replaced at most: two larger rings, and none.
const REPLACEMENTS: usize = 3;
/// The time that a frame may take into the ring after its socket stopped receiving.
const LAST_FRAMES: Duration = Duration::from_micros(100);
/// Since Linux 6.2 the offload header can say UDP segmentation.
const UDP_GSO_SINCE: (u32, u32) = (6, 2);

/// A port on an Ethernet interface of this network namespace: veth, physical, or any other.
pub struct AfPacket {
    /// The socket that receives and sends.
    socket: PacketSocket,
    socket_options: SocketOptions,
    /// Slots that its ring may have.
    max_slots: usize,
    /// The program that chooses what it and its successors receive.
    filter: Option<Arc<OwnedFd>>,
    /// Sockets that may replace it, opened while that was permitted.
    spares: Vec<OwnedFd>,
    /// The socket that replaces it, while a thread opens it.
    opening: Option<mpsc::Receiver<io::Result<PacketSocket>>>,
    /// The socket that receives since then; frames that the old one still has come first.
    successor: Option<(PacketSocket, Instant)>,
    /// Frames received when the counters were asked for last.
    counted: u64,
    batch: Box<Batch>,
    counters: Counters,
    link: Link,
    pad_runts: bool,
    /// Places for the next call without a ring: twice what the last one used, if they then hold no
    /// more than [`BATCH_BYTES`].
    places: usize,
    /// The kernel reported the interface down; it may be gone.
    down: bool,
    udp_gso: bool,
    /// How it was opened.
    options: AfPacketOptions,
    claim: Arc<Claim>,
    /// True if it shares the interface's frames: no other socket may take its place.
    is_member: bool,
    /// True if it receives by the program of a predecessor.
    is_beside: bool,
}

impl AfPacket {
    /// Opens the interface `name`; its link state stays as it is.
    ///
    /// Errors: each unsuitable interface has its own [`OpenError`].
    pub fn open(name: &str, options: AfPacketOptions) -> Result<Self, OpenError> {
        let link = Link::by_name(name)?;
        let claim = Arc::new(Claim::new(&link, options)?);
        let socket_options = SocketOptions {
            index: link.index,
            qdisc_bypass: options.qdisc_bypass,
            ring_slots: options.first_slots(),
        };
        let spares = if options.keeps_spares {
            REPLACEMENTS
        } else {
            0
        };
        let (socket, spares) = PacketSocket::with_spares(socket_options, spares, options.waits)
            .map_err(|e| OpenError::new(name, "opening a packet socket", e))?;
        let port = Self::with_socket(link, claim, socket, options);
        Ok(Self {
            socket_options,
            max_slots: options.ring_slots,
            spares,
            ..port
        })
    }

    /// A port that has this socket, and no other.
    fn with_socket(
        link: Link,
        claim: Arc<Claim>,
        socket: PacketSocket,
        options: AfPacketOptions,
    ) -> Self {
        Self {
            socket,
            socket_options: SocketOptions {
                index: link.index,
                qdisc_bypass: options.qdisc_bypass,
                ring_slots: 0,
            },
            max_slots: 0,
            filter: None,
            spares: Vec::new(),
            opening: None,
            successor: None,
            counted: 0,
            batch: Box::new(Batch::new()),
            counters: Counters::default(),
            pad_runts: options.pad_runts,
            places: MIN_PLACES,
            down: false,
            udp_gso: sys::kernel_version() >= UDP_GSO_SINCE,
            options,
            claim,
            is_member: false,
            is_beside: false,
            link,
        }
    }

    /// The interface as it was when the port was opened, MTU changes included.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The slots that the receive ring has now; 0 if there is none.
    pub fn ring_slots(&self) -> usize {
        self.socket.ring.as_ref().map_or(0, Ring::slots)
    }

    /// Returns true if the host's own stack is kept out entirely (see
    /// [`AfPacketOptions::keep_host_out`]).
    pub fn host_is_kept_out(&self) -> bool {
        self.claim.settings.is_complete()
    }

    /// The socket that receives.
    fn receiving(&self) -> &PacketSocket {
        let successor = self.successor.as_ref();
        successor.map_or(&self.socket, |(successor, _)| successor)
    }

    /// `Gone` if the interface is no longer bound to the socket.
    fn check_gone(&self) -> Result<(), PortError> {
        match sys::packet_ifindex(self.socket.fd.as_fd())? {
            index if index < 0 => Err(PortError::Gone),
            _ => Ok(()),
        }
    }

    /// Takes up to `max` frames from the socket. Returns how many, dropped frames included.
    fn recv_from_socket(
        &mut self,
        pool: &Pool,
        out: &mut Vec<Frame>,
        max: usize,
    ) -> Result<usize, PortError> {
        if self.socket.ring.is_some() {
            self.recv_ring(pool, out, max)
        } else {
            self.recv_queue(pool, out, max)
        }
    }

    /// Takes up to `max` frames out of the ring, and those out of the queue that the ring says are
    /// there, in the order in which they arrived. Returns how many, dropped frames included.
    fn recv_ring(
        &mut self,
        pool: &Pool,
        out: &mut Vec<Frame>,
        max: usize,
    ) -> Result<usize, PortError> {
        let mut left = max;
        let mut left_bytes = BATCH_BYTES;
        let mut too_small = None;
        while left > 0 && left_bytes > 0 {
            let Some(ring) = &mut self.socket.ring else {
                break;
            };
            let Some(slot) = ring.front() else { break };
            if slot.follows_loss {
                too_small = Some(ring.slots());
            }
            if slot.is_queued {
                let (count, bytes) = ring.queued_in_front(left, left_bytes);
                ring.release(count);
                self.recv_queued(pool, out, count)?;
                left -= count;
                left_bytes = left_bytes.saturating_sub(bytes);
                continue;
            }
            left_bytes = left_bytes.saturating_sub(slot.bytes.len());
            match from_slot(&slot, pool) {
                Ok(frame) => {
                    self.counters.received(frame.len());
                    out.push(frame);
                }
                Err(reason) => self.counters.drop_some(reason, 1),
            }
            ring.release(1);
            left -= 1;
        }
        if let Some(slots) = too_small {
            self.grow(slots);
        }
        if left < max {
            self.down = false;
            return Ok(max - left);
        }
        // Woken for nothing: there may be an error, which stays until it is asked for.
        match sys::take_error(self.socket.fd.as_fd())? {
            0 => {}
            libc::ENETDOWN => self.down = true,
            code => return Err(io::Error::from_raw_os_error(code).into()),
        }
        Ok(0)
    }
}

impl PortDriver for AfPacket {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.receiving().fd.as_fd())
    }

    fn recv(&mut self, pool: &Pool, out: &mut Vec<Frame>, max: usize) -> Result<usize, PortError> {
        let before = out.len();
        if self.opening.is_some() {
            self.use_successor()?;
        }
        let taken = self.recv_from_socket(pool, out, max)?;
        let since = self.successor.as_ref().map(|(_, since)| *since);
        if taken == 0 && since.is_some_and(|since| since.elapsed() > LAST_FRAMES) {
            self.counters();
            self.socket = self.successor.take().expect("it was just there").0;
            self.fit_ring();
            self.recv_from_socket(pool, out, max)?;
        }
        if self.down {
            self.check_gone()?;
        }
        Ok(out.len() - before)
    }

    fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError> {
        let mtu = self.link.mtu_bytes as usize;
        frames.retain_mut(|frame| {
            let ready = vnet::prepare(frame, mtu, self.pad_runts);
            ready
                .inspect_err(|&reason| self.counters.drop_some(reason, 1))
                .is_ok()
        });
        let mut done = 0;
        let mut sent = 0;
        while done < frames.len() {
            let error = match self.batch.send(self.socket.fd.as_fd(), &mut frames[done..]) {
                Ok(count) => {
                    for frame in &frames[done..done + count] {
                        self.counters.sent(frame.len());
                    }
                    done += count;
                    sent += count;
                    continue;
                }
                Err(error) => error,
            };
            // The error concerns the first frame: count it, skip it, and continue with the next.
            let reason = match error.raw_os_error() {
                Some(libc::EAGAIN) => break,
                Some(libc::EINTR) => continue,
                Some(code @ (libc::ENETDOWN | libc::ENXIO | libc::ENODEV)) => {
                    let left = (frames.len() - done) as u64;
                    self.counters.drop_some(DriverDropReason::TxLinkDown, left);
                    frames.clear();
                    if code != libc::ENETDOWN {
                        return Err(PortError::Gone);
                    }
                    return Ok(sent);
                }
                Some(libc::ENOBUFS) => DriverDropReason::TxQueueFull,
                Some(libc::EMSGSIZE) => DriverDropReason::TxTooLong,
                _ => DriverDropReason::TxRefused,
            };
            self.counters.drop_some(reason, 1);
            done += 1;
        }
        frames.drain(..done);
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        // Cannot fail on an open packet socket; if it did, the count would wait for the next call.
        let lost = sys::take_packet_drops(self.socket.fd.as_fd()).unwrap_or(0);
        self.counters
            .drop_some(DriverDropReason::RxKernel, u64::from(lost));
        let received = self.counters.rx_packets;
        // A ring that is stuck wakes nobody; if the system fails here, it does so on receive, too.
        let _ = self.use_successor();
        // Frames were lost and none received: a frame that the offload header cannot express makes
        // the kernel stop at its slot of the ring. The queue has no such flaw.
        let is_silent = received == mem::replace(&mut self.counted, received);
        match (&self.socket.ring, lost > 0) {
            (Some(ring), true) if is_silent && ring.front().is_none() => {
                self.max_slots = 0;
                self.fit_ring();
            }
            (Some(ring), true) => self.grow(ring.slots()),
            (Some(_), false) | (None, _) => {}
        }
        self.counters
    }

    fn capabilities(&self) -> OffloadCapabilities {
        OffloadCapabilities {
            checksum: true,
            tcp: true,
            udp: self.udp_gso,
            vlan_tags: 2,
        }
    }

    fn set_filter(&mut self, program: &Arc<OwnedFd>) -> io::Result<()> {
        if !self.host_is_kept_out() {
            return Err(io::Error::other(
                "the host's stack receives its frames, too",
            ));
        }
        if !self.claim.is_waiting() {
            self.receiving().set_filter(program)?;
        }
        self.filter = Some(Arc::clone(program));
        Ok(())
    }

    fn clear_filter(&mut self) -> io::Result<()> {
        if self.filter.take().is_some() && !self.claim.is_waiting() {
            self.receiving().begin_reception()?;
        }
        Ok(())
    }

    fn is_drained(&self) -> bool {
        let queued = || ioctl_fionread(&*self.socket.fd).unwrap_or(1);
        let ring = self.socket.ring.as_ref();
        let is_empty = ring.map_or_else(|| queued() == 0, |ring| ring.front().is_none());
        self.successor.is_none() && is_empty
    }

    fn receive_room(&self) -> Option<ReceiveRoom> {
        let ring = self.socket.ring.as_ref()?;
        let room = ReceiveRoom {
            frames: ring.slots(),
            is_half_full: ring.is_half_full(),
        };
        self.successor.is_none().then_some(room)
    }

    fn set_mtu(&mut self, mtu_bytes: u32) {
        self.link.mtu_bytes = mtu_bytes;
    }

    fn receive_beside(&mut self, program: &Arc<OwnedFd>) -> io::Result<()> {
        if self.claim.is_waiting() {
            self.socket.set_filter(program)?;
            self.is_beside = true;
        }
        Ok(())
    }

    fn begin_reception(&mut self) -> io::Result<bool> {
        if self.claim.is_waiting() && !self.is_beside {
            self.unmute()?;
        }
        Ok(self.is_beside)
    }

    fn receive_alone(&mut self) -> io::Result<()> {
        if mem::take(&mut self.is_beside) {
            self.unmute()?;
        }
        Ok(())
    }

    fn take_over(&mut self) -> Result<(), OpenError> {
        self.claim_left()
    }

    fn leave(&mut self) -> io::Result<bool> {
        self.mute().map(|()| true)
    }

    fn tune(&mut self, ring_slots: usize, pad_runts: bool) {
        self.pad_runts = pad_runts;
        if !self.is_member {
            self.max_slots = ring_slots;
            self.fit_ring();
        }
    }
}

/// Copies a frame out of a slot. Errors: why it is dropped.
fn from_slot(slot: &RingSlot<'_>, pool: &Pool) -> Result<Frame, DriverDropReason> {
    // The kernel had no room to queue the whole.
    if slot.is_cut {
        return Err(DriverDropReason::RxKernel);
    }
    let mut frame = pool.frame(slot.bytes).ok_or(DriverDropReason::RxNoBuffer)?;
    let is_whole = vnet::complete(&mut frame, slot.header, slot.tag);
    is_whole.then_some(frame).ok_or(DriverDropReason::RxShape)
}
