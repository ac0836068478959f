//! Tables: their configuration and what happens to them. Spec: OpenFlow 1.4.1 sections 7.3.4.1,
//! 7.3.5.5, 7.4.5.

use super::V1_4;
use crate::error::{BadProperty, DecodeError};
use crate::message::TableMod;
use crate::message::multipart::table_desc::{TableDesc, TableStatus};
use crate::message::table_mod::Vacancy;
use crate::v1_3::{layout, properties, with_properties};
use crate::wire::Reader;

with_properties! {
    V1_4;
    TableMod { table_id => 3, config; ..default [miss] }
    TableDesc [0 8 2] { table_id => 1, config }
}

properties! {
    TableMod {
        2 pad 0 option eviction;
        3 pad 0 option vacancy;
    }
    TableDesc {
        2 pad 0 option eviction;
        3 pad 0 option vacancy;
    }
}

layout! {
    V1_4;
    Vacancy { vacancy_down, vacancy_up, vacancy => 1 }
    TableStatus { reason => 7, table }
}

/// Checks the properties of a table, which come so many bytes after `r`.
///
/// Errors: BAD_PROPERTY/DUP_TYPE for a type that stands twice and is no experimenter's.
///
/// A pass of its own, because the items of a list are read without knowledge of each other. 1.3 has
/// no error for it, so that there the list is taken as it is.
pub(crate) fn check_doubled(mut r: Reader<'_>, bytes_before: usize) -> Result<(), DecodeError> {
    // A bit for each type: those of the specification are below 32. Greater ones are unknown, which
    // is found when they are read, or experimenters', of which a table may have several.
    let mut seen = 0_u32;
    if r.take(bytes_before).is_err() {
        return Ok(());
    }
    // A property that is none is found when it is read.
    while let Ok((at_type, ty, _)) = r.at("property").property(BadProperty::BAD_LEN) {
        let bit = 1_u32.checked_shl(ty.into()).unwrap_or(0);
        if seen & bit != 0 {
            return Err(at_type.err(BadProperty::DUP_TYPE));
        }
        seen |= bit;
    }
    Ok(())
}
