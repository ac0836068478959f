//! The open ports: sends frames in batches, queues them for ports without room, and copies them to
//! captures and mirrors.

mod emptied;
mod others;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::PortNo;
use bofuss_oflib::message::PortDesc;
use bofuss_ports::{BATCH_FRAMES, Counters, Direction, Link, PortError, ReceiveRoom};
use rustix::event::epoll;
use tracing::{debug, warn};

use crate::capture::{CopyTarget, FrameCopier};
use crate::config::PortSpec;
use crate::export::{Bell, Export, PortTap, TappedPort};
use crate::port::{OpenPort, PortGroup};
use crate::successor::Below;

/// Most frames that wait for a port; further ones are dropped and counted.
const MAX_QUEUED_FRAMES: usize = 1024;
/// Batches of frames that a port has received beside its predecessor at most.
const MOST_BATCHES_BESIDE: usize = 1024;

/// A port with its transmit queue.
struct PortSlot {
    port: OpenPort,
    queued: Vec<Frame>,
    /// Frames dropped before the driver: the queue was full, or there was no link.
    overflowed: u64,
    /// True if epoll watches the port for room to send.
    watched: bool,
    /// The descriptor that epoll watches.
    polled: Option<RawFd>,
    /// What exports see of it.
    taps: Vec<PortTap>,
}

impl PortSlot {
    /// Lets these exports see the port, and no others. Those that have seen it go on.
    fn follow_exports(&mut self, exports: &[Arc<Export>]) {
        let number = self.port.number;
        let wanted = || exports.iter().filter(|export| export.sees(number));
        self.taps
            .retain(|tap| wanted().any(|export| tap.is_of(export)));
        let port = TappedPort {
            number,
            index: self.port.index().unwrap_or(number.0),
            without_ethernet: self.port.is_without_ethernet(),
        };
        for export in wanted() {
            if !self.taps.iter().any(|tap| tap.is_of(export)) {
                self.taps.push(PortTap::new(Arc::clone(export), port));
            }
        }
    }

    /// Queues a copy of a frame that has `vlan_tags` VLAN tags. Returns false if the queue is full,
    /// the port cannot take such a frame, or there is no buffer for the copy.
    fn mirror(&mut self, frame: &Frame, vlan_tags: u8) -> bool {
        let takes = self.port.driver.capabilities();
        if self.queued.len() >= MAX_QUEUED_FRAMES || !takes.take(&frame.offload, vlan_tags) {
            return false;
        }
        let Some(copy) = frame.try_clone() else {
            return false;
        };
        self.queued.push(copy);
        true
    }

    /// Adds the port's descriptor to the epoll set if it is another one than before. The one before
    /// was closed, and so left the set by itself.
    fn poll(&mut self, epoll: &OwnedFd) -> io::Result<()> {
        let fd = self.port.driver.fd();
        let number = fd.map(|fd| fd.as_raw_fd());
        if number == self.polled {
            return Ok(());
        }
        self.polled = number;
        if let Some(fd) = fd {
            let token = epoll::EventData::new_u64(self.port.number.0.into());
            epoll::add(epoll, fd, token, events(self.watched))?;
        }
        Ok(())
    }
}

/// The events for which epoll watches a port: frames and, if some wait to be sent, room.
fn events(for_room: bool) -> epoll::EventFlags {
    if for_room {
        epoll::EventFlags::IN | epoll::EventFlags::OUT
    } else {
        epoll::EventFlags::IN
    }
}

/// The number of frames that a batch brought: what came before an error belongs to the port and no
/// other, and the error comes again with the next batch.
fn before_error(received: Result<usize, PortError>, frames: &[Frame]) -> Result<usize, PortError> {
    match received {
        Err(_) if !frames.is_empty() => Ok(frames.len()),
        Ok(_) | Err(_) => received,
    }
}

/// The open ports, each with what waits to be sent.
pub struct PortSet {
    epoll: OwnedFd,
    slots: BTreeMap<PortNo, PortSlot>,
    /// Ports whose empty queue got frames since the last flush.
    waiting: Vec<PortNo>,
    /// Ports without a descriptor that still have frames.
    unpolled: Vec<PortNo>,
    /// Captures and mirrors.
    pub copiers: Vec<FrameCopier>,
    /// What sees frames that ports receive, and what it rings when something is due.
    exports: Vec<Arc<Export>>,
    bell: Option<Arc<Bell>>,
}

