//! What forwards frames of cached flows below the switch, if something does: an [`Accelerator`]
//! gets flows that are changed little and go to ports or are dropped, loses them before they become
//! wrong, and is asked for what it has counted wherever counters are read.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

use bofuss_datapath::engine::{
    BucketPlace, DropBand, FrameEngine, Group, Hooks, Meter, Pipeline, PortQueues, ReviewScope,
    count,
};
use bofuss_datapath::{DropReason, Port, Table, Time};
use bofuss_frame::Frame;
use bofuss_oflib::types::{GroupId, MeterId};
use bofuss_oflib::{FieldSet, PortNo};
use bofuss_packet::KeyMatch;

use super::below_index::BelowIndex;
use super::metered::{Metered, add};
use super::stations::Stations;
use super::{Cache, Way, parting_flags};

/// What was forwarded of a flow, and is in no counter yet.
#[derive(Clone, Debug)]
pub struct Forwarded {
    /// The flow.
    pub flow: u32,
    /// The port that its frames arrived on; `None` if it is gone.
    pub from: Option<PortNo>,
    /// The way that they took.
    pub way: Rc<Way>,
    /// Packets and bytes that arrived, as they are on a wire. A packet may be in another report
    /// than its bytes.
    pub packets: u64,
    /// See `packets`.
    pub bytes: u64,
    /// Those packets and bytes of these that the meter on their way dropped.
    pub dropped: (u64, u64),
    /// The time when the last of these arrived, if there are any.
    pub dropped_at: Time,
    /// The time when the last of the others arrived, if there has ever been one.
    pub used: Time,
}

/// Something that forwards frames of flows before they reach the switch.
///
/// When [`Accelerator::forget`] and [`Accelerator::forget_all`] return, no frame of these
/// flows is forwarded any more, and [`Accelerator::take_last_counts`] has all that were.
pub trait Accelerator: Debug {
    /// Forgets all flows. From now on, a flow is identified by these fields, the port, and which
    /// headers a frame has.
    fn set_fields(&mut self, fields: FieldSet);
    /// Returns true if it may take flows of frames that arrive on a port.
    fn takes_from(&self, port: PortNo) -> bool;
    /// Offers a flow from a port that it takes flows from, to which this frame belongs: those that
    /// arrive on `from` take this way. Returns true if it takes the flow.
    fn offer(&mut self, flow: u32, frame: &Frame, from: PortNo, way: &Rc<Way>) -> bool;
    /// The place of the bucket of a meter, by which it judges frames of flows that pass it. It has
    /// no flows that pass it with another band; `None` if there is no room.
    fn bucket_place(&mut self, meter: MeterId, band: DropBand) -> Option<Arc<dyn BucketPlace>>;
    /// Returns why it would not take such a flow, if it would not.
    fn refusal(&self, frame: &Frame, from: PortNo, way: &Way) -> Option<String>;
    /// The number of flows that it has.
    fn len(&self) -> usize;
    /// Returns true if it has no flow.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Forgets flows.
    fn forget(&mut self, flows: &[u32]);
    /// Forgets all flows.
    fn forget_all(&mut self);
    /// Takes what flows have counted that were forgotten.
    fn take_last_counts(&mut self) -> Vec<Forwarded>;
    /// Takes what all flows have counted.
    fn take_counts(&mut self) -> Vec<Forwarded>;
}

/// The accelerator, and what it has counted for ports.
#[derive(Debug, Default)]
pub(crate) struct Below {
    accelerator: Option<Box<dyn Accelerator>>,
    index: BelowIndex,
    /// Packets and bytes by the ports that they arrived on, and by those that they left by.
    arrived: BTreeMap<PortNo, (u64, u64)>,
    left: BTreeMap<PortNo, (u64, u64)>,
    /// The same by group and bucket.
    passed: BTreeMap<(GroupId, Option<usize>), (u64, u64)>,
    dropped: u64,
    /// The flows that pass groups.
    grouped: BTreeSet<u32>,
    /// The meters that flows pass.
    metered: Metered,
    /// What NORMAL's flows need.
    pub(super) stations: Stations,
    /// The fields by which flows differ besides those of the cache's key.
    more_fields: FieldSet,
    /// The plan of the hooks, and a digest of all else but the entries on which the ways of frames
    /// depend.
    plan: u32,
    surroundings: u64,
}

