//! Converts values of oflib to Python values and back: the trait, and numbers, texts and lists.

use std::fmt::{self, Display};

use bofuss_oflib::Mac;
use bofuss_oflib::message::controller_status::Uri;
use bofuss_oflib::types::EtherType;
use bofuss_oflib::wire::{Bytes, FixedStr};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString};

use crate::buffer::Buffer;

/// The kind of Python values that are made: objects, or plain values that JSON has: dictionaries,
/// lists, numbers and texts.
#[derive(Clone, Copy)]
pub(crate) struct To<'py> {
    /// The interpreter.
    pub(crate) py: Python<'py>,
    /// True if structures become dictionaries, and bytes their hexadecimal digits.
    pub(crate) plain: bool,
}

/// The reason for which a Python value cannot be converted, with the member at fault.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The member at fault, from the outermost structure on: `PacketOut.actions[1]`.
    path: String,
    what: String,
}

impl Fault {
    /// A fault of the value itself.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            path: String::new(),
            what: what.into(),
        }
    }

    /// The fault that a value is not what is wanted.
    pub(crate) fn other(value: &Bound<'_, PyAny>, wanted: &str) -> Self {
        let text = value.repr().map(|text| text.to_string());
        let shown: String = text.unwrap_or_default().chars().take(60).collect();
        Self::new(format!("{shown} is no {wanted}"))
    }

    /// The same fault, of a member of `name`.
    pub(crate) fn within(self, name: impl Display) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        Self {
            path: format!("{name}{dot}{}", self.path),
            ..self
        }
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.what),
            path => write!(f, "{path}: {}", self.what),
        }
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        PyValueError::new_err(fault.to_string())
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::new(error.to_string())
    }
}

/// A value of oflib that has a Python form.
pub(crate) trait PyForm: Sized {
    /// The type of the Python value, for stubs.
    fn annotation() -> String;

    /// The type of what is accepted for it, for stubs.
    fn accepted() -> String {
        Self::annotation()
    }

    /// Makes the Python value. Errors: the interpreter's, such as lack of memory.
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>>;

    /// Reads a Python value, of either kind that [`To`] selects. Errors: the value does not fit.
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault>;

    /// The value if none is given: a structure with its initial members. Errors: a member has no
    /// initial value.
    fn of_nothing(py: Python<'_>) -> Result<Self, Fault> {
        Self::from_python(&PyDict::new(py).into_any())
    }

    /// Reads a list of such values from one text; `None` if such lists have no text form. Errors:
    /// what is wrong in the text.
    fn list_of_text(_: &str) -> Option<Result<Vec<Self>, Fault>> {
        None
    }
}

macro_rules! integers {
    ($($T:ident $bits:literal)*) => { $(
        impl PyForm for $T {
            fn annotation() -> String {
                "int".into()
            }
            fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
                Ok(self.into_pyobject(to.py)?.into_any())
            }
            fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
                let wanted = concat!("number of ", $bits, " bits");
                value.extract().map_err(|_| Fault::other(value, wanted))
            }
        }
    )* };
}
integers! { u8 8 u16 16 u32 32 u64 64 i32 32 }

impl PyForm for bool {
    fn annotation() -> String {
        "bool".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyBool::new(to.py, *self).to_owned().into_any())
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        value.extract().map_err(|_| Fault::other(value, "bool"))
    }
}

impl PyForm for EtherType {
    fn annotation() -> String {
        "int".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.to_python(to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        PyForm::from_python(value).map(Self)
    }
}

impl PyForm for String {
    fn annotation() -> String {
        "str".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyString::new(to.py, self).into_any())
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        value.extract().map_err(|_| Fault::other(value, "str"))
    }
}

