//! What several threads need of a switch that each of them has a replica of.
//!
//! All replicas get the same changes in the same order at the same times, each between two bursts
//! of packets: a common point. Packets are only seen by one of them. So at a common point, what
//! followers have counted is moved to the leader, whose counters are those of the switch, and all
//! learn when each entry was last used; then all expire and evict the same entries by themselves.

use alloc::vec::Vec;

use bofuss_oflib::message::multipart::PortStats;
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::types::{GroupId, MeterId, TableId};

use crate::control::clock::settle;
use crate::frame_engine::FrameEngine;
use crate::hooks::Hooks;
use crate::pipeline::context::{Lane, Pipeline, PortQueues};
use crate::references::add;
use crate::{DropReason, Entry, EntryKey, MeterShare, Port, Time};

pub(crate) mod dispatch;

/// A datapath as one of several replicas.
pub struct Replica<'a, E: FrameEngine> {
    pipeline: &'a mut Pipeline<E>,
    lane: &'a mut Lane<E>,
    queues: &'a PortQueues,
    hooks: &'a mut Hooks,
}

/// The time when an entry was last used.
#[derive(Clone, Debug)]
pub struct EntryUse {
    table: TableId,
    key: EntryKey,
    used: Time,
}

impl EntryUse {
    fn of(table: TableId, entry: &Entry) -> Self {
        let (key, used) = (entry.key, entry.used);
        Self { table, key, used }
    }
}

/// What a follower has counted since it was last asked.
#[derive(Debug)]
pub struct ReplicaCounts {
    /// Packets and bytes of entries.
    entries: Vec<(EntryUse, u64, u64)>,
    /// Packets that missed, by table.
    misses: Vec<u64>,
    ports: Vec<PortStats>,
    groups: Vec<(GroupId, BucketCounter, Vec<BucketCounter>)>,
    meters: Vec<(MeterId, BucketCounter, Vec<BucketCounter>)>,
    drops: [u64; DropReason::ALL.len()],
}

/// A replica has other entries, groups or ports than its leader: it did not get the same changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfStep;

impl<'a, E: FrameEngine> Replica<'a, E> {
    pub(crate) fn new(
        pipeline: &'a mut Pipeline<E>,
        lane: &'a mut Lane<E>,
        queues: &'a PortQueues,
        hooks: &'a mut Hooks,
    ) -> Self {
        Self {
            pipeline,
            lane,
            queues,
            hooks,
        }
    }

    /// Makes a datapath without entries one of several replicas. All but one are followers. A
    /// replica goes on as it was, with the tables that a reconfiguration has added.
    pub fn begin(&mut self, follows: bool) {
        self.pipeline.follows = follows;
        for table in &mut self.pipeline.tables {
            table.touched.get_or_insert_default();
        }
        self.hooks.all.iter_mut().for_each(|hook| hook.be_replica());
    }

    /// Takes from a follower what it has counted, so that all its counters are 0.
    pub fn take_counts(&mut self) -> ReplicaCounts {
        settle(self.pipeline, self.lane);
        let mut counts = ReplicaCounts {
            entries: Vec::new(),
            misses: Vec::new(),
            ports: Vec::new(),
            groups: Vec::new(),
            meters: Vec::new(),
            drops: [0; DropReason::ALL.len()],
        };
        for (number, table) in (0..).map(TableId).zip(&mut self.pipeline.tables) {
            let hits = core::mem::take(&mut table.matched_count);
            counts
                .misses
                .push(core::mem::take(&mut table.lookup_count) - hits);
            for slot in table.touched.as_mut().map_or(&mut [][..], |t| &mut t.slots) {
                let Some(entry) = table.entries.get_mut(*slot) else {
                    continue;
                };
                let entry_use = EntryUse::of(number, entry);
                let packets = core::mem::take(&mut entry.packets);
                let bytes = core::mem::take(&mut entry.bytes);
                counts.entries.push((entry_use, packets, bytes));
            }
        }
        let ports = self.pipeline.ports.values_mut();
        counts.ports = ports.map(Port::take_stats).collect();
        for (id, group) in &mut self.pipeline.groups {
            let counter = core::mem::take(&mut group.counter);
            if counter.packet_count > 0 {
                let buckets = group.bucket_counters.iter_mut().map(core::mem::take);
                counts.groups.push((*id, counter, buckets.collect()));
            }
        }
        for (id, meter) in &mut self.pipeline.meters {
            let counter = core::mem::take(&mut meter.stats.input);
            if counter.packet_count > 0 {
                let bands = meter.stats.bands.iter_mut().map(core::mem::take);
                counts.meters.push((*id, counter, bands.collect()));
            }
        }
        core::mem::swap(&mut counts.drops, &mut self.lane.drops);
        counts
    }

    /// Adds to a leader what a follower has counted. Errors: [`OutOfStep`].
    pub fn add_counts(&mut self, counts: ReplicaCounts) -> Result<(), OutOfStep> {
        settle(self.pipeline, self.lane);
        let tables = &mut self.pipeline.tables;
        for (EntryUse { table, key, used }, packets, bytes) in counts.entries {
            let table = tables.get_mut(usize::from(table.0)).ok_or(OutOfStep)?;
            table.get(key).ok_or(OutOfStep)?;
            table.count(key.slot, packets, bytes, used);
        }
        for (table, misses) in tables.iter_mut().zip(counts.misses) {
            table.lookup_count += misses;
        }
        for stats in counts.ports {
            let port = self.pipeline.ports.get_mut(&stats.port_no);
            port.ok_or(OutOfStep)?.add_stats(&stats);
        }
        for (id, counter, buckets) in counts.groups {
            let group = self.pipeline.groups.get_mut(&id).ok_or(OutOfStep)?;
            add(&mut group.counter, counter);
            for (to, from) in group.bucket_counters.iter_mut().zip(buckets) {
                add(to, from);
            }
        }
        for (id, counter, bands) in counts.meters {
            let meter = self.pipeline.meters.get_mut(&id).ok_or(OutOfStep)?;
            add(&mut meter.stats.input, counter);
            for (to, from) in meter.stats.bands.iter_mut().zip(bands) {
                add(to, from);
            }
        }
        for (to, from) in self.lane.drops.iter_mut().zip(counts.drops) {
            *to += from;
        }
        Ok(())
    }

