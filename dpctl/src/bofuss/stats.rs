//! Prints multipart requests and replies as the original does.

use std::fmt::Write;

use bofuss_oflib::message::multipart::flow::FlowEntry;
use bofuss_oflib::message::multipart::group::{GroupCounters, GroupDesc};
use bofuss_oflib::message::multipart::meter::{MeterConfig, MeterFeatures, MeterStats};
use bofuss_oflib::message::multipart::table_features::{
    FieldId, PROPERTIES, PropertyList, TableFeatureSet, TableProperty,
};
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, GroupFeatures, PortStats, QueueStats, ReplyBody, RequestBody, TableStats,
};
use bofuss_oflib::message::{MultipartReply, MultipartRequest};
use bofuss_oflib::wire::Text;

use super::parts;
use super::values::{group, list, port, queue_id, table};

/// The original's names of multiparts, by their type.
const NAMES: &[&str] = &[
    "desc",
    "flow",
    "aggr",
    "table",
    "port",
    "queue",
    "grp",
    "gdesc",
    "grp_features",
    "mstats",
    "mconf",
    "mfeat",
    "table-features",
    "port-desc",
];

/// Type and flags of a multipart: by the original's name of its type if it has one, otherwise by
/// the specification's.
fn head(number: u16, name: &str, more: bool) -> String {
    let known = NAMES
        .get(usize::from(number))
        .map(|known| String::from(*known));
    let name = known.unwrap_or_else(|| match name {
        "EXPERIMENTER" => "exp".into(),
        name => name.to_lowercase().replace('_', "-"),
    });
    format!("type=\"{name}\", flags=\"{:#x}\"", u8::from(more))
}

/// A request.
pub(crate) fn request(request: &MultipartRequest) -> String {
    let body = match &request.body {
        RequestBody::Flow(filter) | RequestBody::Aggregate(filter) => flow_request(filter),
        RequestBody::PortStats(r) => format!(", port=\"{}\"", port(r.port_no)),
        RequestBody::Queue(r) => {
            format!(
                ", port=\"{}\", q=\"{}\"",
                port(r.port_no),
                queue_id(r.queue_id)
            )
        }
        RequestBody::Group(r) => format!(", group=\"{}\"", group(r.group_id)),
        RequestBody::Meter(r) | RequestBody::MeterConfig(r) => {
            format!("{{meter_id= {:x}\"", r.meter_id.0)
        }
        RequestBody::TableFeatures(tables) if !tables.is_empty() => {
            let tables: String = tables.iter().map(|one| table_features(&one.0)).collect();
            format!(", table_features=\"{tables}\"")
        }
        // The others have no body, or the original does not know them.
        _ => String::new(),
    };
    format!(
        "{{{}{body}}}",
        head(request.body.number(), request.body.name(), request.more)
    )
}

fn flow_request(filter: &FlowStatsRequest) -> String {
    format!(
        ", table=\"{}\", oport=\"{}\", ogrp=\"{}\", cookie={:#x}\", mask={:#x}\", match={}",
        table(filter.table_id),
        port(filter.out_port),
        group(filter.out_group),
        filter.cookie,
        filter.cookie_mask,
        parts::fields(&filter.fields)
    )
}

/// A reply.
pub(crate) fn reply(reply: &MultipartReply) -> String {
    let body = match &reply.body {
        ReplyBody::Desc(d) => format!(
            ", mfr=\"{}\", hw=\"{}\", sw=\"{}\", sn=\"{}\", dp=\"{}\"",
            d.mfr_desc, d.hw_desc, d.sw_desc, d.serial_num, d.dp_desc
        ),
        ReplyBody::Flow(entries) => stats(entries.iter().map(|one| flow_entry(&one.0))),
        ReplyBody::Aggregate(a) => format!(
            ", pkt_cnt=\"{}\", byte_cnt=\"{}\", flow_cnt=\"{}\"",
            a.packet_count, a.byte_count, a.flow_count
        ),
        ReplyBody::Table(tables) => stats(tables.iter().map(table_stats)),
        ReplyBody::PortStats(ports) => stats(ports.iter().map(port_stats)),
        ReplyBody::Queue(queues) => stats(queues.iter().map(queue_stats)),
        ReplyBody::Group(groups) => stats(groups.iter().map(|one| group_stats(&one.0))),
        ReplyBody::GroupDesc(groups) => stats(groups.iter().map(group_desc)),
        ReplyBody::GroupFeatures(features) => group_features(features),
        ReplyBody::Meter(meters) => stats(meters.iter().map(meter_stats)),
        ReplyBody::MeterConfig(meters) => stats(meters.iter().map(meter_config)),
        ReplyBody::MeterFeatures(features) => meter_features(features),
        ReplyBody::TableFeatures(tables) => {
            let tables: String = tables.iter().map(|one| table_features(&one.0)).collect();
            format!(", table_features=\"{tables}\"")
        }
        ReplyBody::PortDesc(ports) => format!("{}}}", list(ports.iter().map(parts::port_desc))),
        // The original does not know the others.
        _ => {
            let text = MultipartReply::from(reply.body.clone());
            format!(", text=\"{}\"", Text(&text))
        }
    };
    format!(
        "{{{}{body}}}",
        head(reply.body.number(), reply.body.name(), reply.more)
    )
}

