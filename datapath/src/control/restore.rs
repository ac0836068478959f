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

    /// Gives the entry that a flow-mod has added its past; its timeouts go on. Returns false if
    /// there is no such entry.
    pub fn entry(&mut self, added: &FlowMod, past: EntryPast) -> bool {
        let Some((table, key)) = self.find(added) else {
            return false;
        };
        if let Some(entry) = table.get_mut(key) {
            (entry.created, entry.used) = (past.created, past.used);
            (entry.packets, entry.bytes) = (past.packets, past.bytes);
            entry.flags = past.flags.into();
        }
        self.pipeline.set_deadline(added.table_id, key);
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
