//! Prints replies as ovs-ofctl does.

use std::fmt::{Display, Write};

use bofuss_oflib::message::features::Features;
use bofuss_oflib::message::group_mod::GroupType;
use bofuss_oflib::message::meter_mod::{BandKind, MeterFlags};
use bofuss_oflib::message::multipart::group::{BucketCounter, GroupCounters, GroupDesc};
use bofuss_oflib::message::multipart::meter::MeterFeatureFlags;
use bofuss_oflib::message::multipart::table_features::FieldId;
use bofuss_oflib::message::multipart::{
    ExtBody, GroupFeatures, MeterConfig, MeterFeatures, MeterStats, PortStats, QueueStats,
    ReplyBody,
};
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::message::{Bucket, MultipartReply, PortDesc};
use bofuss_oflib::types::GroupId;
use bofuss_oflib::wire::Text;
use bofuss_oflib::{Message, PortNo, Version};

use super::action_names::action_names;
use super::flow::{actions, duration, entry};
use super::wording::Wording;
use super::{filling, fragments, tables};

/// The text of a reply, headed by its version and transaction id.
pub(crate) fn text(wording: Wording<'_>, xid: u32, reply: &Message) -> String {
    let version = wording.version;
    let head = if version == Version::V1_0 {
        format!("(xid={xid:#x})")
    } else {
        format!("(OF{version}) (xid={xid:#x})")
    };
    match reply {
        Message::FeaturesReply(f) => features_reply(version, &head, f),
        Message::GetConfigReply(config) => {
            let mode = fragments(config.flags);
            let length = config.miss_send_len.0;
            format!("OFPT_GET_CONFIG_REPLY {head}: frags={mode} miss_send_len={length}\n")
        }
        Message::Experimenter(value) => crate::trace::text(value, wording.ports),
        Message::RoleReply(role) => {
            format!("role={} generation_id={}\n", role.role, role.generation_id)
        }
        Message::MultipartReply(reply) => body(wording, &head, &reply.body),
        Message::TableStatus(status) => filling::status(&head, status),
        Message::MultipartRequest(request) => {
            let name = request.body.name();
            let text = reply.to_string();
            let rest = text.split_once(name).map_or("", |parts| parts.1);
            format!("OFPST_{name} request {head}:{rest}\n")
        }
        message => {
            let text = message.to_string();
            let name = format!("OFPT_{}", message.name());
            let after_name = text.strip_prefix(&name).unwrap_or_default();
            let rest = after_name.strip_prefix(':').unwrap_or(after_name);
            format!("{name} {head}:{rest}\n")
        }
    }
}

fn features_reply(version: Version, head: &str, f: &Features) -> String {
    let mut text = format!(
        "OFPT_FEATURES_REPLY {head}: dpid:{:016x}\nn_tables:{}, n_buffers:{}\ncapabilities: {}\n",
        f.datapath_id,
        f.n_tables,
        f.n_buffers,
        words(f.capabilities)
    );
    if version == Version::V1_0 {
        let known: Vec<&str> = OLD_ACTIONS
            .iter()
            .filter(|(bit, _)| f.actions >> bit & 1 == 1)
            .map(|row| row.1)
            .collect();
        text += &format!("actions: {}\n", known.join(" "));
    }
    text + &ports(&f.ports)
}

/// The names of flags, separated by blanks; `0` if none is set.
fn words(flags: impl Display) -> String {
    match flags.to_string().as_str() {
        "0x0" => "0".into(),
        text => text.replace('|', " "),
    }
}

