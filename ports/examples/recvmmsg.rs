//! The plain forwarder: moves frames between two interfaces with `recvmmsg` and `sendmmsg`, offload
//! headers included, and does nothing else.
//!
//! `recvmmsg IN OUT`: the least that a super-frame costs in a process, in both directions. Unlike
//! the yardstick next to it, it has none of the code of the switch's drivers.

use std::{ffi::CString, io, mem, ptr};

use bofuss_ports::BATCH_FRAMES;

/// Room for an offload header and the longest frame.
const BUFFER_BYTES: usize = 10 + 65536 + 256;
/// The kernel's buffers, as those of the switch's ports.
const RECEIVE_BUFFER_BYTES: libc::c_int = 16 << 20;
const SEND_BUFFER_BYTES: libc::c_int = 4 << 20;

/// Returns the error of a system call that failed.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

fn set_option<T>(
    fd: libc::c_int,
    level: libc::c_int,
    name: libc::c_int,
    value: T,
) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of a plain value.
    check(unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), size) })?;
    Ok(())
}

/// A packet socket on an interface, with offload headers.
fn open(name: &str) -> Result<libc::c_int, Box<dyn std::error::Error>> {
    let name = CString::new(name)?;
    // SAFETY: takes integers only.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) })?;
    set_option(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    set_option(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    set_option(
        fd,
        libc::SOL_SOCKET,
        libc::SO_RCVBUFFORCE,
        RECEIVE_BUFFER_BYTES,
    )?;
    set_option(
        fd,
        libc::SOL_SOCKET,
        libc::SO_SNDBUFFORCE,
        SEND_BUFFER_BYTES,
    )?;
    // SAFETY: zero is a value of every field.
    let mut promiscuous: libc::packet_mreq = unsafe { mem::zeroed() };
    // SAFETY: zero is a value of every field.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    // SAFETY: the name is terminated.
    promiscuous.mr_ifindex = check(unsafe { libc::if_nametoindex(name.as_ptr()) } as libc::c_int)?;
    promiscuous.mr_type = libc::PACKET_MR_PROMISC as u16;
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = promiscuous.mr_ifindex;
    set_option(
        fd,
        libc::SOL_PACKET,
        libc::PACKET_ADD_MEMBERSHIP,
        promiscuous,
    )?;
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads an address of its family.
    check(unsafe { libc::bind(fd, (&raw const address).cast(), size) })?;
    Ok(fd)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let [one, two] = &names[..] else {
        return Err("usage: recvmmsg INTERFACE INTERFACE".into());
    };
    let ports = [open(one)?, open(two)?];
    let mut buffers = vec![[0u8; BUFFER_BYTES]; BATCH_FRAMES];
    let mut vectors: Vec<libc::iovec> = buffers.iter_mut().map(whole).collect();
    // SAFETY: zero is a value of every field.
    let empty: libc::mmsghdr = unsafe { mem::zeroed() };
    let mut messages = vec![empty; BATCH_FRAMES];
    for (message, vector) in messages.iter_mut().zip(&mut vectors) {
        message.msg_hdr.msg_iov = vector;
        message.msg_hdr.msg_iovlen = 1;
    }
    println!("ready");
    let mut watched = ports.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    loop {
        // SAFETY: two entries, which `watched` has.
        check(unsafe { libc::poll(watched.as_mut_ptr(), 2, -1) })?;
        for (from, to) in [(0, 1), (1, 0)] {
            if watched[from].revents != 0 {
                forward(ports[from], ports[to], &mut messages)?;
                for vector in &mut vectors {
                    vector.iov_len = BUFFER_BYTES;
                }
            }
        }
    }
}

fn whole(buffer: &mut [u8; BUFFER_BYTES]) -> libc::iovec {
    libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: BUFFER_BYTES,
    }
}

/// Moves one batch; frames that `to` has no room for are lost.
fn forward(from: libc::c_int, to: libc::c_int, messages: &mut [libc::mmsghdr]) -> io::Result<()> {
    let most = messages.len() as libc::c_uint;
    let first = messages.as_mut_ptr();
    let flags = libc::MSG_DONTWAIT;
    // SAFETY: each message has one vector, which has a buffer; all live in `main`.
    let received = unsafe { libc::recvmmsg(from, first, most, flags, ptr::null_mut()) };
    if received <= 0 {
        return Ok(());
    }
    let filled = &mut messages[..received as usize];
    for message in &*filled {
        // SAFETY: each message has one vector, which nothing else uses now.
        unsafe { (*message.msg_hdr.msg_iov).iov_len = message.msg_len as usize };
    }
    let mut done = 0;
    while done < filled.len() {
        let rest = &mut filled[done..];
        // SAFETY: as above.
        let sent = unsafe { libc::sendmmsg(to, rest.as_mut_ptr(), rest.len() as u32, flags) };
        done += sent.max(1) as usize;
    }
    Ok(())
}
