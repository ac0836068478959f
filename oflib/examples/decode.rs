//! Prints OpenFlow messages as text: those in the hexadecimal argument, or those of a stream of
//! bytes on standard input, such as one direction of a TCP connection out of a capture.
//!
//! `cargo run -p bofuss-oflib --example decode 0414000800000001`

use std::error::Error;
use std::io::Read;
use std::sync::Arc;

use bofuss_oflib::text::parse_bytes;
use bofuss_oflib::{Assembler, Codec, Framer, Version};

/// Bytes of unfinished multipart messages that are kept.
const MAX_UNFINISHED_BYTES: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::new();
    match std::env::args().nth(1) {
        Some(digits) => bytes = parse_bytes(&digits)?,
        None => _ = std::io::stdin().read_to_end(&mut bytes)?,
    }
    let version = bytes.first().and_then(|number| Version::of_number(*number));
    let codec = Codec::new(version.unwrap_or(Version::NEWEST), Arc::default());
    let mut assembler = Assembler::new(codec, MAX_UNFINISHED_BYTES);
    let mut framer = Framer::new();
    framer.push(&bytes);
    while let Some(frame) = framer.next_message()? {
        match assembler.receive(frame) {
            Ok(Some((xid, message))) => println!("xid={xid:#x} {message}"),
            Ok(None) => {}
            Err(refused) => println!("{}", refused.cause),
        }
    }
    if !framer.buffered().is_empty() {
        println!("{} bytes of a further message", framer.buffered().len());
    }
    Ok(())
}
