//! Tuples of flows by their number: destinations that follow each other, with source ports that are
//! all the same, or such as an attacker would choose; and destinations and ports at random.

use crate::openqflow::crc16::crc16;

/// The first destination address, the source address, and the ports of flows of UDP.
const FIRST_DESTINATION: u32 = 0x0b00_0000;
pub const SOURCE: u32 = 0x0a00_0001;
pub const PORTS: [u16; 2] = [1000, 7];
const UDP: u8 = 17;

/// The factor that scatters numbers. It is odd, so that no two numbers below 2^24 share a
/// destination. Source: Fibonacci hashing, 2^32 over the golden ratio (Knuth, TAOCP volume 3,
/// section 6.4).
const SCATTER: u32 = 0x9e37_79b1;
const DESTINATIONS: u32 = 1 << 24;

/// The CRC-16 of a 5-tuple, by which the paper's switch finds flows.
fn tuple_crc16(destination: u32, source_port: u16) -> u16 {
    let mut bytes = [UDP; 13];
    bytes[..4].copy_from_slice(&SOURCE.to_be_bytes());
    bytes[4..8].copy_from_slice(&destination.to_be_bytes());
    bytes[8..10].copy_from_slice(&source_port.to_be_bytes());
    bytes[10..12].copy_from_slice(&PORTS[1].to_be_bytes());
    crc16(&bytes)
}

/// The source port that gives a flow the common checksum. `ports` has a port for each change of the
/// checksum.
fn port_of(ports: &[u16], number: u32) -> u16 {
    ports[usize::from(tuple_crc16(FIRST_DESTINATION + number, 0))]
}

/// The tuples of flows, by their number, which is below 2^24.
pub enum Tuples {
    /// Destinations that follow each other, as in the paper's evaluation.
    Sequential,
    /// Destinations and source ports that look random.
    Scattered,
    /// Destinations that follow each other, with source ports by which all have one CRC-16: the sum
    /// in GF(2) of a constant and of what each byte of the number adds.
    Colliding(u16, Box<[[u16; 256]; 3]>),
}

impl Tuples {
    /// All with one CRC-16: one chain in the paper's switch.
    pub fn colliding() -> Self {
        let mut ports = vec![0; 1 << 16];
        let base = tuple_crc16(FIRST_DESTINATION, 0);
        for port in 0..=u16::MAX {
            // A CRC is linear, and each port changes it in another way.
            ports[usize::from(tuple_crc16(FIRST_DESTINATION, port) ^ base)] = port;
        }
        let constant = port_of(&ports, 0);
        let mut parts = Box::new([[0; 256]; 3]);
        for (byte, part) in parts.iter_mut().enumerate() {
            for (value, added) in (0..).zip(part) {
                *added = port_of(&ports, value << (8 * byte)) ^ constant;
            }
        }
        Self::Colliding(constant, parts)
    }

    /// The destination address and the source port of a flow.
    pub fn of(&self, number: u32) -> (u32, u16) {
        let destination = FIRST_DESTINATION + number;
        let (constant, parts) = match self {
            Self::Sequential => return (destination, PORTS[0]),
            Self::Scattered => {
                let scattered = number.wrapping_mul(SCATTER);
                let destination = FIRST_DESTINATION + scattered % DESTINATIONS;
                return (destination, (scattered >> 16) as u16);
            }
            Self::Colliding(constant, parts) => (constant, parts),
        };
        let [low, middle, high, _] = number.to_le_bytes().map(usize::from);
        let sum = parts[0][low] ^ parts[1][middle] ^ parts[2][high];
        (destination, constant ^ sum)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn colliding_tuples_have_one_checksum_and_others_many() {
        let colliding = Tuples::colliding();
        for tuples in [Tuples::Sequential, Tuples::Scattered] {
            let mut checksums = BTreeSet::new();
            for number in (0..1_300_000).step_by(997) {
                let (destination, port) = tuples.of(number);
                checksums.insert(tuple_crc16(destination, port));
            }
            assert!(checksums.len() > 1_000);
        }
        for number in (0..1_300_000).step_by(997) {
            let (destination, port) = colliding.of(number);
            assert_eq!(tuple_crc16(destination, port), 0, "flow {number}");
        }
    }

    #[test]
    fn no_two_flows_share_a_scattered_tuple_and_neighbours_are_far_apart() {
        let mut seen = BTreeSet::new();
        let mut near = 0;
        let mut last = 0_u32;
        for number in 0..100_000 {
            let tuple = Tuples::Scattered.of(number);
            near += u32::from(tuple.0.abs_diff(last) < 0x1_0000);
            last = tuple.0;
            assert!(seen.insert(tuple), "flow {number}");
        }
        assert!(near < 1_000, "{near}");
    }
}
