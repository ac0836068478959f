//! Names and numbers in texts and on the wire, for several extensions.

use bofuss_datapath::OptionError;
use bofuss_oflib::wire::Reader;
use bofuss_oflib::{DecodeError, ErrorCode};

/// The place of a value in a list of names, and its name; place 0 and no name if it is not there.
pub(crate) fn place_of<T: PartialEq>(names: &[(T, &'static str)], value: &T) -> (u8, &'static str) {
    let place = names.iter().position(|row| row.0 == *value);
    place.map_or((0, ""), |place| (place as u8, names[place].1))
}

/// Reads a place in a list of names, a byte. Errors: `wrong` if it is beyond the list.
pub(crate) fn named<T: Copy>(
    names: &[(T, &'static str)],
    r: &mut Reader<'_>,
    wrong: ErrorCode,
) -> Result<T, DecodeError> {
    let at = r.clone();
    let place = usize::from(r.get::<u8>()?);
    let row = names.get(place);
    row.map(|row| row.0).ok_or_else(|| at.err(wrong))
}

/// Reads the value of an option that is a number. Errors: [`OptionError::OutOfRange`].
pub(crate) fn number(text: &str, least: u64, most: u64) -> Result<u64, OptionError> {
    match bofuss_oflib::text::number(text) {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        Some(_) | None => Err(OptionError::OutOfRange {
            value: text.into(),
            least,
            most,
        }),
    }
}

/// Reads the value of an option that is one of some names. Errors: [`OptionError::UnknownValue`].
pub(crate) fn choice<T: Copy>(text: &str, names: &[(&'static str, T)]) -> Result<T, OptionError> {
    let found = names.iter().find(|(name, _)| *name == text);
    found
        .map(|row| row.1)
        .ok_or_else(|| OptionError::UnknownValue {
            value: text.into(),
            known: names.iter().map(|row| row.0).collect(),
        })
}
