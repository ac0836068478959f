//! Matches: in Python, a mapping from the names of fields to values.

use std::net::{Ipv4Addr, Ipv6Addr};

use bofuss_oflib::field::Style;
use bofuss_oflib::text::{parse_match, parse_value};
use bofuss_oflib::{Field, FieldMatch, Mac, Match};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyIterator, PyString, PyTuple};

use crate::codecs::catalogue;
use crate::errors;
use crate::form::{Fault, PyForm, To, mac_text};

/// The packets that a flow entry matches: fields by their names, each with its value, or with a
/// tuple of value and mask. Addresses are texts, all other values integers. It is immutable.
#[pyclass(module = "bofuss.oflib", name = "Match", frozen, eq, hash, mapping)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PyMatch(Match);

#[pymethods]
impl PyMatch {
    /// Makes a match from a text in the syntax of flows, from fields, or from both:
    /// `Match("tcp,tp_dst=80")`, `Match(eth_type=0x0800, ipv4_dst="10.0.0.0/8")`.
    #[new]
    #[pyo3(signature = (text = None, /, **fields))]
    fn new(text: Option<&Bound<'_, PyAny>>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut list = Vec::new();
        if let Some(text) = text {
            list.extend_from_slice(Match::from_python(text)?.fields());
        }
        for (name, value) in fields.into_iter().flatten() {
            list.push(field_match(&String::from_python(&name)?, &value)?);
        }
        Ok(Self(matching(&list)?))
    }

    fn __len__(&self) -> usize {
        self.0.fields().len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.find(name) {
            Some(one) => value_and_mask(one, To { py, plain: false }),
            None => Err(PyKeyError::new_err(name.to_string())),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys().into_pyobject(py)?.try_iter()
    }

    /// The value of a field, or `default` if the field is not matched.
    #[pyo3(signature = (name, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.find(name) {
            Some(one) => value_and_mask(one, To { py, plain: false }).map(Some),
            None => Ok(default),
        }
    }

    /// The names of the fields.
    fn keys(&self) -> Vec<&'static str> {
        self.0.fields().iter().map(|one| one.field.name).collect()
    }

    /// The name of each field with its value.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        let to = To { py, plain: false };
        let fields = self.0.fields().iter();
        fields
            .map(|one| Ok((one.field.name, value_and_mask(one, to)?)))
            .collect()
    }

    /// The values of the fields.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let to = To { py, plain: false };
        let fields = self.0.fields().iter();
        fields.map(|one| value_and_mask(one, to)).collect()
    }

    /// The fields as a dictionary of values that JSON has: a masked field has a list of value and
    /// mask.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(&self.0, py)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Match('{}')", self.0)
    }

    /// For `pickle` and `copy`.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let class = py.get_type::<Self>().into_any();
        Ok((class, PyTuple::new(py, [dictionary(&self.0, py)?])?))
    }
}

impl PyMatch {
    /// The field with this name or alias.
    fn find(&self, name: &str) -> Option<&FieldMatch> {
        let mut fields = self.0.fields().iter();
        fields.find(|one| one.field.is_called(name))
    }
}

impl PyForm for Match {
    fn annotation() -> String {
        "Match".into()
    }
    fn accepted() -> String {
        "Match | str | Mapping[str, Any]".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        if to.plain {
            return dictionary(self, to.py);
        }
        Ok(Bound::new(to.py, PyMatch(self.clone()))?.into_any())
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        if let Ok(this) = value.cast::<PyMatch>() {
            return Ok(this.get().0.clone());
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(parse_match(&text.to_string(), catalogue()).map_err(errors::of_text)?);
        }
        let fields = value
            .cast::<PyDict>()
            .map_err(|_| Fault::other(value, "Match, text or dictionary"))?;
        let mut list = Vec::new();
        for (name, value) in fields {
            list.push(field_match(&String::from_python(&name)?, &value)?);
        }
        matching(&list)
    }
}

fn dictionary<'py>(fields: &Match, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    let to = To { py, plain: true };
    let made = PyDict::new(py);
    for one in fields.fields() {
        made.set_item(one.field.name, value_and_mask(one, to)?)?;
    }
    Ok(made.into_any())
}

/// Makes a match of fields. Errors: a field appears twice, or without its prerequisite.
fn matching(list: &[FieldMatch]) -> Result<Match, Fault> {
    Match::new(list).map_err(|(error, field)| Fault::new(error.to_string()).within(field.name))
}