impl Below {
    /// Tells the accelerator the fields of the key.
    pub(crate) fn set_fields(&mut self, mut fields: FieldSet) {
        fields.insert(self.more_fields);
        if let Some(accelerator) = &mut self.accelerator {
            accelerator.set_fields(fields);
        }
    }

    /// The reason why the accelerator would not take a flow: see [`Accelerator::refusal`].
    pub(crate) fn refusal(
        &self,
        now: Time,
        frame: &Frame,
        from: PortNo,
        way: &Way,
    ) -> Option<String> {
        let accelerator = self.accelerator.as_ref()?;
        if way.stations.is_some() && !self.stations.are_settled(now) {
            return Some("NORMAL has moved or forgotten a station in the last second".into());
        }
        accelerator.refusal(frame, from, way)
    }

    /// Returns true if flows of frames that arrive on a port are worth offering.
    pub(crate) fn takes_from(&self, port: PortNo) -> bool {
        let accelerator = self.accelerator.as_ref();
        accelerator.is_some_and(|accelerator| accelerator.takes_from(port))
    }

    /// Returns true if the accelerator may have counted something.
    pub(crate) fn is_accelerated(&self) -> bool {
        let accelerator = self.accelerator.as_ref();
        accelerator.is_some_and(|accelerator| !accelerator.is_empty())
    }

    /// Has the meter on a way use a bucket that the accelerator has, too. Returns false if that
    /// cannot be.
    pub(crate) fn share_meter(&mut self, way: &Way, meters: &mut BTreeMap<MeterId, Meter>) -> bool {
        let Some(id) = way.meter else {
            return true;
        };
        let (Some(accelerator), Some(meter)) = (&mut self.accelerator, meters.get_mut(&id)) else {
            return false;
        };
        let known = self.metered.places.get(&id);
        if known.is_some_and(|place| meter.is_shared_at(place)) {
            return true;
        }
        let place = meter.drop_band();
        let place = place.and_then(|band| accelerator.bucket_place(id, band));
        place.is_some_and(|place| {
            let shares = meter.share_at(&place);
            self.metered.places.insert(id, place);
            shares
        })
    }

    /// Counts what was forwarded for ports, groups, drops and stations.
    fn count(&mut self, forwarded: &Forwarded) {
        let arrived = (forwarded.packets, forwarded.bytes);
        if let Some(from) = forwarded.from {
            add(self.arrived.entry(from).or_default(), arrived);
        }
        let dropped = forwarded.dropped;
        if let Some(meter) = forwarded.way.meter {
            self.metered.count(meter, arrived, dropped);
        }
        let (packets, bytes) = (arrived.0 - dropped.0, arrived.1 - dropped.1);
        let counts = |more_bytes: i64| {
            let more = more_bytes.wrapping_mul(packets as i64);
            (packets, bytes.wrapping_add_signed(more))
        };
        for departure in &forwarded.way.departures {
            let sum = self.left.entry(departure.port).or_default();
            add(sum, counts(departure.more_bytes));
        }
        for pass in &forwarded.way.passes {
            let sum = self.passed.entry((pass.group, pass.bucket)).or_default();
            add(sum, counts(pass.more_bytes));
        }
        if forwarded.way.departures.is_empty() {
            self.dropped += packets;
        }
        self.stations.note(forwarded);
    }

