//! A packet socket with its receive ring, and how another takes its place.

use std::{
    io, mem,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, mpsc},
    thread,
};

use libc::{c_int, sock_filter, sock_fprog};

use crate::{ring::Ring, sys};

/// What the kernel may hold of received frames, bookkeeping included: some hundred super-frames.
const RECEIVE_BUFFER_BYTES: c_int = 16 << 20;
/// What the kernel may hold of frames on their way to a device.
const SEND_BUFFER_BYTES: c_int = 4 << 20;

/// A packet socket.
pub(crate) struct Inlet {
    /// Its ring.
    pub(crate) ring: Option<Ring>,
    /// The socket, bound to an interface.
    pub(crate) socket: Arc<OwnedFd>,
}

impl Drop for Inlet {
    /// Has the socket closed in a thread of its own: the kernel takes some 20 ms for it.
    fn drop(&mut self) {
        let (ring, socket) = (self.ring.take(), Arc::clone(&self.socket));
        // Without a thread it is closed here.
        let _ = thread::Builder::new().spawn(move || drop((ring, socket)));
    }
}

/// What an inlet is made with.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// The interface's index.
    pub(crate) index: u32,
    /// Whether frames pass the interface's queueing discipline by.
    pub(crate) qdisc_bypass: bool,
    /// Slots of the ring; without any there is none.
    pub(crate) ring_slots: usize,
}

impl Inlet {
    /// Makes one of a fresh socket that hears everything on an interface; or nothing yet, if it is
    /// `deaf`.
    ///
    /// Errors: the system's.
    pub(crate) fn open(socket: OwnedFd, shape: Shape, deaf: bool) -> io::Result<Self> {
        let socket = Arc::new(socket);
        let ring = (shape.ring_slots > 0).then(|| Ring::new(socket.as_fd(), shape.ring_slots));
        let ring = ring.transpose()?;
        let this = Self { ring, socket };
        if deaf {
            this.deafen()?;
        }
        bind(this.socket.as_fd(), shape.index)?;
        Ok(this)
    }

    /// Makes a deaf one in a thread of its own: memory for a ring takes its time.
    pub(crate) fn open_aside(
        socket: io::Result<OwnedFd>,
        shape: Shape,
    ) -> mpsc::Receiver<io::Result<Self>> {
        let (done, opened) = mpsc::channel();
        // Without a thread nothing comes, which says the same.
        let _ = thread::Builder::new()
            .name("ring".into())
            .spawn(move || done.send(socket.and_then(|socket| Self::open(socket, shape, true))));
        opened
    }

    /// Has this one hear from now on what the deaf `next` did not, and the reverse.
    ///
    /// A frame that arrives between the two system calls is lost, as many are at such a time.
    ///
    /// Errors: the system's.
    pub(crate) fn hand_over(&self, next: &Self) -> io::Result<()> {
        self.deafen()?;
        let (level, name) = (libc::SOL_SOCKET, libc::SO_DETACH_FILTER);
        sys::set_option::<c_int>(next.socket.as_fd(), level, name, &0)
    }

    /// Has no frame come any more.
    fn deafen(&self) -> io::Result<()> {
        // A filter of one instruction, which keeps no byte of a frame.
        let code = (libc::BPF_RET | libc::BPF_K) as u16;
        let mut filter = [sock_filter {
            code,
            jt: 0,
            jf: 0,
            k: 0,
        }];
        // The kernel copies the program before the call returns.
        let program = sock_fprog {
            len: 1,
            filter: filter.as_mut_ptr(),
        };
        let (level, name) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
        sys::set_option(self.socket.as_fd(), level, name, &program)
    }
}

/// Opens a packet socket with all options, so that no frame arrives without them; it hears nothing
/// until it is bound. This alone needs CAP_NET_RAW.
///
/// Errors: the system's.
pub(crate) fn socket(shape: Shape) -> io::Result<OwnedFd> {
    let opened = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    let socket = opened.as_fd();
    let packet = |name, value: c_int| sys::set_option(socket, libc::SOL_PACKET, name, &value);
    packet(libc::PACKET_VNET_HDR, 1)?;
    packet(libc::PACKET_AUXDATA, 1)?;
    packet(libc::PACKET_IGNORE_OUTGOING, 1)?;
    packet(libc::PACKET_QDISC_BYPASS, c_int::from(shape.qdisc_bypass))?;
    for (force, plain, bytes) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, RECEIVE_BUFFER_BYTES),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, SEND_BUFFER_BYTES),
    ] {
        // The first needs privilege in the first user namespace, the second is cut to the system's
        // limit.
        sys::set_option(socket, libc::SOL_SOCKET, force, &bytes)
            .or_else(|_| sys::set_option(socket, libc::SOL_SOCKET, plain, &bytes))?;
    }
    Ok(opened)
}

/// Has a socket receive what arrives on an interface, to whomever it is sent.
fn bind(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let promiscuous = libc::packet_mreq {
        mr_ifindex: index as c_int,
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
    address.sll_ifindex = index as c_int;
    sys::bind(socket, &address)
}
