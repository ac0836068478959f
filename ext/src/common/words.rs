//! Names and numbers in texts and on the wire, for several extensions.

use alloc::format;
use alloc::string::String;

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

/// Reads a number. Errors: a sentence with the bounds.
pub(crate) fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    match bofuss_oflib::text::number(text) {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        Some(_) | None => Err(format!("'{text}' is not a number from {least} to {most}")),
    }
}