    /// Adds what the accelerator has counted to the counters of ports and drops.
    pub(crate) fn settle_ports(
        &mut self,
        ports: &mut BTreeMap<PortNo, Port>,
        drops: &mut [u64; DropReason::ALL.len()],
    ) {
        for (number, (packets, bytes)) in core::mem::take(&mut self.arrived) {
            if let Some(port) = ports.get_mut(&number) {
                port.stats.rx_packets += packets;
                port.stats.rx_bytes += bytes;
            }
        }
        for (number, (packets, bytes)) in core::mem::take(&mut self.left) {
            if let Some(port) = ports.get_mut(&number) {
                port.stats.tx_packets += packets;
                port.stats.tx_bytes = port.stats.tx_bytes.wrapping_add(bytes);
            }
        }
        drops[DropReason::NoOutput as usize] += core::mem::take(&mut self.dropped);
        drops[DropReason::Meter as usize] += core::mem::take(&mut self.metered.dropped);
    }

    /// Returns true if entries lack something that the accelerator has counted.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.is_accelerated() || self.metered.is_unsettled()
    }

    /// Adds to the counters of entries and tables what flows do not count.
    pub(crate) fn settle_hits(&mut self, tables: &mut [Table]) {
        self.metered.settle_hits(tables);
    }

    /// Adds what the accelerator has counted to the counters of meters.
    pub(crate) fn settle_meters(&mut self, meters: &mut BTreeMap<MeterId, Meter>) {
        self.metered.settle(meters);
    }

    /// Adds what the accelerator has counted to the counters of groups.
    pub(crate) fn settle_groups<B, G>(&mut self, groups: &mut BTreeMap<GroupId, Group<B, G>>) {
        for ((id, bucket), counts) in core::mem::take(&mut self.passed) {
            let Some(group) = groups.get_mut(&id) else {
                continue;
            };
            let counter = match bucket {
                None => Some(&mut group.counter),
                Some(bucket) => group.bucket_counters.get_mut(bucket),
            };
            if let Some(counter) = counter {
                count(counter, counts);
            }
        }
    }
}

/// The flows whose counts are taken from an accelerator.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counted {
    /// Those that it was told to forget.
    Forgotten,
    /// All.
    All,
}

impl Cache {
    /// Lets an accelerator forward frames from now on.
    pub fn accelerate(&mut self, mut accelerator: Box<dyn Accelerator>) {
        accelerator.set_fields(self.key.fields());
        self.below.accelerator = Some(accelerator);
    }

    /// Takes all flows back from the accelerator. The next packets of each may bring it there
    /// again.
    pub fn take_back_flows(&mut self) {
        if let Some(accelerator) = &mut self.below.accelerator {
            accelerator.forget_all();
            self.below.index.clear();
            self.below.grouped.clear();
            self.below.stations.flows.clear();
            self.below.metered.flows.clear();
            self.absorb(Counted::Forgotten);
        }
    }

    /// Takes those flows back that a change with this match may concern.
    pub(crate) fn take_back_changed(&mut self, rule: &KeyMatch) {
        if self.below.accelerator.is_none() {
            return;
        }
        let index = &mut self.below.index;
        match index.concerned(rule, &self.flows, &self.key) {
            Some(flows) => self.take_back(&flows),
            None => self.take_back_flows(),
        }
    }

    /// Takes those flows back that pass groups.
    pub(crate) fn take_back_grouped(&mut self) {
        let flows = core::mem::take(&mut self.below.grouped);
        let flows: Vec<u32> = flows.into_iter().collect();
        self.take_back(&flows);
    }

    /// Takes flows back from the accelerator.
    pub(super) fn take_back(&mut self, flows: &[u32]) {
        let Some(accelerator) = &mut self.below.accelerator else {
            return;
        };
        if flows.is_empty() {
            return;
        }
        accelerator.forget(flows);
        for number in flows {
            self.below.grouped.remove(number);
            self.below.stations.flows.remove(number);
            self.below.metered.flows.remove(number);
            if let Some(flow) = self.flows.get(*number) {
                self.below.index.remove(*number, flow, &self.key);
            }
        }
        self.absorb(Counted::Forgotten);
    }

