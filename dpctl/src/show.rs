//! Replies as text, in the shape that ovs-ofctl gives them.

use std::cmp::Reverse;
use std::fmt;

use bofuss_oflib::Message;
use bofuss_oflib::message::multipart::table_features::TableFeatureSet;
use bofuss_oflib::message::multipart::{PortStats, ReplyBody};
use bofuss_oflib::message::{Features, PortDesc};
use bofuss_oflib::wire::Wire;

use crate::queue;

/// A value's text form.
struct Text<'a, T>(&'a T);

impl<T: Wire> fmt::Display for Text<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(f)
    }
}

/// Prints a reply.
pub(crate) fn reply(message: &Message) {
    match message {
        Message::FeaturesReply(features) => show_features(features),
        Message::GetConfigReply(config) => {
            let fragments =
                ["normal", "drop", "reassemble", "unknown"][usize::from(config.flags.0 & 3)];
            println!("frags={fragments} miss_send_len={}", config.miss_send_len.0);
        }
        Message::QueueGetConfigReply(config) => config.queues.iter().for_each(queue::show),
        Message::Experimenter(value) => print!("{}", String::from_utf8_lossy(&value.data.0)),
        message => match crate::verbs::body(message) {
            Some(body) => show_body(body),
            None => println!("{message}"),
        },
    }
}

fn show_features(features: &Features) {
    println!("dpid:{:016x}", features.datapath_id);
    println!(
        "n_tables:{}, n_buffers:{}",
        features.n_tables, features.n_buffers
    );
    println!(
        "capabilities: {}",
        features.capabilities.to_string().replace('|', " ")
    );
    features.ports.iter().for_each(show_port);
}

/// A table's features; a list for the table-miss entry only if it is another.
fn show_table(table: &TableFeatureSet) {
    println!(" table {} ({}):", table.table_id, table.name.0);
    let (matched, written) = (table.metadata_match, table.metadata_write);
    println!(
        "    max_entries={}, config={:#x}",
        table.max_entries, table.config
    );
    println!("    metadata: match={matched:#x}, write={written:#x}");
    let list = |ty: u16| {
        table
            .properties
            .iter()
            .find(|one| one.ty == ty)
            .map(|one| &one.list)
    };
    for one in &table.properties {
        if one.ty & 1 == 0 || list(one.ty & !1) != Some(&one.list) {
            println!("    {}", Text(one));
        }
    }
}

fn show_body(body: &ReplyBody) {
    match body {
        ReplyBody::Desc(desc) => {
            println!("Manufacturer: {}", desc.mfr_desc.0);
            println!("Hardware: {}", desc.hw_desc.0);
            println!("Software: {}", desc.sw_desc.0);
            println!("Serial Num: {}", desc.serial_num.0);
            println!("DP Description: {}", desc.dp_desc.0);
        }
        ReplyBody::Flow(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|entry| (entry.0.table_id, Reverse(entry.0.priority)));
            entries
                .iter()
                .for_each(|entry| println!(" {}", Text(*entry)));
        }
        ReplyBody::Aggregate(sums) => println!(
            "packet_count={} byte_count={} flow_count={}",
            sums.packet_count, sums.byte_count, sums.flow_count
        ),
        ReplyBody::Table(tables) => {
            let idle = |count: &u64| *count == 0;
            for table in tables
                .iter()
                .filter(|t| t.active_count > 0 || !idle(&t.lookup_count))
            {
                println!(
                    " table {}: active={}, lookup={}, matched={}",
                    table.table_id, table.active_count, table.lookup_count, table.matched_count
                );
            }
            println!(
                " {} tables; those not named are empty and were never looked up",
                tables.len()
            );
        }
        ReplyBody::TableFeatures(tables) => tables.iter().for_each(|table| show_table(&table.0)),
        ReplyBody::PortStats(ports) => ports.iter().for_each(show_port_stats),
        ReplyBody::Queue(queues) => queues.iter().for_each(queue::show_stats),
        ReplyBody::MeterConfig(meters) => meters.iter().for_each(|one| println!(" {}", Text(one))),
        ReplyBody::Meter(meters) => meters.iter().for_each(|one| println!(" {}", Text(one))),
        ReplyBody::PortDesc(ports) => ports.iter().for_each(show_port),
        body => println!(
            "{}",
            Text(&bofuss_oflib::message::MultipartReply::from(body.clone()))
        ),
    }
}

fn show_port_stats(port: &PortStats) {
    println!(
        "  port {:>5}: rx pkts={}, bytes={}, drop={}, errs={}, frame={}, over={}, crc={}",
        port.port_no,
        port.rx_packets,
        port.rx_bytes,
        port.rx_dropped,
        port.rx_errors,
        port.rx_frame_err,
        port.rx_over_err,
        port.rx_crc_err
    );
    println!(
        "              tx pkts={}, bytes={}, drop={}, errs={}, coll={}",
        port.tx_packets, port.tx_bytes, port.tx_dropped, port.tx_errors, port.collisions
    );
    println!(
        "              duration={}.{:09}s",
        port.duration_sec, port.duration_nsec
    );
}

fn show_port(port: &PortDesc) {
    println!(" {}({}): addr:{}", port.port_no, port.name.0, port.hw_addr);
    println!("     config:     {}", port.config);
    println!("     state:      {}", port.state);
    println!(
        "     speed: {} Mbps now, {} Mbps max",
        port.curr_speed / 1000,
        port.max_speed / 1000
    );
}
