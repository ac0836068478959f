//! Python classes that are created from rows when the module is imported.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyString, PyTuple, PyType};

use crate::form::{Fault, PyForm, To};
use crate::members::{CLASS, Destination, Member, MembersIn, MembersOut};

/// The Python module that has the base classes and the exceptions.
pub(crate) const BASES: &str = "bofuss._record";

/// The function [`Class::convert`].
type ConvertFn = for<'py> fn(&MembersIn<'py>, Destination<'py>) -> Result<Bound<'py, PyAny>, Fault>;
/// The function [`Class::text`].
type TextFn = fn(&MembersIn<'_>) -> Result<String, Fault>;

/// A Python class, defined by a row, and its parts that are created when they are first used.
pub(crate) struct Class {
    pub(crate) name: &'static str,
    /// The name of its base class.
    pub(crate) base: &'static str,
    pub(crate) members: fn() -> Vec<Member>,
    /// Reads a value from an object or a dictionary, and writes it to the destination.
    convert: ConvertFn,
    /// Reads a value and returns its text form.
    text: TextFn,
    /// The class itself.
    made: PyOnceLock<Py<PyType>>,
    /// The `__new__` of the class.
    new: PyOnceLock<Py<PyAny>>,
    /// See [`Class::unread`].
    unread: PyOnceLock<Py<PyType>>,
}

impl Class {
    /// A class that is not created yet.
    pub(crate) const fn new(
        name: &'static str,
        base: &'static str,
        members: fn() -> Vec<Member>,
        convert: ConvertFn,
        text: TextFn,
    ) -> Self {
        Self {
            name,
            base,
            members,
            convert,
            text,
            made: PyOnceLock::new(),
            new: PyOnceLock::new(),
            unread: PyOnceLock::new(),
        }
    }

    /// The Python class; creates it if this was not done yet.
    pub(crate) fn made<'py>(&'static self, py: Python<'py>) -> PyResult<Bound<'py, PyType>> {
        let made = self
            .made
            .get_or_try_init(py, || self.make(py).map(Bound::unbind))?;
        Ok(made.bind(py).clone())
    }

    /// The derived class of decoded messages whose members are not Python values yet: see
    /// `_Unread` in `bofuss/_record.py`.
    pub(crate) fn unread<'py>(&'static self, py: Python<'py>) -> PyResult<&'py Bound<'py, PyType>> {
        let class = self.unread.get_or_try_init(py, || {
            let make = py.import(BASES)?.getattr("unread")?;
            let class = make.call1((self.made(py)?,))?;
            PyResult::Ok(class.cast_into::<PyType>()?.unbind())
        })?;
        Ok(class.bind(py))
    }

    /// A new object of this class, with all members unset.
    pub(crate) fn new_object<'py>(&'static self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let new = self.new.get_or_try_init(py, || {
            let new = self.made(py)?.getattr("__new__")?;
            PyResult::Ok(new.unbind())
        })?;
        new.bind(py).call1((self.made(py)?,))
    }

    /// Opens a destination for the members of a value of this class.
    pub(crate) fn open<'py>(&'static self, target: Destination<'py>) -> PyResult<MembersOut<'py>> {
        let to = target.to;
        let made = match target.existing {
            Some(made) => made,
            None if to.plain => {
                let dictionary = PyDict::new(to.py);
                dictionary.set_item(CLASS, self.name)?;
                dictionary.into_any()
            }
            None => self.new_object(to.py)?,
        };
        Ok(MembersOut { made, to })
    }

    fn make<'py>(&'static self, py: Python<'py>) -> PyResult<Bound<'py, PyType>> {
        let mut names: Vec<&str> = Vec::new();
        for member in (self.members)() {
            names.push(member.name);
        }
        let base = py.import(BASES)?.getattr(self.base)?;
        let inherited = Vec::<String>::from_python(&base.getattr("__slots__")?)?;
        let mut slots = names.clone();
        slots.retain(|name| !inherited.iter().any(|i| i == name));
        let parts = PyDict::new(py);
        parts.set_item("__slots__", PyTuple::new(py, slots)?)?;
        parts.set_item("__match_args__", PyTuple::new(py, names)?)?;
        parts.set_item("__module__", "bofuss.oflib")?;
        parts.set_item("_class", self.name)?;
        let convert = PyCFunction::new_closure(
            py,
            None,
            None,
            move |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
                self.called(arguments)
            },
        )?;
        parts.set_item("_convert", convert)?;
        let made = py.get_type::<PyType>().call1((self.name, (base,), parts))?;
        Ok(made.cast_into::<PyType>()?)
    }

    /// The class's `_convert(value, into)`: reads `value`, an object or a dictionary, and writes it
    /// to the object `into`, or to a new dictionary if that is None. `_convert(value)` returns the
    /// text of the value.
    fn called<'py>(&'static self, arguments: &Bound<'py, PyTuple>) -> PyResult<Py<PyAny>> {
        let py = arguments.py();
        let mut source = MembersIn::of(&arguments.get_item(0)?, self.name)?;
        self.check_keys(&source)?;
        if source.is_dictionary {
            source.class = self.name.into();
        }
        let Ok(into) = arguments.get_item(1) else {
            return Ok(PyString::new(py, &(self.text)(&source)?)
                .into_any()
                .unbind());
        };
        let plain = into.is_none();
        let target = Destination {
            to: To { py, plain },
            existing: (!plain).then_some(into),
        };
        let made = (self.convert)(&source, target);
        Ok(made.map_err(|fault| fault.within(self.name))?.unbind())
    }

    /// Checks the keys of a dictionary. Errors: a key that is no member.
    fn check_keys(&self, source: &MembersIn<'_>) -> PyResult<()> {
        let Ok(dictionary) = source.value.cast::<PyDict>() else {
            return Ok(());
        };
        let members = (self.members)();
        for key in dictionary.keys() {
            let key = String::from_python(&key)?;
            if key != CLASS && !members.iter().any(|member| member.name == key) {
                let what = format!("{} has no member '{key}'", self.name);
                return Err(PyTypeError::new_err(what));
            }
        }
        Ok(())
    }
}
