//! A port on a network interface through an `AF_PACKET` socket, with offload headers both ways.
//!
//! What the kernel does on the way, this undoes: it puts outer VLAN tags back, ignores what it sent
//! itself, holds promiscuous mode, and keeps the host's own stack out (see `seclusion`).

use std::{
    io, mem,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
    ptr,
};

use bofuss_frame::{Frame, Pool};
use libc::{c_int, c_uint};

use crate::{
    BATCH_FRAMES, Capabilities, Counters, DropReason, Link, OpenError, Port, PortError, link,
    seclusion::Seclusion, slots, sys, vnet,
};

/// What the kernel may hold of received frames, bookkeeping included: some hundred super-frames.
const RECEIVE_BUFFER_BYTES: c_int = 16 << 20;
/// What the kernel may hold of frames on their way to a device.
const SEND_BUFFER_BYTES: c_int = 4 << 20;
/// Room for one `tpacket_auxdata` control message (16 + 20 bytes, aligned).
const CONTROL_BYTES: usize = 40;
/// Slots that a quiet port offers to the kernel; a busy one doubles them up to a batch.
const MIN_SLOTS: usize = 4;
/// Since Linux 6.2 the offload header can say UDP segmentation.
const UDP_GSO_SINCE: (u32, u32) = (6, 2);

/// How to open an interface.
#[derive(Clone, Copy, Debug)]
pub struct AfPacketOptions {
    /// Take an interface although it carries an IP address or the default route.
    pub take_over: bool,
    /// Pad frames to [`crate::MIN_FRAME_BYTES`] on transmit.
    pub pad_runts: bool,
    /// Hand frames to the driver past the interface's queueing discipline.
    pub qdisc_bypass: bool,
    /// Keep the host's stack from answering or forwarding what arrives, if the interface has no
    /// address.
    pub keep_host_out: bool,
}

impl Default for AfPacketOptions {
    fn default() -> Self {
        Self {
            take_over: false,
            pad_runts: true,
            qdisc_bypass: false,
            keep_host_out: true,
        }
    }
}

/// What the kernel reads and writes beside the frame of one slot.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Side {
    control: [u8; CONTROL_BYTES],
    header: [u8; vnet::HEADER_BYTES],
}

/// The argument of `recvmmsg` and `sendmmsg`, kept so that it need not be cleared for each call.
struct Batch {
    messages: [libc::mmsghdr; BATCH_FRAMES],
    vectors: [[libc::iovec; 3]; BATCH_FRAMES],
    sides: [Side; BATCH_FRAMES],
}

// SAFETY: the pointers in it are written before each call and never followed after it.
unsafe impl Send for Batch {}

/// A port on an Ethernet interface of this network namespace: veth, physical, or any other.
pub struct AfPacket {
    socket: OwnedFd,
    batch: Box<Batch>,
    counters: Counters,
    link: Link,
    pad_runts: bool,
    /// Slots for the next call: twice what the last one used.
    slots: usize,
    /// The kernel reported the interface down; it may be gone.
    down: bool,
    udp_gso: bool,
    seclusion: Option<Seclusion>,
    _lro: LroOff,
    _lock: UnixDatagram,
}

impl AfPacket {
    /// Opens the interface `name`; its link state stays as it is.
    ///
    /// Errors: each unsuitable interface has its own [`OpenError`].
    pub fn open(name: &str, options: AfPacketOptions) -> Result<Self, OpenError> {
        let link = Link::by_name(name)?;
        link.check_suitable(options.take_over)?;
        let lock = lock(&link)?;
        let failed = |action| move |error| OpenError::new(name, action, error);
        let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)
            .map_err(failed("opening a packet socket"))?;
        configure(socket.as_fd(), &link, options.qdisc_bypass)
            .map_err(failed("configuring the packet socket"))?;
        let secluded = options.keep_host_out
            && link
                .addresses()
                .map_err(failed("listing addresses"))?
                .is_empty();
        Ok(Self {
            socket,
            batch: Box::new(Batch::new()),
            counters: Counters::default(),
            pad_runts: options.pad_runts,
            slots: MIN_SLOTS,
            down: false,
            udp_gso: kernel_version() >= UDP_GSO_SINCE,
            seclusion: secluded.then(|| Seclusion::of(&link)),
            _lro: LroOff::of(name),
            _lock: lock,
            link,
        })
    }

    /// The interface as it was when the port was opened, MTU changes included.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Whether the host's own stack is kept out entirely (see [`AfPacketOptions::keep_host_out`]).
    pub fn host_is_kept_out(&self) -> bool {
        self.seclusion.as_ref().is_some_and(Seclusion::is_complete)
    }

    /// `Gone` if the interface is no longer bound to the socket.
    fn check_gone(&self) -> Result<(), PortError> {
        match sys::packet_ifindex(self.socket.as_fd())? {
            index if index < 0 => Err(PortError::Gone),
            _ => Ok(()),
        }
    }

    /// Keeps what the kernel put into the first `filled` pairs at `base`, and returns the rest to
    /// the pool.
    fn accept(&mut self, out: &mut Vec<Frame>, base: usize, filled: usize) {
        let mut at = base;
        for slot in 0..filled {
            let message = &self.batch.messages[slot];
            let side = &self.batch.sides[slot];
            let len = (message.msg_len as usize).saturating_sub(vnet::HEADER_BYTES);
            if message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
                self.counters.drop_some(DropReason::RxTooLong, 1);
                continue;
            }
            let Some(offload) = vnet::decode(&side.header, len) else {
                self.counters.drop_some(DropReason::RxShape, 1);
                continue;
            };
            slots::keep(out, base, slot, at, len);
            let frame = &mut out[at];
            frame.offload = offload;
            if let Some((tpid, tci)) = tag_beside(&message.msg_hdr)
                && !vnet::restore_tag(frame, tpid, tci)
            {
                self.counters.drop_some(DropReason::RxShape, 1);
                continue;
            }
            self.counters.received(frame.len());
            at += 1;
        }
        out.truncate(at);
    }

    /// Takes frames out of the kernel for which there is no buffer.
    fn discard(&mut self, max: usize) {
        let mut header = [0u8; vnet::HEADER_BYTES];
        for _ in 0..max {
            let (fd, to) = (self.socket.as_raw_fd(), header.as_mut_ptr().cast());
            // SAFETY: the kernel writes at most the header's size; the frame's rest is cut off.
            let result = unsafe { libc::recv(fd, to, header.len(), libc::MSG_DONTWAIT) };
            if result < 0 {
                break;
            }
            self.counters.drop_some(DropReason::RxNoBuffer, 1);
        }
    }
}

