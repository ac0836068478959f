//! Reads numbers as people write them: decimal, with a prefix, and addresses.

use alloc::format;
use alloc::string::String;
use core::net::Ipv6Addr;

use crate::int::Int;

/// The digits of the longest number.
const MAX_DIGITS: usize = 1 << 14;

/// The bases, by their prefixes.
pub const BASES: [(&str, u32); 3] = [("0x", 16), ("0b", 2), ("0o", 8)];

/// A number: in decimal, or after `0x`, `0b` or `0o`; an address of Ethernet, of IPv4 or of IPv6.
pub fn number(text: &str) -> Result<Int, String> {
    let wrong = || format!("{text} is not a number");
    if text.len() > MAX_DIGITS {
        return Err(wrong());
    }
    let lower = text.to_ascii_lowercase();
    for (prefix, radix) in BASES {
        if let Some(digits) = lower.strip_prefix(prefix) {
            return Int::from_digits(digits, radix).ok_or_else(wrong);
        }
    }
    let negative = lower.strip_prefix('-');
    // One sign only: a text of many would call this as often.
    if let Some(digits) = negative.filter(|digits| !digits.starts_with('-')) {
        return Ok(Int::ZERO.sub(&number(digits)?));
    }
    // An address of Ethernet has six parts, and is none of IPv6.
    if let Ok(address) = lower.parse::<Ipv6Addr>() {
        return Ok(Int::from_bytes(&address.octets()));
    }
    let separated = |separator: char, radix: u32, count: usize| {
        let parts = lower.split(separator);
        (parts.clone().count() == count).then(|| {
            parts
                .map(|part| u8::from_str_radix(part, radix))
                .collect::<Result<alloc::vec::Vec<_>, _>>()
        })
    };
    if let Some(bytes) = separated(':', 16, 6).or_else(|| separated('.', 10, 4)) {
        return bytes
            .map(|bytes| Int::from_bytes(&bytes))
            .map_err(|_| wrong());
    }
    Int::from_digits(&lower, 10).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_sign_at_most() {
        assert_eq!(number("-0x10"), Ok(Int::Small(-16)));
        number("--1").expect_err("two signs");
        number(&"-".repeat(MAX_DIGITS)).expect_err("only signs");
    }

    #[test]
    fn addresses_are_numbers() {
        for (text, wanted) in [
            ("10.0.1.1", 0x0a00_0101),
            ("08:00:00:00:01:11", 0x0800_0000_0111),
            ("::", 0),
            ("::1", 1),
            ("1::2:3:4:5", 0x1_0000_0000_0000_0002_0003_0004_0005),
            ("2001:DB8::1", 0x2001_0db8_0000_0000_0000_0000_0000_0001),
            ("0:0:0:0:0:ffff:10.0.0.1", 0xffff_0a00_0001),
        ] {
            assert_eq!(number(text), Ok(Int::Small(wanted)), "{text}");
        }
        let highest = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
        assert_eq!(number(highest), Ok(Int::highest(128)));
        for wrong in ["1:2:3", "1:2:3:4:5:6:7", ":::", "2001:db8::g", "10.0.1"] {
            number(wrong).expect_err(wrong);
        }
    }
}
