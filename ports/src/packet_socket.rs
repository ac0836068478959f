//! A packet socket with its receive ring, and how another takes its place.

use std::{
    io, mem,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    sync::{Arc, mpsc},
    thread,
};

use libc::{c_int, sock_filter, sock_fprog};

use crate::{Fanout, NetNs, ring::Ring, sys};

/// The memory for received frames that the kernel may hold, bookkeeping included: some hundred
/// super-frames.
const RECEIVE_BUFFER_BYTES: c_int = 16 << 20;
/// The number of bytes of frames that the kernel may hold for a device.
const SEND_BUFFER_BYTES: c_int = 4 << 20;

/// A packet socket.
pub(crate) struct PacketSocket {
    /// Its ring.
    pub(crate) ring: Option<Ring>,
    /// The socket, bound to an interface.
    pub(crate) fd: Arc<OwnedFd>,
}

impl Drop for PacketSocket {
    /// Closes the socket in a thread of its own: the kernel takes some 20 ms for it.
    fn drop(&mut self) {
        let ring = self.ring.take();
        let fd = Arc::clone(&self.fd);
        // Without a thread it is closed here.
        let _ = thread::Builder::new().spawn(move || drop((ring, fd)));
    }
}

/// The options with which a socket is opened.
#[derive(Clone, Copy)]
pub(crate) struct SocketOptions {
    /// The interface's index.
    pub(crate) index: u32,
    /// True if frames pass the interface's queueing discipline by.
    pub(crate) qdisc_bypass: bool,
    /// Slots of the ring; without any there is none.
    pub(crate) ring_slots: usize,
}

impl PacketSocket {
    /// Opens one, which is `muted` or receives at once, and `spares` sockets more for those that
    /// will replace it.
    ///
    /// Errors: the system's.
    pub(crate) fn with_spares(
        options: SocketOptions,
        spares: usize,
        muted: bool,
    ) -> io::Result<(Self, Vec<OwnedFd>)> {
        let first = socket(options)?;
        let mut others = Vec::with_capacity(spares);
        for _ in 0..spares {
            others.push(socket(options)?);
        }
        Ok((Self::open(first, options, muted)?, others))
    }

    /// Opens sockets that share the frames of an interface, which is up.
    ///
    /// Errors: the system's.
    pub(crate) fn group(
        options: SocketOptions,
        members: usize,
        secret: u64,
    ) -> io::Result<(Vec<Self>, Fanout)> {
        let opened = (0..members).map(|_| Self::open(socket(options)?, options, true));
        let sockets = opened.collect::<io::Result<Vec<Self>>>()?;
        let fds: Vec<_> = sockets.iter().map(|one| Arc::clone(&one.fd)).collect();
        let fanout = Fanout::new(&fds, secret)?;
        // Not before now, so that no frame arrives at two of them.
        sockets.iter().try_for_each(Self::begin_reception)?;
        Ok((sockets, fanout))
    }

    /// Binds a fresh socket, which then receives all frames of an interface, or none yet if it is
    /// `muted`.
    ///
    /// Errors: the system's.
    pub(crate) fn open(socket: OwnedFd, options: SocketOptions, muted: bool) -> io::Result<Self> {
        let fd = Arc::new(socket);
        let mut ring = None;
        if options.ring_slots > 0 {
            ring = Some(Ring::new(fd.as_fd(), options.ring_slots)?);
        }
        let this = Self { ring, fd };
        if muted {
            this.stop_reception()?;
        }
        bind(this.fd.as_fd(), options.index)?;
        Ok(this)
    }

    /// The same socket, to be read by system calls.
    pub(crate) fn beside(&self) -> Self {
        let fd = Arc::clone(&self.fd);
        Self { ring: None, fd }
    }

    /// Opens a muted socket that can take the place of this one, in a thread of its own: allocating
    /// the ring takes long. It is `spare`, if that was opened ahead.
    pub(crate) fn open_successor(
        &self,
        spare: Option<OwnedFd>,
        options: SocketOptions,
    ) -> mpsc::Receiver<io::Result<Self>> {
        let (done, opened) = mpsc::channel();
        let before = Arc::clone(&self.fd);
        let open = move || {
            let socket = spare.map_or_else(|| socket_beside(&before, options), Ok);
            socket.and_then(|socket| Self::open(socket, options, true))
        };
        // Without a thread the channel is closed, which means a failure, too.
        let _ = thread::Builder::new()
            .name("ring".into())
            .spawn(move || done.send(open()));
        opened
    }

    /// Lets a BPF program choose the frames that arrive. Errors: the system's.
    pub(crate) fn set_filter(&self, program: &OwnedFd) -> io::Result<()> {
        let program = program.as_raw_fd();
        let socket = self.fd.as_fd();
        sys::set_option::<c_int>(socket, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &program)
    }

    /// Moves reception from this socket to the muted `next`, where this program chooses the frames
    /// if there is one.
    ///
    /// A frame that arrives between the two system calls is lost. Sockets change when the
    /// ring overflows, which loses frames anyway.
    ///
    /// Errors: the system's.
    pub(crate) fn move_reception_to(
        &self,
        next: &Self,
        filter: Option<&OwnedFd>,
    ) -> io::Result<()> {
        self.stop_reception()?;
        match filter {
            Some(program) => next.set_filter(program),
            None => next.begin_reception(),
        }
    }

    /// Takes the filter of a socket away, also one that muted it.
    pub(crate) fn begin_reception(&self) -> io::Result<()> {
        let socket = self.fd.as_fd();
        sys::set_option::<c_int>(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0)
    }

    /// Attaches a filter that refuses every frame.
    pub(crate) fn stop_reception(&self) -> io::Result<()> {
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
        let socket = self.fd.as_fd();
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }
}

/// Opens a packet socket with all options, so that no frame arrives without them. It receives
/// nothing until it is bound. Only this needs CAP_NET_RAW.
///
/// Errors: the system's.
fn socket(options: SocketOptions) -> io::Result<OwnedFd> {
    let opened = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    let socket = opened.as_fd();
    let qdisc_bypass = c_int::from(options.qdisc_bypass);
    sys::set_packet_option(socket, libc::PACKET_VNET_HDR, 1)?;
    sys::set_packet_option(socket, libc::PACKET_AUXDATA, 1)?;
    sys::set_packet_option(socket, libc::PACKET_IGNORE_OUTGOING, 1)?;
    sys::set_packet_option(socket, libc::PACKET_QDISC_BYPASS, qdisc_bypass)?;
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

/// As [`socket`], in the network namespace of the socket `before`; this thread enters it if it is
/// in another one, where the interface's index would be that of another interface.
///
/// Errors: the system's; to enter a namespace, also without CAP_SYS_ADMIN.
fn socket_beside(before: &OwnedFd, options: SocketOptions) -> io::Result<OwnedFd> {
    let opened = socket(options)?;
    // Linux before 5.14 does not tell.
    let namespace = |one: &OwnedFd| sys::namespace_cookie(one.as_fd()).ok();
    if namespace(&opened) == namespace(before) {
        return Ok(opened);
    }
    NetNs::of_socket(before.as_fd())?.enter()?;
    socket(options)
}

/// Binds a socket to an interface in promiscuous mode.
pub(crate) fn bind(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
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
