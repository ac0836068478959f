//! Gives what was added again the past that it had in an earlier run of the switch, whose time goes
//! on: counters, and when it was added and used.

use alloc::vec::Vec;

use bofuss_oflib::PortNo;
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::message::{FlowMod, FlowModFlags};
use bofuss_oflib::types::{GroupId, MeterId};

use crate::control::flow_mod::rule_of;
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::references::add;
use crate::tables::entry::EntryKey;
use crate::{Station, Table, Time};

/// What an entry had counted, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryPast {
    /// The time when it was added.
    pub created: Time,
    /// The time when a packet last hit it.
    pub used: Time,
    /// Packets that hit it.
    pub packets: u64,
    /// Bytes that hit it.
    pub bytes: u64,
    /// Its flags.
    pub flags: FlowModFlags,
}

/// The parts of a datapath that have a past.
pub struct Restore<'a, E: FrameEngine> {
    pipeline: &'a mut Pipeline<E>,
}

impl<'a, E: FrameEngine> Restore<'a, E> {
    pub(crate) fn new(pipeline: &'a mut Pipeline<E>) -> Self {
        Self { pipeline }
    }

    /// Gives the entry that a flow-mod has added its past; its timeouts and thresholds go on.
    /// Returns false if there is no such entry.
    pub fn entry(&mut self, added: &FlowMod, past: EntryPast) -> bool {
        let Some((table, key)) = self.find(added) else {
            return false;
        };
        let entry = &mut table.entries[key.slot];
        let now = core::mem::replace(&mut entry.created, past.created);
        entry.used = past.used;
        (entry.packets, entry.bytes) = (past.packets, past.bytes);
        entry.flags = past.flags.into();
        table.eviction.insert(&table.entries[key.slot]);
        self.pipeline.set_deadline(added.table_id, key);
        // Thresholds that it had reached before now were reported in the earlier run.
        self.pipeline.watch(added.table_id, key.slot, now);
        true
    }

    /// Adds to an entry what packets did there, in the switch that this one replaces, after its
    /// past was given. Returns false if there is no such entry.
    pub fn entry_hits(&mut self, added: &FlowMod, hits: EntryPast) -> bool {
        let found = self.find(added);
        let is_there = found.is_some();
        if let Some((table, key)) = found {
            table.count(key.slot, hits.packets, hits.bytes, hits.used);
        }
        is_there
    }

    /// The entry that a flow-mod has added, and its table.
    fn find(&mut self, added: &FlowMod) -> Option<(&mut Table, EntryKey)> {
        let table = self
            .pipeline
            .tables
            .get_mut(usize::from(added.table_id.0))?;
        let key = table.find(added.priority, &rule_of(added, None))?;
        Some((table, key))
    }

    /// Gives a group its past, if it exists with as many buckets: what it has counted is added.
    /// Returns whether it does.
    pub fn group(
        &mut self,
        id: GroupId,
        created: Time,
        counter: BucketCounter,
        buckets: Vec<BucketCounter>,
    ) -> bool {
        let group = self.pipeline.groups.get_mut(&id);
        let Some(group) = group.filter(|group| group.bucket_counters.len() == buckets.len()) else {
            return false;
        };
        group.created = created;
        add(&mut group.counter, counter);
        for (had, more) in group.bucket_counters.iter_mut().zip(buckets) {
            add(had, more);
        }
        true
    }

    /// Gives a meter its past, if it exists with as many bands: what it has counted is added.
    /// Returns whether it does.
    pub fn meter(
        &mut self,
        id: MeterId,
        created: Time,
        input: BucketCounter,
        bands: Vec<BucketCounter>,
    ) -> bool {
        let meter = self.pipeline.meters.get_mut(&id);
        let Some(meter) = meter.filter(|meter| meter.stats.bands.len() == bands.len()) else {
            return false;
        };
        meter.created = created;
        add(&mut meter.stats.input, input);
        for (had, more) in meter.stats.bands.iter_mut().zip(bands) {
            add(had, more);
        }
        true
    }

    /// Lets NORMAL know a station that was last seen at this time. Returns false if the port does
    /// not exist.
    pub fn station(&mut self, station: Station, port: PortNo, seen: Time) -> bool {
        let exists = self.pipeline.ports.contains_key(&port);
        if exists {
            let config = &self.pipeline.config;
            self.pipeline.bridge.learn(seen, station, port, config);
        }
        exists
    }
}

#[cfg(test)]
mod tests {
    use bofuss_frame::{Frame, Pool};
    use bofuss_oflib::Catalogue;
    use bofuss_oflib::message::table_mod::TableConfig;
    use bofuss_oflib::message::{FlowModCommand, TableMod};
    use bofuss_oflib::text::parse_flow;
    use bofuss_oflib::types::TableId;

    use super::*;
    use crate::{Config, Datapath, EntryKey};

    const NOW: Time = Time(100 * Time::SEC);

    fn switch() -> Datapath {
        let config = Config {
            max_entries: 2,
            ..Config::default()
        };
        Datapath::new(config, Catalogue::default().into(), Pool::new(1 << 20))
    }

    fn add(datapath: &mut Datapath, text: &str) -> FlowMod {
        let flow = parse_flow(text, FlowModCommand::ADD, datapath.catalogue()).expect(text);
        let sink = &mut Vec::<Frame>::new();
        let added = datapath.control(NOW, sink).flow_mod(&flow);
        assert_eq!(added, Ok(()));
        flow
    }

    fn created(sec: u64) -> EntryPast {
        let at = Time(sec * Time::SEC);
        EntryPast {
            created: at,
            used: at,
            ..EntryPast::default()
        }
    }

    #[test]
    fn a_full_table_evicts_a_restored_entry_that_expires_first() {
        let mut datapath = switch();
        let evicts = TableMod {
            table_id: TableId(0),
            config: TableConfig::EVICTION.0,
            ..TableMod::default()
        };
        let sink = &mut Vec::<Frame>::new();
        let configured = datapath.control(NOW, sink).configure_filling(&evicts);
        assert_eq!(configured, Ok(()));
        let first = add(&mut datapath, "priority=1,hard_timeout=100,actions=drop");
        // It ends at 120 s, and the other one at 150 s.
        assert!(datapath.restore().entry(&first, created(20)));
        add(&mut datapath, "priority=2,hard_timeout=50,actions=drop");
        add(&mut datapath, "priority=3,actions=drop");
        let entries = datapath.tables()[0].entries(EntryKey::FIRST);
        let mut left: Vec<u16> = entries.map(|(_, entry)| entry.key.priority.0).collect();
        left.sort_unstable();
        assert_eq!(left, [2, 3]);
    }

    #[test]
    fn the_thresholds_of_a_restored_entry_count_from_when_it_was_first_added() {
        let mut datapath = switch();
        let text = "priority=1,actions=stat_trigger(duration=10),output:2";
        let added = add(&mut datapath, text);
        assert!(datapath.restore().entry(&added, created(95)));
        assert_eq!(datapath.next_tick(), Some(Time(105 * Time::SEC)));
        assert!(datapath.restore().entry(&added, created(50)));
        assert_eq!(datapath.next_tick(), None, "it was reported at 60 s");
    }
}
