//! A port that makes its own interface: the host's stack sits at the other end (also of the LOCAL
//! port).

use std::{
    fs::{File, OpenOptions},
    io::{self, IoSlice, IoSliceMut, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::OpenOptionsExt,
    },
};

use bofuss_frame::{Frame, Pool};

use crate::{
    Counters, DriverDropReason, Link, OffloadCapabilities, OpenError, PortDriver, PortError,
    frame_pairs::{self, Place},
    link, sys, vnet,
};

const DEVICE: &str = "/dev/net/tun";
const FLAGS: libc::c_int = libc::IFF_NO_PI | libc::IFF_VNET_HDR;
const OFFLOADS: libc::c_uint =
    libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
/// Known since Linux 6.2.
const UDP_OFFLOADS: libc::c_uint = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// A port on a TAP or TUN interface, which is made if it does not exist and, if so, goes with the
/// port.
pub struct Tap {
    file: File,
    counters: Counters,
    link: Link,
    pad_runts: bool,
    udp_gso: bool,
    /// Bytes in front of the packet in each frame that are not on the interface.
    front_bytes: usize,
}

impl Tap {
    /// Makes the TAP interface `name`, or attaches to a persistent one; its link state stays as it
    /// is.
    ///
    /// Errors: [`OpenError::NoTun`], [`OpenError::NotTap`], [`OpenError::InUse`] and those of every
    /// interface.
    pub fn open(name: &str, pad_runts: bool) -> Result<Self, OpenError> {
        Self::make(name, libc::IFF_TAP, 0, pad_runts)
    }

    /// Makes the TUN interface `name`, whose packets have no Ethernet header, or attaches to a
    /// persistent one. In its frames each packet follows the place of an Ethernet header, which is
    /// zeros in those received and is not sent.
    ///
    /// Errors: as [`Tap::open`].
    pub fn open_tun(name: &str) -> Result<Self, OpenError> {
        Self::make(name, libc::IFF_TUN, vnet::ETHERNET_BYTES, false)
    }

    fn make(
        name: &str,
        kind: libc::c_int,
        front_bytes: usize,
        pad_runts: bool,
    ) -> Result<Self, OpenError> {
        link::check_name(name)?;
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(DEVICE);
        let file = open.map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => OpenError::NoTun,
            _ => OpenError::new(name, "opening /dev/net/tun", error),
        })?;
        let made = sys::set_tun(file.as_fd(), name, kind | FLAGS);
        made.map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY) => OpenError::InUse(name.to_string()),
            Some(libc::EINVAL) if kind == libc::IFF_TUN => OpenError::NotTun(name.to_string()),
            Some(libc::EINVAL) => OpenError::NotTap(name.to_string()),
            _ => OpenError::new(name, "making the interface", error),
        })?;
        Self::with_file(file, name, front_bytes, pad_runts)
    }

    /// The port whose descriptor a predecessor has handed over: a TUN interface if `is_tun`.
    ///
    /// Errors: it is no descriptor of a TAP or TUN interface, or as [`Tap::open`].
    pub fn adopt(
        descriptor: OwnedFd,
        name: &str,
        is_tun: bool,
        pad_runts: bool,
    ) -> Result<Self, OpenError> {
        let front_bytes = if is_tun { vnet::ETHERNET_BYTES } else { 0 };
        Self::with_file(descriptor.into(), name, front_bytes, pad_runts && !is_tun)
    }

    fn with_file(
        file: File,
        name: &str,
        front_bytes: usize,
        pad_runts: bool,
    ) -> Result<Self, OpenError> {
        let udp_gso = sys::set_tun_offload(file.as_fd(), OFFLOADS | UDP_OFFLOADS).is_ok();
        if !udp_gso {
            sys::set_tun_offload(file.as_fd(), OFFLOADS)
                .map_err(|error| OpenError::new(name, "setting offloads", error))?;
        }
        Ok(Self {
            file,
            counters: Counters::default(),
            link: Link::by_name(name)?,
            pad_runts,
            udp_gso,
            front_bytes,
        })
    }

    /// The interface as it was when the port was opened, MTU changes included.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Reads one frame to the end of `out`; `false` if it had to be dropped.
    fn read(&mut self, pool: &Pool, out: &mut Vec<Frame>) -> io::Result<bool> {
        let mut header = [0; vnet::HEADER_BYTES];
        let base = out.len();
        if Place::Pair.arm(pool, out, 1) == 0 {
            let _cut_off = self.file.read(&mut header)?;
            self.counters.drop_some(DriverDropReason::RxNoBuffer, 1);
            return Ok(false);
        }
        let [small, large] = frame_pairs::parts(&mut out[base..]);
        let (front, small) = small.split_at_mut(self.front_bytes);
        front.fill(0);
        let places = &mut [&mut header[..], small, large].map(IoSliceMut::new);
        let result = self.file.read_vectored(places);
        let size = result.inspect_err(|_| out.truncate(base))?;
        let packet_bytes = size.saturating_sub(vnet::HEADER_BYTES);
        let len = self.front_bytes + packet_bytes;
        let Some(offload) = vnet::decode_after(&header, self.front_bytes, len) else {
            out.truncate(base);
            self.counters.drop_some(DriverDropReason::RxShape, 1);
            return Ok(false);
        };
        Place::Pair.keep(out, base, 0, base, len);
        out.truncate(base + 1);
        out[base].offload = offload;
        self.counters.received(packet_bytes);
        Ok(true)
    }
}