impl PortSet {
    /// Starts without ports; `epoll` will have the descriptors of those that are added.
    pub fn new(epoll: OwnedFd) -> Self {
        Self {
            epoll,
            slots: BTreeMap::new(),
            waiting: Vec::new(),
            unpolled: Vec::new(),
            copiers: Vec::new(),
            exports: Vec::new(),
            bell: None,
        }
    }

    /// Lets these exports see the ports, and no others; `bell` wakes this thread.
    pub fn set_exports(&mut self, exports: Vec<Arc<Export>>, bell: &Arc<Bell>) {
        exports.iter().for_each(|export| export.add_bell(bell));
        let slots = self.slots.values_mut();
        slots.for_each(|slot| slot.follow_exports(&exports));
        self.exports = exports;
        self.bell = Some(Arc::clone(bell));
    }

    /// Returns true if an export sees what a port receives.
    pub fn is_exported(&self, number: PortNo) -> bool {
        self.exports.iter().any(|export| export.sees(number))
    }

    /// Hands over flows whose time is over, if that is due. Returns true if it was.
    pub fn expire_flows(&mut self) -> bool {
        if !self.bell.as_ref().is_some_and(|bell| bell.was_rung()) {
            return false;
        }
        let taps = self.slots.values_mut().flat_map(|slot| &mut slot.taps);
        taps.for_each(PortTap::expire);
        true
    }

    /// Adds a port and watches it; the service manager keeps it from now on. Errors: the system's.
    pub fn add(&mut self, port: OpenPort) -> io::Result<()> {
        let number = port.number;
        let mut slot = PortSlot {
            port,
            queued: Vec::new(),
            overflowed: 0,
            watched: false,
            polled: None,
            taps: Vec::new(),
        };
        slot.poll(&self.epoll)?;
        slot.follow_exports(&self.exports);
        slot.port.keep();
        self.slots.insert(number, slot);
        self.note_unpolled();
        Ok(())
    }

    /// Removes a port, which the service manager then lets go, too.
    pub fn remove(&mut self, number: PortNo) -> Option<OpenPort> {
        let slot = self.slots.remove(&number)?;
        if let Some(fd) = slot.port.driver.fd() {
            let _ = epoll::delete(&self.epoll, fd);
        }
        slot.port.let_go();
        self.note_unpolled();
        Some(slot.port)
    }

    /// Returns true if there is a port of this number.
    pub fn contains(&self, number: PortNo) -> bool {
        self.slots.contains_key(&number)
    }

    /// The port of this number.
    pub fn get(&self, number: PortNo) -> Option<&OpenPort> {
        self.slots.get(&number).map(|slot| &slot.port)
    }

    /// What other workers have of a port.
    pub fn group_mut(&mut self, number: PortNo) -> Option<&mut PortGroup> {
        self.slots.get_mut(&number)?.port.group.as_mut()
    }

    /// Applies `spec` to its port. Returns the changed description, `None` if there is no such
    /// port.
    pub fn adjust(&mut self, spec: &PortSpec) -> Option<(PortDesc, OffloadCapabilities)> {
        let port = &mut self.slots.get_mut(&spec.number)?.port;
        port.adjust(spec);
        self.describe(spec.number)
    }

    /// The port on the interface with this kernel index.
    pub fn with_index(&self, index: u32) -> Option<PortNo> {
        let mut slots = self.slots.iter();
        slots
            .find(|(_, slot)| slot.port.index() == Some(index))
            .map(|(number, _)| *number)
    }

    /// Applies a link event to its port. Returns the changed description, `None` if the interface
    /// is no port.
    pub fn update_link(&mut self, link: &Link) -> Option<(PortDesc, OffloadCapabilities)> {
        let number = self.with_index(link.index)?;
        let port = &mut self.slots.get_mut(&number)?.port;
        port.update(link);
        self.describe(number)
    }

    /// The port at the other end of this one's cable: packets that are sent to one of them come
    /// back by the other.
    pub fn opposite(&self, number: PortNo) -> Option<PortNo> {
        self.with_index(self.get(number)?.peer_index()?)
    }

    /// A port's description, with the port by which its packets come back. Spec: OpenFlow 1.5.1
    /// section 7.2.1.2.
    pub fn describe(&self, number: PortNo) -> Option<(PortDesc, OffloadCapabilities)> {
        let port = self.get(number)?;
        let mut desc = port.desc();
        desc.recirculate = self.opposite(number).map(|opposite| vec![opposite]);
        Some((desc, port.driver.capabilities()))
    }

