//! Experimenter values: opaque in Python, except for their numbers, arguments, bytes and text.

use bofuss_oflib::ext::{ExtKind, ExtRow, ExtValue};
use bofuss_oflib::wire::{Bytes, Reader, Writer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::buffer::Buffer;
use crate::codecs::{catalogue, codec};
use crate::errors;
use crate::form::{Fault, PyForm, To};

/// The name of each kind of value.
const KINDS: &[(&str, ExtKind)] = &[
    ("action", ExtKind::Action),
    ("instruction", ExtKind::Instruction),
    ("message", ExtKind::Message),
    ("multipart", ExtKind::Multipart),
];

/// An action, instruction, message or multipart of an experimenter that the switch knows. It is
/// immutable.
#[pyclass(module = "bofuss.oflib", name = "ExperimenterValue", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct PyExtValue(ExtValue);

#[pymethods]
impl PyExtValue {
    /// Reads the text form, `name(argument=1)`. `kind` is action, instruction, message or
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
        value.map(Self).map_err(errors::of_text)
    }

    /// Reads the bytes of a value, from the experimenter's number on.
    #[staticmethod]
    fn from_bytes(kind: &str, bytes: Buffer<'_>) -> PyResult<Self> {
        Self::read(kind, bytes.named("bytes")?.as_bytes())
    }

    /// `action`, `instruction`, `message` or `multipart`.
    #[getter]
    fn kind(&self) -> &'static str {
        let mut kinds = KINDS.iter();
        let found = kinds.find(|(_, kind)| *kind == self.0.row.kind);
        found.expect("every kind has a name").0
    }

    /// The name in the text form.
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

    /// The arguments that are numbers, by name.
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

    /// The bytes of the value, from the experimenter's number on.
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

impl PyExtValue {
    /// The value in bytes.
    fn read(kind: &str, bytes: &[u8]) -> PyResult<Self> {
        let mut reader = Reader::new(codec(4), bytes);
        let value = ExtValue::decode(named_kind(kind)?, &mut reader);
        value.map(Self).map_err(errors::of_decoding)
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
    /// Reads an object, or a dictionary with a kind and bytes or text; the bytes take precedence.
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        if let Ok(this) = value.cast::<PyExtValue>() {
            return Ok(this.get().0.clone());
        }
        let parts = value
            .cast::<PyDict>()
            .map_err(|_| Fault::other(value, "ExperimenterValue"))?;
        let Some(named) = part(parts, "kind") else {
            return Err(Fault::new("kind: it is missing"));
        };
        let kind = String::from_python(&named)?;
        let made = match (part(parts, "bytes"), part(parts, "text")) {
            (Some(bytes), _) => PyExtValue::read(&kind, &Bytes::from_python(&bytes)?.0)?,
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

/// The value of a key of a dictionary, if it has the key.
fn part<'py>(parts: &Bound<'py, PyDict>, name: &str) -> Option<Bound<'py, PyAny>> {
    parts.get_item(name).ok().flatten()
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
    for (one, kind) in KINDS {
        if *one == name {
            return Ok(*kind);
        }
    }
    let what = format!("'{name}' is no kind of experimenter value");
    Err(PyValueError::new_err(what))
}

/// Errors: the value is of another kind.
pub(crate) fn of_kind(value: &ExtValue, kind: ExtKind) -> Result<(), Fault> {
    if value.row.kind == kind {
        return Ok(());
    }
    Err(Fault::new(format!("{} is of another kind", value.row.name)))
}
