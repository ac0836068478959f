//! The switch's io in the data-plane thread: frames to ports in batches, messages to connections.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use bofuss_agent::{ConnId, Switch, SwitchIo};
use bofuss_channel::{Origin, Sender};
use bofuss_frame::{Capabilities, Frame, Pool};
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::message::{ControllerRole, PortDesc};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{ErrorCode, Message, PortNo};
use bofuss_ports::{BATCH_FRAMES, Counters, Direction, Link, PortError};
use rustix::event::epoll;
use tracing::{debug, warn};

use crate::capture::{Tap, To};
use crate::config::PortSpec;
use crate::port::OpenPort;
use crate::refusal;

/// Frames that wait for a port at most; what comes then is dropped and counted.
const MAX_QUEUED_FRAMES: usize = 1024;

/// A port with what waits for it.
struct Slot {
    port: OpenPort,
    queued: Vec<Frame>,
    /// Frames dropped because too many waited.
    overflowed: u64,
    /// Whether the epoll set watches for room to send.
    watched: bool,
    /// The descriptor that the epoll set watches.
    polled: Option<RawFd>,
}

impl Slot {
    /// Queues a copy of a frame with so many VLAN tags, if there is room and the port can take it.
    fn mirror(&mut self, frame: &Frame, vlan_tags: u8) -> bool {
        let takes = self.port.driver.capabilities();
        if self.queued.len() >= MAX_QUEUED_FRAMES || !takes.take(&frame.offload, vlan_tags) {
            return false;
        }
        let copy = frame.try_clone();
        let is_copied = copy.is_some();
        self.queued.extend(copy);
        is_copied
    }

    /// Has the epoll set watch the port's descriptor, if that is another one than before. One that
    /// is closed leaves the set by itself.
    fn poll(&mut self, epoll: &OwnedFd) -> io::Result<()> {
        let fd = self.port.driver.fd();
        let number = fd.map(|fd| fd.as_raw_fd());
        if number != std::mem::replace(&mut self.polled, number)
            && let Some(fd) = fd
        {
            let token = epoll::EventData::new_u64(self.port.number.0.into());
            epoll::add(epoll, fd, token, epoll::EventFlags::IN)?;
            self.watched = false;
        }
        Ok(())
    }
}

/// The ports and connections.
pub struct PlaneIo {
    epoll: OwnedFd,
    slots: BTreeMap<PortNo, Slot>,
    /// Ports that frames were queued for since the last flush.
    waiting: Vec<PortNo>,
    /// Ports without a descriptor to poll and with frames to give.
    unpolled: Vec<PortNo>,
    senders: BTreeMap<ConnId, (Sender, Origin)>,
    /// Messages sent, by type.
    sent: BTreeMap<&'static str, u64>,
    /// Who gets copies of frames.
    pub taps: Vec<Tap>,
    /// Whether the rights to open and change interfaces are given up.
    pub is_locked: bool,
}

/// The same connection, as the agent names it.
pub fn conn_id(id: bofuss_channel::ConnId) -> ConnId {
    ConnId(id.0)
}

impl PlaneIo {
    /// Without ports and connections.
    pub fn new(epoll: OwnedFd, is_locked: bool) -> Self {
        Self {
            epoll,
            slots: BTreeMap::new(),
            waiting: Vec::new(),
            unpolled: Vec::new(),
            senders: BTreeMap::new(),
            sent: BTreeMap::new(),
            taps: Vec::new(),
            is_locked,
        }
    }

    /// Takes a port and watches it. Errors: the system's.
    pub fn add_port(&mut self, port: OpenPort) -> io::Result<()> {
        let number = port.number;
        let mut slot = Slot {
            port,
            queued: Vec::new(),
            overflowed: 0,
            watched: false,
            polled: None,
        };
        slot.poll(&self.epoll)?;
        self.slots.insert(number, slot);
        self.note_unpolled();
        Ok(())
    }

    /// Gives up a port.
    pub fn remove_port(&mut self, number: PortNo) -> Option<OpenPort> {
        let slot = self.slots.remove(&number)?;
        if let Some(fd) = slot.port.driver.fd() {
            let _ = epoll::delete(&self.epoll, fd);
        }
        self.note_unpolled();
        Some(slot.port)
    }

    /// Whether there is a port of this number.
    pub fn has_port(&self, number: PortNo) -> bool {
        self.slots.contains_key(&number)
    }

