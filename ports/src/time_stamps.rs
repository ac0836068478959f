//! Time stamps that the kernel or the network card puts on frames, for measurements.
//!
//! Source: the kernel's `Documentation/networking/timestamping.rst`.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::{io, mem};

use bofuss_frame::Frame;
use libc::{c_int, c_uint};

use crate::{Link, OpenError, packet_socket, sys};

/// The ethtool command that asks what an interface offers, and the words of its answer.
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
const FLAGS_WORD: usize = 1;
const CLOCK_WORD: usize = 2;
const FILTERS_WORD: usize = 7;
/// The flags that a socket asks for, by the source of its stamps.
const KERNEL_FLAGS: c_uint = libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_SOFTWARE;
const CARD_FLAGS: c_uint = libc::SOF_TIMESTAMPING_TX_HARDWARE
    | libc::SOF_TIMESTAMPING_RX_HARDWARE
    | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
/// Room for the largest frame, and for the control messages of one.
const FRAME_BYTES: usize = 64 << 10;
const CONTROL_WORDS: usize = 32;
/// The memory for stamped frames that the kernel may hold.
const BUFFER_BYTES: c_int = 16 << 20;

/// The source of a frame's stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampSource {
    /// The kernel, by its `CLOCK_REALTIME`: where a frame goes to the driver and comes from it.
    Kernel,
    /// The network card, by its own clock.
    Card,
}

/// The sources of time stamps that an interface offers, both for frames that it sends and that it
/// receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampOffer {
    /// The kernel's.
    pub kernel: bool,
    /// The clock of the network card, as in `/dev/ptpN`, if it stamps every frame.
    pub card: Option<u32>,
}

impl StampOffer {
    /// Returns what an interface of this network namespace offers; nothing if it does not say.
    pub fn of(interface: &str) -> Self {
        let answer = sys::ethtool(interface, &[ETHTOOL_GET_TS_INFO]);
        answer.map_or_else(|_| Self::default(), |words| Self::from_words(&words))
    }

    fn from_words(words: &[u32]) -> Self {
        let flags = words[FLAGS_WORD];
        let all_frames = words[FILTERS_WORD] & (1 << libc::HWTSTAMP_FILTER_ALL) != 0;
        let card = flags & CARD_FLAGS == CARD_FLAGS && all_frames;
        // An interface without a clock says -1.
        let clock = i32::from_ne_bytes(words[CLOCK_WORD].to_ne_bytes());
        Self {
            kernel: flags & KERNEL_FLAGS == KERNEL_FLAGS,
            card: u32::try_from(clock).ok().filter(|_| card),
        }
    }
}

/// A frame with its time stamp.
pub struct StampedFrame<'a> {
    /// Its bytes; the kernel has taken an outer VLAN tag out of one that was received.
    pub bytes: &'a [u8],
    /// Nanoseconds of the source's clock; none if it was not stamped.
    pub nanos: Option<u64>,
}

/// A packet socket whose frames are stamped.
pub struct StampedSocket {
    socket: OwnedFd,
    source: StampSource,
    buffer: Box<[u8]>,
}

impl StampedSocket {
    /// Opens an interface of this network namespace. A card is told to stamp every frame, and goes
    /// on with it.
    ///
    /// Errors: the system's; the card refuses.
    pub fn open(interface: &str, source: StampSource) -> Result<Self, OpenError> {
        let link = Link::by_name(interface)?;
        let opened = Self::open_index(&link, interface, source);
        opened.map_err(|e| OpenError::new(interface, "asking for time stamps", e))
    }