impl PortDriver for Tap {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }

    fn recv(&mut self, pool: &Pool, out: &mut Vec<Frame>, max: usize) -> Result<usize, PortError> {
        let mut received = 0;
        for _ in 0..max {
            match self.read(pool, out) {
                Ok(kept) => received += usize::from(kept),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => break,
                    Some(libc::EINTR) => {}
                    Some(libc::EBADFD | libc::EFAULT) => return Err(PortError::Gone),
                    Some(libc::EINVAL) => self.counters.drop_some(DriverDropReason::RxShape, 1),
                    _ => return Err(error.into()),
                },
            }
        }
        Ok(received)
    }

    fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError> {
        let mtu = self.link.mtu_bytes as usize;
        let mut done = 0;
        let mut sent = 0;
        while let Some(frame) = frames.get_mut(done) {
            let ready = vnet::prepare(frame, mtu, self.pad_runts);
            let header = vnet::encode_after(frame, self.front_bytes);
            let ready = ready.and(header.ok_or(DriverDropReason::TxShape));
            let written = ready.map(|header| {
                let packet = frame.bytes().get(self.front_bytes..).unwrap_or_default();
                let parts = [&header[..], packet].map(IoSlice::new);
                self.file.write_vectored(&parts)
            });
            let reason = match written {
                Ok(Ok(_)) => {
                    self.counters
                        .sent(frame.len().saturating_sub(self.front_bytes));
                    done += 1;
                    sent += 1;
                    continue;
                }
                Ok(Err(error)) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => break,
                    Some(libc::EINTR) => continue,
                    Some(libc::EIO) => DriverDropReason::TxLinkDown,
                    Some(libc::EBADFD) => {
                        let left = (frames.len() - done) as u64;
                        self.counters.drop_some(DriverDropReason::TxLinkDown, left);
                        frames.clear();
                        return Err(PortError::Gone);
                    }
                    _ => DriverDropReason::TxRefused,
                },
                Err(reason) => reason,
            };
            self.counters.drop_some(reason, 1);
            done += 1;
        }
        frames.drain(..done);
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
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

    fn descriptor(&self) -> Option<OwnedFd> {
        // One that cannot be copied is missing in the successor, which then cannot open it.
        self.file.as_fd().try_clone_to_owned().ok()
    }

    fn set_mtu(&mut self, mtu_bytes: u32) {
        self.link.mtu_bytes = mtu_bytes;
    }

    fn tune(&mut self, _: usize, pad_runts: bool) {
        self.pad_runts = pad_runts && self.front_bytes == 0;
    }
}
