//! Sends numbered 64-byte frames (60 without FCS) out of an interface, or checks that they arrive.
//!
//! `generate send INTERFACE COUNT [FRAMES_PER_SEC]`, `generate receive INTERFACE COUNT`.

use std::time::{Duration, Instant};

use bofuss_frame::Pool;
use bofuss_ports::{AfPacket, AfPacketOptions, BATCH_FRAMES, Port};

const FRAME_BYTES: usize = 60;
/// UDP over IPv4 from 10.0.0.1 to 10.0.0.2, port 7 to 7, without UDP checksum; then the frame's
/// number.
const HEAD: [u8; 42] = [
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0x66, 0xbd, 10,
    0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 7, 0, 26, 0, 0,
];
/// How long the receiver waits for the next frame.
const PATIENCE: Duration = Duration::from_secs(3);

fn frame(number: u64) -> [u8; FRAME_BYTES] {
    let mut bytes = [0; FRAME_BYTES];
    bytes[..HEAD.len()].copy_from_slice(&HEAD);
    bytes[HEAD.len()..HEAD.len() + 8].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let open = |name: &str| AfPacket::open(name, AfPacketOptions::default());
    match words[..] {
        ["send", name, count] => send(open(name)?, count.parse()?, 0),
        ["send", name, count, rate] => send(open(name)?, count.parse()?, rate.parse()?),
        ["receive", name, count] => receive(open(name)?, count.parse()?),
        _ => Err("usage: generate send|receive INTERFACE COUNT [FRAMES_PER_SEC]".into()),
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

fn send(mut port: AfPacket, count: u64, rate: u64) -> Done {
    let (pool, start) = (Pool::new(64 << 20), Instant::now());
    let mut batch = Vec::with_capacity(BATCH_FRAMES);
    let mut number = 0;
    while number < count || !batch.is_empty() {
        while batch.len() < BATCH_FRAMES && number < count {
            batch.push(pool.frame(&frame(number)).ok_or("the pool is empty")?);
            number += 1;
        }
        port.send(&mut batch)?;
        let due = (number * 1_000_000_000).checked_div(rate).unwrap_or(0);
        let due = start + Duration::from_nanos(due);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    println!("{}", start.elapsed().as_nanos());
    Ok(())
}

fn receive(mut port: AfPacket, count: u64) -> Done {
    let pool = Pool::new(64 << 20);
    let (mut frames, mut next, mut last) = (Vec::new(), 0, Instant::now());
    println!("ready");
    while next < count {
        port.recv(&pool, &mut frames, BATCH_FRAMES)?;
        for received in frames.drain(..) {
            if received.bytes()[..14] == HEAD[..14] {
                if received.bytes() != frame(next) {
                    return Err(format!("frame {next} is lost, late or changed").into());
                }
                (next, last) = (next + 1, Instant::now());
            }
        }
        if last.elapsed() > PATIENCE {
            return Err(format!("{next} of {count} frames arrived").into());
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}