    /// The port of this number.
    pub fn port(&self, number: PortNo) -> Option<&OpenPort> {
        self.slots.get(&number).map(|slot| &slot.port)
    }

    /// Has a port be what `spec` says; the port as it then is.
    pub fn adjust(&mut self, spec: &PortSpec) -> Option<(PortDesc, Capabilities)> {
        let port = &mut self.slots.get_mut(&spec.number)?.port;
        port.adjust(spec);
        Some((port.desc(), port.driver.capabilities()))
    }

    /// The port on the interface with this kernel index.
    pub fn port_with_index(&self, index: u32) -> Option<PortNo> {
        let mut slots = self.slots.iter();
        slots
            .find(|(_, slot)| slot.port.index() == Some(index))
            .map(|(number, _)| *number)
    }

    /// Notes what the kernel says of a port's interface; the port as it then is. `None` if the
    /// interface is no port.
    pub fn update_link(&mut self, link: &Link) -> Option<(PortDesc, Capabilities)> {
        let number = self.port_with_index(link.index)?;
        let port = &mut self.slots.get_mut(&number)?.port;
        port.update(link);
        Some((port.desc(), port.driver.capabilities()))
    }

    /// The drivers' counters, and how many frames waited in vain.
    pub fn driver_counters(&mut self) -> Vec<(PortNo, Counters, u64)> {
        let epoll = &self.epoll;
        let count = |(number, slot): (&PortNo, &mut Slot)| {
            let counters = slot.port.driver.counters();
            if let Err(error) = slot.poll(epoll) {
                warn!("port {number}: {error}");
            }
            (*number, counters, slot.overflowed)
        };
        self.slots.iter_mut().map(count).collect()
    }

    /// Ports without a descriptor to poll, which are asked at every turn while they have frames.
    pub fn unpolled(&self) -> &[PortNo] {
        &self.unpolled
    }

    fn note_unpolled(&mut self) {
        let slots = self.slots.iter();
        let without = slots.filter(|(_, slot)| slot.port.is_unpolled());
        self.unpolled = without.map(|(number, _)| *number).collect();
    }

    /// Receives one batch.
    pub fn receive(
        &mut self,
        number: PortNo,
        pool: &Pool,
        frames: &mut Vec<Frame>,
    ) -> Result<usize, PortError> {
        let Some(slot) = self.slots.get_mut(&number) else {
            return Ok(0);
        };
        let count = slot.port.receive(pool, frames, BATCH_FRAMES)?;
        slot.poll(&self.epoll)?;
        if count == 0 {
            self.note_unpolled();
        }
        self.tap(number, Direction::In, frames);
        Ok(count)
    }

    /// Sends what waits for one port, as far as there is room, and watches for room if that is
    /// short. Whether it was short before, and is no more.
    pub fn send_queued(&mut self, number: PortNo) -> bool {
        let Some(slot) = self.slots.get_mut(&number) else {
            return false;
        };
        if slot.queued.is_empty() && !slot.watched {
            return false;
        }
        let was_short = slot.watched;
        if let Err(PortError::Io(error)) = slot.port.driver.send(&mut slot.queued) {
            debug!(port = number.0, "sending: {error}");
        }
        let wanted = !slot.queued.is_empty();
        if let (true, Some(fd)) = (wanted != slot.watched, slot.port.driver.fd()) {
            let flags = epoll::EventFlags::IN;
            let flags = if wanted {
                flags | epoll::EventFlags::OUT
            } else {
                flags
            };
            let token = epoll::EventData::new_u64(number.0.into());
            let _ = epoll::modify(&self.epoll, fd, token, flags);
            slot.watched = wanted;
        }
        was_short && !slot.watched
    }

    /// Sends what waits for all ports that have room.
    pub fn flush_ports(&mut self) {
        for at in 0..self.waiting.len() {
            self.send_queued(self.waiting[at]);
        }
        self.waiting.clear();
    }

    /// Copies frames that pass a port for whoever wants them.
    fn tap(&mut self, port: PortNo, direction: Direction, frames: &[Frame]) {
        if self.taps.is_empty() {
            return;
        }
        for tap in &mut self.taps {
            for frame in frames {
                let Some(tags) = tap.wants(port, frame) else {
                    continue;
                };
                let copied = match &mut tap.to {
                    To::File(file) => file.record(direction, frame.bytes()),
                    To::Port(to) => match self.slots.get_mut(to) {
                        Some(slot) => {
                            if slot.queued.is_empty() {
                                self.waiting.push(*to);
                            }
                            slot.mirror(frame, tags)
                        }
                        None => false,
                    },
                };
                tap.count(frame.len(), copied);
            }
        }
        self.taps.retain(|tap| !tap.is_full());
    }

