//! bofuss as a Python module: `bofuss._native`, the compiled part of the package `python/bofuss`.

mod action;
mod class;
mod errors;
mod experimenter;
mod form;
mod matching;
mod message;
mod number;
mod oflib;
mod record;
mod sim;
mod structures;
mod switch;

use std::sync::{Arc, LazyLock};

use bofuss_oflib::{Catalogue, Codec, Version};
use pyo3::prelude::*;

/// A codec for each version, the lowest first.
static CODECS: LazyLock<Vec<Codec>> = LazyLock::new(|| {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let mut codecs = Vec::new();
    for version in Version::ALL {
        codecs.push(Codec::new(*version, Arc::clone(&catalogue)));
    }
    codecs
});

/// The codec of the version with this number on the wire; the newest one for an unknown number.
fn codec(number: u8) -> &'static Codec {
    let mut codecs = CODECS.iter();
    let found = codecs.find(|codec| codec.version.number() == number);
    found.unwrap_or(&CODECS[CODECS.len() - 1])
}

/// The fields and extensions that are known.
fn catalogue() -> &'static Catalogue {
    &CODECS[0].catalogue
}

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<switch::PySwitch>()?;
    module.add_class::<sim::SentMessages>()?;
    module.add_function(wrap_pyfunction!(sim::run_scenario, module)?)?;
    oflib::add_to(module)
}