    /// The drivers' counters, and how many frames were dropped before each driver.
    pub fn driver_counters(&mut self) -> Vec<(PortNo, Counters, u64)> {
        let mut all = Vec::with_capacity(self.slots.len());
        for (number, slot) in &mut self.slots {
            all.push((*number, slot.port.counters(), slot.overflowed));
            if let Err(error) = slot.poll(&self.epoll) {
                warn!("port {number}: {error}");
            }
        }
        all
    }

    /// Ports without a descriptor that still have frames; they are polled on each turn of the loop.
    pub fn unpolled(&self) -> &[PortNo] {
        &self.unpolled
    }

    fn note_unpolled(&mut self) {
        let slots = self.slots.iter();
        let without = slots.filter(|(_, slot)| slot.port.is_unpolled());
        self.unpolled = without.map(|(number, _)| *number).collect();
    }

    /// Receives one batch into `frames`, which is empty. Errors: the driver's, and then it is empty
    /// again.
    pub fn receive(
        &mut self,
        number: PortNo,
        pool: &Pool,
        frames: &mut Vec<Frame>,
    ) -> Result<usize, PortError> {
        let Some(slot) = self.slots.get_mut(&number) else {
            return Ok(0);
        };
        let count = before_error(slot.port.receive(pool, frames, BATCH_FRAMES), frames)?;
        if let Err(error) = slot.poll(&self.epoll) {
            warn!("port {number}: {error}");
        }
        slot.taps.iter_mut().for_each(|tap| tap.see(frames));
        if count == 0 {
            self.note_unpolled();
        }
        self.copy_frames(number, Direction::In, frames);
        Ok(count)
    }

    /// Sends the queue of one port, and watches for room if some of it remains. Returns true if the
    /// port had no room before and has some now.
    pub fn send_queued(&mut self, number: PortNo) -> bool {
        let Some(slot) = self.slots.get_mut(&number) else {
            return false;
        };
        if slot.queued.is_empty() && !slot.watched {
            return false;
        }
        let was_short = slot.watched;
        if let Err(PortError::Io(error)) = slot.port.driver.send(&mut slot.queued) {
            debug!("port {number}: sending: {error}");
        }
        let wanted = !slot.queued.is_empty();
        if wanted != slot.watched
            && let Some(fd) = slot.port.driver.fd()
        {
            let token = epoll::EventData::new_u64(number.0.into());
            let _ = epoll::modify(&self.epoll, fd, token, events(wanted));
            slot.watched = wanted;
        }
        was_short && !slot.watched
    }

    /// Sends the queues that were empty at the last flush. Epoll reports when ports whose frames
    /// wait have room again.
    pub fn flush(&mut self) {
        self.flush_and_tell(|_| {});
    }

    /// The same, and tells which of these ports have no room.
    pub fn flush_and_tell(&mut self, mut is_full: impl FnMut(PortNo)) {
        for at in 0..self.waiting.len() {
            let number = self.waiting[at];
            self.send_queued(number);
            if !self.takes_frames(number) {
                is_full(number);
            }
        }
        self.waiting.clear();
    }

    /// Lets a program of the kernel choose the frames that a port receives. Errors: as
    /// [`PortDriver::set_filter`](bofuss_ports::PortDriver::set_filter).
    pub fn set_filter(&mut self, number: PortNo, program: &Arc<OwnedFd>) -> io::Result<()> {
        match self.slots.get_mut(&number) {
            Some(slot) => slot.port.driver.set_filter(program),
            None => Ok(()),
        }
    }

    /// Lets a port receive all frames again, after [`Self::set_filter`].
    pub fn clear_filter(&mut self, number: PortNo) {
        let slot = self.slots.get_mut(&number);
        if let Some(Err(error)) = slot.map(|slot| slot.port.driver.clear_filter()) {
            warn!("port {number}: taking its filter away: {error}");
        }
    }

    /// Leaves all ports to a successor. Returns those where frames may wait that have arrived.
    pub fn leave(&mut self) -> Vec<PortNo> {
        let mut waiting = Vec::new();
        for (number, slot) in &mut self.slots {
            match slot.port.driver.leave() {
                Ok(true) => waiting.push(*number),
                Ok(false) => {}
                Err(error) => warn!("port {number}: leaving it to a successor: {error}"),
            }
        }
        waiting
    }