    /// Takes a connection.
    pub fn add_sender(&mut self, conn: ConnId, sender: Sender, origin: Origin) {
        self.senders.insert(conn, (sender, origin));
    }

    /// Gives up a connection, and those beside it; how it came about.
    pub fn remove_sender(&mut self, conn: ConnId) -> Option<Origin> {
        let (_, gone) = self.senders.remove(&conn)?;
        self.senders.retain(|_, (_, origin)| match origin {
            Origin::Auxiliary { main, .. } => conn_id(*main) != conn,
            Origin::Active(_) | Origin::Passive { .. } => true,
        });
        Some(gone)
    }

    /// The peers, one in a line, with their roles and what they did not get, by `switch`.
    pub fn list_connections(&self, switch: &Switch) -> String {
        let line = |(conn, (_, origin)): (&ConnId, &(Sender, Origin))| {
            let role = switch.role(*conn).unwrap_or(ControllerRole::EQUAL);
            match switch.lost_packet_ins(*conn) {
                0 => format!("{origin} {role}\n"),
                count => format!("{origin} {role} ({count} packet-ins lost)\n"),
            }
        };
        self.senders.iter().map(line).collect()
    }

    /// Messages sent, by type.
    pub fn sent(&self) -> &BTreeMap<&'static str, u64> {
        &self.sent
    }

    /// The connections of an origin that `is_meant`.
    pub fn connections_from(&self, is_meant: impl Fn(&Origin) -> bool) -> Vec<ConnId> {
        let meant = self
            .senders
            .iter()
            .filter(|(_, (_, origin))| is_meant(origin));
        meant.map(|(conn, _)| *conn).collect()
    }

    /// Who is at the other end of a connection, for the log.
    pub fn peer(&self, conn: ConnId) -> String {
        self.senders
            .get(&conn)
            .map_or_else(String::new, |(_, origin)| origin.to_string())
    }
}

impl SwitchIo for PlaneIo {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.tap(port, Direction::Out, std::slice::from_ref(&frame));
        let Some(slot) = self.slots.get_mut(&port) else {
            return;
        };
        if slot.queued.len() >= MAX_QUEUED_FRAMES {
            slot.overflowed += 1;
            return;
        }
        if slot.queued.is_empty() {
            self.waiting.push(port);
        }
        slot.queued.push(frame);
        if slot.queued.len() >= BATCH_FRAMES && !slot.watched {
            self.send_queued(port);
        }
    }

    fn port_takes_frames(&self, port: PortNo) -> bool {
        self.slots.get(&port).is_none_or(|slot| !slot.watched)
    }

    fn flush(&mut self) {
        self.flush_ports();
    }

    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        if let Some((sender, _)) = self.senders.get(&conn) {
            *self.sent.entry(message.name()).or_default() += 1;
            sender.send(xid, message);
        }
    }

    fn refused(&mut self, conn: ConnId, xid: u32, message: &Message, error: ErrorCode) {
        let text = refusal::beginning(message);
        refusal::log(&self.peer(conn), Some(message.name()), xid, &error, &text);
    }

    fn has_room(&self, conn: ConnId) -> bool {
        self.senders
            .get(&conn)
            .is_none_or(|(sender, _)| sender.has_room())
    }

    fn takes_packet_in(&mut self, conn: ConnId, in_port: PortNo) -> bool {
        let sender = self.senders.get(&conn);
        sender.is_none_or(|(sender, _)| sender.takes_packet_in(in_port))
    }

    fn may_change_links(&self) -> bool {
        !self.is_locked
    }

    fn advertise(&mut self, port: PortNo, features: PortFeatures) {
        let slot = self.slots.get(&port);
        if let Some(Err(error)) = slot.and_then(|slot| slot.port.advertise(features)) {
            warn!("port {port}: {error}");
        }
    }

    fn set_link(&mut self, port: PortNo, up: bool) {
        let Some(name) = self.slots.get(&port).and_then(|slot| slot.port.interface()) else {
            return;
        };
        if let Err(error) = bofuss_ports::set_link(name, up) {
            warn!("port {port}: {error}");
        }
    }
}
