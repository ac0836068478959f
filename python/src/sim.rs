//! `bofuss.sim`: runs scenarios of the simulator, with controllers in Python.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bofuss_embed::Time;
use bofuss_oflib::Message;
use bofuss_sim::controller::{Controller, ControllerOutput};
use bofuss_sim::scenario::{ControllerRow, KINDS, Outside, Scenario, ScenarioError};
use bofuss_sim::{EventLog, LogEvent, NodeId, Observer, Timeline};
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;

use crate::form::PyForm;
use crate::message::Headed;

/// The exception that a controller raised; the first, if there are several.
type Raised = Rc<RefCell<Option<PyErr>>>;

/// The means that Python passes to a scenario: a reader of files, and controllers.
struct FromPython {
    read: Option<Py<PyAny>>,
    /// The controllers by name. Those that the scenario has taken are removed.
    controllers: BTreeMap<String, Py<PyAny>>,
    /// Makes one from the text of a file, with its name and that of the controller.
    load: Py<PyAny>,
    /// Those that the scenario has.
    taken: Vec<Py<PyAny>>,
    raised: Raised,
}

impl FromPython {
    /// The controller of a file. Errors: what Python says of it, which is kept as it was raised.
    fn load(&mut self, row: &ControllerRow, file: &str) -> Result<Py<PyAny>, ScenarioError> {
        let text = self.read(file)?;
        let name = row.name.get_ref();
        let loaded = Python::attach(|py| self.load.call1(py, (name, file, text)));
        loaded.map_err(|error| {
            let text = error.to_string();
            self.raised.borrow_mut().get_or_insert(error);
            text.into()
        })
    }
}

impl Outside for FromPython {
    fn read(&mut self, name: &str) -> Result<String, ScenarioError> {
        let Some(read) = &self.read else {
            return Err(format!("{name}: nothing is given that reads files").into());
        };
        let text = Python::attach(|py| read.bind(py).call1((name,))?.extract::<String>());
        Ok(text.map_err(|error| error.to_string())?)
    }

    fn controller(&mut self, row: &ControllerRow) -> Result<Box<dyn Controller>, ScenarioError> {
        if row.kind.get_ref() != "python" {
            return Err(format!("it is one of {KINDS}, python").into());
        }
        let name = row.name.get_ref();
        let calls = match (self.controllers.remove(name), &row.file) {
            (Some(calls), None) => calls,
            (None, Some(file)) => self.load(row, file.get_ref())?,
            (None, None) => return Err(format!("no controller is given for {name}").into()),
            (Some(_), Some(_)) => return Err(format!("{name} is given, and has a file").into()),
        };
        Python::attach(|py| self.taken.push(calls.clone_ref(py)));
        let controller = PythonController {
            calls,
            version: row.version.number(),
            next_tick: None,
            raised: self.raised.clone(),
        };
        Ok(Box::new(controller))
    }
}

/// A message for a switch, with its transaction id.
type Sent = (NodeId, u32, Message);

/// The messages that a controller sends in one call, in order. Any thread may add some.
#[pyclass(frozen)]
#[derive(Default)]
pub(crate) struct SentMessages(Mutex<Vec<Sent>>);

impl SentMessages {
    /// The list. Who has it must not run Python code, which could add a message.
    fn list(&self) -> MutexGuard<'_, Vec<Sent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl SentMessages {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Appends a message to the switch with this number. Raises ValueError for a member that does
    /// not fit.
    fn send(&self, switch: u32, xid: u32, message: &Bound<'_, PyAny>) -> PyResult<()> {
        let Headed { message, .. } = Headed::from_python(message)?;
        self.list().push((NodeId(switch), xid, message));
        Ok(())
    }
}

/// A controller in Python.
struct PythonController {
    /// The `bofuss.sim._Calls` that calls the controller.
    calls: Py<PyAny>,
    /// The number on the wire of the version that its switches speak.
    version: u8,
    next_tick: Option<Time>,
    raised: Raised,
}

