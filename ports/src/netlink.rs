//! Route netlink as far as interfaces, addresses and routes need it: dumps, messages, attributes.

use std::{
    fs::File,
    io::{self, Read, Write},
    mem,
    os::fd::{AsFd, AsRawFd},
};

use crate::sys;

/// Room for one read; the kernel fills at most 32 KiB at a time.
pub(crate) const BUFFER_BYTES: usize = 64 << 10;
/// The time limit for a reply of the kernel, which comes at once.
const REPLY_TIMEOUT_MS: libc::c_int = 2000;
const MESSAGE_HEADER_BYTES: usize = 16;
const ATTRIBUTE_HEADER_BYTES: usize = 4;

/// One message: its type, flags and what follows its header.
pub(crate) struct NetlinkMessage<'a> {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) body: &'a [u8],
}

/// Opens a non-blocking socket that joins the multicast groups of the bit set `groups`.
pub(crate) fn open(groups: u32) -> io::Result<File> {
    let socket = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
    // SAFETY: zero is a value of every field.
    let mut address: libc::sockaddr_nl = unsafe { mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as u16;
    address.nl_groups = groups;
    sys::bind(socket.as_fd(), &address)?;
    // Read and write suffice for a socket that only ever talks to the kernel.
    Ok(File::from(socket))
}

/// Asks for all objects of a kind; `header` is the kind's own fixed header.
pub(crate) fn request_dump(socket: &mut File, kind: u16, header: &[u8]) -> io::Result<()> {
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    let mut request = Vec::with_capacity(MESSAGE_HEADER_BYTES + header.len());
    request.extend(((MESSAGE_HEADER_BYTES + header.len()) as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.extend([0; 8]);
    request.extend(header);
    socket.write_all(&request)
}

/// Calls `each` with the body of every object of a kind.
pub(crate) fn dump(kind: u16, header: &[u8], mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut socket = open(0)?;
    request_dump(&mut socket, kind, header)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let size = match socket.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait(&socket)?;
                continue;
            }
            result => result?,
        };
        for message in messages(&buffer[..size]) {
            match libc::c_int::from(message.kind) {
                libc::NLMSG_DONE => return Ok(()),
                libc::NLMSG_ERROR => return Err(error_of(&message)),
                _ => each(message.body),
            }
        }
    }
}

/// Waits until the socket is readable.
fn wait(socket: &File) -> io::Result<()> {
    let mut poll = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, borrowed for the call.
    match sys::check(unsafe { libc::poll(&raw mut poll, 1, REPLY_TIMEOUT_MS) })? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

/// The error that an `NLMSG_ERROR` carries.
pub(crate) fn error_of(message: &NetlinkMessage<'_>) -> io::Error {
    io::Error::from_raw_os_error(-(u32_at(message.body, 0) as i32))
}

/// The messages of one read, up to the first that does not fit.
pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = NetlinkMessage<'_>> {
    std::iter::from_fn(move || {
        let len = u32_at(bytes, 0) as usize;
        let message = NetlinkMessage {
            kind: u16_at(bytes, 4),
            flags: u16_at(bytes, 6),
            body: bytes.get(MESSAGE_HEADER_BYTES..len)?,
        };
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The attributes (number and value) in `bytes`, up to the first that does not fit.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(bytes, 0));
        let attribute = (u16_at(bytes, 2), bytes.get(ATTRIBUTE_HEADER_BYTES..len)?);
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(attribute)
    })
}

/// The native-order number at `at`; 0 past the end.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    u32::from_ne_bytes(bytes.copied().unwrap_or_default())
}

/// The native-order number at `at`; 0 past the end.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    u16::from_ne_bytes(bytes.copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_end_at_whatever_does_not_fit() {
        let mut bytes = vec![5, 0, 1, 0, b'a', 0, 0, 0, 9, 0, 2, 0];
        assert_eq!(attributes(&bytes).collect::<Vec<_>>(), [(1, &b"a"[..])]);
        for len in 0..bytes.len() {
            assert!(attributes(&bytes[..len]).count() <= 1);
            assert_eq!(messages(&bytes[..len]).count(), 0);
        }
        bytes.fill(0);
        assert_eq!(attributes(&bytes).count(), 0, "a length of 0 does not loop");
        assert_eq!(messages(&bytes).count(), 0);
    }
}
