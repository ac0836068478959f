//! Statistics of OpenFlow 1.0, which became multiparts: requests and replies, a row each.
//! Spec: OpenFlow 1.0.2 section 5.3.5.

use super::layout::{Old, Said, layout};
use super::matching::ALL_WILD;
use crate::error::{BadRequest, DecodeError};
use crate::message::multipart::{
    MultipartReply, MultipartRequest, PortRequest, PortStats, QueueStats, QueueStatsRequest,
    ReplyBody, RequestBody, TableStats,
};
use crate::types::PortNo;
use crate::wire::{FixedStr, Reader, Writer};

/// The flag that says that more parts follow.
const MORE: u16 = 1;

macro_rules! stats {
    ($Part:ident $Body:ident: $($number:literal $V:ident)*) => {
        impl Old for $Part {
            /// Errors: BAD_REQUEST/BAD_MULTIPART for an unknown type, or the body's.
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let at_type = r.at("stats type").clone();
                let ty: u16 = r.get()?;
                let more = r.at("stats flags").get::<u16>()? & MORE != 0;
                let body = match ty {
                    $($number => $Body::$V(Old::read(r)?),)*
                    _ => return Err(at_type.err(BadRequest::BAD_MULTIPART)),
                };
                Ok(Self { more, body })
            }
            fn write(&self, w: &mut Writer<'_>) -> Said {
                w.put(&self.body.number()).put(&u16::from(self.more));
                match &self.body {
                    $($Body::$V(body) => body.write(w),)*
                    // What came later cannot be said: a new one needs no arm here.
                    _ => Err(self.body.name()),
                }
            }
        }
    };
}
stats! {
    MultipartRequest RequestBody:
    0 Desc 1 Flow 2 Aggregate 3 Table 4 PortStats 5 Queue 0xffff Experimenter
}
stats! {
    MultipartReply ReplyBody:
    0 Desc 1 Flow 2 Aggregate 3 Table 4 PortStats 5 Queue 0xffff Experimenter
}

layout! {
    PortRequest { port_no => 6 }
    PortStats {
        port_no => 6, rx_packets, tx_packets, rx_bytes, tx_bytes, rx_dropped, tx_dropped,
        rx_errors, tx_errors, rx_frame_err, rx_over_err, rx_crc_err, collisions;
        ..default
    }
    QueueStats { port_no => 2, queue_id, tx_bytes, tx_packets, tx_errors; ..default }
}

impl Old for QueueStatsRequest {
    /// All ports are ALL here, and ANY in the model.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = PortNo::read(r.at("port_no"))?;
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
    fn write(&self, w: &mut Writer<'_>) -> Said {
        let all = self.port_no == PortNo::ANY;
        let port = if all { PortNo::ALL } else { self.port_no };
        port.write(w)?;
        w.pad(2).put(&self.queue_id);
        Ok(())
    }
}

impl Old for TableStats {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table_id = r.at("table_id").get()?;
        r.take(3)?;
        let name = FixedStr::read(r.at("name"))?;
        Ok(Self {
            table_id,
            name,
            no_wildcards: !r.at("wildcards").get::<u32>()? & ALL_WILD,
            max_entries: r.at("max_entries").get()?,
            active_count: r.at("active_count").get()?,
            lookup_count: r.at("lookup_count").get()?,
            matched_count: r.at("matched_count").get()?,
        })
    }
    fn write(&self, w: &mut Writer<'_>) -> Said {
        w.put(&self.table_id).pad(3);
        self.name.write(w)?;
        w.put(&(!self.no_wildcards & ALL_WILD));
        w.put(&self.max_entries);
        w.put(&self.active_count);
        w.put(&self.lookup_count).put(&self.matched_count);
        Ok(())
    }
}
