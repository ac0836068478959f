//! Checks of matches and actions against the mappings of spare rows, which are not known where
//! messages are decoded.

use bofuss_oflib::copy_field::CopyField;
use bofuss_oflib::error::{BadAction, BadMatch};
use bofuss_oflib::field::Field;
use bofuss_oflib::{Catalogue, ErrorCode, FieldMatch, Match};

/// Errors: BAD_MATCH with BAD_FIELD for a row that is not mapped, BAD_VALUE for bits that its place
/// does not have, BAD_MASK or BAD_PREREQ.
pub(crate) fn check_match(fields: &Match, catalogue: &Catalogue) -> Result<(), ErrorCode> {
    for one in fields.fields().iter().filter(|one| one.field.is_spare()) {
        let (row, outside) = mapped(one.field, catalogue).ok_or(BadMatch::BAD_FIELD)?;
        if one.number() & outside != 0 {
            return Err(BadMatch::BAD_VALUE);
        }
        if !row.maskable && one.mask_number() | outside != u128::MAX {
            return Err(BadMatch::BAD_MASK);
        }
        if !fields.meets_need(row) {
            return Err(BadMatch::BAD_PREREQ);
        }
    }
    Ok(())
}

/// Errors: BAD_ACTION with BAD_SET_TYPE for a row that is not mapped or may not be set,
/// BAD_SET_ARGUMENT for bits that its place does not have, or BAD_SET_MASK.
pub(crate) fn check_set(set: &FieldMatch, catalogue: &Catalogue) -> Result<(), ErrorCode> {
    if !set.field.is_spare() {
        return Ok(());
    }
    let mapped = mapped(set.field, catalogue).filter(|(row, _)| row.settable);
    let (row, outside) = mapped.ok_or(BadAction::BAD_SET_TYPE)?;
    if set.number() & outside != 0 {
        return Err(BadAction::BAD_SET_ARGUMENT);
    }
    if !row.maskable && set.mask_number() | outside != u128::MAX {
        return Err(BadAction::BAD_SET_MASK);
    }
    Ok(())
}

/// Errors: BAD_ACTION with BAD_SET_TYPE for a row that is not mapped, BAD_SET_ARGUMENT for one that
/// may not be set, or BAD_SET_LEN for bits that its place does not have.
pub(crate) fn check_copy(copy: &CopyField, catalogue: &Catalogue) -> Result<(), ErrorCode> {
    let ends = [(copy.src, copy.src_offset), (copy.dst, copy.dst_offset)];
    for (field, offset) in ends.into_iter().filter(|(field, _)| field.is_spare()) {
        let (row, outside) = mapped(field, catalogue).ok_or(BadAction::BAD_SET_TYPE)?;
        if field == copy.dst && !row.settable {
            return Err(BadAction::BAD_SET_ARGUMENT);
        }
        if u32::from(offset) + u32::from(copy.n_bits) > outside.trailing_zeros() {
            return Err(BadAction::BAD_SET_LEN);
        }
    }
    Ok(())
}

/// The mapped row of a spare field, and the bits of its values that its place does not have; `None`
/// if it is not mapped.
fn mapped(field: &Field, catalogue: &Catalogue) -> Option<(&'static Field, u128)> {
    let row = catalogue.by_id(field.id.into());
    let [_, at] = row.at else {
        return None;
    };
    Some((row, u128::MAX.checked_shl(at.bits.into()).unwrap_or(0)))
}
