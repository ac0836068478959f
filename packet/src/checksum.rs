//! Checksum arithmetic: the Internet checksum, whole and incremental, and CRC32c.

/// The sum of `bytes` as big-endian 16-bit words, the last filled up with zero; see [`fold`].
///
/// A frame's bytes cannot make it overflow. Sums of parts may be added, if each part but the last
/// has an even length.
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    let mut tail = [0; 4];
    tail[..rest.len()].copy_from_slice(rest);
    words.map(wide).sum::<u64>() + wide(&tail)
}

/// Two 16-bit words as one of 32 bits: the carry between them ends up in the same folded sum, and
/// half as many additions do. Source: RFC 1071 section 2 (C).
#[inline]
fn wide(words: &[u8]) -> u64 {
    u64::from(u32::from_be_bytes([words[0], words[1], words[2], words[3]]))
}

/// The ones' complement sum that `sum` stands for, in 16 bits; 0 only if all was zero.
///
/// The Internet checksum is its complement. Spec: RFC 1071 section 1.
#[inline]
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum after some of its input, once of sum `before`, has got the sum `after`. Spec: RFC
/// 1624.
///
/// It is equation 3 there, which is right also where the sum becomes zero.
#[inline]
pub fn update(checksum: u16, before: u64, after: u64) -> u16 {
    !update_partial(!checksum, before, after)
}

/// As [`update`], for a sum that is not complemented: that of a pseudo-header where the sender left
/// the rest to others.
#[inline]
pub fn update_partial(partial: u16, before: u64, after: u64) -> u16 {
    fold(u64::from(partial) + u64::from(!fold(before)) + after)
}

/// The CRC32c of `bytes`, as it is sent: lowest byte first. Spec: RFC 9260 appendix A.
pub fn crc32c(bytes: &[u8]) -> [u8; 4] {
    // The register begins with ones, and is complemented at the end.
    let mut crc = u32::MAX;
    for byte in bytes {
        crc = (crc >> 8) ^ CRC32C[usize::from(crc as u8 ^ byte)];
    }
    (!crc).to_le_bytes()
}

/// The remainders of all bytes by the Castagnoli polynomial, bits reversed: a byte at a time takes
/// one look-up (Sarwate's table).
static CRC32C: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_gives_the_published_check_value() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283u32.to_le_bytes());
    }

    #[test]
    fn sum_is_that_of_16_bit_words_for_every_length() {
        let bytes: [u8; 67] = core::array::from_fn(|i| (i * 37 + 200) as u8);
        for len in 0..bytes.len() {
            let words = bytes[..len].chunks(2);
            let expected = words
                .map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0)))
                .sum();
            assert_eq!(fold(sum(&bytes[..len])), fold(expected), "{len} bytes");
        }
    }

    #[test]
    fn an_incremental_update_equals_a_whole_sum() {
        for (before, after, rest) in [(0, 0, 1), (0xffff, 0, 5), (0, 0xffff, 5), (7, 0xfff0, 9)] {
            let old = !fold(before + rest);
            assert_eq!(update(old, before, after), !fold(after + rest));
        }
    }
}
