//! Values of experimenters: opaque in Python, but for their numbers, arguments, bytes and text.

use bofuss_oflib::ext::{ExtKind, ExtRow, ExtValue};
use bofuss_oflib::wire::{Bytes, Reader, Writer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::form::{Fault, PyForm, To};
use crate::{catalogue, codec, errors};

/// What each kind of value is called.
const KINDS: &[(&str, ExtKind)] = &[
    ("action", ExtKind::Action),
    ("instruction", ExtKind::Instruction),
    ("message", ExtKind::Message),
    ("multipart", ExtKind::Multipart),
];

/// A value of an experimenter, of those that the switch knows. It does not change.
#[pyclass(module = "bofuss.oflib", name = "ExperimenterValue", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct PyExtValue(ExtValue);

#[pymethods]
impl PyExtValue {
    /// Reads the text form, `name(argument=1)`, of a kind: action, instruction, message or
    /// multipart.
    #[staticmethod]
    fn from_text(kind: &str, text: &str) -> PyResult<Self> {
        let wanted = named_kind(kind)?;
        let (name, rest) = text.split_once('(').unwrap_or((text, ")"));
        let inner = rest.strip_suffix(')').unwrap_or(rest);
        let row = rows(wanted).find(|row| row.name == name);
        let row =
            row.ok_or_else(|| PyValueError::new_err(format!("no {kind} is called {name}")))?;
        let value = ExtValue::parse(row, inner, catalogue());
        value.map(Self).map_err(PyValueError::new_err)
    }

    /// Reads the bytes from the experimenter's number on.
    #[staticmethod]
    fn from_bytes(kind: &str, bytes: &[u8]) -> PyResult<Self> {
        let mut reader = Reader::new(codec(4), bytes);
        let value = ExtValue::decode(named_kind(kind)?, &mut reader);
        value.map(Self).map_err(errors::of_decoding)
    }

    /// Action, instruction, message or multipart.
    #[getter]
    fn kind(&self) -> &'static str {
        let mut kinds = KINDS.iter();
        let found = kinds.find(|(_, kind)| *kind == self.0.row.kind);
        found.expect("every kind has a name").0
    }

    /// Its name in text.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.row.name
    }

    /// The experimenter's number.
    #[getter]
    fn experimenter(&self) -> u32 {
        self.0.row.experimenter
    }

    /// The experimenter's type.
    #[getter]
    fn exp_type(&self) -> u32 {
        self.0.row.ty
    }

    /// Its arguments by name, if they are numbers.
    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = PyDict::new(py);
        for (argument, value) in self.0.row.args.iter().zip(&self.0.args) {
            made.set_item(argument.name, value)?;
        }
        Ok(made)
    }

    /// The bytes after the arguments.
    #[getter]
    fn data(&self) -> Vec<u8> {
        self.0.data.0.clone()
    }

    /// The whole value on the wire, from the experimenter's number on.
    fn __bytes__(&self) -> Vec<u8> {
        bytes(&self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<{} {}>", self.kind(), self.0)
    }
}

impl PyForm for ExtValue {
    fn annotation() -> String {
        "ExperimenterValue".into()
    }
    fn accepted() -> String {
        "ExperimenterValue | Mapping[str, Any]".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = PyExtValue(self.clone());
        if !to.plain {
            return Ok(Bound::new(to.py, value)?.into_any());
        }
        let made = PyDict::new(to.py);
        made.set_item("kind", value.kind())?;
        made.set_item("text", self.to_string())?;
        made.set_item("bytes", Bytes(bytes(self)).to_python(to)?)?;
        Ok(made.into_any())
    }
    /// Reads the object, or a dictionary, of which the bytes count, or the text if there are none.
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        if let Ok(this) = value.cast::<PyExtValue>() {
            return Ok(this.get().0.clone());
        }
        let parts = value.cast::<PyDict>();
        let parts = parts.map_err(|_| Fault::other(value, "ExperimenterValue"))?;
        let part = |name: &str| parts.get_item(name).ok().flatten();
        let kind = part("kind").ok_or_else(|| Fault::new("kind: it is missing"))?;
        let kind = String::from_python(&kind)?;
        let made = match (part("bytes"), part("text")) {
            (Some(bytes), _) => PyExtValue::from_bytes(&kind, &Bytes::from_python(&bytes)?.0)?,
            (None, Some(text)) => PyExtValue::from_text(
                &kind,
                &text
                    .cast::<PyString>()
                    .map_err(|_| Fault::other(&text, "text"))?
                    .to_string(),
            )?,
            (None, None) => return Err(Fault::new("bytes: they are missing")),
        };
        Ok(made.0)
    }
}

fn bytes(value: &ExtValue) -> Vec<u8> {
    let mut writer = Writer::new(codec(4));
    value.encode(&mut writer);
    writer.bytes
}

/// The rows of one kind.
fn rows(kind: ExtKind) -> impl Iterator<Item = &'static ExtRow> {
    catalogue().values(kind)
}

fn named_kind(name: &str) -> PyResult<ExtKind> {
    let mut kinds = KINDS.iter();
    let found = kinds.find(|(one, _)| *one == name);
    let what = || PyValueError::new_err(format!("'{name}' is no kind of experimenter value"));
    found.map(|(_, kind)| *kind).ok_or_else(what)
}

/// Errors: the value is of another kind.
pub(crate) fn of_kind(value: &ExtValue, kind: ExtKind) -> Result<(), Fault> {
    if value.row.kind == kind {
        return Ok(());
    }
    Err(Fault::new(format!("{} is of another kind", value.row.name)))
}
