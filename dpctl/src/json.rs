//! Prints replies as JSON. Keys are OpenFlow's names; matches, actions and instructions are texts
//! that the verbs accept.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a message or action without a wording of its own here has the common one"
)]

use bofuss_oflib::error::EXPERIMENTER_ERROR_TYPE;
use bofuss_oflib::message::bundle::Timestamp;
use bofuss_oflib::message::multipart::bundle_features::TimeCapability;
use bofuss_oflib::message::multipart::flow::FlowEntry;
use bofuss_oflib::message::multipart::group::{BucketCounter, GroupCounters, GroupDesc};
use bofuss_oflib::message::multipart::table_features::TableFeatureSet;
use bofuss_oflib::message::multipart::{
    ExtBody, MeterConfig, MeterStats, PortStats, QueueDesc, QueueStats, ReplyBody, TableDesc,
    TableStats,
};
use bofuss_oflib::message::queue::PacketQueue;
use bofuss_oflib::message::table_mod::Vacancy;
use bofuss_oflib::message::{
    Band, Bucket, ControllerStatus, FlowRemoved, MultipartReply, PortDesc,
};
use bofuss_oflib::text::Actions;
use bofuss_oflib::wire::Text;
use bofuss_oflib::{ErrorCode, Instruction, Match, Message, PortNo};
use serde_json::{Map, Value, json};

use crate::extension::CATALOGUE;

/// The version of the output. It increases when a key is removed or changes its meaning.
const VERSION: u32 = 1;

/// The JSON object that a verb prints.
pub(crate) fn page(verb: &str, replies: Vec<Value>) -> String {
    json!({"version": VERSION, "verb": verb, "replies": replies}).to_string()
}

/// That this many messages were sent, and none was refused.
pub(crate) fn sent(messages: usize) -> Value {
    json!({"type": "DONE", "messages": messages})
}

/// An echo reply: the bytes of its data, and its round-trip time in milliseconds.
pub(crate) fn echo(bytes: u16, millis: f64) -> Value {
    json!({"type": "ECHO_REPLY", "bytes": bytes, "milliseconds": millis})
}

/// Lines of text: an object if each is `key=value`, otherwise a list.
pub(crate) fn lines(lines: &[&str]) -> Value {
    let pairs: Option<Map<String, Value>> = lines.iter().copied().map(key_and_value).collect();
    let mut value = match pairs {
        Some(pairs) if !pairs.is_empty() => Value::Object(pairs),
        _ => json!({"lines": lines}),
    };
    value["type"] = "LINES".into();
    value
}

/// A line `key=value`; `None` for another line.
fn key_and_value(line: &str) -> Option<(String, Value)> {
    let (key, value) = line.split_once('=')?;
    (!key.contains(' ')).then(|| (key.into(), value.into()))
}

/// A text, as [`lines`] of it.
pub(crate) fn text(text: &str) -> Value {
    lines(&text.lines().collect::<Vec<_>>())
}

/// The lines of a text as a list, even if each is `key=value`.
pub(crate) fn list(text: &str) -> Value {
    json!({"type": "LINES", "lines": text.lines().collect::<Vec<_>>()})
}

/// Rates per second of ports and of used tables.
pub(crate) struct Rates {
    /// Port; packets, bits and drops per second, first received and then sent.
    pub(crate) ports: Vec<(PortNo, [f64; 6])>,
    /// Table; entries; lookups and matches per second.
    pub(crate) tables: Vec<(u8, u32, [f64; 2])>,
}

/// The rates between two samples.
pub(crate) fn rates(rates: &Rates) -> Value {
    let ports = all(&rates.ports, |(port, f)| {
        json!({"port_no": port.to_string(), "rx_packets_per_second": f[0],
               "rx_bits_per_second": f[1], "rx_dropped_per_second": f[2],
               "tx_packets_per_second": f[3], "tx_bits_per_second": f[4],
               "tx_dropped_per_second": f[5]})
    });
    let tables = all(&rates.tables, |(table, entries, f)| {
        json!({"table_id": table, "active_count": entries, "lookups_per_second": f[0],
               "matches_per_second": f[1]})
    });
    json!({"type": "RATES", "ports": ports, "tables": tables})
}

