//! The meters that flows pass below the switch, and what is counted there.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use bofuss_datapath::engine::{BucketPlace, Meter};
use bofuss_datapath::{Table, Time};
use bofuss_oflib::types::{MeterId, TableId};

use super::flow::Hit;

/// The meters and flows.
#[derive(Debug, Default)]
pub(super) struct Metered {
    /// The places of their buckets.
    pub(super) places: BTreeMap<MeterId, Arc<dyn BucketPlace>>,
    /// The flows, with the meters that they pass.
    pub(super) flows: BTreeMap<u32, MeterId>,
    /// Packets and bytes that meters judged, and those that they dropped.
    judged: BTreeMap<MeterId, [(u64, u64); 2]>,
    /// Packets that were dropped, and are in no counter of the switch yet.
    pub(super) dropped: u64,
    /// Those packets and bytes of these that entries and tables before a meter count and those
    /// after it do not, by their places, and when the last frame came.
    dropped_after: BTreeMap<(TableId, u32), ((u64, u64), Time)>,
}

impl Metered {
    /// Counts frames that a meter judged, and those of them that it dropped.
    pub(super) fn count(&mut self, meter: MeterId, input: (u64, u64), dropped: (u64, u64)) {
        let [input_sum, dropped_sum] = self.judged.entry(meter).or_default();
        add(input_sum, input);
        add(dropped_sum, dropped);
        self.dropped += dropped.0;
    }

    /// Counts frames that a meter dropped behind these entries.
    pub(super) fn count_hits(
        &mut self,
        hits: impl Iterator<Item = Hit>,
        dropped: (u64, u64),
        used: Time,
    ) {
        for hit in hits {
            let place = (hit.table, hit.slot);
            let (sum, last) = self.dropped_after.entry(place).or_default();
            add(sum, dropped);
            *last = used.max(*last);
        }
    }

    /// Returns true if entries have not counted all that was dropped behind them.
    pub(super) fn is_unsettled(&self) -> bool {
        !self.dropped_after.is_empty()
    }

    /// Adds what was dropped to the counters of the entries and tables before meters.
    pub(super) fn settle_hits(&mut self, tables: &mut [Table]) {
        for ((table, slot), ((packets, bytes), used)) in core::mem::take(&mut self.dropped_after) {
            tables[usize::from(table.0)].count(slot, packets, bytes, used);
        }
    }

    /// Adds what was counted to the counters of meters. One that was changed since keeps what came
    /// in, as it does in the switch, and not what its former band dropped.
    pub(super) fn settle(&mut self, meters: &mut BTreeMap<MeterId, Meter>) {
        for (id, [input, dropped]) in core::mem::take(&mut self.judged) {
            if let Some(meter) = meters.get_mut(&id) {
                let place = self.places.get(&id);
                let is_same = place.is_some_and(|place| meter.is_shared_at(place));
                meter.count(input, is_same.then_some(dropped));
            }
        }
    }

    /// The meters that are gone or have become others.
    pub(super) fn changed(&self, meters: &BTreeMap<MeterId, Meter>) -> BTreeSet<MeterId> {
        let is_same = |id, place| {
            let meter = meters.get(id);
            meter.is_some_and(|meter: &Meter| meter.is_shared_at(place))
        };
        let changed = self.places.iter().filter(|(id, place)| !is_same(id, place));
        changed.map(|(id, _)| *id).collect()
    }

    /// The flows that pass some of these meters.
    pub(super) fn flows_of(&self, meters: &BTreeSet<MeterId>) -> Vec<u32> {
        let flows = self.flows.iter();
        let flows = flows.filter(|(_, meter)| meters.contains(meter));
        flows.map(|(flow, _)| *flow).collect()
    }
}

/// Adds packets and bytes. Those of a packet that loses a tag may be below 0, modulo 2^64, until
/// its bytes are taken, too.
pub(super) fn add(sum: &mut (u64, u64), counts: (u64, u64)) {
    *sum = (sum.0 + counts.0, sum.1.wrapping_add(counts.1));
}
