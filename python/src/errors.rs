//! Converts oflib's errors to Python exceptions, whose classes are in `bofuss/_record.py`.

use bofuss_oflib::text::ParseError;
use bofuss_oflib::{DecodeError, EncodeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::class::BASES;
use crate::codecs::catalogue;

/// The exception for bytes that are no message.
pub(crate) fn of_decoding(fault: DecodeError) -> PyErr {
    let error = fault.error;
    let what = catalogue().error_text(error);
    let text = format!("{what} at byte {}, in {}", fault.offset, fault.field);
    exception("DecodeError", &text, |py| {
        let members = PyDict::new(py);
        members.set_item("type", error.ty)?;
        members.set_item("code", error.code)?;
        members.set_item("experimenter", error.experimenter)?;
        members.set_item("offset", fault.offset)?;
        members.set_item("field", fault.field)?;
        Ok(members)
    })
}

/// The exception for a message that cannot be encoded.
pub(crate) fn of_encoding(fault: EncodeError) -> PyErr {
    exception("EncodeError", &fault.to_string(), |py| Ok(PyDict::new(py)))
}

/// The exception for a text that is not understood.
pub(crate) fn of_text(fault: ParseError) -> PyErr {
    exception("TextError", &fault.to_string(), |py| {
        let members = PyDict::new(py);
        members.set_item("word", &fault.word)?;
        members.set_item("offset", fault.offset)?;
        Ok(members)
    })
}

/// An exception of the class with this name, with its text and its members.
fn exception<F>(class: &str, text: &str, members: F) -> PyErr
where
    F: for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyDict>>,
{
    Python::attach(|py| {
        let made = members(py).and_then(|members| new_exception(class, text, &members));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

fn new_exception<'py>(
    class: &str,
    text: &str,
    members: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let class = members.py().import(BASES)?.getattr(class)?;
    class.call((text,), Some(members))
}
