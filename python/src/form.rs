//! How values of the model become Python's and back: the trait, and numbers, texts and lists.

use std::fmt::Display;

use bofuss_oflib::Mac;
use bofuss_oflib::message::controller_status::Uri;
use bofuss_oflib::types::EtherType;
use bofuss_oflib::wire::{Bytes, FixedStr};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString};

/// What Python values are made: objects, or what JSON has, too: dictionaries, lists, numbers,
/// texts.
#[derive(Clone, Copy)]
pub(crate) struct To<'py> {
    /// The interpreter.
    pub(crate) py: Python<'py>,
    /// Whether structures become dictionaries, and bytes their hexadecimal digits.
    pub(crate) plain: bool,
}

/// Why a Python value is none of the model's, and in which member.
#[derive(Debug)]
pub(crate) struct Fault {
    /// From the outermost structure on.
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

    /// That the value is of another type.
    pub(crate) fn other(value: &Bound<'_, PyAny>, wanted: &str) -> Self {
        let shown = value.repr().map(|text| text.to_string());
        let shown: String = shown.unwrap_or_default().chars().take(60).collect();
        Self::new(format!("{shown} is no {wanted}"))
    }

    /// The same, of a member of what `name` says.
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

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        let Fault { path, what } = fault;
        PyValueError::new_err(match path.as_str() {
            "" => what,
            path => format!("{path}: {what}"),
        })
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::new(error.to_string())
    }
}

/// A value of the model that Python knows.
pub(crate) trait PyForm: Sized {
    /// Its type in stubs.
    fn annotation() -> String;

    /// What is accepted in its place, in stubs.
    fn accepted() -> String {
        Self::annotation()
    }

    /// The Python value. Errors: the interpreter's, as want of memory.
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>>;

    /// Reads a Python value, of either kind that [`To`] makes. Errors: what it is not.
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault>;

    /// What it is if nothing is said: the structure as its row has it. Errors: nothing is not
    /// enough.
    fn of_nothing(py: Python<'_>) -> Result<Self, Fault> {
        Self::from_python(&PyDict::new(py).into_any())
    }

    /// Reads a list of such values from one text, if they have such a form. Errors: what is wrong
    /// in it.
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

/// An Ethernet address as text. Every port has one, and so do many matches: it is written without
/// the machinery of `format!`.
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
        "bytes | str".into()
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

/// The values of anything that can be iterated, or of a text that says them. Errors: the first item
/// at fault.
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
