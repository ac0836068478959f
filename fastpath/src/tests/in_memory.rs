//! An accelerator that knows frames by their bytes.

use alloc::{collections::BTreeMap, rc::Rc, string::String, sync::Arc, vec::Vec};
use core::cell::RefCell;
use core::sync::atomic::{AtomicI64, Ordering::Relaxed};

use bofuss_datapath::Time;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::types::MeterId;
use bofuss_oflib::{Action, FieldSet, PortNo};
use bofuss_packet::Packet;

use crate::{Accelerator, BucketPlace, Departure, DropBand, Forwarded, Way};

/// What the accelerator knows of a frame from a port.
#[derive(Debug, Default)]
pub(super) struct Memory {
    known: BTreeMap<(PortNo, Vec<u8>), (u32, Rc<Way>)>,
    counted: Vec<Forwarded>,
    last: Vec<Forwarded>,
    pub(super) forwarded: usize,
    /// How many of them were changed or left by several ports, and how many passed groups.
    pub(super) changed: usize,
    pub(super) grouped: usize,
    /// How many passed NORMAL.
    pub(super) normal: usize,
    /// How many met a meter, and how many of these it dropped.
    pub(super) metered: usize,
    pub(super) policed: usize,
    meters: BTreeMap<MeterId, (Arc<dyn BucketPlace>, DropBand)>,
}

impl Memory {
    /// Returns true if a meter drops a frame, whose time it takes otherwise.
    fn drops(&mut self, now: Time, meter: MeterId, bytes: u64) -> bool {
        let (place, band) = &self.meters[&meter];
        let now = now.0 as i64;
        let tokens = band.per_packet + bytes * band.per_byte;
        let cost = (tokens / u64::from(band.rate)) as i64;
        let least = if band.deepens { cost - 1 } else { 0 };
        let until = place.until();
        let from = until
            .load(Relaxed)
            .max(now - least.max(band.depth_ns as i64));
        let drops = from > now;
        if !drops {
            until.store(from + cost, Relaxed);
        }
        self.metered += 1;
        self.policed += usize::from(drops);
        drops
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct InMemory(pub(super) Rc<RefCell<Memory>>);

impl InMemory {
    /// Forwards a frame if its flow is known. Returns what left, if so.
    pub(super) fn forwards(
        &self,
        now: Time,
        from: PortNo,
        bytes: &[u8],
    ) -> Option<Vec<(PortNo, Vec<u8>)>> {
        let memory = &mut *self.0.borrow_mut();
        let (flow, way) = memory.known.get(&(from, bytes.into()))?.clone();
        memory.forwarded += 1;
        let counts = (1, bytes.len() as u64);
        let is_dropped = way.meter.is_some_and(|id| memory.drops(now, id, counts.1));
        let is_plain = |one: &Departure| one.changes.is_empty();
        let is_changed = way.departures.len() > 1 || !way.departures.iter().all(is_plain);
        memory.changed += usize::from(is_changed);
        memory.grouped += usize::from(!way.passes.is_empty());
        memory.normal += usize::from(way.stations.is_some());
        let left = way.departures.iter().map(|departure| {
            let left = execute(&departure.changes, bytes);
            let more = left.len() as i64 - bytes.len() as i64;
            assert_eq!(more, departure.more_bytes);
            (departure.port, left)
        });
        let left = if is_dropped {
            Vec::new()
        } else {
            left.collect()
        };
        memory.counted.push(Forwarded {
            flow,
            from: Some(from),
            way: Rc::clone(&way),
            packets: counts.0,
            bytes: counts.1,
            dropped: if is_dropped { counts } else { (0, 0) },
            dropped_at: now,
            used: if is_dropped { Time(0) } else { now },
        });
        Some(left)
    }
}

/// What these actions make of a frame.
fn execute(actions: &[Action], bytes: &[u8]) -> Vec<u8> {
    let frame = Pool::new(1 << 20).frame(bytes).expect("within the limit");
    let mut packet = Packet::new(frame, PortNo(0));
    for action in actions {
        // An action on a header that the frame does not have does nothing.
        let _ = match action {
            Action::SetField(set) => packet.set_field(set.0.field, &set.0.value),
            Action::PushVlan(ty) => packet.push_vlan(ty.0),
            Action::PopVlan => packet.pop_vlan(),
            Action::DecNwTtl => packet.dec_nw_ttl(),
            other => panic!("{other:?} is not offered"),
        };
    }
    packet.frame.bytes().to_vec()
}

impl InMemory {
    fn flows(&self) -> Vec<u32> {
        let memory = self.0.borrow();
        let mut flows: Vec<u32> = memory.known.values().map(|known| known.0).collect();
        flows.sort_unstable();
        flows.dedup();
        flows
    }

    /// The ways of the flows that it knows.
    pub(super) fn ways(&self) -> Vec<Rc<Way>> {
        let memory = self.0.borrow();
        let known = memory.known.values();
        known.map(|(_, way)| Rc::clone(way)).collect()
    }
}

impl Accelerator for InMemory {
    fn set_fields(&mut self, _: FieldSet) {
        assert!(self.is_empty(), "flows of another key are forgotten before");
    }

    fn takes_from(&self, _: PortNo) -> bool {
        true
    }

    fn offer(&mut self, flow: u32, frame: &Frame, from: PortNo, way: &Rc<Way>) -> bool {
        let mut memory = self.0.borrow_mut();
        let key = (from, frame.bytes().into());
        memory.known.insert(key, (flow, Rc::clone(way)));
        true
    }

    fn bucket_place(&mut self, meter: MeterId, band: DropBand) -> Option<Arc<dyn BucketPlace>> {
        let mut memory = self.0.borrow_mut();
        let known = memory.meters.get(&meter).filter(|(_, old)| *old == band);
        let place = match known {
            Some((place, _)) => Arc::clone(place),
            None => Arc::new(AtomicI64::new(0)),
        };
        memory.meters.insert(meter, (Arc::clone(&place), band));
        Some(place)
    }

    fn refusal(&self, _: &Frame, _: PortNo, _: &Way) -> Option<String> {
        None
    }

    fn len(&self) -> usize {
        self.flows().len()
    }

    fn forget(&mut self, flows: &[u32]) {
        let memory = &mut *self.0.borrow_mut();
        memory.known.retain(|_, known| !flows.contains(&known.0));
        let is_gone = |one: &mut Forwarded| flows.contains(&one.flow);
        memory.last.extend(memory.counted.extract_if(.., is_gone));
    }

    fn forget_all(&mut self) {
        let flows = self.flows();
        self.forget(&flows);
    }

    fn take_last_counts(&mut self) -> Vec<Forwarded> {
        core::mem::take(&mut self.0.borrow_mut().last)
    }

    fn take_counts(&mut self) -> Vec<Forwarded> {
        let mut counts = self.take_last_counts();
        counts.append(&mut self.0.borrow_mut().counted);
        counts
    }
}
