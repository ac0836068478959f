//! A peer of the switch that sends and reads bytes, right or wrong.

use std::io::Read;
use std::net::TcpStream;

use crate::PATIENCE;

/// A HELLO of OpenFlow 1.3 without elements.
pub const HELLO: [u8; 8] = [4, 0, 0, 8, 0, 0, 0, 1];

/// Connects to a port of the switch on loopback.
pub fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads one message; none if the connection ends before.
pub fn message(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 8];
    stream.read_exact(&mut bytes).ok()?;
    bytes.resize(u16::from_be_bytes([bytes[2], bytes[3]]).into(), 0);
    stream.read_exact(&mut bytes[8..]).ok()?;
    Some(bytes)
}
