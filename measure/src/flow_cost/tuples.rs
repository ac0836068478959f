//! Tuples of flows by their number: destinations that follow each other, with source ports that are
//! all the same, or such as an attacker would choose.

use crate::crc16::crc16;

/// The first destination address, the source address, and the ports of flows of UDP.
const FIRST_DESTINATION: u32 = 0x0b00_0000;
pub const SOURCE: u32 = 0x0a00_0001;
pub const PORTS: [u16; 2] = [1000, 7];
const UDP: u8 = 17;

/// The CRC-16 of a 5-tuple, by which the paper's switch finds flows.
fn tuple_crc16(destination: u32, source_port: u16) -> u16 {
    let mut bytes = [UDP; 13];
    bytes[..4].copy_from_slice(&SOURCE.to_be_bytes());
    bytes[4..8].copy_from_slice(&destination.to_be_bytes());
    bytes[8..10].copy_from_slice(&source_port.to_be_bytes());
    bytes[10..12].copy_from_slice(&PORTS[1].to_be_bytes());
    crc16(&bytes)
}

/// The source port of a flow, of which these are the ones by what they add to its checksum.
fn port_of(ports: &[u16], number: u32) -> u16 {
    ports[usize::from(tuple_crc16(FIRST_DESTINATION + number, 0))]
}

/// Which tuples flows have, by their number, which is below 2^24.
pub struct Tuples {
    /// If all have one CRC-16, the source port: the sum in GF(2) of what each byte of the number
    /// adds, and of a constant.
    colliding: Option<(u16, [[u16; 256]; 3])>,
}

impl Tuples {
    /// Destinations that follow each other, as in the paper's evaluation.
    pub fn plain() -> Self {
        Self { colliding: None }
    }

    /// The same with source ports by which all have one CRC-16: one chain in the paper's switch.
    pub fn colliding() -> Self {
        let mut ports = vec![0; 1 << 16];
        let base = tuple_crc16(FIRST_DESTINATION, 0);
        for port in 0..=u16::MAX {
            // A checksum is linear, and each port changes it by another amount.
            ports[usize::from(tuple_crc16(FIRST_DESTINATION, port) ^ base)] = port;
        }
        let constant = port_of(&ports, 0);
        let mut parts = [[0; 256]; 3];
        for (byte, part) in parts.iter_mut().enumerate() {
            for (value, added) in (0..).zip(part) {
                *added = port_of(&ports, value << (8 * byte)) ^ constant;
            }
        }
        Self {
            colliding: Some((constant, parts)),
        }
    }

    /// The destination address and the source port of a flow.
    pub fn of(&self, number: u32) -> (u32, u16) {
        let destination = FIRST_DESTINATION + number;
        let Some((constant, parts)) = &self.colliding else {
            return (destination, PORTS[0]);
        };
        let [low, middle, high, _] = number.to_le_bytes().map(usize::from);
        let sum = parts[0][low] ^ parts[1][middle] ^ parts[2][high];
        (destination, constant ^ sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colliding_tuples_have_one_checksum_and_plain_ones_many() {
        let colliding = Tuples::colliding();
        let plain = Tuples::plain();
        let mut checksums = std::collections::BTreeSet::new();
        for number in (0..1_300_000).step_by(997) {
            let (destination, port) = colliding.of(number);
            assert_eq!(tuple_crc16(destination, port), 0, "flow {number}");
            let (destination, port) = plain.of(number);
            checksums.insert(tuple_crc16(destination, port));
        }
        assert!(checksums.len() > 1_000);
    }
}