/// A message.
pub(crate) fn message(message: &Message) -> Value {
    let mut value = match message {
        Message::Error(message) => error(message.error),
        Message::FeaturesReply(f) => json!({
            "datapath_id": format!("{:016x}", f.datapath_id), "n_buffers": f.n_buffers,
            "n_tables": f.n_tables, "auxiliary_id": f.auxiliary_id,
            "capabilities": flags(f.capabilities),
        }),
        Message::GetConfigReply(c) => json!({
            "flags": flags(c.flags), "miss_send_len": c.miss_send_len.0,
        }),
        Message::RoleReply(r) => json!({
            "role": r.role.to_string(), "generation_id": r.generation_id,
        }),
        Message::GetAsyncReply(a) => json!({
            "packet_in": [a.packet_in, a.packet_in_slave],
            "port_status": [a.port_status, a.port_status_slave],
            "flow_removed": [a.flow_removed, a.flow_removed_slave],
            "role_status": [a.role_status, a.role_status_slave],
            "table_status": [a.table_status, a.table_status_slave],
            "requestforward": [a.request_forward, a.request_forward_slave],
        }),
        Message::PacketIn(p) => json!({
            "buffer_id": p.buffer_id.to_string(), "total_len": p.total_len,
            "reason": p.reason.to_string(), "table_id": p.table_id.0,
            "cookie": format!("{:#x}", p.cookie), "match": fields(&p.fields),
            "data": Text(&p.data).to_string(),
        }),
        Message::PortStatus(s) => json!({
            "reason": s.reason.to_string(), "desc": port(&s.desc),
        }),
        Message::FlowRemoved(removed) => flow_removed(removed),
        Message::ControllerStatus(status) => controller(status),
        Message::QueueGetConfigReply(c) => json!({
            "port": c.port.to_string(), "queues": all(&c.queues, queue),
        }),
        Message::Experimenter(value) => crate::trace::json(value),
        Message::MultipartReply(reply) => return multipart(&reply.body),
        other => json!({"text": other.to_string()}),
    };
    value["type"] = message.name().into();
    value
}

/// An error; only an experimenter's has the key `experimenter`.
fn error(error: ErrorCode) -> Value {
    let row = CATALOGUE.error(error);
    let mut value = json!({
        "error": row.map(|row| format!("{}/{}", row.type_name, row.code_name)),
        "meaning": row.map(|row| row.meaning),
        "error_type": error.ty, "code": error.code,
    });
    if error.ty == EXPERIMENTER_ERROR_TYPE {
        value["experimenter"] = format!("{:#x}", error.experimenter).into();
    }
    value
}

fn multipart(body: &ReplyBody) -> Value {
    let mut value = match body {
        ReplyBody::Desc(d) => json!({
            "mfr_desc": d.mfr_desc.0, "hw_desc": d.hw_desc.0, "sw_desc": d.sw_desc.0,
            "serial_num": d.serial_num.0, "dp_desc": d.dp_desc.0,
        }),
        ReplyBody::Flow(list) => json!({"entries": all(list, |one| flow(&one.0))}),
        ReplyBody::Aggregate(a) => json!({
            "packet_count": a.packet_count, "byte_count": a.byte_count,
            "flow_count": a.flow_count,
        }),
        ReplyBody::Table(list) => json!({"tables": all(list, table)}),
        ReplyBody::PortStats(list) => json!({"ports": all(list, port_stats)}),
        ReplyBody::Queue(list) => json!({"queues": all(list, queue_stats)}),
        ReplyBody::Group(list) => json!({"groups": all(list, |one| group_stats(&one.0))}),
        ReplyBody::GroupDesc(list) => json!({"groups": all(list, group)}),
        ReplyBody::GroupFeatures(f) => json!({
            "types": f.types, "capabilities": flags(f.capabilities),
            "max_groups": f.max_groups, "actions": f.actions,
        }),
        ReplyBody::Meter(list) => json!({"meters": all(list, meter_stats)}),
        ReplyBody::MeterConfig(list) => json!({"meters": all(list, meter)}),
        ReplyBody::MeterFeatures(f) => json!({
            "max_meter": f.max_meter, "band_types": f.band_types,
            "capabilities": f.capabilities, "max_bands": f.max_bands, "max_color": f.max_color,
        }),
        ReplyBody::TableFeatures(list) => {
            json!({"tables": all(list, |one| table_features(&one.0))})
        }
        ReplyBody::PortDesc(list) => json!({"ports": all(list, port)}),
        ReplyBody::TableDesc(list) => json!({"tables": all(list, table_desc)}),
        ReplyBody::QueueDesc(list) => json!({"queues": all(list, queue_desc)}),
        ReplyBody::ControllerStatus(list) => json!({"controllers": all(list, controller)}),
        ReplyBody::BundleFeatures(f) => json!({
            "capabilities": flags(f.capabilities),
            "time": f.time_capability.as_ref().map(time_capability),
        }),
        // A multipart without keys here has its text.
        other => {
            if let ReplyBody::Experimenter(ExtBody(value)) = other {
                crate::extension::json(value)
            } else {
                json!({"text": Text(&MultipartReply::from(other.clone())).to_string()})
            }
        }
    };
    value["type"] = body.name().into();
    value
}

