//! Random numbers from a seed.

use serde_json::{Value, json};

pub struct Random(pub u64);

impl Random {
    /// From 0 to `most` less one: SplitMix64.
    pub fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ value >> 31) as usize % most
    }

    /// Whether one of so many cases comes.
    pub fn one_of(&mut self, cases: usize) -> bool {
        self.below(cases) == 0
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Digits in hexadecimal.
    pub fn digits(&mut self, count: usize) -> String {
        (0..count)
            .map(|_| char::from(b"0123456789abcdef"[self.below(16)]))
            .collect()
    }

    /// A constant of an expression.
    pub fn number(&mut self) -> Value {
        let count = self.pick(&[1, 2, 4, 16, 32, 50]);
        json!({"type": "hexstr", "value": format!("0x{}", self.digits(count))})
    }
}