fn body(wording: Wording<'_>, head: &str, body: &ReplyBody) -> String {
    let mut text = format!("{} {head}:", heading(body));
    match body {
        ReplyBody::Experimenter(ExtBody(value)) => return crate::extension::lines(value),
        ReplyBody::Aggregate(a) => {
            let packets = a.packet_count;
            let bytes = a.byte_count;
            let flows = a.flow_count;
            text += &format!(" packet_count={packets} byte_count={bytes} flow_count={flows}\n");
            return text;
        }
        ReplyBody::TableFeatures(list) => {
            let list: Vec<_> = list.iter().map(|one| &one.0).collect();
            return tables::features(wording.version, &list);
        }
        ReplyBody::PortStats(ports) => text += &format!(" {} ports\n", ports.len()),
        ReplyBody::Queue(queues) => text += &format!(" {} queues\n", queues.len()),
        _ => text.push('\n'),
    }
    match body {
        ReplyBody::Desc(desc) => {
            text += &format!("Manufacturer: {}\n", desc.mfr_desc);
            text += &format!("Hardware: {}\n", desc.hw_desc);
            text += &format!("Software: {}\n", desc.sw_desc);
            text += &format!("Serial Num: {}\n", desc.serial_num);
            text += &format!("DP Description: {}\n", desc.dp_desc);
        }
        ReplyBody::Flow(entries) => {
            text.extend(entries.iter().map(|one| entry(wording, &one.0) + "\n"));
        }
        ReplyBody::Table(list) => text += &tables::statistics(wording.version, list),
        ReplyBody::PortStats(list) => text.extend(list.iter().map(|p| port_stats(wording, p))),
        ReplyBody::Queue(list) => text.extend(list.iter().map(|q| queue_stats(wording, q))),
        ReplyBody::Group(groups) => {
            text.extend(groups.iter().map(|g| group_stats(wording.version, &g.0)))
        }
        ReplyBody::GroupDesc(groups) => text.extend(groups.iter().map(|one| group(wording, one))),
        ReplyBody::GroupFeatures(features) => text += &group_features(features),
        ReplyBody::Meter(meters) => {
            text += &meters
                .iter()
                .map(meter_stats)
                .collect::<Vec<_>>()
                .join("\n");
        }
        ReplyBody::MeterConfig(meters) => {
            text += &meters.iter().map(meter).collect::<Vec<_>>().join("\n");
        }
        ReplyBody::MeterFeatures(features) => text += &meter_features(features),
        ReplyBody::PortDesc(list) => text += &ports(list),
        ReplyBody::TableDesc(list) => text += &filling::descs(list),
        ReplyBody::Aggregate(_) | ReplyBody::TableFeatures(_) => {}
        // ovs-ofctl does not know the others.
        other => text += &format!("{}\n", Text(&MultipartReply::from(other.clone()))),
    }
    text
}

/// ovs-ofctl's name of a reply.
fn heading(body: &ReplyBody) -> String {
    let name = match body {
        ReplyBody::PortStats(_) => "PORT",
        body => body.name(),
    };
    format!("OFPST_{name} reply")
}

/// A counter, or `?` if the switch does not count it.
fn count(count: u64) -> String {
    if count == u64::MAX {
        "?".into()
    } else {
        count.to_string()
    }
}

/// The indentation of a port's second and third line.
const INDENT: &str = "           ";

fn port_stats(wording: Wording<'_>, p: &PortStats) -> String {
    let pad = if p.port_no.0 < 10 { " " } else { "" };
    let since = if wording.version.has_durations() {
        let duration = duration(p.duration_sec, p.duration_nsec);
        format!("{INDENT}duration={duration}\n")
    } else {
        String::new()
    };
    format!(
        "  port {pad}{}: rx pkts={}, bytes={}, drop={}, errs={}, frame={}, over={}, crc={}\n\
         {INDENT}tx pkts={}, bytes={}, drop={}, errs={}, coll={}\n{since}",
        wording.ports.text(p.port_no),
        count(p.rx_packets),
        count(p.rx_bytes),
        count(p.rx_dropped),
        count(p.rx_errors),
        count(p.rx_frame_err),
        count(p.rx_over_err),
        count(p.rx_crc_err),
        count(p.tx_packets),
        count(p.tx_bytes),
        count(p.tx_dropped),
        count(p.tx_errors),
        count(p.collisions),
    )
}

fn queue_stats(wording: Wording<'_>, q: &QueueStats) -> String {
    let since = if wording.version.has_durations() {
        duration(q.duration_sec, q.duration_nsec)
    } else {
        "?".into()
    };
    format!(
        "  port {} queue {}: bytes={}, pkts={}, errors={}, duration={since}\n",
        wording.ports.text(q.port_no),
        q.queue_id,
        count(q.tx_bytes),
        count(q.tx_packets),
        count(q.tx_errors)
    )
}