impl Port for AfPacket {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn recv(&mut self, pool: &Pool, out: &mut Vec<Frame>, max: usize) -> Result<usize, PortError> {
        let before = out.len();
        let mut left = max;
        while left > 0 {
            let base = out.len();
            let armed = slots::arm(pool, out, left.min(self.slots));
            if armed == 0 {
                self.discard(left);
                break;
            }
            let error = match self.batch.recv(self.socket.as_fd(), &mut out[base..]) {
                Ok(filled) => {
                    self.down = false;
                    self.accept(out, base, filled);
                    self.slots = (2 * filled).clamp(MIN_SLOTS, BATCH_FRAMES);
                    left -= filled;
                    if filled < armed {
                        break;
                    }
                    continue;
                }
                Err(error) => error,
            };
            out.truncate(base);
            match error.raw_os_error() {
                Some(libc::EAGAIN) => break,
                Some(libc::EINTR) => {}
                // The kernel cannot put this frame's shape into the offload header, and has dropped
                // it.
                Some(libc::EINVAL) => {
                    self.counters.drop_some(DropReason::RxShape, 1);
                    left -= 1;
                }
                Some(libc::ENETDOWN) => self.down = true,
                _ => return Err(error.into()),
            }
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
        let (mut done, mut sent) = (0, 0);
        while done < frames.len() {
            let error = match self.batch.send(self.socket.as_fd(), &mut frames[done..]) {
                Ok(count) => {
                    for frame in &frames[done..done + count] {
                        self.counters.sent(frame.len());
                    }
                    (done, sent) = (done + count, sent + count);
                    continue;
                }
                Err(error) => error,
            };
            // The error is about the first frame: count it, skip it, go on with the next.
            let reason = match error.raw_os_error() {
                Some(libc::EAGAIN) => break,
                Some(libc::EINTR) => continue,
                Some(code @ (libc::ENETDOWN | libc::ENXIO | libc::ENODEV)) => {
                    let left = (frames.len() - done) as u64;
                    self.counters.drop_some(DropReason::TxLinkDown, left);
                    frames.clear();
                    if code != libc::ENETDOWN {
                        return Err(PortError::Gone);
                    }
                    return Ok(sent);
                }
                Some(libc::ENOBUFS) => DropReason::TxQueueFull,
                Some(libc::EMSGSIZE) => DropReason::TxTooLong,
                _ => DropReason::TxRefused,
            };
            self.counters.drop_some(reason, 1);
            done += 1;
        }
        frames.drain(..done);
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        // Cannot fail on an open packet socket; if it did, the count would wait for the next call.
        let lost = sys::take_packet_drops(self.socket.as_fd()).unwrap_or(0);
        self.counters
            .drop_some(DropReason::RxKernel, u64::from(lost));
        self.counters
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            checksum: true,
            tcp: true,
            udp: self.udp_gso,
            vlan_tags: 2,
        }
    }

    fn set_mtu(&mut self, mtu_bytes: u32) {
        self.link.mtu_bytes = mtu_bytes;
    }
}

