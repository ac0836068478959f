//! The switch of a Python object: behind a lock, so that any thread may call it; with its time, and
//! the record from which it is copied.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use bofuss_embed::{ConnId, EmbeddedSwitch, Time};
use bofuss_oflib::Version;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyTuple;

/// The exception for a call that was refused and changed nothing.
pub(crate) fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The time of an input, that of the last one by default. Errors: it is before that.
pub(crate) fn time_of_input(now: Option<u64>, last: Time) -> PyResult<Time> {
    let now = now.map_or(last, Time);
    if now < last {
        let what = format!("{} is before {}, when the last input came", now.0, last.0);
        return Err(PyValueError::new_err(what));
    }
    Ok(now)
}

/// An embedded switch that moves between threads.
pub(crate) struct Movable(EmbeddedSwitch);

// SAFETY: `EmbeddedSwitch` is not `Send` for its reference counts, which are not atomic. All that
// they count is within the switch: nothing of it is handed out of `Locked::call`, whose results are
// `Send`, and thus have no such count; its pool is its own, and no thread-local or static holds a
// part of it. So the switch moves as a whole, and only the thread that has the lock touches it.
unsafe impl Send for Movable {}

/// A call as a record has it: the name of the method, and its arguments.
pub(crate) type Call = (&'static str, Py<PyTuple>);

/// A call for the record of a switch, if that is recorded. Errors: the arguments'.
pub(crate) fn noted<'py, T>(
    is_recorded: bool,
    name: &'static str,
    arguments: T,
    py: Python<'py>,
) -> PyResult<Option<Call>>
where
    T: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
    PyErr: From<T::Error>,
{
    if !is_recorded {
        return Ok(None);
    }
    Ok(Some((name, arguments.into_pyobject(py)?.unbind())))
}

/// The record of a switch: the calls that made it what it is.
pub(crate) struct Calls {
    pub(crate) calls: Vec<Call>,
    /// Bytes that it has room for.
    room: usize,
}

/// Bytes that a call takes in a record, besides those that it passes.
const CALL_BYTES: usize = 160;

impl Calls {
    /// An empty record of at most so many bytes.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            calls: Vec::new(),
            room: max_bytes,
        }
    }

    /// Appends a call that passes so many bytes; a record that is full loses all.
    pub(crate) fn push(&mut self, call: Call, bytes: usize) {
        match self.room.checked_sub(bytes + CALL_BYTES) {
            Some(room) => {
                self.room = room;
                self.calls.push(call);
            }
            None => {
                self.room = 0;
                self.calls = Vec::new();
            }
        }
    }

    /// A copy, which shares the arguments.
    pub(crate) fn copied(&self, py: Python<'_>) -> Self {
        let calls = self.calls.iter();
        Self {
            calls: calls
                .map(|(name, one)| (*name, one.clone_ref(py)))
                .collect(),
            room: self.room,
        }
    }

    /// The calls. Errors: there was no room for all of them.
    pub(crate) fn all(&self) -> PyResult<&[Call]> {
        if self.room == 0 {
            let what = "the record of the switch is longer than max_record_bytes";
            return Err(PyValueError::new_err(what));
        }
        Ok(&self.calls)
    }
}

/// A switch, and what its Python object knows of it.
pub(crate) struct Held {
    switch: Movable,
    pub(crate) now: Time,
    /// The versions of the connections of messages.
    pub(crate) versions: BTreeMap<ConnId, Version>,
    record: Option<Calls>,
}

impl Held {
    pub(crate) fn new(switch: EmbeddedSwitch, now: Time, record: Option<Calls>) -> Self {
        Self {
            switch: Movable(switch),
            now,
            versions: BTreeMap::new(),
            record,
        }
    }

    /// The switch.
    pub(crate) fn switch(&mut self) -> &mut EmbeddedSwitch {
        &mut self.switch.0
    }

    /// The time of an input. Errors: it is before that of the last input.
    pub(crate) fn at(&self, now: Option<u64>) -> PyResult<Time> {
        time_of_input(now, self.now)
    }

    /// Notes a call that was made and passed so many bytes, unless nothing is recorded.
    pub(crate) fn note(&mut self, call: Option<Call>, bytes: usize) {
        if let (Some(record), Some(call)) = (&mut self.record, call) {
            record.push(call, bytes);
        }
    }

    /// The record. Errors: the switch has none, or it had no room.
    pub(crate) fn record(&self) -> PyResult<&[Call]> {
        let Some(record) = &self.record else {
            let what = "a switch is copied by its record: make it with recorded=True";
            return Err(PyTypeError::new_err(what));
        };
        record.all()
    }
}

/// A switch behind a lock.
pub(crate) struct Locked(Mutex<Held>);

impl Locked {
    pub(crate) fn new(held: Held) -> Self {
        Self(Mutex::new(held))
    }

    /// Calls a function of few microseconds. It must not run Python code, which could call the
    /// switch again.
    pub(crate) fn call<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Held) -> PyResult<T>,
    ) -> PyResult<T> {
        call(&mut *self.0.lock_py_attached(py).map_err(|_| broken())?)
    }

    /// Calls a function that may take long; other threads of Python go on.
    pub(crate) fn call_long<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Held) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut held: MutexGuard<'_, Held> = self.0.lock().map_err(|_| broken())?;
            call(&mut held)
        })
    }
}

/// The exception for a switch in which a call failed.
fn broken() -> PyErr {
    PyRuntimeError::new_err("an earlier call of this switch failed")
}
