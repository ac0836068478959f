//! The model's errors as Python's exceptions, whose classes are in `bofuss/_record.py`.

use bofuss_oflib::text::ParseError;
use bofuss_oflib::{DecodeError, EncodeError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::catalogue;
use crate::class::BASES;

/// Bytes that are no message.
pub(crate) fn of_decoding(fault: DecodeError) -> PyErr {
    let error = fault.error;
    let what = catalogue().error_text(error);
    let text = format!("{what} at byte {}, in {}", fault.offset, fault.field);
    exception("DecodeError", &text, |py| {
        let members = [
            ("type", u32::from(error.ty)),
            ("code", u32::from(error.code)),
        ];
        let members = members.into_py_dict(py)?;
        members.set_item("experimenter", error.experimenter)?;
        members.set_item("offset", fault.offset)?;
        members.set_item("field", fault.field)?;
        Ok(members)
    })
}

/// A message that is not written.
pub(crate) fn of_encoding(fault: EncodeError) -> PyErr {
    exception("EncodeError", &fault.to_string(), |py| Ok(PyDict::new(py)))
}

/// A text that is not understood.
pub(crate) fn of_text(fault: ParseError) -> PyErr {
    exception("TextError", &fault.to_string(), |py| {
        let members = PyDict::new(py);
        members.set_item("word", &fault.word)?;
        members.set_item("offset", fault.offset)?;
        Ok(members)
    })
}

/// An exception of a class, with its text and its members.
fn exception<F>(class: &str, text: &str, members: F) -> PyErr
where
    F: for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyDict>>,
{
    Python::attach(|py| {
        let made = || {
            let class = py.import(BASES)?.getattr(class)?;
            class.call((text,), Some(&members(py)?))
        };
        made().map_or_else(|error| error, PyErr::from_value)
    })
}
