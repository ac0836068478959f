//! Statistics of OpenFlow 1.0, which became multiparts: requests and replies, a row each.
//! Spec: OpenFlow 1.0.2 section 5.3.5.

use super::V1_0;
use super::matching::{fields_of, wildcards_of};
use crate::error::DecodeError;
use crate::forms::Form;
use crate::message::multipart::table_features::{PropertyList, TableFeatureSet, TableProperty};
use crate::message::multipart::{
    MORE, MultipartReply, MultipartRequest, PortRequest, PortStats, QueueStats, QueueStatsRequest,
    ReplyBody, RequestBody, TableStats,
};
use crate::types::PortNo;
use crate::v1_3::layout;
use crate::wire::{Reader, Writer};

macro_rules! stats {
    ($($Part:ident($Body:ident);)*) => { $(
        impl Form<V1_0> for $Part {
            /// Errors: BAD_REQUEST/BAD_MULTIPART for an unknown type, or the body's.
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let at_type = r.at("stats type").clone();
                let ty: u16 = r.get()?;
                let more = r.at("stats flags").get::<u16>()? & MORE != 0;
                let body = $Body::decode_body(ty, &at_type, r)?;
                Ok(Self { more, body })
            }
            fn write(&self, w: &mut Writer<'_>) {
                w.put(&self.body.number()).put(&u16::from(self.more));
                self.body.encode_body(w);
            }
        }
    )* };
}
stats! {
    MultipartRequest(RequestBody);
    MultipartReply(ReplyBody);
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
