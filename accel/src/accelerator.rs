//! The accelerator, as the flow cache and the daemon see it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use aya::programs::tc::SchedClassifierLink;
use bofuss_datapath::Time;
use bofuss_fastpath::{Accelerator, BucketPlace, DropBand, Forwarded, Way};
use bofuss_frame::Frame;
use bofuss_oflib::types::MeterId;
use bofuss_oflib::{Action, FieldSet, PortNo};

use crate::error::{Refusal, Unavailable};
use crate::key::{self, KEY_BYTES};
use crate::layout::Size;
use crate::listing::{FlowBelow, match_of};
use crate::passage::{Passage, Waiting};
use crate::program::Program;
use crate::table::{Counted, FlowTable, Known};
use crate::way::changes;

/// Bytes of an Ethernet header.
const ETHERNET_BYTES: u32 = 14;

/// An interface of a port, as the kernel knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// The most bytes of a packet.
    pub mtu_bytes: u32,
}

/// What the accelerator does now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The number of flows that it forwards.
    pub flows: usize,
    /// The number of packets that it has forwarded or dropped.
    pub packets: u64,
    /// The reason why it takes no flows, if it does not.
    pub idle_because: Option<Refusal>,
}

/// An accelerated port.
#[derive(Debug)]
struct Port {
    number: PortNo,
    interface: Interface,
    passage: Passage,
    /// What the kernel obeys decisions by, until it is dropped.
    _link: SchedClassifierLink,
}

#[derive(Debug)]
struct Inner {
    table: FlowTable,
    /// The ports, by their places.
    ports: BTreeMap<u8, Port>,
    /// The reason why the fields of the key cannot be read.
    unread: Option<Refusal>,
    /// The reason why all frames have to come up for now.
    paused: Option<&'static str>,
    /// The reasons why other ports are not accelerated.
    refused: BTreeMap<PortNo, String>,
    /// The system's monotonic clock at time 0 of the switch.
    epoch_ns: u64,
    packets: u64,
}

/// An accelerator in the kernel; its clones are the same one.
#[derive(Clone, Debug)]
pub struct InKernel(Rc<RefCell<Inner>>);

impl InKernel {
    /// Loads it, without ports, with room for about so many flows; `seed` makes its hashes
    /// unpredictable. The time of the switch is `now`.
    ///
    /// Errors: why it cannot be had.
    pub fn load(flows: u32, seed: u64, now: Time) -> Result<Self, Unavailable> {
        let size = Size::of(flows);
        // Before the program is loaded, which takes a while.
        let epoch_ns = monotonic_ns().saturating_sub(now.0);
        Ok(Self(Rc::new(RefCell::new(Inner {
            table: FlowTable::new(Program::load(size)?, seed, epoch_ns),
            ports: BTreeMap::new(),
            unread: None,
            paused: None,
            refused: BTreeMap::new(),
            epoch_ns,
            packets: 0,
        }))))
    }