    /// Returns from a leader, after [`Self::add_counts`], when entries were last used that all
    /// replicas may expire or evict.
    pub fn uses(&mut self) -> Vec<EntryUse> {
        settle(self.pipeline, self.lane);
        let mut uses = Vec::new();
        for (number, table) in (0..).map(TableId).zip(&self.pipeline.tables) {
            let touched = table.touched.iter().flat_map(|touched| &touched.slots);
            for entry in touched.filter_map(|slot| table.entries.get(*slot)) {
                if entry.idle_timeout > 0 {
                    uses.push(EntryUse::of(number, entry));
                }
            }
        }
        uses
    }

    /// Notes in a replica when entries were last used, and that all packets until now were counted.
    ///
    /// Errors: [`OutOfStep`].
    pub fn note_uses(&mut self, now: Time, uses: &[EntryUse]) -> Result<(), OutOfStep> {
        for EntryUse { table, key, used } in uses {
            let table = self.pipeline.tables.get_mut(usize::from(table.0));
            let entry = table.ok_or(OutOfStep)?.get_mut(*key).ok_or(OutOfStep)?;
            entry.used = entry.used.max(*used);
        }
        for table in &mut self.pipeline.tables {
            if let Some(touched) = &mut table.touched {
                touched.since = now;
                touched.slots.clear();
            }
        }
        Ok(())
    }

    /// Returns from a leader the token buckets of meters that are new, so that all replicas of a
    /// meter have one rate.
    pub fn share_meters(&mut self, now: Time) -> Vec<MeterShare> {
        let meters = self.pipeline.meters.values_mut();
        meters.filter_map(|meter| meter.share(now)).collect()
    }

    /// Returns when a leader has to ask what followers have counted, as they watch no triggers;
    /// `None` if no entry has one.
    pub fn next_check(&self, now: Time) -> Option<Time> {
        self.pipeline.next_common_check(now)
    }

    /// Takes in a follower the token buckets of a leader's meters. Errors: [`OutOfStep`].
    pub fn join_meters(&mut self, shares: &[MeterShare]) -> Result<(), OutOfStep> {
        for share in shares {
            let meter = self.pipeline.meters.get_mut(&share.meter);
            meter.ok_or(OutOfStep)?.join(share);
        }
        Ok(())
    }
}

impl Port {
    /// Takes what it has counted, but not what its driver has: the leader reads all drivers.
    fn take_stats(&mut self) -> PortStats {
        let empty = PortStats {
            port_no: self.stats.port_no,
            tx_dropped: self.driver_dropped,
            ..PortStats::default()
        };
        let mut taken = core::mem::replace(&mut self.stats, empty);
        taken.tx_dropped -= self.driver_dropped;
        taken
    }

    /// Adds what a replica of it has counted.
    fn add_stats(&mut self, other: &PortStats) {
        self.stats.rx_packets += other.rx_packets;
        self.stats.rx_bytes += other.rx_bytes;
        self.stats.rx_dropped += other.rx_dropped;
        self.stats.tx_packets += other.tx_packets;
        self.stats.tx_bytes += other.tx_bytes;
        self.stats.tx_dropped += other.tx_dropped;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use bofuss_frame::{Frame, Pool};
    use bofuss_oflib::message::{FlowModCommand, PortDesc};
    use bofuss_oflib::text::parse_flow;
    use bofuss_oflib::{Catalogue, PortNo};

    use crate::{Config, Datapath, Time};

    fn with_tables(n_tables: u8) -> Datapath {
        let config = Config {
            n_tables,
            ..Config::default()
        };
        Datapath::new(config, Catalogue::default().into(), Pool::new(1 << 20))
    }

    #[test]
    fn an_entry_that_one_replica_uses_is_told_to_all_also_after_a_reconfiguration() {
        let mut datapath = with_tables(2);
        datapath.replica().begin(false);
        let sink = &mut Vec::<Frame>::new();
        let port = PortDesc {
            port_no: PortNo(1),
            ..PortDesc::default()
        };
        datapath
            .port_control(Time(1), sink)
            .changed(port, Default::default());
        let text = "idle_timeout=1,actions=drop";
        let flow = parse_flow(text, FlowModCommand::ADD, datapath.catalogue()).expect(text);
        let added = datapath.control(Time(2), sink).flow_mod(&flow);
        assert_eq!(added, Ok(()));
        assert!(datapath.replica().note_uses(Time(3), &[]).is_ok());
        datapath.reconfigure(Time(3), with_tables(3), sink);
        datapath.replica().begin(false);
        let frame = datapath.pool().frame(&[2; 60]).expect("the pool is new");
        datapath.receive(Time(4), PortNo(1), &mut Vec::from([frame]), sink);
        assert_eq!(datapath.replica().uses().len(), 1);
    }
}