/// The list that most replies have.
fn stats(items: impl Iterator<Item = String>) -> String {
    format!(", stats=[{}]", list(items))
}

fn flow_entry(e: &FlowEntry) -> String {
    format!(
        "{{table=\"{}\", match=\"{}\", dur_s=\"{}\", dur_ns=\"{}\", prio=\"{}\", idle_to=\"{}\", \
         hard_to=\"{}\"{}, cookie=\"{:#x}\", pkt_cnt=\"{}\", byte_cnt=\"{}\", insts=[{}]}}",
        table(e.table_id),
        parts::fields(&e.fields),
        e.duration_sec,
        e.duration_nsec,
        e.priority,
        e.idle_timeout,
        e.hard_timeout,
        parts::importance(e.importance),
        e.cookie,
        e.packet_count,
        e.byte_count,
        list(e.instructions.list().iter().map(parts::instruction))
    )
}

fn table_stats(t: &TableStats) -> String {
    format!(
        "{{table=\"{}\", active=\"{}\", lookup=\"{}\", match=\"{}\"",
        table(t.table_id),
        t.active_count,
        t.lookup_count,
        t.matched_count
    )
}

fn port_stats(p: &PortStats) -> String {
    format!(
        "{{port=\"{}\", rx_pkt=\"{}\", tx_pkt=\"{}\", rx_bytes=\"{}\", tx_bytes=\"{}\", \
         rx_drops=\"{}\", tx_drops=\"{}\", rx_errs=\"{}\", tx_errs=\"{}\", rx_frm=\"{}\", \
         rx_over=\"{}\", rx_crc=\"{}\", coll=\"{}\"}}",
        port(p.port_no),
        p.rx_packets,
        p.tx_packets,
        p.rx_bytes,
        p.tx_bytes,
        p.rx_dropped,
        p.tx_dropped,
        p.rx_errors,
        p.tx_errors,
        p.rx_frame_err,
        p.rx_over_err,
        p.rx_crc_err,
        p.collisions
    )
}

fn queue_stats(q: &QueueStats) -> String {
    format!(
        "{{port=\"{}\", q=\"{}\", tx_bytes=\"{}\", tx_pkt=\"{}\", tx_err=\"{}\"}}",
        port(q.port_no),
        queue_id(q.queue_id),
        q.tx_bytes,
        q.tx_packets,
        q.tx_errors
    )
}

fn group_stats(g: &GroupCounters) -> String {
    format!(
        "{{group=\"{}\", ref_cnt=\"{}\", pkt_cnt=\"{}\", byte_cnt=\"{}\", cntrs=[{}]}}",
        group(g.group_id),
        g.ref_count,
        g.packet_count,
        g.byte_count,
        list(g.bucket_stats.iter().map(|b| {
            format!(
                "{{pkt_cnt=\"{}\", byte_cnt=\"{}\"}}",
                b.packet_count, b.byte_count
            )
        }))
    )
}

fn group_desc(g: &GroupDesc) -> String {
    format!(
        "{{type=\"{}\", group=\"{}\", buckets=[{}]}}",
        parts::group_type(g.ty),
        group(g.group_id),
        list(g.buckets.iter().map(parts::bucket))
    )
}