    /// The filter that the sockets of accelerated ports need.
    pub fn filter(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.0.borrow().table.program.filter)
    }

    /// Lets sockets of another switch have the filter, too, and meet the frames of these ports.
    pub fn share(&self) {
        self.0.borrow().table.share();
    }

    /// Holds no frames back any more.
    pub fn end_holds(&self) {
        let inner = self.0.borrow();
        for place in inner.ports.keys() {
            inner.table.hold(*place, 0);
        }
    }

    /// Accelerates a port from now on. Errors: why it cannot.
    pub fn add_port(&self, number: PortNo, interface: Interface) -> Result<(), Unavailable> {
        let inner = &mut *self.0.borrow_mut();
        let place = free_place(&inner.ports)?;
        let link = inner.table.program.attach(&interface.name)?;
        inner.table.begin_place(place);
        let port = Port {
            number,
            interface,
            passage: Passage::new(),
            _link: link,
        };
        inner.ports.insert(place, port);
        Ok(())
    }

    /// Accelerates a port no longer. Its flows must have been forgotten, and their counts taken.
    pub fn remove_port(&self, number: PortNo) {
        let inner = &mut *self.0.borrow_mut();
        inner.ports.retain(|_, port| port.number != number);
    }

    /// Returns true if a port is accelerated with this interface, as it is now.
    pub fn has_port(&self, number: PortNo, interface: &Interface) -> bool {
        let inner = self.0.borrow();
        let port = inner.port(number).map(|place| &inner.ports[&place]);
        port.is_some_and(|port| port.interface == *interface)
    }

    /// Returns true if a port is accelerated.
    pub fn accelerates(&self, number: PortNo) -> bool {
        self.0.borrow().port(number).is_some()
    }

    /// The accelerated ports, in ascending order.
    pub fn ports(&self) -> Vec<PortNo> {
        let inner = self.0.borrow();
        let mut numbers: Vec<_> = inner.ports.values().map(|port| port.number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Takes no flows for this reason, or takes some again. Those that it has must be forgotten.
    pub fn pause(&self, why: Option<&'static str>) {
        self.0.borrow_mut().paused = why;
    }

    /// Learns why ports are not accelerated, to say it of flows.
    pub fn explain(&self, refused: &BTreeMap<PortNo, String>) {
        self.0.borrow_mut().refused.clone_from(refused);
    }

    /// What it does now.
    pub fn standing(&self) -> Standing {
        let inner = self.0.borrow();
        Standing {
            flows: inner.table.slots(),
            packets: inner.packets,
            idle_because: inner.idle_because(),
        }
    }

    /// The first flows that it has, at most so many; complete after counters were taken.
    pub fn flows(&self, most: usize) -> Vec<FlowBelow> {
        let inner = self.0.borrow();
        let now_ns = monotonic_ns();
        let flows = inner.table.first(most).map(|(known, key, used_ns)| {
            let from = inner.ports.get(&known.from);
            let from = from.map_or(PortNo::ANY, |port| port.number);
            let legs = known.way.departures.iter().map(|departure| {
                let mut texts: Vec<_> = departure.changes.iter().map(Action::to_string).collect();
                texts.push(Action::output(departure.port).to_string());
                texts.join(",")
            });
            let (packets, bytes) = known.taken.get();
            let idle_ns = now_ns.saturating_sub(used_ns);
            FlowBelow {
                meter: known.way.meter,
                matching: match_of(from, &key, inner.table.mask()),
                legs: legs.collect(),
                packets,
                bytes,
                idle: (used_ns > 0).then(|| Duration::from_nanos(idle_ns)),
            }
        });
        flows.collect()
    }

    /// Returns true if it has the flow of a frame that arrives on a port.
    ///
    /// Errors: why it cannot have it.
    pub fn has_flow(&self, number: PortNo, frame: &[u8]) -> Result<bool, Refusal> {
        let inner = self.0.borrow();
        if let Some(why) = inner.idle_because() {
            return Err(why);
        }
        let (_, key) = inner.key(number, frame)?;
        Ok(inner.table.has(&key))
    }

    /// Why it leaves a frame that arrives on a port to the switch although it has the flow, if it
    /// does.
    pub fn leaves(&self, number: PortNo, frame: &[u8]) -> Option<Refusal> {
        let inner = self.0.borrow();
        let (_, key) = inner.key(number, frame).ok()?;
        inner.table.leaves(&key, frame)
    }

    /// The number of packets of known flows that it has dropped and that arrived on a port, so that
    /// the others could leave first.
    pub fn held(&self, number: PortNo) -> u64 {
        let inner = self.0.borrow();
        let place = inner.port(number);
        place.map_or(0, |place| inner.table.held(place))
    }

    /// Notes up to when all frames that arrived on a port have left, given what still waits; if
    /// some always do, frames of known flows may be held back, so that from then on the kernel
    /// forwards them. `count` frames were taken since the last call.
    pub fn drained(&self, number: PortNo, count: usize, waiting: impl FnOnce() -> Waiting) {
        let inner = &mut *self.0.borrow_mut();
        let Some(place) = inner.port(number) else {
            return;
        };
        let now_ns = monotonic_ns();
        inner.table.wait();
        let Some(port) = inner.ports.get_mut(&place) else {
            return;
        };
        let passed = port.passage.after_batch(now_ns, count, waiting());
        if let Some(at_ns) = passed.drained_ns {
            inner.table.drained(place, at_ns);
        }
        if let Some(until_ns) = passed.hold_until_ns {
            inner.table.hold(place, until_ns);
        }
    }
}

impl Inner {
    fn idle_because(&self) -> Option<Refusal> {
        self.paused.map(Refusal::Paused).or(self.unread.clone())
    }

    fn port(&self, number: PortNo) -> Option<u8> {
        let mut ports = self.ports.iter();
        let found = ports.find(|(_, port)| port.number == number);
        found.map(|(place, _)| *place)
    }

    /// The place of a port. Errors: it is not accelerated.
    fn place(&self, number: PortNo) -> Result<u8, Refusal> {
        self.port(number).ok_or_else(|| {
            let why = self.refused.get(&number);
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            Refusal::Port(number, why)
        })
    }

    /// The place of the port that a frame arrives on, and its key. Errors: why it has none.
    fn key(&self, number: PortNo, frame: &[u8]) -> Result<(u8, [u8; KEY_BYTES]), Refusal> {
        let place = self.place(number)?;
        let key = key::of_frame(frame, self.ports[&place].interface.index);
        Ok((place, key.ok_or(Refusal::Packet)?))
    }

    /// A flow of frames like this one, with their key. Errors: why there can be none.
    fn known(
        &self,
        flow: u32,
        frame: &Frame,
        from: PortNo,
        way: &Rc<Way>,
    ) -> Result<([u8; KEY_BYTES], Known), Refusal> {
        let (from, key) = self.key(from, frame.bytes())?;
        let mut route = Vec::new();
        let mut longest = u32::MAX;
        let changes = changes(way, &key, self.table.mask())?;
        for (departure, change) in way.departures.iter().zip(changes) {
            let port = departure.port;
            let interface = &self.ports[&self.place(port)?].interface;
            longest = longest.min(interface.mtu_bytes + ETHERNET_BYTES);
            route.push((change, interface.index));
        }
        let known = Known {
            flow,
            from,
            way: Rc::clone(way),
            route: route.into(),
            longest,
            taken: Cell::default(),
        };
        Ok((key, known))
    }

    fn reported(&mut self, counts: Vec<Counted>) -> Vec<Forwarded> {
        let ports = &self.ports;
        let packets = &mut self.packets;
        let since = |ns: u64| Time(ns.saturating_sub(self.epoch_ns));
        let reports = counts.into_iter().map(|counted| {
            *packets += counted.packets;
            let known = counted.known;
            Forwarded {
                flow: known.flow,
                from: ports.get(&known.from).map(|port| port.number),
                way: known.way,
                packets: counted.packets,
                bytes: counted.bytes,
                dropped: counted.dropped,
                dropped_at: since(counted.dropped_ns),
                used: since(counted.used_ns),
            }
        });
        reports.collect()
    }
}

impl Accelerator for InKernel {
    fn set_fields(&mut self, fields: FieldSet) {
        let inner = &mut *self.0.borrow_mut();
        inner.table.forget_all();
        match key::mask_of(fields) {
            Ok(mask) => {
                inner.table.set_mask(mask);
                inner.unread = None;
            }
            Err(why) => inner.unread = Some(why),
        }
    }

    fn takes_from(&self, port: PortNo) -> bool {
        let inner = self.0.borrow();
        inner.paused.is_none() && inner.unread.is_none() && inner.port(port).is_some()
    }

    fn offer(&mut self, flow: u32, frame: &Frame, from: PortNo, way: &Rc<Way>) -> bool {
        let inner = &mut *self.0.borrow_mut();
        match inner.known(flow, frame, from, way) {
            Ok((key, known)) => inner.table.add(&key, known, monotonic_ns()),
            Err(_) => false,
        }
    }

    fn bucket_place(&mut self, meter: MeterId, band: DropBand) -> Option<Arc<dyn BucketPlace>> {
        self.0.borrow_mut().table.program.meters.place(meter, band)
    }

    fn refusal(&self, frame: &Frame, from: PortNo, way: &Way) -> Option<String> {
        let inner = self.0.borrow();
        let refused = match inner.known(0, frame, from, &Rc::new(way.clone())) {
            Ok((key, known)) => inner.table.refusal(&key, &known, monotonic_ns()),
            Err(why) => Some(why),
        };
        refused.map(|refusal| refusal.to_string())
    }

    fn len(&self) -> usize {
        self.0.borrow().table.len()
    }

    fn forget(&mut self, flows: &[u32]) {
        self.0.borrow_mut().table.forget(flows);
    }

    fn forget_all(&mut self) {
        self.0.borrow_mut().table.forget_all();
    }

    fn take_last_counts(&mut self) -> Vec<Forwarded> {
        let inner = &mut *self.0.borrow_mut();
        let counts = inner.table.take_last();
        inner.reported(counts)
    }

    fn take_counts(&mut self) -> Vec<Forwarded> {
        let inner = &mut *self.0.borrow_mut();
        let counts = inner.table.take_counts();
        inner.reported(counts)
    }
}

/// The first place that no port has. Errors: there is none.
pub(crate) fn free_place<T>(taken: &BTreeMap<u8, T>) -> Result<u8, Unavailable> {
    let mut places = 0..=u8::MAX;
    let free = places.find(|place| !taken.contains_key(place));
    free.ok_or(Unavailable::Ports)
}

/// The system's monotonic clock, by which the kernel's program counts.
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the system writes to `now`, which is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