impl PythonController {
    /// Passes an event to the controller, then sends its messages. `about` is the switch, and the
    /// message if one has arrived.
    fn call(
        &mut self,
        what: &str,
        now: Time,
        about: Option<(NodeId, Option<Headed>)>,
        out: &mut ControllerOutput,
    ) {
        let called = Python::attach(|py| self.call_python(py, what, now, about, out));
        match called {
            Ok(next) => self.next_tick = next.map(Time),
            Err(error) => {
                self.next_tick = None;
                out.fail(error.to_string());
                self.raised.borrow_mut().get_or_insert(error);
            }
        }
    }

    /// The same, in the interpreter. Returns the time of the controller's next tick. Errors: the
    /// exception that it raised.
    fn call_python(
        &self,
        py: Python<'_>,
        what: &str,
        now: Time,
        about: Option<(NodeId, Option<Headed>)>,
        out: &mut ControllerOutput,
    ) -> PyResult<Option<u64>> {
        let calls = self.calls.bind(py);
        let (switch, message) = match about {
            Some((switch, message)) => (Some(switch.0), message),
            None => (None, None),
        };
        let message = message.map(|message| message.unread(py)).transpose()?;
        let next = calls.call1((what, now.0, switch, message))?;
        let messages = calls.getattr("sent")?.cast_into::<SentMessages>()?;
        let sent = std::mem::take(&mut *messages.get().list());
        for (switch, xid, message) in sent {
            out.send(switch, xid, message);
        }
        next.extract()
    }
}

impl Controller for PythonController {
    fn connected(&mut self, now: Time, switch: NodeId, out: &mut ControllerOutput) {
        self.call("connected", now, Some((switch, None)), out);
    }

    fn disconnected(&mut self, now: Time, switch: NodeId, out: &mut ControllerOutput) {
        self.call("disconnected", now, Some((switch, None)), out);
    }

    fn message(
        &mut self,
        now: Time,
        switch: NodeId,
        xid: u32,
        message: Message,
        out: &mut ControllerOutput,
    ) {
        let name = message.name();
        let headed = Headed {
            version: self.version,
            xid,
            message,
        };
        self.call(name, now, Some((switch, Some(headed))), out);
    }

    fn tick(&mut self, now: Time, out: &mut ControllerOutput) {
        // The call may be too early, if the controller had set an earlier time before.
        if self.next_tick.is_some_and(|next| next <= now) {
            self.call("tick", now, None, out);
        }
    }

    fn next_tick(&self) -> Option<Time> {
        self.next_tick
    }
}

/// The time between two looks at the signals of Python.
const LOOK_EACH: Duration = Duration::from_millis(100);

/// Collects the lines of the event log, if there is one, and the timeline; ends the run if Python
/// is interrupted.
struct Recorder {
    log: Option<EventLog>,
    lines: Vec<String>,
    timeline: Timeline,
    /// Called with the simulated time and the number of events.
    progress: Option<Py<PyAny>>,
    looked: Instant,
    raised: Raised,
}

impl Observer for Recorder {
    fn event(&mut self, event: &LogEvent<'_>) {
        if let Some(log) = &self.log {
            self.lines.push(log.line(event));
        }
        self.timeline.add(event);
    }

    fn goes_on(&mut self, now: Time, events: u64) -> bool {
        if self.looked.elapsed() < LOOK_EACH {
            return true;
        }
        self.looked = Instant::now();
        let looked = Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &self.progress {
                progress.bind(py).call1((now.0, events))?;
            }
            Ok(())
        });
        match looked {
            Ok(()) => true,
            Err(error) => {
                self.raised.borrow_mut().get_or_insert(error);
                false
            }
        }
    }
}

/// The result of a scenario: statistics as JSON, the assertions that do not hold, the event log as
/// lines of JSON (none if it is not wanted), and the timeline as SVG.
type RunResult = (String, Vec<String>, Vec<String>, String);

