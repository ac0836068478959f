//! `bofuss.P4Switch`: a switch with a P4 program in a Python program, which passes in the time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bofuss_embed::Time;
use bofuss_embed::p4::{Int, Named, P4Effect, P4Switch, Program};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::buffer::Buffer;
use crate::locked::{Call, Calls, noted, refused, time_of_input};
use crate::switch::{MAX_RECORD_BYTES, Reduced};

/// The Python module that has the classes of effects.
const MODULE: &str = "bofuss.p4";

/// A switch with a P4 program, without threads, sockets and clock. `receive` is an input with its
/// time, and `drain` returns the effects. Times are nanoseconds since the switch began, and do not
/// go back; without one, an input has the time of the one before. Any thread may call a switch.
/// `copy.copy` makes another that continues as this one does; with `recorded`, it can be pickled.
#[pyclass(module = "bofuss.p4", name = "P4Switch", frozen)]
pub(crate) struct PyP4Switch {
    held: Mutex<Held>,
    /// What it was made with, if its calls are recorded.
    made_with: Option<Py<PyDict>>,
}

/// The switch, the time of the last input, and its calls, if they are recorded.
struct Held {
    switch: P4Switch,
    now: Time,
    record: Option<Calls>,
}

impl Held {
    /// The time of an input. Errors: it is before that of the last one.
    fn at(&self, now: Option<u64>) -> PyResult<Time> {
        time_of_input(now, self.now)
    }

    /// The index of what the program calls `name`. Errors: it has nothing of this name.
    fn named(&self, kind: Named, what: &str, name: &str) -> PyResult<usize> {
        let index = self.switch.switch().program().index(kind, name);
        index.ok_or_else(|| PyValueError::new_err(format!("the program has no {what} {name}")))
    }

    /// Notes a call that was made and passed so many bytes, unless nothing is recorded.
    fn note(&mut self, call: Option<Call>, bytes: usize) {
        if let (Some(record), Some(call)) = (&mut self.record, call) {
            record.push(call, bytes);
        }
    }
}

fn no_cell(name: &str, index: usize) -> PyErr {
    PyValueError::new_err(format!("{name} has no index {index}"))
}

/// A number as Python has it.
fn to_python<'py>(py: Python<'py>, number: &Int) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("builtins")?.getattr("int")?;
    class.call1((number.to_string(), 16))
}

/// JSON of an argument: that of a buffer, of the file with a name, or of a dict.
fn json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = value.py();
    if let Some(bytes) = Buffer::of(value) {
        return Ok(bytes);
    }
    if value.cast::<PyDict>().is_ok() {
        let text = py.import("json")?.call_method1("dumps", (value,))?;
        return Ok(PyBytes::new(py, text.extract::<String>()?.as_bytes()));
    }
    let path = py.import("pathlib")?.getattr("Path")?.call1((value,))?;
    Ok(path.call_method0("read_bytes")?.cast_into::<PyBytes>()?)
}

