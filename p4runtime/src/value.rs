//! Byte strings of P4Runtime: numbers in network order, in the shortest form when sent.

use bofuss_p4::Int;

use crate::error::{Refusal, Result};

/// The number that a byte string is. Errors: it is empty, or wider than `width` bits.
pub fn parse(bytes: &[u8], width: u32, name: &str) -> Result<Int> {
    if bytes.is_empty() {
        return Err(Refusal::invalid(format!("{name} has no value")));
    }
    let start = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = &bytes[start..];
    let first = bytes.first().map_or(0, |byte| byte.leading_zeros());
    let bits = (bytes.len() as u64 * 8).saturating_sub(first.into());
    if bits > u64::from(width) {
        let what = format!("{name} has {width} bits, and its value {bits}");
        return Err(Refusal::new(tonic::Code::OutOfRange, what));
    }
    Ok(Int::from_bytes(bytes))
}

/// The number that a byte string is in two's complement. Errors: it is empty, or does not fit a
/// signed field of `width` bits.
pub fn parse_signed(bytes: &[u8], width: u32, name: &str) -> Result<Int> {
    if bytes.is_empty() {
        return Err(Refusal::invalid(format!("{name} has no value")));
    }
    // Copies of the sign in front say nothing.
    let repeats = |pair: &&[u8]| matches!(pair, [0, 0..=0x7f] | [0xff, 0x80..=0xff]);
    let start = bytes.windows(2).take_while(repeats).count();
    let bytes = &bytes[start..];
    if bytes.len() <= width.div_ceil(8) as usize {
        let value = Int::from_bytes(bytes).signed(bytes.len() as u32 * 8);
        if value.signed(width) == value {
            return Ok(value);
        }
    }
    let what = format!("{name} is signed and has {width} bits, which its value does not fit");
    Err(Refusal::new(tonic::Code::OutOfRange, what))
}

/// The shortest byte string of a number in two's complement: at least one byte.
pub fn canonical_signed(value: &Int) -> Vec<u8> {
    let magnitude = if value.is_negative() {
        value.not()
    } else {
        value.clone()
    };
    // One bit is the sign.
    let count = (magnitude.bits() + 1).div_ceil(8);
    let mut bytes = Vec::new();
    value.append_to(count as u32 * 8, &mut bytes);
    bytes
}

/// The shortest byte string of a number of `width` bits: at least one byte.
pub fn canonical(value: &Int, width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.append_to(width.max(1), &mut bytes);
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros.min(bytes.len() - 1));
    bytes
}

/// A width in bits. Errors: none, as of what is translated to strings.
pub fn width(bits: i32, name: &str) -> Result<u32> {
    match u32::try_from(bits) {
        Ok(bits) if bits > 0 => Ok(bits),
        _ => {
            let what = format!("{name} has no width: translation to strings is not there");
            Err(Refusal::missing(what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_strings_are_read_in_any_length_and_written_in_the_shortest() {
        for (bytes, shortest) in [
            (&[0, 0][..], &[0][..]),
            (&[0, 0, 1, 0], &[1, 0]),
            (&[1, 255], &[1, 255]),
        ] {
            let value = parse(bytes, 9, "x").expect("it fits");
            assert_eq!(canonical(&value, 9), shortest);
        }
        assert_eq!(
            parse(&[2, 0], 9, "x").expect_err("10 bits").message,
            "x has 9 bits, and its value 10"
        );
        parse(&[], 9, "x").expect_err("no byte");
    }

    #[test]
    fn signed_numbers_have_the_byte_strings_of_the_specification() {
        for (width, number, bytes, shortest) in [
            (8, 99, &[0x63][..], &[0x63][..]),
            (8, -99, &[0xff, 0x9d], &[0x9d]),
            (12, -739, &[0xfd, 0x1d], &[0xfd, 0x1d]),
            (16, 0, &[0, 0], &[0]),
            (16, 200, &[0, 0, 200], &[0, 200]),
            (32, -1, &[0xff; 4], &[0xff]),
            (8, -128, &[0x80], &[0x80]),
        ] {
            let number = Int::Small(number);
            assert_eq!(parse_signed(bytes, width, "x").as_ref(), Ok(&number));
            assert_eq!(canonical_signed(&number), shortest, "{number}");
        }
        for (width, bytes) in [
            (8, &[0, 0x9d][..]),
            (12, &[0x8d, 0x1d]),
            (12, &[8, 0]),
            (16, &[1, 0, 0]),
            (16, &[]),
        ] {
            let refused = parse_signed(bytes, width, "x");
            refused.expect_err("it is empty or does not fit");
        }
    }
}