fn all<T>(list: &[T], one: impl Fn(&T) -> Value) -> Vec<Value> {
    list.iter().map(one).collect()
}

/// The names of the flags that are set.
fn flags(flags: impl std::fmt::Display) -> Vec<String> {
    let text = flags.to_string();
    let set = text.split('|').filter(|name| *name != "0x0");
    set.map(str::to_string).collect()
}

/// Each field with its value, and its mask after a slash.
fn fields(fields: &Match) -> Value {
    Value::Object(
        fields
            .fields()
            .iter()
            .map(|one| {
                let text = one.to_string();
                let value = text.split_once('=').map_or("", |(_, value)| value);
                (one.field.name.to_string(), Value::from(value))
            })
            .collect(),
    )
}

fn seconds(whole: u32, nanoseconds: u32) -> f64 {
    f64::from(whole) + f64::from(nanoseconds) / 1e9
}

/// A counter; null if the switch does not count it.
fn counter(count: u64) -> Option<u64> {
    (count != u64::MAX).then_some(count)
}

fn flow(e: &FlowEntry) -> Value {
    json!({
        "table_id": e.table_id.0, "priority": e.priority, "cookie": format!("{:#x}", e.cookie),
        "duration": seconds(e.duration_sec, e.duration_nsec),
        "idle_timeout": e.idle_timeout, "hard_timeout": e.hard_timeout, "flags": flags(e.flags),
        "importance": e.importance,
        "packet_count": counter(e.packet_count), "byte_count": counter(e.byte_count),
        "match": fields(&e.fields),
        "instructions": all(e.instructions.list(), |one| instruction(one).into()),
    })
}

fn instruction(one: &Instruction) -> String {
    match one {
        Instruction::ApplyActions(list) => format!("apply_actions({})", Actions(list)),
        other => other.to_string(),
    }
}

fn flow_removed(r: &FlowRemoved) -> Value {
    json!({
        "reason": r.reason.to_string(), "table_id": r.table_id.0, "priority": r.priority,
        "cookie": format!("{:#x}", r.cookie), "duration": seconds(r.duration_sec, r.duration_nsec),
        "packet_count": counter(r.packet_count), "byte_count": counter(r.byte_count),
        "match": fields(&r.fields),
    })
}

fn table(t: &TableStats) -> Value {
    json!({
        "table_id": t.table_id.0, "active_count": t.active_count,
        "lookup_count": counter(t.lookup_count), "matched_count": counter(t.matched_count),
    })
}

fn table_desc(t: &TableDesc) -> Value {
    json!({
        "table_id": t.table_id.0, "config": flags(t.config),
        "eviction": t.eviction.map(flags),
        "vacancy": t.vacancy.as_ref().map(vacancy),
    })
}

/// The thresholds and the free share of a table, in per cent.
fn vacancy(v: &Vacancy) -> Value {
    json!({"down": v.vacancy_down, "up": v.vacancy_up, "now": v.vacancy})
}

fn table_features(t: &TableFeatureSet) -> Value {
    let properties = t.properties.iter().map(|one| {
        let text = Text(one).to_string();
        let (name, list) = text.split_once('=').unwrap_or((&text, ""));
        let items = list
            .trim_matches(['[', ']'])
            .split("; ")
            .filter(|word| !word.is_empty());
        (name.to_string(), items.collect::<Vec<_>>().into())
    });
    json!({
        "table_id": t.table_id.0, "name": t.name.0, "max_entries": t.max_entries,
        "metadata_match": format!("{:#x}", t.metadata_match),
        "metadata_write": format!("{:#x}", t.metadata_write),
        "properties": Value::Object(properties.collect()),
    })
}

fn port(p: &PortDesc) -> Value {
    json!({
        "port_no": p.port_no.to_string(), "hw_addr": p.hw_addr.to_string(), "name": p.name.0,
        "config": flags(p.config), "state": flags(p.state), "curr": flags(p.curr),
        "advertised": flags(p.advertised), "supported": flags(p.supported), "peer": flags(p.peer),
        "curr_speed": p.curr_speed, "max_speed": p.max_speed,
    })
}