impl Batch {
    fn new() -> Self {
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

    /// Receives into pairs of frames and returns how many pairs were used.
    fn recv(&mut self, socket: BorrowedFd<'_>, frames: &mut [Frame]) -> io::Result<usize> {
        let pairs = frames.len() / 2;
        for (slot, pair) in frames.chunks_exact_mut(2).enumerate() {
            let [small, large] = slots::places(pair);
            let side = &mut self.sides[slot];
            self.vectors[slot] = [vector(&mut side.header), vector(small), vector(large)];
            let message = &mut self.messages[slot].msg_hdr;
            message.msg_iov = self.vectors[slot].as_mut_ptr();
            message.msg_iovlen = 3;
            message.msg_control = side.control.as_mut_ptr().cast();
            message.msg_controllen = CONTROL_BYTES as _;
        }
        let (fd, messages) = (socket.as_raw_fd(), self.messages.as_mut_ptr());
        // SAFETY: the first `pairs` messages point to three places each, of the lengths given, in
        // frames that are borrowed until the call returns and in `self`.
        let result = unsafe {
            let count = pairs as c_uint;
            libc::recvmmsg(
                fd,
                messages,
                count,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        Ok(sys::check(result)? as usize)
    }

    /// Sends up to a batch of prepared frames and returns how many went before one was disliked.
    fn send(&mut self, socket: BorrowedFd<'_>, frames: &mut [Frame]) -> io::Result<usize> {
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
        let (fd, messages) = (socket.as_raw_fd(), self.messages.as_mut_ptr());
        // SAFETY: the first `count` messages point to two places each, of the lengths given, in
        // frames that are borrowed until the call returns and in `self`.
        let result =
            unsafe { libc::sendmmsg(fd, messages, count as c_uint, libc::MSG_DONTWAIT as _) };
        Ok(sys::check(result)? as usize)
    }
}

fn vector(bytes: &mut [u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    }
}

/// The tag (TPID and TCI) that the kernel took out of a received frame, if it did.
fn tag_beside(message: &libc::msghdr) -> Option<(u16, u16)> {
    // SAFETY: the kernel has just filled the control buffer, which `message` still points to, and
    // its length.
    let auxdata = unsafe {
        let control = libc::CMSG_FIRSTHDR(message).as_ref()?;
        if (control.cmsg_level, control.cmsg_type) != (libc::SOL_PACKET, libc::PACKET_AUXDATA) {
            return None;
        }
        ptr::read_unaligned(libc::CMSG_DATA(control).cast::<libc::tpacket_auxdata>())
    };
    // Not the TCI tells: it is 0 in a priority tag of class 0.
    let has = |status| auxdata.tp_status & status != 0;
    let tpid = if has(libc::TP_STATUS_VLAN_TPID_VALID) {
        auxdata.tp_vlan_tpid
    } else {
        libc::ETH_P_8021Q as u16
    };
    has(libc::TP_STATUS_VLAN_VALID).then_some((tpid, auxdata.tp_vlan_tci))
}

/// Sets all options before binding, so that no frame arrives without them.
fn configure(socket: BorrowedFd<'_>, link: &Link, qdisc_bypass: bool) -> io::Result<()> {
    let packet = |name, value: c_int| sys::set_option(socket, libc::SOL_PACKET, name, &value);
    packet(libc::PACKET_VNET_HDR, 1)?;
    packet(libc::PACKET_AUXDATA, 1)?;
    packet(libc::PACKET_IGNORE_OUTGOING, 1)?;
    packet(libc::PACKET_QDISC_BYPASS, c_int::from(qdisc_bypass))?;
    for (force, plain, bytes) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, RECEIVE_BUFFER_BYTES),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, SEND_BUFFER_BYTES),
    ] {
        // The first needs privilege in the first user namespace, the second is cut to the system's
        // limit.
        sys::set_option(socket, libc::SOL_SOCKET, force, &bytes)
            .or_else(|_| sys::set_option(socket, libc::SOL_SOCKET, plain, &bytes))?;
    }
    let promiscuous = libc::packet_mreq {
        mr_ifindex: link.index as c_int,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    let membership = libc::PACKET_ADD_MEMBERSHIP;
    sys::set_option(socket, libc::SOL_PACKET, membership, &promiscuous)?;
    // SAFETY: zero is a value of every field.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = link.index as c_int;
    sys::bind(socket, &address)
}

/// Claims the interface: an abstract socket belongs to the network namespace and ends with the
/// process.
fn lock(link: &Link) -> Result<UnixDatagram, OpenError> {
    let address = SocketAddr::from_abstract_name(format!("bofuss-port-{}", link.index))
        .expect("a short name fits");
    UnixDatagram::bind_addr(&address).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => OpenError::InUse(link.name.clone()),
        _ => OpenError::new(&link.name, "claiming the interface", error),
    })
}

/// Large receive offload, which merges frames beyond repair, turned off until this is dropped.
struct LroOff(Option<String>);

impl LroOff {
    fn of(name: &str) -> Self {
        let was_on = link::set_lro(name, false);
        Self(was_on.then(|| name.to_string()))
    }
}

impl Drop for LroOff {
    fn drop(&mut self) {
        if let Some(name) = &self.0 {
            link::set_lro(name, true);
        }
    }
}

/// The running kernel's major and minor version; zeros if it does not tell.
fn kernel_version() -> (u32, u32) {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}
