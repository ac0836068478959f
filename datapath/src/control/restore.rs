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
use crate::{Station, Time};

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
        let number = usize::from(added.table_id.0);
        let Some(table) = self.pipeline.tables.get_mut(number) else {
            return false;
        };
        let rule = rule_of(added, None);
        let Some(key) = table.find(added.priority, &rule) else {
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

    /// Gives a group its past, if it exists with as many buckets. Returns whether it does.
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
        (group.created, group.counter, group.bucket_counters) = (created, counter, buckets);
        true
    }

    /// Gives a meter its past, if it exists with as many bands. Returns whether it does.
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
        (meter.created, meter.stats.input, meter.stats.bands) = (created, input, bands);
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