    /// Offers a flow to the accelerator: see [`Accelerator::offer`].
    pub(crate) fn offer(&mut self, now: Time, flow: u32, frame: &Frame, from: PortNo, way: Way) {
        if way.stations.is_some() && !self.below.stations.are_settled(now) {
            return;
        }
        let fields = way.fields();
        if !self.below.more_fields.is_superset(fields) {
            self.take_back_flows();
            self.below.more_fields.insert(fields);
            self.below.set_fields(self.key.fields());
        }
        let below = &mut self.below;
        let way = Rc::new(way);
        let accelerator = below.accelerator.as_mut();
        if accelerator.is_some_and(|below| below.offer(flow, frame, from, &way)) {
            below.index.insert(flow, &self.flows[flow], &self.key);
            if !way.passes.is_empty() {
                below.grouped.insert(flow);
            }
            if way.stations.is_some() {
                below.stations.add(now, flow);
            }
            if let Some(meter) = way.meter {
                below.metered.flows.insert(flow, meter);
            }
        }
    }

    /// Adds what the accelerator has counted to the flows: those that it has forgotten, or all.
    pub(crate) fn absorb(&mut self, counted: Counted) {
        let below = &mut self.below;
        let Some(accelerator) = &mut below.accelerator else {
            return;
        };
        let counts = match counted {
            Counted::Forgotten => accelerator.take_last_counts(),
            Counted::All => accelerator.take_counts(),
        };
        for one in counts {
            below.count(&one);
            let Some(flow) = self.flows.get_mut(one.flow) else {
                continue;
            };
            let (mut packets, mut bytes) = (one.packets, one.bytes);
            let mut used = flow.used.max(one.used);
            match flow.program.judged {
                _ if one.dropped == (0, 0) => {}
                Some(judged) => {
                    let hits = flow.hits().take(judged.into());
                    below.metered.count_hits(hits, one.dropped, one.dropped_at);
                    (packets, bytes) = (packets - one.dropped.0, bytes - one.dropped.1);
                }
                None => used = used.max(one.dropped_at),
            }
            if flow.count(used, packets, bytes) {
                self.unsettled.push(one.flow);
            }
        }
    }

    /// Takes all flows back if anything but entries has changed on which the ways of frames depend.
    pub(crate) fn review<E: FrameEngine>(
        &mut self,
        scope: ReviewScope,
        pipeline: &mut Pipeline<E>,
        egress: &PortQueues,
        hooks: &Hooks,
    ) {
        if self.below.accelerator.is_none() {
            return;
        }
        let plan = core::mem::replace(&mut self.below.plan, hooks.plan());
        if plan != hooks.plan() {
            self.take_back_flows();
        }
        if scope == ReviewScope::Hooks {
            return;
        }
        let changed = self.below.metered.changed(&pipeline.meters);
        if !changed.is_empty() {
            self.take_back(&self.below.metered.flows_of(&changed));
            self.below.metered.settle(&mut pipeline.meters);
            let places = &mut self.below.metered.places;
            places.retain(|id, _| !changed.contains(id));
        }
        let first_egress = pipeline.shape.first_egress;
        let first_egress = first_egress.map_or(u64::MAX, |first| first.0.into());
        let queues = egress.ports.keys().map(|port| u64::from(port.0));
        let ports = pipeline.ports.iter().flat_map(|(number, port)| {
            let number = u64::from(number.0) << 1 | u64::from(port.without_ethernet);
            [number, port.desc.config.0, port.desc.state.0.into()]
        });
        let parting = u64::from(parting_flags(pipeline));
        let before = [first_egress, hooks.at_egress.len() as u64, parting];
        // The ends of the lists are marked by what is no port.
        let all = before
            .into_iter()
            .chain(queues)
            .chain([u64::MAX])
            .chain(ports);
        let digest = self.key.secret.hash(all);
        if digest != self.below.surroundings {
            self.below.surroundings = digest;
            self.take_back_flows();
            // A port that comes with the number of one that is gone counts anew.
            let ports = &pipeline.ports;
            for sums in [&mut self.below.arrived, &mut self.below.left] {
                sums.retain(|number, _| ports.contains_key(number));
            }
        }
    }
}