/// Ports, sorted by number.
fn ports(list: &[PortDesc]) -> String {
    let mut list: Vec<&PortDesc> = list.iter().collect();
    list.sort_by_key(|port| port.port_no.0);
    list.into_iter().map(port_desc).collect()
}

/// The names of fields, separated by blanks; an unknown field is its header.
fn names_of(fields: &[FieldId]) -> String {
    let mut names = Vec::new();
    for field in fields {
        match field {
            FieldId::Known(field, _) => names.push(field.name.to_string()),
            FieldId::Unknown(header, _) => names.push(header.to_string()),
        }
    }
    names.join(" ")
}

fn port_desc(port: &PortDesc) -> String {
    let mut text = format!(" {}({}): addr:{}\n", port.port_no, port.name, port.hw_addr);
    text += &format!("     config:     {}\n", words(port.config));
    text += &format!("     state:      {}\n", words(port.state));
    for (name, features) in [
        ("current:   ", port.curr),
        ("advertised:", port.advertised),
        ("supported: ", port.supported),
        ("peer:      ", port.peer),
    ] {
        if features.0 != 0 {
            text += &format!("     {name} {}\n", words(features));
        }
    }
    // OpenFlow 1.0 has no speeds: they follow from the port's features.
    let (now, max) = if port.curr_speed | port.max_speed == 0 {
        (fastest_mbps(port.curr), fastest_mbps(port.supported))
    } else {
        (port.curr_speed / 1000, port.max_speed / 1000)
    };
    text += &format!("     speed: {now} Mbps now, {max} Mbps max\n");
    for (name, fields) in [
        ("pipeline input: ", &port.pipeline_input),
        ("pipeline output:", &port.pipeline_output),
    ] {
        if let Some(fields) = fields {
            text += &format!("     {name} {}\n", names_of(fields));
        }
    }
    if let Some(ports) = &port.recirculate {
        let numbers: Vec<String> = ports.iter().map(ToString::to_string).collect();
        text += &format!("     recirculates to: {}\n", numbers.join(" "));
    }
    text
}

/// The highest speed among these features; 0 if there is none.
fn fastest_mbps(features: PortFeatures) -> u32 {
    let speeds = [
        (PortFeatures::HD_10MB | PortFeatures::FD_10MB, 10),
        (PortFeatures::HD_100MB | PortFeatures::FD_100MB, 100),
        (PortFeatures::HD_1GB | PortFeatures::FD_1GB, 1_000),
        (PortFeatures::FD_10GB, 10_000),
        (PortFeatures::FD_40GB, 40_000),
        (PortFeatures::FD_100GB, 100_000),
        (PortFeatures::FD_1TB, 1_000_000),
    ];
    let named = speeds.iter().rfind(|(bits, _)| bits.0 & features.0 != 0);
    named.map_or(0, |(_, mbps)| *mbps)
}

fn group(wording: Wording<'_>, group: &GroupDesc) -> String {
    let mut text = format!(" group_id={},type={}", group.group_id, group.ty);
    text.extend(
        group
            .buckets
            .iter()
            .map(|one| bucket(wording, group.ty, one)),
    );
    text + "\n"
}

fn bucket(wording: Wording<'_>, ty: GroupType, bucket: &Bucket) -> String {
    let mut text = String::from(",bucket=");
    if wording.version >= Version::V1_5 {
        text += &format!("bucket_id:{},", bucket.bucket_id);
    }
    if ty == GroupType::SELECT && bucket.weight != 1 {
        text += &format!("weight:{},", bucket.weight);
    }
    if bucket.watch_port != PortNo::ANY {
        text += &format!("watch_port:{},", wording.ports.text(bucket.watch_port));
    }
    if bucket.watch_group != GroupId::ANY {
        text += &format!("watch_group:{},", bucket.watch_group);
    }
    text + "actions=" + &actions(wording, &bucket.actions)
}

