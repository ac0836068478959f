//! Reads and writes fields that begin at any bit.

use alloc::vec::Vec;

use crate::int::Int;

/// The bytes that must be there behind the last field which is read or written as a word.
pub const SLACK: usize = 8;
/// Why there are eight bytes.
const SLACK_IS_THERE: &str = "fields have SLACK bytes behind them";

/// The widest field that is read as one machine word, whatever bit it begins at.
const WORD: usize = 120;

/// The `width` bits of `bytes` from bit `start` on. Panics: if they are not all there.
pub fn read(bytes: &[u8], start: usize, width: u32) -> Int {
    let end = start + width as usize;
    let taken = &bytes[start / 8..end.div_ceil(8)];
    let behind = (8 - end % 8) % 8;
    if width <= 56 {
        let all = taken
            .iter()
            .fold(0_u64, |v, byte| v << 8 | u64::from(*byte));
        return Int::from(all >> behind & ((1 << width) - 1));
    }
    if width as usize <= WORD {
        let all = taken
            .iter()
            .fold(0_u128, |v, byte| v << 8 | u128::from(*byte));
        let mask = (1_u128 << width) - 1;
        return Int::Small((all >> behind & mask) as i128);
    }
    let all = Int::from_bytes(taken);
    all.shr(&Int::Small(behind as i128)).wrapped(width)
}

/// Whether a field lies within the eight bytes from its first one on.
#[inline]
pub fn is_word(start: usize, width: u32) -> bool {
    width > 0 && start % 8 + width as usize <= 64
}

/// A field for which [`is_word`] holds, at least eight bytes before the end of `bytes`.
#[inline]
pub fn read_word(bytes: &[u8], start: usize, width: u32) -> u64 {
    let eight = bytes[start / 8..].first_chunk().expect(SLACK_IS_THERE);
    u64::from_be_bytes(*eight) << (start % 8) >> (64 - width)
}

/// Writes the lowest bits of `value` into such a field.
#[inline]
pub fn write_word(bytes: &mut [u8], start: usize, width: u32, value: u64) {
    let eight = bytes[start / 8..].first_chunk_mut().expect(SLACK_IS_THERE);
    let behind = 64 - (start % 8) as u32 - width;
    let mask = u64::MAX >> (64 - width) << behind;
    let kept = u64::from_be_bytes(*eight) & !mask;
    *eight = (kept | value << behind & mask).to_be_bytes();
}

/// Writes the lowest `width` bits of `value` from bit `start` on, seven bytes before the end or
/// more.
pub fn write(bytes: &mut [u8], start: usize, width: u32, value: &Int) {
    let mut rest = value.clone();
    let mut left = width;
    while left > 0 {
        let part = left.min(32);
        left -= part;
        write_word(bytes, start + left as usize, part, rest.low());
        rest = rest.shr(&Int::Small(part.into()));
    }
}

/// Bytes that fields are appended to.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// Bits that the last byte has left.
    left: u32,
}

impl Writer {
    /// One that overwrites `bytes`, with room for so many.
    pub fn within(mut bytes: Vec<u8>, room: usize) -> Self {
        bytes.clear();
        bytes.reserve(room);
        Self { bytes, left: 0 }
    }

    /// The bytes. The last is padded with zeros.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends the lowest `width` bits of `value`.
    pub fn push(&mut self, value: &Int, width: u32) {
        if width <= 64 {
            return self.push_word(value.low(), width);
        }
        if self.left == 0 && width % 8 == 0 {
            return value.append_to(width, &mut self.bytes);
        }
        let mut bytes = Vec::new();
        value.append_to(width, &mut bytes);
        let first = width - (bytes.len() as u32 - 1) * 8;
        for (index, byte) in bytes.iter().enumerate() {
            let width = if index == 0 { first } else { 8 };
            self.push_word((*byte).into(), width);
        }
    }

    fn push_word(&mut self, value: u64, mut width: u32) {
        if self.left == 0 && width % 8 == 0 {
            let bytes = value.to_be_bytes();
            self.bytes
                .extend_from_slice(&bytes[8 - width as usize / 8..]);
            return;
        }
        while width > 0 {
            if self.left == 0 {
                self.bytes.push(0);
                self.left = 8;
            }
            let taken = width.min(self.left);
            let part = (value >> (width - taken)) as u8 & (0xff_u16 >> (8 - taken)) as u8;
            self.left -= taken;
            width -= taken;
            if let Some(last) = self.bytes.last_mut() {
                *last |= part << self.left;
            }
        }
    }

    /// Appends the `width` bits of `bytes` from bit `start` on.
    pub fn push_bits(&mut self, bytes: &[u8], start: usize, width: u32) {
        let (at, count) = (start / 8, width as usize / 8);
        if self.left == 0 && start % 8 == 0 && width % 8 == 0 {
            return self.bytes.extend_from_slice(&bytes[at..at + count]);
        }
        let mut done = 0;
        while done < width {
            let part = (width - done).min(32);
            let value = read_word(bytes, start + done as usize, part);
            self.push_word(value, part);
            done += part;
        }
    }

    /// Appends whole bytes. A byte that is not full is filled with zeros before.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.left = 0;
        self.bytes.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_all_widths_and_offsets_come_back() {
        for width in [1, 3, 8, 13, 64, 65, 119, 120, 121, 200] {
            for offset in 0..9 {
                let mut writer = Writer::default();
                writer.push(&Int::highest(offset), offset);
                let value = Int::power(width - 1).or(&Int::Small(1)).wrapped(width);
                writer.push(&value, width);
                writer.push(&Int::ZERO, 5);
                let bytes = writer.into_bytes();
                assert_eq!(
                    read(&bytes, offset as usize, width),
                    value,
                    "{width} at {offset}"
                );
            }
        }
    }

    #[test]
    fn a_field_that_is_written_is_read_and_its_neighbours_stay() {
        for width in [1, 3, 8, 13, 57, 63, 64, 65, 120, 128, 200] {
            for start in 0..9_usize {
                let end = start + width as usize;
                let mut bytes = alloc::vec![0xff; end.div_ceil(8) + SLACK];
                let value = Int::power(width - 1).or(&Int::from(width > 1));
                let value = if width == 3 { Int::ZERO } else { value };
                write(&mut bytes, start, width, &value);
                assert_eq!(read(&bytes, start, width), value, "{width} at {start}");
                if is_word(start, width) {
                    assert_eq!(read_word(&bytes, start, width), value.low());
                }
                let before = read(&bytes, 0, start as u32);
                assert_eq!(before, Int::highest(start as u32), "{width} at {start}");
                assert_eq!(
                    read(&bytes, end, 13),
                    Int::highest(13),
                    "{width} at {start}"
                );
                let mut writer = Writer::default();
                writer.push(&Int::ZERO, 3);
                writer.push_bits(&bytes, start, width);
                assert_eq!(read(&writer.into_bytes(), 3, width), value);
            }
        }
    }
}
