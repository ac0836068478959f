//! Plays inputs from the standard input on an embedded switch, and prints the effects. The test
//! `python/tests/test_switch.py` does the same in Python, and compares.
//!
//! A line is `TIME frame PORT HEX`, `TIME feed HEX` (on the only connection) or `TIME tick`. Times
//! are nanoseconds. The switch has ports 1 to 4.

use std::error::Error;
use std::io::stdin;

use bofuss_embed::{ConnId, Effect, EmbeddedConfig, EmbeddedSwitch, Time, port};
use bofuss_oflib::text::{number, parse_bytes};
use bofuss_oflib::wire::{Bytes, Text};
use bofuss_oflib::{ErrorCode, PortNo};

fn main() -> Result<(), Box<dyn Error>> {
    let mut switch = EmbeddedSwitch::new(Time(0), EmbeddedConfig::default())?;
    for number in 1..=4 {
        switch.add_port(Time(0), port(number), Default::default())?;
    }
    let conn = switch.connect(true);
    for line in stdin().lines() {
        play(&mut switch, conn, &line?)?;
        for effect in switch.drain() {
            println!("{}", text_of(&effect));
        }
    }
    Ok(())
}

fn play(switch: &mut EmbeddedSwitch, conn: ConnId, line: &str) -> Result<(), Box<dyn Error>> {
    let words: Vec<&str> = line.split(' ').collect();
    let now = Time(number(words[0]).ok_or("no time")?);
    match words[1..] {
        ["frame", port, hex] => {
            let frame = switch.frame(&parse_bytes(hex)?).ok_or("no room")?;
            switch.receive(now, PortNo(port.parse()?), &mut vec![frame])?;
        }
        ["feed", hex] => {
            let bytes = parse_bytes(hex)?;
            assert_eq!(switch.feed(now, conn, &bytes)?, bytes.len());
        }
        ["tick"] => switch.tick(now),
        _ => return Err(format!("no input: {line}").into()),
    }
    Ok(())
}

fn text_of(effect: &Effect) -> String {
    match effect {
        Effect::Transmit { port, queue, frame } => {
            let bytes = Bytes(frame.bytes().to_vec());
            format!("transmit {} {} {}", port.0, queue.0, Text(&bytes))
        }
        Effect::Send { conn, bytes } => {
            format!("send {} {}", conn.0, Text(&Bytes(bytes.clone())))
        }
        Effect::Close { conn, why } => format!("close {} {why}", conn.0),
        Effect::SetLink { port, up } => format!("link {} {}", port.0, u8::from(*up)),
        Effect::Refused { conn, xid, error } => {
            let ErrorCode { ty, code, .. } = error;
            format!("refused {} {xid} {ty} {code}", conn.0)
        }
        other => format!("{other:?}"),
    }
}
