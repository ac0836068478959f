//! Statistics of OpenFlow 1.0, which became multiparts: requests and replies, a row each.
//! Spec: OpenFlow 1.0.2 section 5.3.5.

use super::flow::{read_instructions, write_instructions};
use super::matching::{fields_of, wildcards_of};
use super::nxm;
use super::{NICIRA, V1_0};
use crate::error::DecodeError;
use crate::forms::Form;
use crate::instruction::Instructions;
use crate::matching::Match;
use crate::message::multipart::flow_monitor::{FlowMonitorCommand, FlowMonitorRequest, FlowUpdate};
use crate::message::multipart::table_features::{PropertyList, TableFeatureSet, TableProperty};
use crate::message::multipart::{
    MORE, MultipartReply, MultipartRequest, PortRequest, PortStats, QueueStats, QueueStatsRequest,
    ReplyBody, RequestBody, TableStats,
};
use crate::types::{GroupId, PortNo};
use crate::v1_3::layout;
use crate::v1_3::monitor::{EntryForm, read_update, write_update};
use crate::wire::{Reader, Writer};

/// The type of vendors' statistics.
const VENDOR: u16 = 0xffff;
/// Nicira's type of those that became FLOW_MONITOR.
const FLOW_MONITOR: u32 = 2;
/// Bytes of the vendor, its type, and padding.
const MONITORS_HEAD_BYTES: usize = 12;

/// Returns true if statistics of this type, whose body `r` is at, are Nicira's flow monitors.
fn are_monitors(ty: u16, r: &Reader<'_>) -> bool {
    let mut body = r.clone();
    ty == VENDOR && body.get() == Ok(NICIRA) && body.get() == Ok(FLOW_MONITOR)
}

macro_rules! stats {
    ($($Part:ident($Body:ident) leaves_out $leaves_out:literal;)*) => { $(
        impl Form<V1_0> for $Part {
            /// Errors: BAD_REQUEST/BAD_MULTIPART for an unknown type, or the body's.
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let at_type = r.at("stats type").clone();
                let ty: u16 = r.get()?;
                let more = r.at("stats flags").get::<u16>()? & MORE != 0;
                let body = if are_monitors(ty, r) {
                    r.take(MONITORS_HEAD_BYTES)?;
                    $Body::FlowMonitor(r.get()?)
                } else {
                    $Body::decode_body(ty, &at_type, r)?
                };
                Ok(Self { more, body })
            }
            fn write(&self, w: &mut Writer<'_>) {
                let more = u16::from(self.more);
                if let $Body::FlowMonitor(list) = &self.body {
                    w.put(&VENDOR).put(&more);
                    w.put(&NICIRA).put(&FLOW_MONITOR).pad(4);
                    w.leaves_out = $leaves_out;
                    w.put(list);
                    return;
                }
                w.put(&self.body.number()).put(&more);
                self.body.encode_body(w);
            }
        }
    )* };
}
stats! {
    MultipartRequest(RequestBody) leaves_out false;
    MultipartReply(ReplyBody) leaves_out true;
}

/// The property of the model that lists the fields that need not be matched.
const WILDCARDS: u16 = 10;

layout! {
    V1_0;
    PortRequest { port_no => 6 }
    PortStats {
        port_no => 6, rx_packets, tx_packets, rx_bytes, tx_bytes, rx_dropped, tx_dropped,
        rx_errors, tx_errors, rx_frame_err, rx_over_err, rx_crc_err, collisions;
        ..default
    }
    QueueStats { port_no => 2, queue_id, tx_bytes, tx_packets, tx_errors; ..default }
}

impl Form<V1_0> for FlowMonitorRequest {
    /// Errors: BAD_MATCH's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let monitor_id = r.at("monitor_id").get()?;
        let flags = r.at("flags").get()?;
        let out_port = r.at("out_port").get()?;
        let length = r.at("match_len").get()?;
        let table_id = r.at("table_id").get()?;
        r.take(5)?;
        Ok(Self {
            monitor_id,
            out_port,
            out_group: GroupId::ANY,
            flags,
            table_id,
            command: FlowMonitorCommand::ADD,
            fields: nxm::read(length, r)?,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        if self.out_group != GroupId::ANY || self.command != FlowMonitorCommand::ADD {
            w.unsupported("out_group or command of a monitor");
        }
        w.put(&self.monitor_id).put(&self.flags).put(&self.out_port);
        let at = w.bytes.len();
        w.pad(2).put(&self.table_id).pad(5);
        nxm::write(&self.fields, at, w);
    }
}

impl EntryForm for V1_0 {
    fn read_match(length: u16, r: &mut Reader<'_>) -> Result<Match, DecodeError> {
        nxm::read(length, r)
    }
    fn write_match(fields: &Match, at: usize, w: &mut Writer<'_>) {
        nxm::write(fields, at, w);
    }
    fn read_instructions(fields: &Match, r: &mut Reader<'_>) -> Result<Instructions, DecodeError> {
        read_instructions(r, fields)
    }
    fn write_instructions(list: &Instructions, fields: &Match, w: &mut Writer<'_>) {
        write_instructions(list, fields, w);
    }
}

impl Form<V1_0> for FlowUpdate {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        read_update::<V1_0>(r)
    }
    fn write(&self, w: &mut Writer<'_>) {
        write_update::<V1_0>(self, w);
    }
}

impl Form<V1_0> for QueueStatsRequest {
    /// All ports are ALL here, and ANY in the model.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = r.at("port_no").get()?;
        r.take(2)?;
        Ok(Self {
            port_no: if port == PortNo::ALL {
                PortNo::ANY
            } else {
                port
            },
            queue_id: r.at("queue_id").get()?,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let all = self.port_no == PortNo::ANY;
        let port = if all { PortNo::ALL } else { self.port_no };
        w.put(&port).pad(2).put(&self.queue_id);
    }
}

impl Form<V1_0> for TableStats {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table_id = r.at("table_id").get()?;
        r.take(3)?;
        let name = r.at("name").get()?;
        let wildcards = fields_of(r.at("wildcards").get()?);
        let features = TableFeatureSet {
            table_id,
            name,
            max_entries: r.at("max_entries").get()?,
            properties: [TableProperty {
                ty: WILDCARDS,
                list: PropertyList::Fields(wildcards),
            }]
            .into(),
            ..TableFeatureSet::default()
        };
        Ok(Self {
            table_id,
            active_count: r.at("active_count").get()?,
            lookup_count: r.at("lookup_count").get()?,
            matched_count: r.at("matched_count").get()?,
            features,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let features = &self.features;
        let property = features.properties.iter().find(|one| one.ty == WILDCARDS);
        let wildcards = match property.map(|one| &one.list) {
            Some(PropertyList::Fields(list)) => wildcards_of(list),
            _ => 0,
        };
        w.put(&self.table_id).pad(3).put(&features.name);
        w.put(&wildcards).put(&features.max_entries);
        w.put(&self.active_count);
        w.put(&self.lookup_count).put(&self.matched_count);
    }
}