fn group_stats(version: Version, g: &GroupCounters) -> String {
    let since = if version.has_durations() {
        format!("duration={},", duration(g.duration_sec, g.duration_nsec))
    } else {
        String::new()
    };
    let mut text = format!(
        " group_id={},{since}ref_count={},packet_count={},byte_count={}",
        g.group_id, g.ref_count, g.packet_count, g.byte_count
    );
    for (
        i,
        BucketCounter {
            packet_count,
            byte_count,
        },
    ) in g.bucket_stats.iter().enumerate()
    {
        text += &format!(",bucket{i}:packet_count={packet_count},byte_count={byte_count}");
    }
    text + "\n"
}

/// The types of OpenFlow 1.0's actions in ovs-ofctl's order, and their names.
const OLD_ACTIONS: &[(u32, &str)] = &[
    (0, "output"),
    (11, "enqueue"),
    (1, "set_vlan_vid"),
    (2, "set_vlan_pcp"),
    (3, "strip_vlan"),
    (4, "mod_dl_src"),
    (5, "mod_dl_dst"),
    (6, "mod_nw_src"),
    (7, "mod_nw_dst"),
    (8, "mod_nw_tos"),
    (9, "mod_tp_src"),
    (10, "mod_tp_dst"),
];

fn group_features(f: &GroupFeatures) -> String {
    let mut text = format!(
        " Group table:\n    Types:  {:#x}\n    Capabilities:  {:#x}\n",
        f.types, f.capabilities.0
    );
    for (i, name) in ["all", "select", "indirect", "fast failover"]
        .iter()
        .enumerate()
    {
        if f.types >> i & 1 == 0 {
            continue;
        }
        let names = action_names(|number| f.actions[i] >> number & 1 == 1);
        let max = f.max_groups[i];
        text +=
            &format!("    {name} group:\n       max_groups={max:#x}\n       actions: {names}\n");
    }
    text
}

fn meter(meter: &MeterConfig) -> String {
    let mut text = format!("meter={} ", meter.meter_id);
    for (_, name) in MeterFlags::NAMES
        .iter()
        .filter(|(flag, _)| meter.flags.has(*flag))
    {
        text += &format!("{name} ");
    }
    text += "bands=\n";
    for band in &meter.bands {
        let (name, level) = match band.kind {
            BandKind::Drop => ("drop", String::new()),
            BandKind::DscpRemark(level) => ("dscp_remark", format!(" prec_level={level}")),
            BandKind::Experimenter(id) => ("experimenter", format!(" experimenter={id:#x}")),
        };
        text += &format!("type={name} rate={}", band.rate);
        if meter.flags.has(MeterFlags::BURST) {
            text += &format!(" burst_size={}", band.burst_size);
        }
        text += &format!("{level}\n");
    }
    text
}

fn meter_stats(m: &MeterStats) -> String {
    let mut text = format!(
        "meter:{} flow_count:{} packet_in_count:{} byte_in_count:{} duration:{} bands:\n",
        m.meter_id,
        m.flow_count,
        m.input.packet_count,
        m.input.byte_count,
        duration(m.duration_sec, m.duration_nsec)
    );
    for (i, band) in m.bands.iter().enumerate() {
        let packets = band.packet_count;
        let bytes = band.byte_count;
        writeln!(text, "{i}: packet_count:{packets} byte_count:{bytes}")
            .expect("a string takes everything");
    }
    text
}

fn meter_features(f: &MeterFeatures) -> String {
    let bands: Vec<&str> = [(1, "drop"), (2, "dscp_remark")]
        .iter()
        .filter(|(bit, _)| f.band_types >> bit & 1 == 1)
        .map(|(_, name)| *name)
        .collect();
    let mut text = format!(
        "max_meter:{} max_bands:{} max_color:{}\nband_types: {}\ncapabilities: {}\n",
        f.max_meter,
        f.max_bands,
        f.max_color,
        bands.join(" "),
        words(MeterFlags(f.capabilities as u16))
    );
    if f.features != MeterFeatureFlags(0) {
        text += &format!("features: {}\n", words(f.features));
    }
    text
}
