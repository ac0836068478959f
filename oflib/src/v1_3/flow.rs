//! Flow entries: FLOW_MOD, FLOW_REMOVED, their statistics and those of tables. Spec: OpenFlow 1.3.5
//! sections 7.3.4.1, 7.3.5.2 to 7.3.5.4, 7.4.2.

use super::session::low_bits;
use super::{V1_3, layout};
#[cfg(feature = "connections")]
use crate::error::BadRequest;
use crate::error::DecodeError;
use crate::forms::Form;
use crate::message::multipart::flow::{AggregateStats, FlowEntry, FlowStats, FlowStatsRequest};
use crate::message::multipart::switch::{Desc, TableStats};
use crate::message::{FlowMod, FlowModFlags, FlowRemoved, FlowRemovedReason};
use crate::wire::{Reader, Writer};

// The flags of 1.3 are the lowest of the model's.
low_bits! { FlowModFlags as u16; }

layout! {
    V1_3;
    FlowMod {
        // Timeouts are in seconds, 0 is none. A `cookie_mask` of 0 selects all entries, and
        // `out_port`, `out_group` filter only those that a command deletes.
        cookie, cookie_mask, table_id, command, idle_timeout, hard_timeout, priority, buffer_id,
        out_port, out_group, flags => 2, fields, instructions;
        ..default [importance]
    }
    FlowRemoved {
        // The duration since the entry was added: whole seconds, and the nanoseconds beyond them.
        cookie, priority, reason, table_id, duration_sec, duration_nsec, idle_timeout,
        hard_timeout, packet_count, byte_count, fields;
        ..default
    }
    FlowStatsRequest { table_id => 3, out_port, out_group => 4, cookie, cookie_mask, fields }
    FlowEntry {
        // Without its length, which `FlowStats` writes before it.
        table_id => 1, duration_sec, duration_nsec, priority, idle_timeout, hard_timeout,
        flags => 4, cookie, packet_count, byte_count, fields, instructions;
        ..default
    }
    AggregateStats { packet_count, byte_count, flow_count => 4 }
    Desc { mfr_desc, hw_desc, sw_desc, serial_num, dp_desc }
    TableStats { table_id => 3, active_count, lookup_count, matched_count; ..default }
}

/// The reasons that came after a version are read and written as those that it has in their place.
impl Form<V1_3> for FlowRemovedReason {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let version = r.version();
        r.get().map(|number| Self(number).in_version(version))
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.in_version(w.version()).0);
    }
}

/// The length of 16 bits comes first and counts match and instructions, too.
impl Form<V1_3> for FlowStats {
    #[cfg(feature = "connections")]
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        // 48 bytes come before the match. The instructions after it go up to the length.
        let mut body = r.at("flow stats").sized(0, 48, 8, BadRequest::BAD_LEN)?;
        body.take(2)?;
        body.get().map(Self)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16).put(&self.0).patch_length(start, start);
    }
}
