//! Flow entries and their monitors. Spec: OpenFlow 1.4.1 sections 7.3.4.2, 7.3.5.2, 7.3.5.17.

use super::V1_4;
use crate::error::{BadRequest, DecodeError};
use crate::forms::Form;
use crate::message::FlowMod;
use crate::message::multipart::flow::FlowEntry;
use crate::message::multipart::flow_monitor::{
    FlowMonitorRequest, FlowUpdate, FlowUpdateEvent, MonitoredFlow,
};
use crate::v1_3::layout;
use crate::wire::{Reader, Writer};

layout! {
    V1_4;
    FlowMod {
        cookie, cookie_mask, table_id, command, idle_timeout, hard_timeout, priority, buffer_id,
        out_port, out_group, flags, importance, fields, instructions
    }
    FlowEntry {
        table_id => 1, duration_sec, duration_nsec, priority, idle_timeout, hard_timeout, flags,
        importance => 2, cookie, packet_count, byte_count, fields, instructions;
        ..default
    }
    FlowMonitorRequest { monitor_id, out_port, out_group, flags, table_id, command, fields }
    MonitoredFlow {
        table_id, reason, idle_timeout, hard_timeout, priority => 4, cookie, fields, instructions
    }
}

impl Form<V1_4> for FlowUpdate {
    /// Errors: BAD_REQUEST with BAD_LEN, or BAD_TYPE for an unknown event; the entry's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r.at("flow update").sized(0, 8, 8, BadRequest::BAD_LEN)?;
        body.take(2)?;
        let at_event = body.at("event").clone();
        let event: FlowUpdateEvent = body.get()?;
        let update = match event {
            FlowUpdateEvent::INITIAL
            | FlowUpdateEvent::ADDED
            | FlowUpdateEvent::REMOVED
            | FlowUpdateEvent::MODIFIED => Self::Full(event, body.get()?),
            FlowUpdateEvent::ABBREV => Self::Abbrev(body.at("xid").get()?),
            FlowUpdateEvent::PAUSED | FlowUpdateEvent::RESUMED => {
                body.take(4)?;
                Self::Stream(event)
            }
            _ => return Err(at_event.err(BadRequest::BAD_TYPE)),
        };
        body.finish()?;
        Ok(update)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16);
        match self {
            Self::Full(event, flow) => w.put(event).put(flow),
            Self::Abbrev(xid) => w.put(&FlowUpdateEvent::ABBREV).put(xid),
            Self::Stream(event) => w.put(event).pad(4),
        };
        w.patch_length(start, start);
    }
}