impl PyForm for Uri {
    fn annotation() -> String {
        "str".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.to_python(to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        String::from_python(value).map(Self)
    }
}

impl<const N: usize> PyForm for FixedStr<N> {
    fn annotation() -> String {
        "str".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.to_python(to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let text = String::from_python(value)?;
        if text.len() >= N || text.contains('\0') {
            return Err(Fault::other(
                value,
                &format!("text of fewer than {N} bytes"),
            ));
        }
        Ok(Self(text))
    }
}

impl PyForm for Mac {
    fn annotation() -> String {
        "str".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(mac_text(to.py, self.0).into_any())
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let text = value.extract::<String>().ok();
        let mac = text.and_then(|text| text.parse().ok());
        mac.ok_or_else(|| Fault::other(value, "Ethernet address"))
    }
}

/// An Ethernet address as text. Ports and many matches have one, so it is written without
/// `format!`, which takes more time.
pub(crate) fn mac_text(py: Python<'_>, bytes: [u8; 6]) -> Bound<'_, PyString> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b':'; 17];
    for (at, byte) in bytes.iter().enumerate() {
        text[3 * at] = DIGITS[usize::from(byte >> 4)];
        text[3 * at + 1] = DIGITS[usize::from(byte & 15)];
    }
    PyString::new(py, std::str::from_utf8(&text).expect("digits and colons"))
}

impl PyForm for Bytes {
    fn annotation() -> String {
        "bytes".into()
    }
    fn accepted() -> String {
        "Buffer | str".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        if to.plain {
            let digits: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
            return digits.to_python(to);
        }
        Ok(PyBytes::new(to.py, &self.0).into_any())
    }
    /// Reads bytes, or pairs of hexadecimal digits.
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        if let Ok(text) = value.cast::<PyString>() {
            let text = text.to_string();
            if text.is_empty() {
                return Ok(Self::default());
            }
            return bofuss_oflib::text::parse_bytes(&text)
                .map(Self)
                .map_err(Fault::new);
        }
        if let Some(bytes) = Buffer::of(value) {
            return Ok(Self(bytes.as_bytes().into()));
        }
        value
            .extract::<Vec<u8>>()
            .map(Self)
            .map_err(|_| Fault::other(value, "bytes"))
    }
}

impl<T: PyForm> PyForm for Vec<T> {
    fn annotation() -> String {
        format!("list[{}]", T::annotation())
    }
    fn accepted() -> String {
        let text = T::list_of_text("").map_or("", |_| " | str");
        format!("Sequence[{}]{text}", T::accepted())
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        list(self, to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        items(value)
    }
    fn of_nothing(_: Python<'_>) -> Result<Self, Fault> {
        Ok(Self::new())
    }
}

impl<T: PyForm> PyForm for Option<T> {
    fn annotation() -> String {
        format!("{} | None", T::annotation())
    }
    fn accepted() -> String {
        format!("{} | None", T::accepted())
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Some(value) => value.to_python(to),
            None => Ok(to.py.None().into_bound(to.py)),
        }
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        if value.is_none() {
            return Ok(None);
        }
        T::from_python(value).map(Some)
    }
    fn of_nothing(_: Python<'_>) -> Result<Self, Fault> {
        Ok(None)
    }
}

impl<T: PyForm + Copy + Default, const N: usize> PyForm for [T; N] {
    fn annotation() -> String {
        Vec::<T>::annotation()
    }
    fn accepted() -> String {
        Vec::<T>::accepted()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        list(self, to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let items = items(value)?;
        let count = items.len();
        let array = Self::try_from(items);
        array.map_err(|_| Fault::new(format!("{count} values are not {N}")))
    }
}

/// A Python list of values.
pub(crate) fn list<'py, T: PyForm>(items: &[T], to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(to.py);
    for item in items {
        list.append(item.to_python(to)?)?;
    }
    Ok(list.into_any())
}

/// Reads a list of values from anything that can be iterated, or from its text form. Errors: the
/// first item that does not fit.
pub(crate) fn items<T: PyForm>(value: &Bound<'_, PyAny>) -> Result<Vec<T>, Fault> {
    if let Ok(text) = value.cast::<PyString>() {
        let list = T::list_of_text(&text.to_string());
        return list.unwrap_or_else(|| Err(Fault::other(value, "list")));
    }
    let iterator = value.try_iter().map_err(|_| Fault::other(value, "list"))?;
    let mut items = Vec::new();
    for item in iterator {
        let at = format!("[{}]", items.len());
        items.push(T::from_python(&item?).map_err(|fault| fault.within(at))?);
    }
    Ok(items)
}