fn port_stats(p: &PortStats) -> Value {
    json!({
        "port_no": p.port_no.to_string(), "rx_packets": counter(p.rx_packets),
        "tx_packets": counter(p.tx_packets), "rx_bytes": counter(p.rx_bytes),
        "tx_bytes": counter(p.tx_bytes), "rx_dropped": counter(p.rx_dropped),
        "tx_dropped": counter(p.tx_dropped), "rx_errors": counter(p.rx_errors),
        "tx_errors": counter(p.tx_errors), "rx_frame_err": counter(p.rx_frame_err),
        "rx_over_err": counter(p.rx_over_err), "rx_crc_err": counter(p.rx_crc_err),
        "collisions": counter(p.collisions), "duration": seconds(p.duration_sec, p.duration_nsec),
    })
}

fn queue(q: &PacketQueue) -> Value {
    json!({
        "queue_id": q.queue_id.0, "port": q.port.to_string(),
        "properties": all(&q.properties, |one| Text(one).to_string().into()),
    })
}

fn queue_desc(q: &QueueDesc) -> Value {
    json!({
        "port_no": q.port_no.to_string(), "queue_id": q.queue_id.0,
        "properties": all(&q.properties, |one| Text(one).to_string().into()),
    })
}

fn queue_stats(q: &QueueStats) -> Value {
    json!({
        "port_no": q.port_no.to_string(), "queue_id": q.queue_id.0, "tx_bytes": q.tx_bytes,
        "tx_packets": q.tx_packets, "tx_errors": q.tx_errors,
        "duration": seconds(q.duration_sec, q.duration_nsec),
    })
}

fn controller(c: &ControllerStatus) -> Value {
    json!({
        "short_id": c.short_id, "role": c.role.to_string(), "reason": c.reason.to_string(),
        "channel_status": c.channel_status.to_string(),
        "uri": c.uri.as_ref().map(|uri| uri.0.as_str()),
    })
}

fn time_capability(t: &TimeCapability) -> Value {
    json!({
        "sched_accuracy": time(t.sched_accuracy), "sched_max_future": time(t.sched_max_future),
        "sched_max_past": time(t.sched_max_past), "timestamp": time(t.timestamp),
    })
}

/// A time as text, because nanoseconds since 1970 need more digits than a number in JSON keeps.
fn time(time: Timestamp) -> String {
    Text(&time).to_string()
}

fn bucket(b: &Bucket) -> Value {
    json!({
        "weight": b.weight, "watch_port": b.watch_port.to_string(),
        "watch_group": b.watch_group.to_string(),
        "actions": all(&b.actions, |one| one.to_string().into()),
    })
}

fn group(g: &GroupDesc) -> Value {
    json!({
        "group_id": g.group_id.0, "type": g.ty.to_string(), "buckets": all(&g.buckets, bucket),
    })
}

fn counts(b: &BucketCounter) -> Value {
    json!({"packet_count": b.packet_count, "byte_count": b.byte_count})
}

fn group_stats(g: &GroupCounters) -> Value {
    json!({
        "group_id": g.group_id.0, "ref_count": g.ref_count, "packet_count": g.packet_count,
        "byte_count": g.byte_count, "duration": seconds(g.duration_sec, g.duration_nsec),
        "buckets": all(&g.bucket_stats, counts),
    })
}

fn band(b: &Band) -> Value {
    json!({"text": b.to_string(), "rate": b.rate, "burst_size": b.burst_size})
}

fn meter(m: &MeterConfig) -> Value {
    json!({
        "meter_id": m.meter_id.0, "flags": flags(m.flags), "bands": all(&m.bands, band),
    })
}

fn meter_stats(m: &MeterStats) -> Value {
    json!({
        "meter_id": m.meter_id.0, "flow_count": m.flow_count, "input": counts(&m.input),
        "duration": seconds(m.duration_sec, m.duration_nsec), "bands": all(&m.bands, counts),
    })
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::PortNo;
    use bofuss_oflib::types::QueueId;

    use super::*;

    /// No verb prints QUEUE_DESC: since 1.4, `queue-get-config` requests it and prints the queues
    /// in the form of 1.3.
    #[test]
    fn the_queues_of_a_port_have_keys() {
        let queue = QueueDesc {
            port_no: PortNo(1),
            queue_id: QueueId(2),
            properties: Vec::new(),
        };
        let reply = MultipartReply::from(ReplyBody::QueueDesc(vec![queue]));
        let queues = json!([{"port_no": "1", "queue_id": 2, "properties": []}]);
        let wanted = json!({"type": "QUEUE_DESC", "queues": queues});
        assert_eq!(message(&Message::MultipartReply(reply)), wanted);
    }
}
