//! Flow-mods a second in each version, read from bytes and carried out, as a part of those of 1.3;
//! and what they cost if a full table evicts an entry for each.
//!
//! `cargo bench -p bofuss-agent --bench versions`. The versions take turns, so that a change of the
//! processor's clock meets all; the median of rounds counts.
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
use common::Lab;

const ROUNDS: usize = 9;
/// Flow-mods of a round.
const COUNT: u32 = 50_000;
const CONN: ConnId = ConnId(2);

/// That of the switch, as it is what gives memory back.
#[global_allocator]
static ALLOCATOR: bofuss_ports::Allocator = bofuss_ports::allocator();

/// The time that this thread has run on a processor.
fn cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Has the switch read and carry out a message.
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

/// How long flow-mods of a version take in a table of so many entries, which evicts if it is full.
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
    let start = cpu();
    for bytes in &all {
        receive(&mut lab, &codec, bytes);
    }
    let time = cpu() - start;
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
