//! Keys of entries: from the match fields of controllers to those of the program and back.

use bofuss_p4::{Int, Match, MatchKind};

use crate::error::{Refusal, Result};
use crate::info::{FieldInfo, TableInfo};
use crate::value::{canonical, canonical_signed, parse, parse_signed};
use crate::wire::entities::{
    FieldMatch, FieldMatchExact, FieldMatchFieldMatchType as Said, FieldMatchLpm,
    FieldMatchOptional, FieldMatchRange, FieldMatchTernary,
};

/// The key that match fields say. Errors: fields that are unknown, twice, missing, of another kind,
/// too wide or not canonical.
pub fn parse_key(table: &TableInfo, given: &[FieldMatch]) -> Result<Vec<Match>> {
    for (place, field) in given.iter().enumerate() {
        let id = field.field_id;
        if !table.fields.iter().any(|other| other.id == id) {
            return Err(Refusal::invalid(format!(
                "{} has no field {id}",
                table.name
            )));
        }
        if given[..place].iter().any(|other| other.field_id == id) {
            return Err(Refusal::invalid(format!("field {id} is there twice")));
        }
    }
    let parts = table.fields.iter().map(|info| {
        let mut given = given.iter();
        match given.find(|field| field.field_id == info.id) {
            Some(field) => parse_field(info, field),
            None if matches!(info.kind, MatchKind::Exact | MatchKind::Valid) => {
                let what = format!("{} has no match for {}", table.name, info.name);
                Err(Refusal::invalid(what))
            }
            None => Ok(Match::Any),
        }
    });
    parts.collect()
}

/// One match field.
pub fn parse_field(info: &FieldInfo, given: &FieldMatch) -> Result<Match> {
    let wrong = |what: &str| Err(Refusal::invalid(format!("{}: {what}", info.name)));
    let mask = |bytes: &[u8]| parse(bytes, info.width, &info.name);
    let value = |bytes: &[u8]| {
        if info.signed {
            let number = parse_signed(bytes, info.width, &info.name)?;
            return Ok(number.wrapped(info.width));
        }
        mask(bytes)
    };
    match (info.kind, &given.field_match_type) {
        (MatchKind::Exact | MatchKind::Valid, Some(Said::Exact(said))) => {
            Ok(Match::Exact(value(&said.value)?))
        }
        (MatchKind::Optional, Some(Said::Optional(said))) => Ok(Match::Exact(value(&said.value)?)),
        (MatchKind::Lpm, Some(Said::Lpm(said))) => {
            let length = u32::try_from(said.prefix_len).unwrap_or(0);
            if length == 0 || length > info.width {
                return wrong("its prefix has no bit or too many; leave it out to match all");
            }
            let wanted = Match::Lpm(value(&said.value)?, length);
            let (bits, mask) = wanted.value_and_mask(info.width);
            if bits != bits.and(&mask) {
                return wrong("its value has bits outside of the prefix");
            }
            Ok(wanted)
        }
        (MatchKind::Ternary, Some(Said::Ternary(said))) => {
            let (bits, mask) = (value(&said.value)?, mask(&said.mask)?);
            if mask.is_zero() {
                return wrong("its mask is 0; leave it out to match all");
            }
            if bits != bits.and(&mask) {
                return wrong("its value has bits outside of the mask");
            }
            Ok(Match::Ternary(bits, mask))
        }
        (MatchKind::Range, Some(Said::Range(said))) => {
            let (low, high) = (value(&said.low)?, value(&said.high)?);
            if low > high {
                return wrong("its range ends before it begins");
            }
            if low.is_zero() && high == Int::highest(info.width) {
                return wrong("its range has all values; leave it out to match all");
            }
            Ok(Match::Range(low, high))
        }
        (kind, _) => wrong(&format!("it is matched as {}", kind.name())),
    }
}

/// The match fields of a key, without those that match all.
pub fn write_key(table: &TableInfo, key: &[Match]) -> Vec<FieldMatch> {
    let parts = table.fields.iter().zip(key);
    let fields = parts.filter_map(|(info, part)| {
        Some(FieldMatch {
            field_id: info.id,
            field_match_type: Some(write_field(info, part)?),
        })
    });
    fields.collect()
}

/// One match field; `None` if it matches all.
pub fn write_field(info: &FieldInfo, part: &Match) -> Option<Said> {
    let width = info.width;
    let bytes = |value: &Int| {
        if info.signed {
            return canonical_signed(&value.signed(width));
        }
        canonical(value, width)
    };
    if let Match::Range(low, high) = part {
        let all = low.is_zero() && *high == Int::highest(width);
        let (low, high) = (bytes(low), bytes(high));
        return (!all).then_some(Said::Range(FieldMatchRange { low, high }));
    }
    let (value, mask) = part.value_and_mask(width);
    if mask.is_zero() && !matches!(info.kind, MatchKind::Exact | MatchKind::Valid) {
        return None;
    }
    let value = bytes(&value);
    Some(match info.kind {
        MatchKind::Exact | MatchKind::Valid => Said::Exact(FieldMatchExact { value }),
        MatchKind::Optional => Said::Optional(FieldMatchOptional { value }),
        MatchKind::Lpm => {
            let rest = Int::highest(width).xor(&mask).bits();
            let prefix_len = u64::from(width).saturating_sub(rest) as i32;
            Said::Lpm(FieldMatchLpm { value, prefix_len })
        }
        // Ranges are done above.
        MatchKind::Ternary | MatchKind::Range => {
            let mask = canonical(&mask, width);
            Said::Ternary(FieldMatchTernary { value, mask })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_all_lengths_are_read_as_they_were_written() {
        let info = FieldInfo {
            id: 1,
            name: "x".into(),
            width: 128,
            signed: false,
            kind: MatchKind::Lpm,
        };
        for length in 1..=128 {
            let value = Match::Lpm(Int::ZERO, length).value_and_mask(128).1;
            let prefix = Match::Lpm(value.clone(), length);
            // A program may be compiled with a more general kind.
            for part in [&prefix, &Match::Ternary(value.clone(), value.clone())] {
                let Some(Said::Lpm(said)) = write_field(&info, part) else {
                    panic!("{part:?} is a prefix");
                };
                assert_eq!(said.prefix_len, length as i32);
                let given = FieldMatch {
                    field_id: 1,
                    field_match_type: Some(Said::Lpm(said)),
                };
                let read = parse_field(&info, &given);
                assert_eq!(read.as_ref(), Ok(&prefix));
            }
        }
    }
    #[test]
    fn signed_fields_are_read_in_twos_complement_and_written_so() {
        let info = FieldInfo {
            id: 1,
            name: "x".into(),
            width: 12,
            signed: true,
            kind: MatchKind::Exact,
        };
        for (said, bits, shortest) in [
            (&[0xfe][..], 0xffe, &[0xfe][..]),
            (&[0xfd, 0x1d], 0xd1d, &[0xfd, 0x1d]),
            (&[0xff, 0xff, 0xfe], 0xffe, &[0xfe]),
            (&[0, 0xfe], 254, &[0, 0xfe]),
        ] {
            let given = FieldMatch {
                field_id: 1,
                field_match_type: Some(Said::Exact(FieldMatchExact {
                    value: said.to_vec(),
                })),
            };
            let key = parse_field(&info, &given).expect("it fits");
            assert_eq!(key, Match::Exact(Int::Small(bits)), "{said:?}");
            let Some(Said::Exact(written)) = write_field(&info, &key) else {
                panic!("it is exact");
            };
            assert_eq!(written.value, shortest, "{said:?}");
        }
    }
}