    fn open_index(link: &Link, interface: &str, source: StampSource) -> io::Result<Self> {
        let flags = match source {
            StampSource::Kernel => KERNEL_FLAGS,
            StampSource::Card => {
                sys::stamp_all_frames(interface)?;
                CARD_FLAGS
            }
        };
        let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        let fd = socket.as_fd();
        sys::set_packet_option(fd, libc::PACKET_IGNORE_OUTGOING, 1)?;
        // Without privilege in the first user namespace, the system's limit remains.
        let _ = sys::set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &BUFFER_BYTES);
        sys::set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)?;
        packet_socket::bind(fd, link.index)?;
        Ok(Self {
            socket,
            source,
            buffer: vec![0; FRAME_BYTES].into(),
        })
    }

    /// Sends a frame; false if there is no room for it. One that the interface drops is sent, as on
    /// other sockets: on a veth pair, that is each frame above the MTU of the other end.
    ///
    /// Errors: the system's.
    pub fn send(&self, frame: &[u8]) -> io::Result<bool> {
        let fd = self.socket.as_raw_fd();
        let from = frame.as_ptr().cast();
        // SAFETY: the kernel reads as many bytes as the slice has.
        let sent = unsafe { libc::send(fd, from, frame.len(), libc::MSG_DONTWAIT) };
        match sys::check(sent as c_int) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Sends frames, as many as there is room for, and removes them from the list. Returns their
    /// number.
    ///
    /// Errors: the system's.
    pub fn send_all(&self, frames: &mut Vec<Frame>) -> io::Result<usize> {
        let mut sent = 0;
        for frame in frames.iter() {
            if !self.send(frame.bytes())? {
                break;
            }
            sent += 1;
        }
        frames.drain(..sent);
        Ok(sent)
    }

    /// The next frame that was sent and stamped, if there is one.
    ///
    /// Errors: the system's.
    pub fn next_sent(&mut self) -> io::Result<Option<StampedFrame<'_>>> {
        self.next(libc::MSG_ERRQUEUE)
    }

    /// The next frame that was received, if there is one.
    ///
    /// Errors: the system's.
    pub fn next_received(&mut self) -> io::Result<Option<StampedFrame<'_>>> {
        self.next(0)
    }

    fn next(&mut self, flags: c_int) -> io::Result<Option<StampedFrame<'_>>> {
        let mut control = [0u64; CONTROL_WORDS];
        let mut vector = libc::iovec {
            iov_base: self.buffer.as_mut_ptr().cast(),
            iov_len: self.buffer.len(),
        };
        // SAFETY: zero is a value of every field.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let fd = self.socket.as_raw_fd();
        let flags = flags | libc::MSG_DONTWAIT;
        // SAFETY: the message points to the buffer and to the control words, with their lengths.
        let received = unsafe { libc::recvmsg(fd, &raw mut message, flags) };
        match sys::check(received as c_int) {
            Ok(length) => Ok(Some(StampedFrame {
                bytes: &self.buffer[..length as usize],
                nanos: stamp(&message, self.source),
            })),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The stamp among the control messages of a frame.
fn stamp(message: &libc::msghdr, source: StampSource) -> Option<u64> {
    let wanted = (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING);
    // SAFETY: the kernel has just filled the control words, which `message` still points to, and
    // their length; a message of this type holds three times.
    let times = unsafe {
        let mut next = libc::CMSG_FIRSTHDR(message);
        loop {
            let control = next.as_ref()?;
            if (control.cmsg_level, control.cmsg_type) == wanted {
                break libc::CMSG_DATA(control)
                    .cast::<[libc::timespec; 3]>()
                    .read_unaligned();
            }
            next = libc::CMSG_NXTHDR(message, control);
        }
    };
    let time = match source {
        StampSource::Kernel => times[0],
        StampSource::Card => times[2],
    };
    let nanos = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    (nanos > 0).then_some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_offered_if_it_stamps_all_frames_both_ways_and_has_a_clock() {
        let mut words = [0; FILTERS_WORD + 1];
        words[FLAGS_WORD] = CARD_FLAGS | KERNEL_FLAGS;
        words[CLOCK_WORD] = 3;
        words[FILTERS_WORD] = 1 << libc::HWTSTAMP_FILTER_ALL;
        let offer = |words: [u32; FILTERS_WORD + 1]| StampOffer::from_words(&words);
        assert_eq!(offer(words).card, Some(3));
        assert!(offer(words).kernel);
        for (word, value) in [
            (
                FLAGS_WORD,
                KERNEL_FLAGS | libc::SOF_TIMESTAMPING_RX_HARDWARE,
            ),
            (CLOCK_WORD, u32::MAX),
            (FILTERS_WORD, 1 << libc::HWTSTAMP_FILTER_NONE),
        ] {
            let mut other = words;
            other[word] = value;
            assert_eq!(offer(other).card, None);
            assert!(offer(other).kernel);
        }
    }

    #[test]
    fn an_interface_that_is_not_there_offers_nothing() {
        assert_eq!(StampOffer::of("nowhere"), StampOffer::default());
    }
}
