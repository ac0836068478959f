//! CRC-16 of CCITT: polynomial 0x1021, from all ones. OpenQFlow's paper hashes flows by it.

/// The checksum of some bytes.
pub fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = u16::MAX;
    for byte in bytes {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            let carries = crc & 0x8000 != 0;
            crc <<= 1;
            if carries {
                crc ^= 0x1021;
            }
        }
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_ccitt() {
        assert_eq!(crc16(b"123456789"), 0x29b1);
    }
}
