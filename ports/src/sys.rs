//! The system calls that the doors share, as safe functions.

use std::{
    io, mem,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::net::UnixDatagram,
    },
};

use libc::{Ioctl, c_int, c_short};

/// Words of the buffer for an ethtool command; the longest that we use takes 11.
const ETHTOOL_WORDS: usize = 16;

/// Makes a result of -1 the error that it stands for.
pub(crate) fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Opens a close-on-exec, non-blocking socket.
pub(crate) fn socket(family: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes integers only.
    let fd = check(unsafe { libc::socket(family, kind, protocol) })?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets a socket option to a plain value.
pub(crate) fn set_option<T: Copy>(
    fd: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: &T,
) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    let value = (&raw const *value).cast();
    // SAFETY: the kernel reads `size` bytes, which is what `value` points to; a pointer in it, if
    // the option takes one, is the caller's to keep.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value, size) })?;
    Ok(())
}

/// Sets an integer option of a packet socket.
pub(crate) fn set_packet_option(fd: BorrowedFd<'_>, name: c_int, value: c_int) -> io::Result<()> {
    set_option(fd, libc::SOL_PACKET, name, &value)
}

/// Reads an option of a socket. Errors: the system's.
fn get_option<T: Copy>(fd: BorrowedFd<'_>, level: c_int, name: c_int, initial: T) -> io::Result<T> {
    let mut value = initial;
    let mut size = size_of::<T>() as libc::socklen_t;
    let to = (&raw mut value).cast();
    // SAFETY: the kernel writes at most `size` bytes, which is what `to` points to; the types that
    // it is called with are integers and structures of integers.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, to, &raw mut size) })?;
    Ok(value)
}

/// Binds a socket to an address of its family.
pub(crate) fn bind<T: Copy>(fd: BorrowedFd<'_>, address: &T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    let address = (&raw const *address).cast();
    // SAFETY: the kernel reads `size` bytes, which is what `address` points to.
    check(unsafe { libc::bind(fd.as_raw_fd(), address, size) })?;
    Ok(())
}

/// A request about the interface `name`, which is at most 15 bytes long.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: zero is a value of every field.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    let room = &mut request.ifr_name[..libc::IFNAMSIZ - 1];
    for (to, from) in room.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

fn ioctl(fd: BorrowedFd<'_>, number: Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: every number passed here takes an `ifreq`, whose pointer, if used, is the caller's to
    // keep.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), number, &raw mut *request) })?;
    Ok(())
}

/// Reads an interface's flags, lets `change` compute new flags, and sets them if they differ.
pub(crate) fn change_flags(name: &str, change: impl FnOnce(c_short) -> c_short) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    let mut request = request(name);
    ioctl(socket.as_fd(), libc::SIOCGIFFLAGS as Ioctl, &mut request)?;
    // SAFETY: the call above wrote the flags.
    let old = unsafe { request.ifr_ifru.ifru_flags };
    let new = change(old);
    if new != old {
        request.ifr_ifru.ifru_flags = new;
        ioctl(socket.as_fd(), libc::SIOCSIFFLAGS as Ioctl, &mut request)?;
    }
    Ok(())
}

/// Runs an ethtool command on an interface and returns the words that the kernel left.
pub(crate) fn ethtool(name: &str, command: &[u32]) -> io::Result<[u32; ETHTOOL_WORDS]> {
    let mut words = [0; ETHTOOL_WORDS];
    words[..command.len()].copy_from_slice(command);
    let mut request = request(name);
    request.ifr_ifru.ifru_data = (&raw mut words).cast();
    let socket = UnixDatagram::unbound()?;
    ioctl(socket.as_fd(), libc::SIOCETHTOOL as Ioctl, &mut request)?;
    Ok(words)
}

/// Has a network card stamp every frame that it sends and receives.
pub(crate) fn stamp_all_frames(name: &str) -> io::Result<()> {
    let mut wanted = libc::hwtstamp_config {
        flags: 0,
        tx_type: libc::HWTSTAMP_TX_ON as c_int,
        rx_filter: libc::HWTSTAMP_FILTER_ALL as c_int,
    };
    let mut request = request(name);
    request.ifr_ifru.ifru_data = (&raw mut wanted).cast();
    let socket = UnixDatagram::unbound()?;
    ioctl(socket.as_fd(), libc::SIOCSHWTSTAMP as Ioctl, &mut request)
}

/// Makes `fd`, an open `/dev/net/tun`, the interface `name` with `flags`.
pub(crate) fn set_tun(fd: BorrowedFd<'_>, name: &str, flags: c_int) -> io::Result<()> {
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = flags as c_short;
    ioctl(fd, libc::TUNSETIFF, &mut request)
}

/// Sets which offloads the reader of a TUN descriptor accepts.
pub(crate) fn set_tun_offload(fd: BorrowedFd<'_>, offloads: libc::c_uint) -> io::Result<()> {
    let offloads = libc::c_ulong::from(offloads);
    // SAFETY: takes its argument by value.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD, offloads) })?;
    Ok(())
}

/// Takes the error that a socket has pending: its number, 0 for none.
pub(crate) fn take_error(fd: BorrowedFd<'_>) -> io::Result<c_int> {
    get_option(fd, libc::SOL_SOCKET, libc::SO_ERROR, 0)
}

/// The number of a socket's network namespace, which no other one has until the machine restarts.
///
/// Errors: the system's; Linux before 5.14 does not tell.
pub(crate) fn namespace_cookie(fd: BorrowedFd<'_>) -> io::Result<u64> {
    get_option(fd, libc::SOL_SOCKET, libc::SO_NETNS_COOKIE, 0)
}

/// Opens the network namespace of a socket. Errors: the system's, also without CAP_NET_ADMIN there.
pub(crate) fn open_namespace(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: takes no argument but the request.
    let fd = check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGSKNS as Ioctl) })?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The group of a packet socket: its number, and in the upper half its mode.
pub(crate) fn packet_fanout(fd: BorrowedFd<'_>) -> io::Result<c_int> {
    get_option(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, 0)
}

/// Reads and resets the count of frames that a packet socket lost for want of room.
pub(crate) fn take_packet_drops(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let none = libc::tpacket_stats {
        tp_packets: 0,
        tp_drops: 0,
    };
    let stats = get_option(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, none)?;
    Ok(stats.tp_drops)
}

/// The index of the interface that a packet socket is bound to; negative once it has disappeared.
pub(crate) fn packet_ifindex(fd: BorrowedFd<'_>) -> io::Result<c_int> {
    // SAFETY: zero is a value of every field.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    let mut size = size_of_val(&address) as libc::socklen_t;
    let to = (&raw mut address).cast();
    // SAFETY: the kernel writes at most `size` bytes, which is what `to` points to.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), to, &raw mut size) })?;
    Ok(address.sll_ifindex)
}

/// The running kernel's major and minor version; zeros if it does not tell.
pub(crate) fn kernel_version() -> (u32, u32) {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_fifteen_bytes_fits_and_stays_terminated() {
        let request = request("fifteen-bytes-xand-more");
        assert_eq!(request.ifr_name[14], b'x' as libc::c_char);
        assert_eq!(request.ifr_name[15], 0);
    }
}