impl PyForm for FieldMatch {
    fn annotation() -> String {
        "tuple[str, Value]".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        let name = PyString::intern(to.py, self.field.name).into_any();
        Ok(PyTuple::new(to.py, [name, value_and_mask(self, to)?])?.into_any())
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let pair = value.extract::<[Bound<'_, PyAny>; 2]>();
        let [name, value] = pair.map_err(|_| Fault::other(value, "field's name and value"))?;
        field_match(&String::from_python(&name)?, &value)
    }
}

/// A field's value, or a tuple of value and mask; in plain values, a list.
fn value_and_mask<'py>(one: &FieldMatch, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
    let value = value(one.field, &one.value, to)?;
    if one.is_exact() {
        return Ok(value);
    }
    let mask = self::value(one.field, &one.mask, to)?;
    if to.plain {
        return Ok([value, mask].into_pyobject(to.py)?.into_any());
    }
    Ok(PyTuple::new(to.py, [value, mask])?.into_any())
}

/// A field's name.
impl PyForm for &'static Field {
    fn annotation() -> String {
        "str".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.name.to_string().to_python(to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let name = String::from_python(value)?;
        let field = catalogue().field_named(&name);
        field.ok_or_else(|| Fault::other(value, "field"))
    }
}

fn value<'py>(field: &'static Field, bytes: &[u8; 16], to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
    let number = u128::from_be_bytes(*bytes) >> (128 - 8 * field.bytes());
    match field.style {
        Style::Mac => Ok(mac_text(to.py, Mac::of_value(bytes).0).into_any()),
        Style::Ip4 => Ipv4Addr::from_bits(number as u32).to_string().to_python(to),
        Style::Ip6 => Ipv6Addr::from_bits(number).to_string().to_python(to),
        Style::Dec | Style::Hex | Style::Bits(_) | Style::Port | Style::PacketType => {
            match u64::try_from(number) {
                Ok(number) => number.to_python(to),
                Err(_) => Ok(number.into_pyobject(to.py)?.into_any()),
            }
        }
    }
}

/// Reads a field's value: a number, a text such as `10.0.0.0/8`, or a pair of value and mask.
///
/// Errors: there is no such field, it cannot have the value, it takes no mask.
fn field_match(name: &str, value: &Bound<'_, PyAny>) -> Result<FieldMatch, Fault> {
    let Some(field) = catalogue().field_named(name) else {
        return Err(Fault::new(format!("there is no field '{name}'")));
    };
    read_value(field, value).map_err(|fault| fault.within(field.name))
}

fn read_value(field: &'static Field, value: &Bound<'_, PyAny>) -> Result<FieldMatch, Fault> {
    let (number, mask) = if let Ok(text) = value.cast::<PyString>() {
        read_text(field, &text.to_string())?
    } else if let Ok([number, mask]) = value.extract::<[Bound<'_, PyAny>; 2]>() {
        (
            read_number(field, &number)?,
            Some(read_number(field, &mask)?),
        )
    } else {
        (read_number(field, value)?, None)
    };
    let Some(mask) = mask else {
        return Ok(FieldMatch::exact(field, number));
    };
    let one = FieldMatch::masked(field, number, mask);
    if !field.maskable && !one.is_exact() {
        return Err(Fault::new("the field takes no mask"));
    }
    if number & !mask != 0 {
        return Err(Fault::new("the value has bits outside of the mask"));
    }
    Ok(one)
}

fn read_number(field: &'static Field, value: &Bound<'_, PyAny>) -> Result<u128, Fault> {
    if let Ok(text) = value.cast::<PyString>() {
        return parse_value(field, &text.to_string(), catalogue())
            .map_err(|error| Fault::other(value, error.message.trim_start_matches("no ")));
    }
    if let Ok(object) = value.cast::<PyInt>()
        && let Ok(number) = object.extract::<u128>()
        && (field.bits >= 128 || number >> field.bits == 0)
    {
        return Ok(number);
    }
    Err(Fault::other(
        value,
        &format!("number of {} bits", field.bits),
    ))
}

/// Reads a word. Errors: it is no value of the field.
fn read_word(field: &'static Field, word: &str) -> Result<u128, Fault> {
    let value = parse_value(field, word, catalogue());
    value.map_err(|what| Fault::new(format!("'{word}' is {what}")))
}

/// Reads `VALUE`, `VALUE/MASK` or `ADDRESS/LENGTH`: the value, and the mask if there is one.
fn read_text(field: &'static Field, text: &str) -> Result<(u128, Option<u128>), Fault> {
    let Some((value, mask)) = text.split_once('/') else {
        return Ok((read_word(field, text)?, None));
    };
    let value = read_word(field, value)?;
    let bits = u32::from(field.bits);
    let is_address = matches!(field.style, Style::Ip4 | Style::Ip6);
    let length = mask
        .parse::<u32>()
        .ok()
        .filter(|n| is_address && *n <= bits);
    let mask = match length {
        Some(0) => 0,
        Some(length) => u128::MAX >> (128 - bits) & u128::MAX << (bits - length),
        None => read_word(field, mask)?,
    };
    Ok((value & mask, Some(mask)))
}
