//! Replies as ovs-ofctl prints them.

use std::cmp::Reverse;
use std::fmt::{Display, Write};

use bofuss_oflib::Message;
use bofuss_oflib::PortNo;
use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::message::group_mod::GroupType;
use bofuss_oflib::message::meter_mod::{BandKind, MeterFlags};
use bofuss_oflib::message::multipart::group::{BucketCounter, GroupCounters, GroupDesc};
use bofuss_oflib::message::multipart::table_features::TableFeatureSet;
use bofuss_oflib::message::multipart::{
    GroupFeatures, MeterConfig, MeterFeatures, MeterStats, PortStats, QueueStats, ReplyBody,
    TableStats,
};
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::message::{Bucket, MultipartReply, PortDesc};
use bofuss_oflib::types::GroupId;
use bofuss_oflib::wire::Text;

use super::flow::{actions, duration, entry};
use super::fragments;

/// A reply's text; `head` names version and transaction as ovs-ofctl does.
pub(crate) fn text(head: &str, reply: &Message) -> String {
    match reply {
        Message::FeaturesReply(f) => {
            let mut text = format!(
                "OFPT_FEATURES_REPLY {head}: dpid:{:016x}\nn_tables:{}, n_buffers:{}\n\
                 capabilities: {}\n",
                f.datapath_id,
                f.n_tables,
                f.n_buffers,
                words(f.capabilities)
            );
            text.extend(f.ports.iter().map(port_desc));
            text
        }
        Message::GetConfigReply(config) => {
            let (way, length) = (fragments(config.flags), config.miss_send_len.0);
            format!("OFPT_GET_CONFIG_REPLY {head}: frags={way} miss_send_len={length}\n")
        }
        Message::Experimenter(value) => crate::trace::text(value),
        Message::RoleReply(role) => {
            format!("role={} generation_id={}\n", role.role, role.generation_id)
        }
        Message::MultipartReply(reply) => body(head, &reply.body),
        message => format!("{message}\n"),
    }
}

/// Flags with blanks between them, as 0 if there are none.
fn words(flags: impl Display) -> String {
    match flags.to_string().as_str() {
        "0x0" => "0".into(),
        text => text.replace('|', " "),
    }
}

fn body(head: &str, body: &ReplyBody) -> String {
    let mut text = format!("{} {head}:", heading(body));
    match body {
        ReplyBody::Aggregate(a) => {
            let (packets, bytes) = (a.packet_count, a.byte_count);
            let flows = a.flow_count;
            text += &format!(" packet_count={packets} byte_count={bytes} flow_count={flows}\n");
            return text;
        }
        ReplyBody::PortStats(ports) => text += &format!(" {} ports\n", ports.len()),
        ReplyBody::Queue(queues) => text += &format!(" {} queues\n", queues.len()),
        _ => text.push('\n'),
    }
    match body {
        ReplyBody::Desc(desc) => {
            text += &format!("Manufacturer: {}\n", desc.mfr_desc.0);
            text += &format!("Hardware: {}\n", desc.hw_desc.0);
            text += &format!("Software: {}\n", desc.sw_desc.0);
            text += &format!("Serial Num: {}\n", desc.serial_num.0);
            text += &format!("DP Description: {}\n", desc.dp_desc.0);
        }
        ReplyBody::Flow(entries) => {
            let mut entries: Vec<_> = entries.iter().map(|one| &one.0).collect();
            entries.sort_by_key(|entry| (entry.table_id, Reverse(entry.priority)));
            text.extend(entries.iter().map(|one| entry(one) + "\n"));
        }
        ReplyBody::Table(tables) => text += &tables_text(tables),
        ReplyBody::TableFeatures(tables) => text.extend(tables.iter().map(|t| table(&t.0))),
        ReplyBody::PortStats(ports) => {
            // OpenFlow 1.0, which a head does not name, does not tell since when a port is there.
            let is_timed = head.starts_with("(OF");
            text.extend(ports.iter().map(|port| port_stats(port, is_timed)));
        }
        ReplyBody::Queue(queues) => text.extend(queues.iter().map(queue_stats)),
        ReplyBody::Group(groups) => text.extend(groups.iter().map(|g| group_stats(&g.0))),
        ReplyBody::GroupDesc(groups) => text.extend(groups.iter().map(group)),
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
        ReplyBody::PortDesc(ports) => text.extend(ports.iter().map(port_desc)),
        ReplyBody::Aggregate(_) => {}
        // ovs-ofctl does not know the others.
        other => text += &format!("{}\n", Text(&MultipartReply::from(other.clone()))),
    }
    text
}

/// What ovs-ofctl calls a reply.
fn heading(body: &ReplyBody) -> String {
    let name = match body {
        ReplyBody::PortStats(_) => "PORT",
        body => body.name(),
    };
    format!("OFPST_{name} reply")
}

/// A counter, or `?` where the switch does not count.
fn count(count: u64) -> String {
    if count == u64::MAX {
        "?".into()
    } else {
        count.to_string()
    }
}

/// What stands in front of a port's second and third line.
const INDENT: &str = "           ";