    /// Receives, beside a predecessor and by its program, the frames of these interfaces. Errors:
    /// the system's.
    pub fn receive_beside(&mut self, below: &Below) -> io::Result<()> {
        for slot in self.slots.values_mut() {
            let interface = slot.port.interface();
            if interface.is_some_and(|name| below.interfaces.iter().any(|known| known == name)) {
                slot.port.driver.receive_beside(&below.filter)?;
            }
        }
        Ok(())
    }

    /// Receives the frames of ports whose predecessor receives them no longer; those that it has
    /// received, too, are dropped. Errors: the system's.
    pub fn begin_reception(&mut self, pool: &Pool) -> io::Result<()> {
        let mut frames = Vec::new();
        for slot in self.slots.values_mut() {
            let driver = &mut slot.port.driver;
            if !driver.begin_reception()? {
                continue;
            }
            for _ in 0..MOST_BATCHES_BESIDE {
                frames.clear();
                // A port that is gone says so later, too.
                if driver.recv(pool, &mut frames, BATCH_FRAMES).unwrap_or(0) == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Receives by the own filters of all ports. Errors: the system's.
    pub fn receive_alone(&mut self) -> io::Result<()> {
        let mut slots = self.slots.values_mut();
        slots.try_for_each(|slot| slot.port.driver.receive_alone())
    }

    /// Takes all ports over that a predecessor has left. One that another switch has claimed
    /// meanwhile stays, as its frames are received already.
    pub fn take_over(&mut self) {
        for (number, slot) in &mut self.slots {
            if let Err(error) = slot.port.driver.take_over() {
                warn!("port {number}: taking it over: {error}");
            }
        }
    }

    /// Sends all that waits for ports, as far as they have room. Returns true if nothing is left.
    pub fn send_all(&mut self) -> bool {
        let numbers: Vec<PortNo> = self.slots.keys().copied().collect();
        for number in numbers {
            self.send_queued(number);
        }
        self.slots.values().all(|slot| slot.queued.is_empty())
    }

    /// Returns true if all frames that arrived on a port have left.
    pub fn is_drained(&self, number: PortNo) -> bool {
        let slot = self.slots.get(&number);
        slot.is_some_and(|slot| slot.port.driver.is_drained()) && self.have_sent_all()
    }

    /// Returns true if no frame waits for room at the port that it leaves by.
    pub fn have_sent_all(&self) -> bool {
        self.slots.values().all(|slot| slot.queued.is_empty())
    }

    /// The room for frames that have arrived on a port, if it is known.
    pub fn receive_room(&self, number: PortNo) -> Option<ReceiveRoom> {
        self.slots.get(&number)?.port.driver.receive_room()
    }

    /// The ports.
    pub fn all(&self) -> impl Iterator<Item = &OpenPort> {
        self.slots.values().map(|slot| &slot.port)
    }

    /// Copies a port's frames to captures and mirrors.
    fn copy_frames(&mut self, port: PortNo, direction: Direction, frames: &[Frame]) {
        if self.copiers.is_empty() {
            return;
        }
        for copier in &mut self.copiers {
            for frame in frames {
                let Some(tags) = copier.wants(port, frame) else {
                    continue;
                };
                let copied = match &mut copier.to {
                    CopyTarget::File(file) => file.record(direction, frame.bytes()),
                    CopyTarget::Port(to) => match self.slots.get_mut(to) {
                        Some(slot) => {
                            if slot.queued.is_empty() {
                                self.waiting.push(*to);
                            }
                            slot.mirror(frame, tags)
                        }
                        None => false,
                    },
                };
                copier.count(frame.len(), copied);
            }
        }
        self.copiers.retain(|copier| !copier.is_full());
    }

    /// Queues a frame for a port, and sends the queue once it has a batch.
    pub fn transmit(&mut self, port: PortNo, frame: Frame) {
        self.copy_frames(port, Direction::Out, std::slice::from_ref(&frame));
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

    /// Returns true if a port takes frames: none of its frames wait for room.
    pub fn takes_frames(&self, port: PortNo) -> bool {
        self.slots.get(&port).is_none_or(|slot| !slot.watched)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::rc::Rc;
    use std::time::{Duration, Instant};

    use bofuss_ports::{Memory, PortDriver};
    use rustix::event::{EventfdFlags, Timespec, eventfd};

    use super::*;

    /// A port that has no room, and goes over to another descriptor when it is told to.
    struct Short {
        descriptors: [OwnedFd; 2],
        current: Rc<Cell<usize>>,
    }

    impl PortDriver for Short {
        fn fd(&self) -> Option<BorrowedFd<'_>> {
            Some(self.descriptors[self.current.get()].as_fd())
        }

        fn recv(&mut self, _: &Pool, _: &mut Vec<Frame>, _: usize) -> Result<usize, PortError> {
            Ok(0)
        }

        fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError> {
            match self.current.get() {
                0 => Ok(0),
                _ => Ok(frames.drain(..).count()),
            }
        }

        fn counters(&mut self) -> Counters {
            Counters::default()
        }

        fn capabilities(&self) -> OffloadCapabilities {
            OffloadCapabilities::default()
        }

        fn set_mtu(&mut self, _: u32) {}
    }

    #[test]
    fn a_port_without_room_is_watched_for_it_at_its_next_descriptor_too() {
        let descriptor = || eventfd(0, EventfdFlags::empty()).unwrap();
        let current = Rc::new(Cell::new(0));
        let number = PortNo(7);
        let mut port = OpenPort::in_memory(number, Memory::pair().0);
        port.driver = Box::new(Short {
            descriptors: [descriptor(), descriptor()],
            current: Rc::clone(&current),
        });
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let mut ports = PortSet::new(epoll.try_clone().unwrap());
        ports.add(port).unwrap();
        let pool = Pool::new(1 << 20);
        ports.transmit(number, pool.frame(&[0; 60]).unwrap());
        ports.flush();
        assert!(!ports.takes_frames(number));
        current.set(1);
        ports.driver_counters();
        assert!(!ports.takes_frames(number));
        let mut ready: Vec<epoll::Event> = Vec::with_capacity(8);
        let ready_now = |ready: &mut Vec<epoll::Event>| {
            ready.clear();
            let space = rustix::buffer::spare_capacity(ready);
            epoll::wait(&epoll, space, Some(&Timespec::default())).unwrap()
        };
        // Both are writable at any time; the first is still open here.
        assert_eq!(ready_now(&mut ready), 2);
        assert!(ports.send_queued(number), "it has room now");
        assert_eq!(ready_now(&mut ready), 1);
    }

    /// A port without a descriptor that has no room for so many attempts.
    struct Late {
        refusals: usize,
        sent: Rc<Cell<usize>>,
    }

    impl PortDriver for Late {
        fn fd(&self) -> Option<BorrowedFd<'_>> {
            None
        }

        fn recv(&mut self, _: &Pool, _: &mut Vec<Frame>, _: usize) -> Result<usize, PortError> {
            Ok(0)
        }

        fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError> {
            if self.refusals > 0 {
                self.refusals -= 1;
                return Ok(0);
            }
            let count = frames.drain(..).count();
            self.sent.set(self.sent.get() + count);
            Ok(count)
        }

        fn counters(&mut self) -> Counters {
            Counters::default()
        }

        fn capabilities(&self) -> OffloadCapabilities {
            OffloadCapabilities::default()
        }

        fn set_mtu(&mut self, _: u32) {}
    }

    /// How many of two frames a port sends, and how many are dropped, if it is emptied for this
    /// time and has no room for so many attempts.
    fn emptied(refusals: usize, patience: Duration) -> (usize, u64) {
        let number = PortNo(7);
        let sent = Rc::new(Cell::new(0));
        let mut port = OpenPort::in_memory(number, Memory::pair().0);
        port.driver = Box::new(Late {
            refusals,
            sent: Rc::clone(&sent),
        });
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let mut ports = PortSet::new(epoll);
        ports.add(port).unwrap();
        let pool = Pool::new(1 << 20);
        for _ in 0..2 {
            ports.transmit(number, pool.frame(&[0; 60]).unwrap());
        }
        ports.empty_until(Instant::now() + patience);
        ports.flush();
        (sent.get(), ports.driver_counters()[0].2)
    }

    #[test]
    fn ports_are_emptied_when_they_have_room_and_what_gets_none_in_time_is_dropped() {
        assert_eq!(emptied(5, Duration::from_secs(60)), (2, 0));
        assert_eq!(emptied(usize::MAX, Duration::from_millis(3)), (0, 2));
    }

    #[test]
    fn frames_that_came_before_an_error_are_those_of_their_port() {
        let pool = Pool::new(1 << 20);
        let one = [pool.frame(&[0; 60]).unwrap()];
        assert_eq!(before_error(Err(PortError::Gone), &one).ok(), Some(1));
        assert!(before_error(Err(PortError::Gone), &[]).is_err());
        assert_eq!(before_error(Ok(0), &[]).ok(), Some(0));
    }
}