fn refused(error: ScenarioError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The same, with the exception that led to it.
fn caused(error: &ScenarioError, cause: PyErr) -> PyErr {
    let raised = PyValueError::new_err(error.to_string());
    Python::attach(|py| raised.set_cause(py, Some(cause)));
    raised
}

/// Runs a scenario, while other threads of Python go on. Its controllers of kind `python` are taken
/// out of `controllers`, by name, or made of their files. `progress` is
/// called with the simulated time and the number of events so far, some times a second.
#[pyfunction]
pub(crate) fn run_scenario(
    py: Python<'_>,
    text: &str,
    seed: Option<u64>,
    read: Option<Py<PyAny>>,
    wants_log: bool,
    controllers: BTreeMap<String, Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunResult> {
    let load = py.import("bofuss.sim")?.getattr("_load")?.unbind();
    py.detach(move || {
        let raised = Raised::default();
        let mut outside = FromPython {
            read,
            controllers,
            load,
            taken: Vec::new(),
            raised: raised.clone(),
        };
        let built = Scenario::build(text, seed, &mut outside);
        let mut scenario = built.map_err(|error| match raised.borrow_mut().take() {
            Some(cause) => caused(&error, cause),
            None => refused(error),
        })?;
        if let Some(name) = outside.controllers.keys().next() {
            let what = format!("no controller of kind python is called {name}");
            return Err(PyValueError::new_err(what));
        }
        name_switches(outside.taken, &scenario)?;
        warn(scenario.warnings())?;
        run(&mut scenario, wants_log, progress, &raised)
    })
}

/// Warns of what is probably not meant. Errors: the user wants exceptions for warnings.
fn warn(warnings: &[String]) -> PyResult<()> {
    Python::attach(|py| {
        let class = py.get_type::<PyUserWarning>();
        for text in warnings {
            // The line of the caller of `sim.run`.
            PyErr::warn(py, &class, &CString::new(text.as_str())?, 2)?;
        }
        Ok(())
    })
}

/// Tells controllers the names of the switches.
fn name_switches(controllers: Vec<Py<PyAny>>, scenario: &Scenario) -> PyResult<()> {
    Python::attach(|py| {
        for calls in controllers {
            for (name, switch) in &scenario.names().switches {
                let named = (switch.0, name);
                calls.bind(py).call_method1("name_switch", named)?;
            }
        }
        Ok(())
    })
}

/// Gives the exception that ends a run the statistics so far, as JSON.
fn keep_statistics(scenario: &mut Scenario, raised: &PyErr) {
    let statistics = scenario.statistics().to_string();
    Python::attach(|py| {
        // An exception that takes no member is raised as it is.
        let _ = raised.value(py).setattr("statistics", statistics);
    });
}

/// Runs a scenario to its end. Errors: what ended it before, with the statistics so far.
fn run(
    scenario: &mut Scenario,
    wants_log: bool,
    progress: Option<Py<PyAny>>,
    raised: &Raised,
) -> PyResult<RunResult> {
    let names = scenario.names().clone();
    let catalogue = scenario.catalogue().clone();
    let log = wants_log.then(|| EventLog::new(scenario.network(), &names, catalogue));
    let end = scenario.end();
    let mut recorder = Recorder {
        log,
        lines: Vec::new(),
        timeline: Timeline::new(end, &names),
        progress,
        looked: Instant::now(),
        raised: raised.clone(),
    };
    if let Err(error) = scenario.run_until(end, &mut recorder) {
        let raised = raised.borrow_mut().take();
        let raised = raised.unwrap_or_else(|| refused(error));
        keep_statistics(scenario, &raised);
        return Err(raised);
    }
    let statistics = scenario.statistics();
    let mut failures = Vec::new();
    for failure in scenario.failures(&statistics) {
        failures.push(failure.to_string());
    }
    let timeline = recorder.timeline.svg();
    Ok((statistics.to_string(), failures, recorder.lines, timeline))
}
