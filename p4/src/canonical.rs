//! What the control plane gives, in the one form in which it is kept and compared.

use alloc::format;
use alloc::vec::Vec;

use crate::error::ControlError;
use crate::int::Int;
use crate::program::{Action, KeyPart, Match, MatchKind};

type Result<T, E = ControlError> = core::result::Result<T, E>;

/// A value that is no wider than `width`. Errors: it is.
pub fn fits(value: &Int, width: u32, name: &str) -> Result<Int> {
    if value.is_negative() || value.bits() > u64::from(width) {
        let what = format!("{value} has more than the {width} bits of {name}");
        return Err(ControlError::Invalid(what));
    }
    Ok(value.clone())
}

/// The data of an action. Errors: too many or few values, a value that is wider.
pub fn fitting(action: &Action, data: Vec<Int>) -> Result<Vec<Int>> {
    if data.len() != action.parameters.len() {
        let (count, wanted) = (data.len(), action.parameters.len());
        let what = format!("{} has {wanted} parameters, and not {count}", action.name);
        return Err(ControlError::Invalid(what));
    }
    let parameters = action.parameters.iter().zip(&data);
    parameters
        .map(|((name, width), value)| fits(value, *width, name))
        .collect()
}

/// A key as tables compare it: of each part what counts. Errors: what does not fit the parts.
pub fn canonical(parts: &[KeyPart], key: Vec<Match>) -> Result<Vec<Match>> {
    if key.len() != parts.len() {
        let what = format!("the key has {} parts, and not {}", parts.len(), key.len());
        return Err(ControlError::Invalid(what));
    }
    let pairs = parts.iter().zip(key);
    pairs
        .map(|(part, wanted)| canonical_part(part, wanted))
        .collect()
}

fn canonical_part(part: &KeyPart, wanted: Match) -> Result<Match> {
    let fit = |value: &Int| fits(value, part.width, &part.name);
    let width = part.width;
    let result = match (part.kind, wanted) {
        (MatchKind::Exact | MatchKind::Valid | MatchKind::Optional, Match::Exact(value)) => {
            Match::Exact(fit(&value)?)
        }
        (MatchKind::Lpm | MatchKind::Ternary, Match::Lpm(value, length)) if length <= width => {
            let value = fit(&value)?;
            let mask = Match::Lpm(value.clone(), length).value_and_mask(width).1;
            if part.kind == MatchKind::Lpm {
                Match::Lpm(value.and(&mask), length)
            } else {
                Match::Ternary(value.and(&mask), mask)
            }
        }
        (MatchKind::Ternary | MatchKind::Optional, Match::Any) => {
            Match::Ternary(Int::ZERO, Int::ZERO)
        }
        (MatchKind::Lpm, Match::Any) => Match::Lpm(Int::ZERO, 0),
        (MatchKind::Lpm, Match::Exact(value)) => Match::Lpm(fit(&value)?, width),
        (MatchKind::Ternary, Match::Exact(value)) => {
            Match::Ternary(fit(&value)?, Int::highest(width))
        }
        (MatchKind::Ternary | MatchKind::Optional, Match::Ternary(value, mask)) => {
            let mask = fit(&mask)?;
            Match::Ternary(fit(&value)?.and(&mask), mask)
        }
        (MatchKind::Range, Match::Range(low, high)) => {
            let (low, high) = (fit(&low)?, fit(&high)?);
            if low > high {
                let what = format!("{}: the range ends before it begins", part.name);
                return Err(ControlError::Invalid(what));
            }
            Match::Range(low, high)
        }
        (MatchKind::Range, Match::Exact(value)) => {
            let value = fit(&value)?;
            Match::Range(value.clone(), value)
        }
        (MatchKind::Range, Match::Any) => Match::Range(Int::ZERO, Int::highest(width)),
        (MatchKind::Lpm | MatchKind::Ternary, Match::Lpm(_, length)) => {
            let what = format!("{}: {length} is more than its {width} bits", part.name);
            return Err(ControlError::Invalid(what));
        }
        (kind, _) => {
            let what = format!("{} is not matched as {}", part.name, kind.name());
            return Err(ControlError::Invalid(what));
        }
    };
    Ok(result)
}
