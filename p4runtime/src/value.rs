//! Byte strings of P4Runtime: unsigned numbers in network order, in the shortest form when sent.

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
}
