//! Bytes that a program passes: any object with a buffer.

use std::convert::Infallible;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use pyo3::{Borrowed, intern};

/// The bytes of an argument: `bytes` as they are, or a copy of what another object's buffer has, in
/// its order: bytearray, memoryview, an array of NumPy. Otherwise the name of the object's class.
pub(crate) struct Buffer<'py>(Result<Bound<'py, PyBytes>, String>);

impl<'py> Buffer<'py> {
    /// The bytes of an object; `None` if it has no buffer.
    pub(crate) fn of(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Some(bytes.clone());
        }
        let view = PyMemoryView::from(value).ok()?;
        let copied = view.call_method0(intern!(value.py(), "tobytes")).ok()?;
        copied.cast_into::<PyBytes>().ok()
    }

    /// The bytes of the argument with this name. Errors: TypeError, it has no buffer.
    pub(crate) fn named(self, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        self.0.map_err(|class| {
            let what = format!("{name}: an object of class {class} has no buffer, as bytes have");
            PyTypeError::new_err(what)
        })
    }
}

impl<'py> FromPyObject<'_, 'py> for Buffer<'py> {
    type Error = Infallible;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> Result<Self, Infallible> {
        let class = || value.get_type().to_string();
        Ok(Self(Self::of(&value).ok_or_else(class)))
    }
}
