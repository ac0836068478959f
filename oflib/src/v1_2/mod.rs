//! OpenFlow 1.2 on the wire, where it differs from 1.3. Spec: OpenFlow 1.2.

mod table;

use crate::error::{BadRequest, DecodeError, ErrorCode, FlowModFailed};
use crate::forms::Form;
use crate::message::config::ConfigFlags;
use crate::message::features::Features;
use crate::message::multipart::flow::FlowEntry;
use crate::message::multipart::group::GroupCounters;
use crate::message::multipart::port::{PortStats, QueueStats};
use crate::message::{FlowModFlags, PacketIn};
use crate::v1_3::{V1_3, layout};
use crate::wire::{Reader, Writer};

/// The forms of 1.2 that 1.3 changed.
pub(crate) enum V1_2 {}

layout! {
    V1_2;
    Features {
        datapath_id, n_buffers, n_tables => 3, capabilities, reserved, ports;
        ..default
    }
    PacketIn { buffer_id, total_len, reason, table_id, fields => 2, data; ..without_cookie }
    PortStats {
        port_no => 4, rx_packets, tx_packets, rx_bytes, tx_bytes, rx_dropped, tx_dropped,
        rx_errors, tx_errors, rx_frame_err, rx_over_err, rx_crc_err, collisions;
        ..default
    }
    QueueStats { port_no, queue_id, tx_bytes, tx_packets, tx_errors; ..default }
    GroupCounters {
        group_id, ref_count => 4, packet_count, byte_count, bucket_stats;
        ..default
    }
    FlowEntry {
        table_id => 1, duration_sec, duration_nsec, priority, idle_timeout, hard_timeout => 6,
        cookie, packet_count, byte_count, fields, instructions;
        ..default
    }
}

impl PacketIn {
    /// An empty packet-in with the cookie that means that none is known.
    pub(crate) fn without_cookie() -> Self {
        Self {
            cookie: u64::MAX,
            ..Self::default()
        }
    }
}

/// The flags of a flow-mod.
const FLOW_MOD_FLAGS: u32 =
    FlowModFlags::SEND_FLOW_REM.0 | FlowModFlags::CHECK_OVERLAP.0 | FlowModFlags::RESET_COUNTS.0;

impl Form<V1_2> for FlowModFlags {
    /// Errors: FLOW_MOD_FAILED/BAD_FLAGS for flags that came later.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_flags = r.clone();
        let bits = u32::from(r.get::<u16>()?);
        if bits & !FLOW_MOD_FLAGS != 0 {
            return Err(at_flags.err(FlowModFailed::BAD_FLAGS));
        }
        Ok(Self(bits))
    }
    fn write(&self, w: &mut Writer<'_>) {
        if self.0 & !FLOW_MOD_FLAGS != 0 {
            w.unsupported("these flags");
        }
        w.put(&(self.0 as u16));
    }
}

/// INVALID_TTL_TO_CONTROLLER on the wire.
const INVALID_TTL: u16 = 0x4;

impl Form<V1_2> for ConfigFlags {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bits: u16 = r.get()?;
        let same = Self((bits & !INVALID_TTL).into());
        Ok(match bits & INVALID_TTL {
            0 => same,
            _ => same | Self::INVALID_TTL_TO_CONTROLLER,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let invalid_ttl = if self.has(Self::INVALID_TTL_TO_CONTROLLER) {
            INVALID_TTL
        } else {
            0
        };
        w.put(&(self.0 as u16 & !INVALID_TTL | invalid_ttl));
    }
}

impl Form<V1_2> for ErrorCode {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        <Self as Form<V1_3>>::read(r)
    }
    /// An error that came later is BAD_REQUEST/EPERM: the switch does not do it.
    fn write(&self, w: &mut Writer<'_>) {
        let row = self.row();
        let known = row.is_none_or(|row| row.versions.has(w.version()));
        let error = if known { *self } else { BadRequest::EPERM };
        <Self as Form<V1_3>>::write(&error, w);
    }
}