fn port_stats(p: &PortStats, is_timed: bool) -> String {
    let pad = if p.port_no.0 < 10 { " " } else { "" };
    let since = match is_timed {
        true => format!(
            "{INDENT}duration={}\n",
            duration(p.duration_sec, p.duration_nsec)
        ),
        false => String::new(),
    };
    format!(
        "  port {pad}{}: rx pkts={}, bytes={}, drop={}, errs={}, frame={}, over={}, crc={}\n\
         {INDENT}tx pkts={}, bytes={}, drop={}, errs={}, coll={}\n{since}",
        p.port_no,
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

fn queue_stats(q: &QueueStats) -> String {
    format!(
        "  port {} queue {}: bytes={}, pkts={}, errors={}, duration={}\n",
        q.port_no,
        q.queue_id,
        q.tx_bytes,
        q.tx_packets,
        q.tx_errors,
        duration(q.duration_sec, q.duration_nsec)
    )
}

fn port_desc(port: &PortDesc) -> String {
    let mut text = format!(
        " {}({}): addr:{}\n",
        port.port_no, port.name.0, port.hw_addr
    );
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
    // A port of OpenFlow 1.0 has no speeds but those of its features.
    let mbps = |kbps, features| match (kbps / 1000, port.curr_speed | port.max_speed) {
        (_, 0) => fastest_mbps(features),
        (mbps, _) => mbps,
    };
    let now = mbps(port.curr_speed, port.curr);
    let max = mbps(port.max_speed, port.supported);
    text + &format!("     speed: {now} Mbps now, {max} Mbps max\n")
}

/// The fastest of these that names a speed; 0 if none does.
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

/// Tables, those that are as the one before in one line.
fn tables_text(tables: &[TableStats]) -> String {
    let figures = |t: &TableStats| (t.active_count, t.lookup_count, t.matched_count);
    let mut runs: Vec<&[TableStats]> = tables.chunk_by(|a, b| figures(a) == figures(b)).collect();
    runs.retain(|run| !run.is_empty());
    let run = |run: &&[TableStats]| {
        let (first, last) = (&run[0], &run[run.len() - 1]);
        let (id, lookup, matched) = (first.table_id, first.lookup_count, first.matched_count);
        let active = first.active_count;
        let mut text = format!("  table {id}:\n    active={active}, ");
        text += &format!("lookup={lookup}, matched={matched}\n");
        text += &match run.len() {
            1 => String::new(),
            2 => format!("\n  table {}: ditto\n", last.table_id),
            _ => format!(
                "\n  tables {}...{}: ditto\n",
                run[1].table_id, last.table_id
            ),
        };
        text
    };
    runs.iter().map(run).collect::<Vec<_>>().join("\n")
}

/// A table's features; a list for the table-miss entry only if it is another.
fn table(table: &TableFeatureSet) -> String {
    let mut text = format!("  table {} (\"{}\"):\n", table.table_id, table.name.0);
    let (matched, written) = (table.metadata_match, table.metadata_write);
    text += &format!("    metadata: match={matched:#x} write={written:#x}\n");
    text += &format!("    max_entries={}\n", table.max_entries);
    let list = |ty: u16| {
        table
            .properties
            .iter()
            .find(|one| one.ty == ty)
            .map(|one| &one.list)
    };
    for one in &table.properties {
        if one.ty & 1 == 0 || list(one.ty & !1) != Some(&one.list) {
            text += &format!("    {}\n", Text(one));
        }
    }
    text
}

fn group(group: &GroupDesc) -> String {
    let mut text = format!(" group_id={},type={}", group.group_id, group.ty);
    text.extend(group.buckets.iter().map(|one| bucket(group.ty, one)));
    text + "\n"
}

fn bucket(ty: GroupType, bucket: &Bucket) -> String {
    let mut text = String::from(",bucket=");
    if ty == GroupType::SELECT && bucket.weight != 1 {
        text += &format!("weight:{},", bucket.weight);
    }
    if bucket.watch_port != PortNo::ANY {
        text += &format!("watch_port:{},", bucket.watch_port);
    }
    if bucket.watch_group != GroupId::ANY {
        text += &format!("watch_group:{},", bucket.watch_group);
    }
    text + "actions=" + &actions(&bucket.actions)
}

fn group_stats(g: &GroupCounters) -> String {
    let mut text = format!(
        " group_id={},duration={},ref_count={},packet_count={},byte_count={}",
        g.group_id,
        duration(g.duration_sec, g.duration_nsec),
        g.ref_count,
        g.packet_count,
        g.byte_count
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

/// ovs-ofctl's order of actions, by their type; behind it those that it does not know.
const ACTION_ORDER: &[u16] = &[
    0, 22, 25, 18, 17, 23, 24, 15, 16, 19, 20, 21, 11, 12, 26, 27,
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
        let has = |number: &&u16| f.actions[i] >> **number & 1 == 1;
        let row = |number: &u16| ACTIONS.iter().find(|row| row.number == *number);
        let called = |number: &u16| match number {
            18 => "strip_vlan",
            number => row(number).map_or("?", |row| row.name),
        };
        let names: Vec<&str> = ACTION_ORDER.iter().filter(has).map(called).collect();
        let names = names.join(" ");
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
        let (packets, bytes) = (band.packet_count, band.byte_count);
        writeln!(text, "{i}: packet_count:{packets} byte_count:{bytes}")
            .expect("a string takes everything");
    }
    text
}

fn meter_features(f: &MeterFeatures) -> String {
    let bands = [(1, "drop"), (2, "dscp_remark")];
    let bands: Vec<&str> = bands
        .iter()
        .filter(|(bit, _)| f.band_types >> bit & 1 == 1)
        .map(|(_, name)| *name)
        .collect();
    format!(
        "max_meter:{} max_bands:{} max_color:{}\nband_types: {}\ncapabilities: {}\n",
        f.max_meter,
        f.max_bands,
        f.max_color,
        bands.join(" "),
        words(MeterFlags(f.capabilities as u16))
    )
}