/// As in the original, the bracket is not closed. The list of actions, which the original prints
/// wrong, is right here.
fn group_features(f: &GroupFeatures) -> String {
    let mut text = format!(
        ", types=\"{}\", capabilities=\"{} [",
        f.types, f.capabilities.0
    );
    for (i, name) in ["all", "sel", "ind", "ff"].iter().enumerate() {
        let max = f.max_groups[i];
        let bits = f.actions[i];
        let names: String = parts::ACTIONS
            .iter()
            .filter(|row| row.0 < 32 && bits >> row.0 & 1 == 1)
            .map(|row| format!("{}/", row.1))
            .collect();
        let comma = if i == 3 { "" } else { ", " };
        write!(text, "{name}: max_groups={max}, actions= {names}{comma}")
            .expect("a string takes everything");
    }
    text
}

fn meter_stats(m: &MeterStats) -> String {
    format!(
        "{{meter= {:x}\"\", flow_cnt=\"{}\", pkt_in_cnt=\"{}\", byte_in_cnt=\"{}\", \
         duration_sec=\"{}\", duration_nsec=\"{}\", bands=[{}]}}",
        m.meter_id.0,
        m.flow_count,
        m.input.packet_count,
        m.input.byte_count,
        m.duration_sec,
        m.duration_nsec,
        list(m.bands.iter().map(|b| {
            format!(
                "{{pkt_band_cnt=\"{}\", byte_band_cnt=\"{}\"}}",
                b.packet_count, b.byte_count
            )
        }))
    )
}

fn meter_config(m: &MeterConfig) -> String {
    let id = m.meter_id.0;
    let flags = m.flags.0;
    let bands = parts::bands(&m.bands);
    format!("{{meter= {id:x}\"\", flags=\"{flags:x}\", {bands}}}")
}

fn meter_features(f: &MeterFeatures) -> String {
    format!(
        "{{max_meter=\"{}\", band_types=\"{:x}\",capabilities =\"{:x}\", max_bands = {} , \
         max_color = {}}}",
        f.max_meter, f.band_types, f.capabilities, f.max_bands, f.max_color
    )
}

fn table_features(t: &TableFeatureSet) -> String {
    let properties: String = t.properties.iter().map(property).collect();
    format!(
        "{{table=\"{}\", name=\"{}\", metadata_match=\"{:x}\", metadata_write=\"{:x}\", \
         config=\"{}\",max_entries=\"{}\"{properties}",
        table(t.table_id),
        t.name,
        t.metadata_match,
        t.metadata_write,
        t.config,
        t.max_entries
    )
}

fn property(property: &TableProperty) -> String {
    let row = PROPERTIES.iter().find(|row| row.0 == property.ty);
    let (name, kind) = row.map_or(("?", 'e'), |row| (row.1, row.2));
    let name = if name == "match" { "oxms" } else { name };
    let names = if kind == 'i' {
        parts::INSTRUCTIONS
    } else {
        parts::ACTIONS
    };
    let items = match &property.list {
        PropertyList::Types(types) => list(types.iter().map(|id| {
            let row = names.iter().find(|row| row.0 == id.ty);
            row.map_or_else(|| format!("?({})", id.ty), |row| row.1.to_string())
        })),
        PropertyList::Tables(tables) => list(tables.iter().map(|table| table.0)),
        PropertyList::Fields(fields) => list(fields.iter().map(|field| match field {
            FieldId::Known(field, _) => field.name.to_string(),
            FieldId::Unknown(header, _) => format!("?({header})"),
        })),
        PropertyList::Values(values) => list(values.iter()),
        PropertyList::Experimenter(id, ..) => format!("{id:#x}"),
    };
    format!("{{property=\"{name}[{items}]\"}} ")
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::field;
    use bofuss_oflib::message::multipart::table_features::TypeId;
    use bofuss_oflib::types::TableId;

    use super::*;

    #[test]
    fn properties_of_tables_are_named_as_the_original_names_them() {
        let id = |ty| TypeId {
            ty,
            experimenter: 0,
        };
        let fields = [field::IN_PORT, field::ETH_DST].map(|field| FieldId::Known(field, false));
        for (ty, list, text) in [
            (
                0,
                PropertyList::Types(vec![id(4), id(1)]),
                "instructions[apply, goto]",
            ),
            (
                2,
                PropertyList::Tables(vec![TableId(1), TableId(2)]),
                "next_tables[1, 2]",
            ),
            (
                7,
                PropertyList::Types(vec![id(0), id(17)]),
                "apply_actions_miss[out, vlan_psh]",
            ),
            (
                8,
                PropertyList::Fields(fields.into()),
                "oxms[in_port, eth_dst]",
            ),
        ] {
            let text = format!("{{property=\"{text}\"}} ");
            assert_eq!(property(&TableProperty { ty, list }), text);
        }
    }
}
