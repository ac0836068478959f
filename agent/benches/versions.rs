//! Flow-mods a second in each version, decoded and applied, relative to 1.3; and their cost if a
//! full table evicts an entry for each.
//!
//! `cargo bench -p bofuss-agent --bench versions`. The versions take turns, so that a change of the
//! processor's clock affects all; each is given by its median over the rounds.
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Duration;

use bofuss_agent::{ConnId, FailMode, Request};
use bofuss_datapath::Engine;
use bofuss_oflib::message::table_mod::TableConfig;
use bofuss_oflib::message::{FlowModCommand as C, TableMod};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Codec, Message, Version};
use bofuss_ports::thread_time;
use common::Lab;

const ROUNDS: usize = 9;
/// Flow-mods of a round.
const COUNT: u32 = 50_000;
const CONN: ConnId = ConnId(2);

/// The switch's own allocator, because freeing memory is part of what is measured.
#[global_allocator]
static ALLOCATOR: bofuss_ports::Allocator = bofuss_ports::allocator();

/// Decodes a message and has the switch handle it.
fn receive(lab: &mut Lab, codec: &Codec, bytes: &[u8]) {
    let (xid, message) = codec.decode(bytes).unwrap();
    let request = Request {
        xid,
        head: &bytes[..bytes.len().min(64)],
        message: Ok(message),
    };
    lab.switch.message(lab.now, CONN, request, &mut lab.io);
    while lab.switch.has_work(&lab.io) {
        lab.switch.work(lab.now, &mut lab.io);
    }
}

/// The time that flow-mods of a version take in a table of at most `max_entries`, which evicts when
/// it is full.
fn flow_mods(version: Version, max_entries: u32) -> Duration {
    let mut lab = Lab::with_engine(max_entries, FailMode::Secure, Engine::Cache);
    lab.switch.connected(lab.now, CONN, version, false);
    let codec = Codec::new(version, lab.catalogue.clone());
    let bytes = |message: &Message| {
        let mut bytes = Vec::new();
        codec.encode(7, message, &mut bytes).unwrap();
        bytes
    };
    let mut all = Vec::new();
    for n in 0..COUNT {
        let [_, a, b, c] = n.to_be_bytes();
        let text = format!("priority=1,tcp,nw_src=10.{a}.{b}.{c},tp_dst=80,actions=output:4");
        let flow_mod = parse_flow(&text, C::ADD, &lab.catalogue).unwrap();
        all.push(bytes(&Message::FlowMod(flow_mod)));
    }
    if max_entries < COUNT {
        let evict = bytes(&Message::TableMod(TableMod {
            table_id: TableId(0),
            config: TableConfig::EVICTION.0,
            ..TableMod::default()
        }));
        receive(&mut lab, &codec, &evict);
    }
    let start = thread_time();
    for bytes in &all {
        receive(&mut lab, &codec, bytes);
    }
    let time = thread_time() - start;
    assert_eq!(lab.io.messages, [], "none is refused");
    let entries = lab.switch.datapath().tables()[0].len();
    assert_eq!(entries as u32, COUNT.min(max_entries));
    time
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

fn main() {
    let mut times = vec![Vec::new(); Version::SPOKEN.len()];
    let mut evicting = Vec::new();
    for _ in 0..ROUNDS {
        for (times, version) in times.iter_mut().zip(Version::SPOKEN) {
            times.push(flow_mods(*version, COUNT));
        }
        evicting.push(flow_mods(Version::V1_4, COUNT / 2));
    }
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    let usual = Version::SPOKEN
        .iter()
        .position(|one| *one == Version::USUAL);
    let usual = medians[usual.unwrap()];
    for (time, version) in medians.iter().zip(Version::SPOKEN) {
        let rate = f64::from(COUNT) / time;
        println!(
            "{version}: {rate:>9.0} flow-mods/s, {:.2} of 1.3's",
            usual / time
        );
    }
    let time = median(evicting);
    let rate = f64::from(COUNT) / time;
    println!(
        "1.4, every other one evicts: {rate:>9.0} flow-mods/s, {:.2}",
        usual / time
    );
}
