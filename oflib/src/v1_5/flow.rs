//! Flow entries: their descriptions and statistics, and FLOW_REMOVED. Spec: OpenFlow 1.5.1 sections
//! 7.3.5.2 to 7.3.5.4, 7.4.2.

use super::V1_5;
use crate::error::{BadRequest, DecodeError};
use crate::forms::Form;
use crate::message::FlowRemoved;
use crate::message::multipart::flow::{FlowCounters, FlowEntry, FlowStats};
use crate::message::stats::{StatTime, Stats};
use crate::wire::{Reader, Writer};

impl Form<V1_5> for FlowEntry {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut this = Self {
            table_id: r.at("table_id").get()?,
            ..Self::default()
        };
        r.take(1)?;
        this.priority = r.at("priority").get()?;
        this.idle_timeout = r.at("idle_timeout").get()?;
        this.hard_timeout = r.at("hard_timeout").get()?;
        this.flags = r.at("flags").get()?;
        this.importance = r.at("importance").get()?;
        this.cookie = r.at("cookie").get()?;
        this.fields = r.get()?;
        let stats: Stats = r.get()?;
        let StatTime { sec, nsec } = stats.duration.unwrap_or_default();
        this.duration_sec = sec;
        this.duration_nsec = nsec;
        this.packet_count = stats.packets();
        this.byte_count = stats.bytes();
        this.idle_time = stats.idle_time;
        this.instructions = r.get()?;
        Ok(this)
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.table_id).pad(1).put(&self.priority);
        w.put(&self.idle_timeout).put(&self.hard_timeout);
        w.put(&self.flags).put(&self.importance).put(&self.cookie);
        w.put(&self.fields).put(&self.stats());
        w.put(&self.instructions);
    }
}

impl Form<V1_5> for FlowStats {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r.at("flow desc").sized(0, 40, 8, BadRequest::BAD_LEN)?;
        body.take(4)?;
        body.get().map(Self)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16).pad(2).put(&self.0).patch_length(start, start);
    }
}

impl Form<V1_5> for FlowCounters {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r.at("flow stats").sized(0, 24, 8, BadRequest::BAD_LEN)?;
        body.take(4)?;
        let this = Self {
            table_id: body.at("table_id").get()?,
            reason: body.at("reason").get()?,
            priority: body.at("priority").get()?,
            fields: body.get()?,
            stats: body.get()?,
        };
        body.finish()?;
        Ok(this)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16).pad(2).put(&self.table_id).put(&self.reason);
        w.put(&self.priority).put(&self.fields).put(&self.stats);
        w.patch_length(start, start);
    }
}

impl Form<V1_5> for FlowRemoved {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut this = Self {
            table_id: r.at("table_id").get()?,
            reason: r.at("reason").get()?,
            priority: r.at("priority").get()?,
            idle_timeout: r.at("idle_timeout").get()?,
            hard_timeout: r.at("hard_timeout").get()?,
            cookie: r.at("cookie").get()?,
            fields: r.get()?,
            ..Self::default()
        };
        let stats: Stats = r.get()?;
        let StatTime { sec, nsec } = stats.duration.unwrap_or_default();
        this.duration_sec = sec;
        this.duration_nsec = nsec;
        this.packet_count = stats.packets();
        this.byte_count = stats.bytes();
        this.idle_time = stats.idle_time;
        Ok(this)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let duration = StatTime {
            sec: self.duration_sec,
            nsec: self.duration_nsec,
        };
        w.put(&self.table_id).put(&self.reason).put(&self.priority);
        w.put(&self.idle_timeout).put(&self.hard_timeout);
        w.put(&self.cookie).put(&self.fields).put(&Stats {
            idle_time: self.idle_time,
            duration: Some(duration),
            ..Stats::counted(self.packet_count, self.byte_count)
        });
    }
}
