//! `bofuss.sim`: scenarios of the simulator, run to their end.

use bofuss_sim::controller::Controller;
use bofuss_sim::scenario::{ControllerRow, Outside, Scenario};
use bofuss_sim::{EventLog, LogEvent, Observer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Files that a scenario names are read by a Python function.
struct PythonFiles<'py>(Option<Bound<'py, PyAny>>);

impl Outside for PythonFiles<'_> {
    fn read(&mut self, name: &str) -> Result<String, String> {
        let Some(read) = &self.0 else {
            return Err(format!("{name}: nothing is given that reads files"));
        };
        let text = read.call1((name,)).and_then(|text| text.extract());
        text.map_err(|error| error.to_string())
    }

    fn controller(&mut self, _: &ControllerRow) -> Result<Box<dyn Controller>, String> {
        Err("the kinds of controllers here are learning and rules".into())
    }
}

/// Keeps the lines of the event log.
struct Lines {
    log: Option<EventLog>,
    lines: Vec<String>,
}

impl Observer for Lines {
    fn event(&mut self, event: &LogEvent<'_>) {
        if let Some(log) = &self.log {
            self.lines.push(log.line(event));
        }
    }
}

/// Runs a scenario; returns the statistics as JSON, the assertions that do not hold, and the event
/// log as lines of JSON, if it is wanted.
#[pyfunction]
pub(crate) fn run_scenario(
    text: &str,
    seed: Option<u64>,
    read: Option<Bound<'_, PyAny>>,
    wants_log: bool,
) -> PyResult<(String, Vec<String>, Vec<String>)> {
    let wrong =
        |error: bofuss_sim::scenario::ScenarioError| PyValueError::new_err(error.to_string());
    let mut scenario = Scenario::build(text, seed, &mut PythonFiles(read)).map_err(wrong)?;
    let names = scenario.names().clone();
    let catalogue = scenario.catalogue().clone();
    let log = wants_log.then(|| EventLog::new(scenario.network(), &names, catalogue));
    let mut observer = Lines {
        log,
        lines: Vec::new(),
    };
    let end = scenario.end();
    scenario.run_until(end, &mut observer).map_err(wrong)?;
    let statistics = scenario.statistics();
    let failures = scenario.failures(&statistics);
    let failures = failures.iter().map(ToString::to_string).collect();
    Ok((statistics.to_string(), failures, observer.lines))
}