impl PyP4Switch {
    /// The switch. Who has it must not run Python code, which could call the switch again.
    fn held(&self, py: Python<'_>) -> MutexGuard<'_, Held> {
        let held = self.held.lock_py_attached(py);
        held.unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the effects, each with the name of its list if it is a digest, and notes the call
    /// unless there are none: then it changed nothing.
    fn taken(&self, py: Python<'_>, call: Option<Call>) -> Vec<(P4Effect, Option<String>)> {
        let mut held = self.held(py);
        let mut taken = Vec::new();
        while let Some(effect) = held.switch.next_effect() {
            let name = match &effect {
                P4Effect::Digest(digest) => {
                    let lists = &held.switch.switch().program().digests;
                    Some(lists[digest.list].name.clone())
                }
                P4Effect::Transmit(_) | P4Effect::Log(_) => None,
            };
            taken.push((effect, name));
        }
        held.note(call.filter(|_| !taken.is_empty()), 0);
        taken
    }
}

#[pymethods]
impl PyP4Switch {
    /// Makes a switch with ports 1 to `ports`. `program` is the JSON that `p4c-bm2-ss` writes: the
    /// name of its file, or its bytes. `entries` is as for `write`. `seed` is that of the program's
    /// random numbers. With `recorded`, program, entries and calls are kept, the calls in at most
    /// `max_record_bytes`: `pickle` makes the same calls on a new switch.
    #[new]
    #[pyo3(signature = (
        program, entries = None, *, ports = 0, seed = 0, now = 0,
        recorded = false, max_record_bytes = MAX_RECORD_BYTES
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        program: &Bound<'_, PyAny>,
        entries: Option<&Bound<'_, PyAny>>,
        ports: u32,
        seed: u64,
        now: u64,
        recorded: bool,
        max_record_bytes: usize,
    ) -> PyResult<Self> {
        let program = json(program)?;
        let bytes = program.as_bytes();
        // A long program takes long; other threads of Python go on.
        let loaded = py.detach(|| Program::load(bytes));
        let loaded = loaded.map_err(|error| refused(format!("program: {error}")))?;
        let mut switch = P4Switch::new(loaded, seed);
        let entries = entries.map(json).transpose()?;
        if let Some(entries) = &entries {
            let bytes = entries.as_bytes();
            py.detach(|| load(&mut switch, bytes))?;
        }
        for port in 1..=ports {
            switch.add_port(port).map_err(refused)?;
        }
        let mut made_with = None;
        if recorded {
            let kept = PyDict::new(py);
            kept.set_item("program", program)?;
            kept.set_item("entries", entries)?;
            kept.set_item("ports", ports)?;
            kept.set_item("seed", seed)?;
            kept.set_item("now", now)?;
            kept.set_item("recorded", recorded)?;
            kept.set_item("max_record_bytes", max_record_bytes)?;
            made_with = Some(kept.unbind());
        }
        let held = Held {
            switch,
            now: Time(now),
            record: recorded.then(|| Calls::new(max_record_bytes)),
        };
        Ok(Self {
            held: Mutex::new(held),
            made_with,
        })
    }

    /// The time of the last input.
    #[getter]
    fn now(&self, py: Python<'_>) -> u64 {
        self.held(py).now.0
    }

    /// Adds a port, 0 to 510; one that is there stays as it is.
    fn add_port(&self, py: Python<'_>, number: u32) -> PyResult<()> {
        let call = noted(self.made_with.is_some(), "add_port", (number,), py)?;
        let mut held = self.held(py);
        held.switch.add_port(number).map_err(refused)?;
        held.note(call, 0);
        Ok(())
    }

    /// Removes a port.
    fn remove_port(&self, py: Python<'_>, number: u32) -> PyResult<()> {
        let call = noted(self.made_with.is_some(), "remove_port", (number,), py)?;
        let mut held = self.held(py);
        held.switch.remove_port(number).map_err(refused)?;
        held.note(call, 0);
        Ok(())
    }

    /// Adds table entries, multicast groups and clone sessions: JSON in the form of the P4
    /// tutorials' runtime files, as a dict, the name of a file, or its bytes. If something is
    /// wrong, nothing changes.
    fn write(&self, py: Python<'_>, entries: &Bound<'_, PyAny>) -> PyResult<()> {
        // The JSON is made first, as Python may call the switch meanwhile.
        let json = json(entries)?;
        let call = noted(self.made_with.is_some(), "write", (json.clone(),), py)?;
        let bytes = json.as_bytes();
        // It may take long; other threads of Python go on.
        py.detach(|| {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            load(&mut held.switch, bytes)?;
            held.note(call, bytes.len());
            Ok(())
        })
    }

    /// Passes a frame that arrived on a port, as any object with a buffer: from the destination
    /// address on, without FCS.
    #[pyo3(signature = (port, frame, now = None))]
    fn receive(
        &self,
        py: Python<'_>,
        port: u32,
        frame: Buffer<'_>,
        now: Option<u64>,
    ) -> PyResult<()> {
        let frame = frame.named("frame")?;
        let call = noted(
            self.made_with.is_some(),
            "receive",
            (port, frame.clone(), now),
            py,
        )?;
        let mut held = self.held(py);
        let at = held.at(now)?;
        let received = held.switch.receive(at, port, frame.as_bytes());
        received.map_err(refused)?;
        held.now = at;
        held.note(call, frame.as_bytes().len());
        Ok(())
    }

    /// Lets packets for a port wait before egress, by their priority, because it has no room. Until
    /// `leave` is called, none leaves.
    fn hold(&self, py: Python<'_>, port: u32) -> PyResult<()> {
        let call = noted(self.made_with.is_some(), "hold", (port,), py)?;
        let mut held = self.held(py);
        held.switch.hold(port).map_err(refused)?;
        held.note(call, 0);
        Ok(())
    }

    /// Lets at most `most` of the packets leave that wait for a port, those of the highest priority
    /// first. When none is left, the port has room again.
    #[pyo3(signature = (port, most = 1, now = None))]
    fn leave(&self, py: Python<'_>, port: u32, most: usize, now: Option<u64>) -> PyResult<()> {
        let call = noted(self.made_with.is_some(), "leave", (port, most, now), py)?;
        let mut held = self.held(py);
        let at = held.at(now)?;
        held.switch.leave(at, port, most).map_err(refused)?;
        held.now = at;
        held.note(call, 0);
        Ok(())
    }

    /// The number of packets that wait, for all ports.
    #[getter]
    fn waiting(&self, py: Python<'_>) -> usize {
        self.held(py).switch.switch().waiting()
    }

    /// Explains what would become of a frame on a port, as text, and changes nothing.
    #[pyo3(signature = (port, frame, now = None))]
    fn explain(
        &self,
        py: Python<'_>,
        port: u32,
        frame: Buffer<'_>,
        now: Option<u64>,
    ) -> PyResult<String> {
        let frame = frame.named("frame")?;
        let held = self.held(py);
        let explained = held.switch.explain(held.at(now)?, port, frame.as_bytes());
        explained.map_err(refused)
    }

    /// Takes the effects of the inputs, in order: `Transmit`, `Digest` and `Log` of `bofuss.p4`.
    fn drain<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let module = py.import(MODULE)?;
        let call = noted(self.made_with.is_some(), "drain", (), py)?;
        let mut effects = Vec::new();
        for (effect, name) in self.taken(py, call) {
            effects.push(match effect {
                P4Effect::Transmit(sent) => {
                    let frame = PyBytes::new(py, &sent.frame);
                    let members = (sent.port, frame, sent.priority);
                    module.getattr("Transmit")?.call1(members)?
                }
                P4Effect::Digest(digest) => {
                    let values = digest.values.iter().map(|value| to_python(py, value));
                    let values = PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)?;
                    module.getattr("Digest")?.call1((name, values))?
                }
                P4Effect::Log(text) => module.getattr("Log")?.call1((text,))?,
            });
        }
        Ok(effects)
    }

    /// The entries of a table as text, with their direct counters; those of all tables without one.
    #[pyo3(signature = (table = None))]
    fn entries(&self, py: Python<'_>, table: Option<&str>) -> PyResult<String> {
        let held = self.held(py);
        let switch = held.switch.switch();
        Ok(match table {
            Some(name) => {
                let table = held.named(Named::Table, "table", name)?;
                switch.show_table(table, 0, usize::MAX)
            }
            None => switch.show_entries(),
        })
    }

    /// The packets and bytes of a counter, as `Count` of `bofuss.p4`.
    #[pyo3(signature = (name, index = 0))]
    fn counter<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        index: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let held = self.held(py);
        let counter = held.named(Named::Counter, "counter", name)?;
        let count = held.switch.switch().externs().counter(counter, index);
        let count = count.ok_or_else(|| no_cell(name, index))?;
        drop(held);
        let class = py.import(MODULE)?.getattr("Count")?;
        class.call1((count.packets, count.bytes))
    }

    /// The value of a register.
    #[pyo3(signature = (name, index = 0))]
    fn register<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        index: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let held = self.held(py);
        let register = held.named(Named::Register, "register", name)?;
        let value = held.switch.switch().externs().register(register, index);
        drop(held);
        to_python(py, &value.ok_or_else(|| no_cell(name, index))?)
    }

    /// The packets that ended within the switch, by reason, without those reasons that had none.
    #[getter]
    fn drops(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        let held = self.held(py);
        let counts = held.switch.counts().drops();
        counts.filter(|(_, count)| *count > 0).collect()
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        let held = self.held(py);
        let copy = Held {
            switch: held.switch.clone(),
            now: held.now,
            record: held.record.as_ref().map(|record| record.copied(py)),
        };
        Self {
            held: Mutex::new(copy),
            made_with: self.made_with.as_ref().map(|kept| kept.clone_ref(py)),
        }
    }

    /// For `pickle`: a function, what the switch was made with, and its calls. Raises TypeError
    /// without `recorded`, and ValueError if the calls took more than `max_record_bytes`.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Reduced<'py>)> {
        let held = self.held(py);
        let (Some(made_with), Some(record)) = (&self.made_with, &held.record) else {
            let what = "a switch is pickled by its record: make it with recorded=True";
            return Err(PyTypeError::new_err(what));
        };
        let calls = record.all()?.iter();
        let calls = calls.map(|(name, one)| (*name, one.clone_ref(py)));
        let calls: Vec<Call> = calls.collect();
        drop(held);
        let calls = PyList::new(py, calls)?;
        let again = py.import(MODULE)?.getattr("_again")?;
        Ok((again, (made_with.bind(py).copy()?, calls)))
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        self.__copy__(py)
    }
}

/// Adds entries to a switch. Errors: what is wrong.
fn load(switch: &mut P4Switch, entries: &[u8]) -> PyResult<()> {
    let loaded = switch.load_entries(entries);
    loaded.map_err(|error| refused(format!("entries: {error}")))
}
