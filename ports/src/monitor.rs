//! Events of interfaces: added, changed, removed.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    net::IpAddr,
    os::fd::{AsFd, BorrowedFd},
};

use crate::{
    Link,
    link::interface_address,
    netlink::{self, BUFFER_BYTES},
};

/// A dump that names no interface in particular.
const EVERY_LINK: [u8; 16] = [0; 16];

/// What the kernel tells of: interfaces and their addresses.
const GROUPS: u32 =
    (libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR) as u32;

/// Something happened to an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// It is there: new, or already when the monitor was opened.
    New(Link),
    /// Its name, address, MTU, state or master changed.
    Changed(Link),
    /// It has gone, for good or to another namespace; what it last was.
    Gone(Link),
    /// It has got an IP address, or lost one, that is not link-local of IPv6.
    Address {
        /// The number of the interface.
        index: u32,
        /// The address.
        address: IpAddr,
        /// True if it has it now.
        is_there: bool,
    },
}

/// Watches the interfaces of the network namespace it was opened in.
///
/// It knows what it has reported, so it reports only what differs, and when the kernel had no room
/// for its messages it asks for everything anew.
pub struct LinkMonitor {
    socket: File,
    buffer: Box<[u8]>,
    /// The interfaces that were reported, and the dump in which each was last seen.
    known: BTreeMap<u32, (Link, u64)>,
    dump: u64,
    dumping: bool,
    /// The running dump has begun to answer; what was read before had been queued before it.
    answering: bool,
    /// Something was missed: another dump is needed.
    missed: bool,
}

impl LinkMonitor {
    /// Opens a monitor; the first [`LinkMonitor::poll`] reports every interface as new.
    pub fn open() -> io::Result<Self> {
        let mut monitor = Self {
            socket: netlink::open(GROUPS)?,
            buffer: vec![0; BUFFER_BYTES].into(),
            known: BTreeMap::new(),
            dump: 0,
            dumping: false,
            answering: false,
            missed: true,
        };
        monitor.ask()?;
        Ok(monitor)
    }

    /// The descriptor to poll for reading.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns what has happened since the last call; empty if nothing did. Does not block.
    pub fn poll(&mut self) -> io::Result<Vec<LinkEvent>> {
        let mut events = Vec::new();
        loop {
            let buffer = &mut self.buffer[..];
            match self.socket.read(buffer) {
                Ok(size) => self.read(size, &mut events)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(events),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => self.missed = true,
                Err(error) => return Err(error),
            }
            self.ask()?;
        }
    }

    /// Starts another dump if one is needed and none is running.
    fn ask(&mut self) -> io::Result<()> {
        if self.missed && !self.dumping {
            netlink::request_dump(&mut self.socket, libc::RTM_GETLINK, &EVERY_LINK)?;
            self.dump += 1;
            self.dumping = true;
            self.answering = false;
            self.missed = false;
        }
        Ok(())
    }

    fn read(&mut self, size: usize, events: &mut Vec<LinkEvent>) -> io::Result<()> {
        for message in netlink::messages(&self.buffer[..size]) {
            let flags = libc::c_int::from(message.flags);
            self.missed |= flags & libc::NLM_F_DUMP_INTR != 0;
            self.answering |= flags & libc::NLM_F_MULTI != 0;
            if libc::c_int::from(message.kind) == libc::NLMSG_ERROR {
                return Err(netlink::error_of(&message));
            }
            if libc::c_int::from(message.kind) == libc::NLMSG_DONE {
                self.dumping = false;
                let dump = self.dump;
                let gone = self.known.extract_if(.., |_, entry| entry.1 != dump);
                events.extend(gone.map(|(_, entry)| LinkEvent::Gone(entry.0)));
                continue;
            }
            if [libc::RTM_NEWADDR, libc::RTM_DELADDR].contains(&message.kind) {
                let changed = interface_address(message.body);
                events.extend(changed.map(|(index, address)| LinkEvent::Address {
                    index,
                    address,
                    is_there: message.kind == libc::RTM_NEWADDR,
                }));
                continue;
            }
            let Some(link) = Link::parse(message.body) else {
                continue;
            };
            if message.kind == libc::RTM_DELLINK {
                let gone = self.known.remove(&link.index);
                events.extend(gone.map(|entry| LinkEvent::Gone(entry.0)));
                continue;
            }
            // A report that was queued before the dump proves nothing: the word of its end may be
            // among what was missed.
            let proved = self.dump - u64::from(self.dumping && !self.answering);
            match self.known.insert(link.index, (link.clone(), proved)) {
                None => events.push(LinkEvent::New(link)),
                Some((old, _)) if old != link => events.push(LinkEvent::Changed(link)),
                Some(_) => {}
            }
        }
        Ok(())
    }
}
