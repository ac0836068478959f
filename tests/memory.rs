//! Memory that is not needed any more goes back to the system, whoever took it.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Codec, Message, Version};
use bofuss_tests::{Lab, have, printed, raw};

const TOOLS: &[&str] = &["ip"];
/// Entries, each with an address and a list of actions that no other has.
const ENTRIES: u32 = 100_000;
/// Of this many entries one stays when the others are deleted.
const SCATTER: u32 = 200;
/// The offset of the last byte of the cookie in a flow-mod.
const COOKIE_END: usize = 15;
/// The cookies of entries that are deleted, and of those that stay.
const GOES: u8 = 1;
const STAYS: u8 = 2;
/// The memory that they take at least, in KiB.
const FULL_KIB: usize = ENTRIES as usize / 3;
/// The time that memory may stay after the last delete or a reader's end.
const RETURN_TIME: Duration = Duration::from_secs(10);
/// A request for the statistics of all entries.
const FLOW_STATS: [u8; 56] = {
    let mut bytes = [0; 56];
    (bytes[0], bytes[1], bytes[3], bytes[9]) = (4, 18, 56, 1);
    // Any table, port and group; a match of no fields.
    let mut at = 20;
    while at < 28 {
        bytes[at] = 0xff;
        at += 1;
    }
    (bytes[16], bytes[49], bytes[51]) = (0xff, 1, 4);
    bytes
};
const FLOW_MOD: u8 = 14;
const BARRIER_REQUEST: [u8; 8] = [4, 20, 0, 8, 0, 0, 0, 1];
const BARRIER_REPLY: u8 = 21;

fn connect(port: u16) -> TcpStream {
    let mut stream = raw::connect(port);
    stream.write_all(&raw::HELLO).unwrap();
    stream
}

/// Reads until all that was sent has been done. Panics: at an error.
fn done(stream: &mut TcpStream) {
    stream.write_all(&BARRIER_REQUEST).unwrap();
    loop {
        let bytes = raw::message(stream).unwrap();
        assert_ne!(bytes[1], 1, "an ERROR: {bytes:?}");
        if bytes[1] == BARRIER_REPLY {
            return;
        }
    }
}

fn flow_mod(command: FlowModCommand, text: &str) -> Vec<u8> {
    let flow = parse_flow(text, command, &Arc::default()).unwrap();
    let codec = Codec::new(Version::V1_3, Arc::default());
    let mut bytes = Vec::new();
    codec
        .encode(1, &Message::FlowMod(flow), &mut bytes)
        .unwrap();
    assert_eq!(bytes[1], FLOW_MOD);
    bytes
}

/// Adds all entries, with a flow-removed each when they are deleted.
fn fill(stream: &mut TcpStream) {
    let text =
        "send_flow_rem,cookie=1,idle_timeout=3600,ip,nw_dst=1.2.3.4,actions=output:0x01020304";
    let template = flow_mod(FlowModCommand::ADD, text);
    let places: Vec<usize> = (0..template.len() - 4)
        .filter(|at| template[*at..at + 4] == [1, 2, 3, 4])
        .collect();
    assert_eq!(places.len(), 2, "the address and the port");
    for first in (1..=ENTRIES).step_by(1000) {
        let mut bytes = Vec::new();
        for number in first..first + 1000 {
            let mut message = template.clone();
            for at in &places {
                message[*at..at + 4].copy_from_slice(&number.to_be_bytes());
            }
            let stays = number.is_multiple_of(SCATTER);
            message[COOKIE_END] = if stays { STAYS } else { GOES };
            bytes.extend(message);
        }
        stream.write_all(&bytes).unwrap();
    }
    done(stream);
}

/// Panics: if the switch takes more than 1.3 times `fresh_kib` and 16 MiB for too long.
fn returns_to(fresh_kib: usize, lab: &Lab) {
    let allowed_kib = fresh_kib * 13 / 10 + (16 << 10);
    let start = Instant::now();
    while lab.resident_kib() > allowed_kib {
        let is = lab.resident_kib();
        assert!(start.elapsed() < RETURN_TIME, "{is} KiB of {allowed_kib}");
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn memory_of_entries_goes_back_within_ten_seconds_of_the_last_delete() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:16678", "--inactivity-probe", "0"]);
    let fresh = lab.resident_kib();
    for _ in 0..2 {
        let mut stream = connect(16678);
        fill(&mut stream);
        assert!(lab.resident_kib() > fresh + FULL_KIB);
        stream
            .write_all(&flow_mod(FlowModCommand::DELETE, ""))
            .unwrap();
        done(&mut stream);
        returns_to(fresh, &lab);
    }
}

#[test]
fn memory_goes_back_when_few_entries_are_left_far_from_each_other() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:16681", "--inactivity-probe", "0"]);
    let fresh = lab.resident_kib();
    let mut stream = connect(16681);
    fill(&mut stream);
    assert!(lab.resident_kib() > fresh + FULL_KIB);
    let delete = flow_mod(FlowModCommand::DELETE, "cookie=1/-1");
    stream.write_all(&delete).unwrap();
    done(&mut stream);
    returns_to(fresh, &lab);
    let shown = printed(&lab.dpctl(&["dump-aggregate", "cookie=2/-1"]));
    assert!(shown.contains("flow_count=500"), "{shown}");
}

// I11
#[test]
fn memory_of_slow_readers_goes_back_within_ten_seconds_of_their_end() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:16679", "--inactivity-probe", "0"]);
    let fresh = lab.resident_kib();
    let mut stream = connect(16679);
    fill(&mut stream);
    let mut readers = [(); 4].map(|()| connect(16679));
    for reader in &mut readers {
        reader.write_all(&FLOW_STATS.repeat(4)).unwrap();
    }
    for _ in 0..50 {
        sleep(Duration::from_millis(20));
        assert!(lab.pings(1, 2), "packets pass while they read");
        readers
            .iter_mut()
            .for_each(|reader| _ = reader.read(&mut [0; 4096]).unwrap());
    }
    // They get a flow-removed for each entry, until too much waits for them.
    stream
        .write_all(&flow_mod(FlowModCommand::DELETE, "cookie=1/-1"))
        .unwrap();
    thread::scope(|scope| {
        scope.spawn(|| done(&mut stream));
        assert!(lab.pings(1, 2), "packets pass while the entries go");
    });
    drop(readers);
    assert!(lab.pings(1, 2), "packets pass while their memory goes back");
    returns_to(fresh, &lab);
}
