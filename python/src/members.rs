//! Reads and writes the members of Python objects and of the dictionaries that stand for them.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::form::{Fault, PyForm, To};

/// The key under which a dictionary names its class.
pub(crate) const CLASS: &str = "class";

/// A member of a class, from its row.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    /// Its type, for stubs.
    pub(crate) annotation: String,
    /// The type that the constructor accepts for it, for stubs.
    pub(crate) accepted: String,
    /// True if it has no initial value.
    pub(crate) is_needed: bool,
}

impl Member {
    /// The member of this name and type.
    pub(crate) fn of<T: PyForm>(name: &'static str) -> Self {
        Self {
            name,
            annotation: T::annotation(),
            accepted: T::accepted(),
            is_needed: false,
        }
    }

    /// The member of this name, which has that initial value if there is one.
    pub(crate) fn with<T: PyForm>(name: &'static str, initial: Option<T>) -> Self {
        Self {
            is_needed: initial.is_none(),
            ..Self::of::<T>(name)
        }
    }

    /// The member that a function returns: the compiler infers its type.
    pub(crate) fn given_by<S, T: PyForm>(name: &'static str, _: fn(&S) -> &T) -> Self {
        Self::of::<T>(name)
    }
}

/// The destination of a value: a new object or dictionary, or an existing object.
pub(crate) struct Destination<'py> {
    pub(crate) to: To<'py>,
    pub(crate) existing: Option<Bound<'py, PyAny>>,
}

impl<'py> Destination<'py> {
    /// An existing object.
    pub(crate) fn existing(made: Bound<'py, PyAny>) -> Self {
        let py = made.py();
        Self {
            to: To { py, plain: false },
            existing: Some(made),
        }
    }
}

/// An object or dictionary to which members are written.
pub(crate) struct MembersOut<'py> {
    pub(crate) made: Bound<'py, PyAny>,
    pub(crate) to: To<'py>,
}

impl<'py> MembersOut<'py> {
    /// The interpreter.
    pub(crate) fn py(&self) -> Python<'py> {
        self.to.py
    }

    /// Writes one member.
    pub(crate) fn put<T: PyForm>(&self, name: &Bound<'py, PyString>, value: &T) -> PyResult<()> {
        let value = value.to_python(self.to)?;
        if self.to.plain {
            self.made.set_item(name, value)
        } else {
            self.made.setattr(name, value)
        }
    }
}

/// An object or dictionary from which members are read.
pub(crate) struct MembersIn<'py> {
    pub(crate) value: Bound<'py, PyAny>,
    /// The name of its class; empty for a dictionary that names none.
    pub(crate) class: String,
    pub(crate) is_dictionary: bool,
}

impl<'py> MembersIn<'py> {
    /// Wraps a value. Errors: it is neither an object of such a class nor a dictionary.
    pub(crate) fn of(value: &Bound<'py, PyAny>, wanted: &str) -> Result<Self, Fault> {
        let is_dictionary = value.is_instance_of::<PyDict>();
        let class = if is_dictionary {
            value.get_item(CLASS).ok()
        } else {
            let class = value.getattr(intern!(value.py(), "_class"));
            Some(class.map_err(|_| Fault::other(value, wanted))?)
        };
        let class = match class {
            Some(class) => String::from_python(&class)?,
            None => String::new(),
        };
        Ok(Self {
            value: value.clone(),
            class,
            is_dictionary,
        })
    }

    /// The interpreter.
    pub(crate) fn py(&self) -> Python<'py> {
        self.value.py()
    }

    /// The fault that the class is not one of those that are wanted.
    pub(crate) fn unknown(&self, wanted: &str) -> Fault {
        Fault::new(match self.class.as_str() {
            "" => format!("a dictionary without '{CLASS}' is no {wanted}"),
            class => format!("a {class} is no {wanted}"),
        })
    }

    /// Checks the class. Errors: it is another one than `class`.
    pub(crate) fn expect(&self, class: &str) -> Result<(), Fault> {
        if self.class == class || (self.is_dictionary && self.class.is_empty()) {
            return Ok(());
        }
        Err(self.unknown(class))
    }

    /// Reads a member; `None` if it is missing. Errors: its value does not fit.
    pub(crate) fn get<T: PyForm>(&self, name: &Bound<'py, PyString>) -> Option<Result<T, Fault>> {
        let found = if self.is_dictionary {
            self.value.get_item(name)
        } else {
            self.value.getattr(name)
        };
        let value = found.ok()?;
        Some(T::from_python(&value).map_err(|fault| fault.within(name)))
    }

    /// Reads a member into its place, unless it is missing. Errors: its value does not fit.
    pub(crate) fn read<T: PyForm>(
        &self,
        name: &Bound<'py, PyString>,
        place: &mut T,
    ) -> Result<(), Fault> {
        if let Some(value) = self.get(name) {
            *place = value?;
        }
        Ok(())
    }

    /// Reads a member, or returns `initial` if it is missing. Errors: it is missing and has no
    /// initial value, or its value does not fit.
    pub(crate) fn need<T: PyForm>(
        &self,
        name: &Bound<'py, PyString>,
        initial: Option<T>,
    ) -> Result<T, Fault> {
        match (self.get(name), initial) {
            (Some(value), _) => value,
            (None, Some(initial)) => Ok(initial),
            (None, None) => Err(Fault::new("it is missing").within(name)),
        }
    }
}
