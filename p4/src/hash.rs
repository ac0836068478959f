//! The hashes and checksums of v1model.

/// How a hash or checksum is computed of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Crc(Crc),
    /// The internet checksum.
    Csum16,
    /// The first eight bytes.
    Identity,
    Xor16,
    Xor32,
    /// A counter: no hash, but each result in turn.
    RoundRobin,
}

/// A cyclic redundancy check, in the words of Ross Williams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crc {
    /// In bits: 8, 16, 32 or 64.
    pub width: u32,
    /// The divisor, without its highest bit.
    pub polynomial: u64,
    /// The register at the start.
    pub initial: u64,
    /// What the result is combined with at the end.
    pub xor_out: u64,
    /// Each byte begins with its lowest bit.
    pub reflect_in: bool,
    /// The result begins with its lowest bit.
    pub reflect_out: bool,
}

const fn crc(width: u32, polynomial: u64, ones: (bool, bool), reflect: bool) -> Algorithm {
    let mask = u64::MAX >> (64 - width);
    Algorithm::Crc(Crc {
        width,
        polynomial,
        initial: if ones.0 { mask } else { 0 },
        xor_out: if ones.1 { mask } else { 0 },
        reflect_in: reflect,
        reflect_out: reflect,
    })
}

/// The algorithms by their names in the JSON. Those that end in `custom` can be set by the control
/// plane, and begin with these values.
const ALGORITHMS: [(&str, Algorithm); 14] = [
    ("crc16", crc(16, 0x8005, (false, false), true)),
    ("crc16_custom", crc(16, 0x8005, (false, false), true)),
    ("crcCCITT", crc(16, 0x1021, (true, false), false)),
    ("crc32", crc(32, 0x04c1_1db7, (true, true), true)),
    ("crc32_custom", crc(32, 0x04c1_1db7, (true, true), true)),
    ("crc8_custom", crc(8, 0x07, (false, false), false)),
    ("crc64_custom", crc(64, 0x1b, (false, false), true)),
    ("csum16", Algorithm::Csum16),
    ("cksum16", Algorithm::Csum16),
    ("identity", Algorithm::Identity),
    ("xor16", Algorithm::Xor16),
    ("xor32", Algorithm::Xor32),
    ("round_robin", Algorithm::RoundRobin),
    ("round_robin_consistent", Algorithm::RoundRobin),
];

impl Algorithm {
    /// The algorithm that the JSON calls `name`.
    pub fn named(name: &str) -> Option<Self> {
        let found = ALGORITHMS.iter().find(|(other, _)| *other == name);
        found.map(|(_, algorithm)| algorithm.clone())
    }

    /// The result for `bytes`; `turn` is what the counter of a round robin has.
    pub fn compute(&self, bytes: &[u8], turn: u64) -> u64 {
        match self {
            Self::Crc(crc) => crc.compute(bytes),
            Self::Csum16 => csum16(bytes).into(),
            Self::Identity => {
                let first = bytes.iter().take(8);
                first.fold(0, |value, byte| value << 8 | u64::from(*byte))
            }
            Self::Xor16 => xor(bytes, 2),
            Self::Xor32 => xor(bytes, 4),
            Self::RoundRobin => turn,
        }
    }
}

impl Crc {
    fn compute(&self, bytes: &[u8]) -> u64 {
        let top = 1 << (self.width - 1);
        let mask = u64::MAX >> (64 - self.width);
        let mut remainder = self.initial & mask;
        for byte in bytes {
            let byte = if self.reflect_in {
                byte.reverse_bits()
            } else {
                *byte
            };
            remainder ^= u64::from(byte) << (self.width - 8);
            for _ in 0..8 {
                let carry = remainder & top != 0;
                remainder = remainder << 1 & mask;
                if carry {
                    remainder ^= self.polynomial & mask;
                }
            }
        }
        if self.reflect_out {
            remainder = remainder.reverse_bits() >> (64 - self.width);
        }
        (remainder ^ self.xor_out) & mask
    }
}

/// RFC 1071. An odd last byte is padded with a zero after it.
fn csum16(bytes: &[u8]) -> u16 {
    // Words of four bytes give the same, as 2^16 counts as 1, and are fewer.
    let mut sum = xor_words(bytes, 4).sum::<u64>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn xor(bytes: &[u8], width: usize) -> u64 {
    xor_words(bytes, width).fold(0, |all, word| all ^ word)
}

/// The words of `width` bytes, the last padded with zeros after it.
fn xor_words(bytes: &[u8], width: usize) -> impl Iterator<Item = u64> {
    bytes.chunks(width).map(move |chunk| match chunk {
        [a, b, c, d] => u32::from_be_bytes([*a, *b, *c, *d]).into(),
        _ => {
            let word = chunk
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
            word << (8 * (width - chunk.len()))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values are those of the catalogue of parametrised CRC algorithms.
    #[test]
    fn checks_of_123456789_are_those_of_the_catalogue() {
        let check = |name: &str| {
            let algorithm = Algorithm::named(name).expect("a name of the list");
            algorithm.compute(b"123456789", 0)
        };
        assert_eq!(check("crc16"), 0xbb3d);
        assert_eq!(check("crcCCITT"), 0x29b1);
        assert_eq!(check("crc32"), 0xcbf4_3926);
        assert_eq!(check("crc8_custom"), 0xf4);
        assert_eq!(check("identity"), 0x3132_3334_3536_3738);
        assert_eq!(check("xor16"), 0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738 ^ 0x3900);
        assert_eq!(check("csum16"), 0xf62a);
    }
}
