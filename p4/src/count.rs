//! What a counter has.

/// The value of a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many.
    pub packets: u64,
    /// Of all of them.
    pub bytes: u64,
}

impl Count {
    /// Counts one packet. Above the highest number, which a control plane may have set, it begins
    /// with 0 again.
    pub fn add(&mut self, bytes: usize) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_at_its_end_begins_again() {
        let mut count = Count {
            packets: u64::MAX,
            bytes: u64::MAX - 9,
        };
        count.add(60);
        assert_eq!((count.packets, count.bytes), (0, 50));
    }
}
