//! Hashes and checksums, bit by bit as they are defined.

/// The result of an algorithm for bytes.
pub fn hash(algorithm: &str, bytes: &[u8]) -> u64 {
    match algorithm {
        "crc16" => crc(bytes, 16, 0x8005, [false, false], true),
        "crcCCITT" => crc(bytes, 16, 0x1021, [true, false], false),
        "crc32" => crc(bytes, 32, 0x04c1_1db7, [true, true], true),
        "csum16" => {
            // Ones' complement: what is carried is added again.
            let sum = words(bytes)
                .into_iter()
                .fold(0, |sum: u64, word| match sum + word {
                    sum if sum > 0xffff => sum - 0xffff,
                    sum => sum,
                });
            0xffff - sum
        }
        "xor16" => words(bytes).into_iter().fold(0, |all, word| all ^ word),
        "identity" => bytes
            .iter()
            .take(8)
            .fold(0, |all, byte| all * 256 + u64::from(*byte)),
        other => panic!("{other} is no algorithm of the grammar"),
    }
}

/// Words of two bytes, of which the last may be missing.
fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |two: &[u8]| u64::from(two[0]) * 256 + u64::from(*two.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).collect()
}

/// What is left when the bits, with zeros behind them, are divided by a polynomial. `ones` says
/// whether the first bits and the rest are inverted, `reflect` whether bytes and the rest begin
/// with their lowest bit.
fn crc(bytes: &[u8], width: usize, polynomial: u64, ones: [bool; 2], reflect: bool) -> u64 {
    let mut bits = Vec::new();
    for byte in bytes {
        let places = (0..8).map(|place| if reflect { place } else { 7 - place });
        bits.extend(places.map(|place| byte >> place & 1 == 1));
    }
    bits.resize(bits.len() + width, false);
    if ones[0] {
        bits[..width].iter_mut().for_each(|bit| *bit = !*bit);
    }
    let end = bits.len() - width;
    for at in 0..end {
        if bits[at] {
            for place in 0..width {
                bits[at + 1 + place] ^= polynomial >> (width - 1 - place) & 1 == 1;
            }
        }
    }
    let mut rest = bits.split_off(end);
    if reflect {
        rest.reverse();
    }
    rest.iter()
        .fold(0, |all, bit| all * 2 + u64::from(*bit != ones[1]))
}
