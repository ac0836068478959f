//! Bytes that are spoilt, from a seed.
#![allow(dead_code, reason = "each test uses some of it")]

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// From 0 to `below` less one.
    pub fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((value ^ value >> 31) % below as u64) as usize
    }

    /// Bytes of which some are others.
    pub fn spoil(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.next(3) {
            let place = self.next(bytes.len());
            bytes[place] = match self.next(3) {
                0 => self.next(256) as u8,
                1 => self.next(16) as u8,
                _ => bytes[place] ^ 1 << self.next(8),
            };
        }
        bytes
    }
}
