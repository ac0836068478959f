//! Reads prefixes, masks and ranges as test cases have them.

use alloc::format;
use alloc::string::String;

use crate::int::Int;
use crate::number::{BASES, number};
use crate::program::{KeyPart, Match, MatchKind};

/// A number of which some digits are stars: the value and the mask.
fn starred(text: &str) -> Result<(Int, Int), String> {
    let lower = text.to_ascii_lowercase();
    let base = BASES.iter().find(|(prefix, _)| lower.starts_with(prefix));
    let Some((prefix, radix)) = base else {
        return Err(format!("{text} has stars, and no base"));
    };
    let digits = &lower[prefix.len()..];
    let highest = char::from_digit(radix - 1, *radix).unwrap_or('f');
    let value = digits.replace('*', "0");
    let mask: String = digits
        .chars()
        .map(|c| if c == '*' { '0' } else { highest })
        .collect();
    let wrong = || format!("{text} is not a number");
    let value = Int::from_digits(&value, *radix).ok_or_else(wrong)?;
    Ok((value, Int::from_digits(&mask, *radix).ok_or_else(wrong)?))
}

/// What a part of a key is matched with: a number, one with stars, `VALUE/LENGTH`, `VALUE&&&MASK`,
/// `LOW..HIGH` or `LOW->HIGH`.
pub fn matched(part: &KeyPart, text: &str) -> Result<Match, String> {
    let ternary = |value: Int, mask: Int| {
        let mask = mask.wrapped(part.width);
        Match::Ternary(value.and(&mask), mask)
    };
    if let Some((value, mask)) = text.split_once("&&&") {
        return Ok(ternary(number(value)?, number(mask)?));
    }
    if let Some((value, length)) = text.split_once('/') {
        let most = part.width;
        let bits = u32::try_from(number(length)?.index());
        return match bits.ok().filter(|bits| *bits <= most) {
            Some(bits) => Ok(Match::Lpm(number(value)?, bits)),
            None => Err(format!(
                "{}: a prefix has 0 to {most} bits, and not {length}",
                part.name
            )),
        };
    }
    if let Some((low, high)) = text.split_once("->").or_else(|| text.split_once("..")) {
        return Ok(Match::Range(number(low)?, number(high)?));
    }
    if text.contains('*') {
        let (value, mask) = starred(text)?;
        if part.kind == MatchKind::Lpm {
            let rest = Int::highest(part.width).xor(&mask.wrapped(part.width));
            return Ok(Match::Lpm(
                value,
                part.width - (rest.bits() as u32).min(part.width),
            ));
        }
        return Ok(ternary(value, mask));
    }
    Ok(Match::Exact(number(text)?))
}

/// What a part of a key is matched with if the case does not say it.
pub fn unsaid(part: &KeyPart) -> Match {
    match part.kind {
        MatchKind::Exact | MatchKind::Valid => Match::Exact(Int::ZERO),
        MatchKind::Lpm | MatchKind::Ternary | MatchKind::Range | MatchKind::Optional => Match::Any,
    }
}
