//! bofuss as a Python module: `bofuss._native`, the compiled part of the package `python/bofuss`.

mod action;
mod buffer;
mod class;
mod codecs;
mod effects;
mod errors;
mod experimenter;
mod form;
mod locked;
mod matching;
mod members;
mod message;
mod number;
mod oflib;
mod p4;
mod record;
mod sim;
mod structures;
mod switch;

use pyo3::prelude::*;

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<switch::PySwitch>()?;
    module.add_class::<p4::PyP4Switch>()?;
    module.add_class::<sim::SentMessages>()?;
    module.add_function(wrap_pyfunction!(sim::run_scenario, module)?)?;
    oflib::add_to(module)
}
