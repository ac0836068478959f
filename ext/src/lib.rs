//! The extensions that are compiled in, one folder and one line each.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::{boxed::Box, vec, vec::Vec};

use bofuss_datapath::Hook;
use bofuss_oflib::Catalogue;

pub mod flow_state;

pub use bofuss_agent::trace;

/// The specification's rows and every extension's.
pub fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    catalogue.add(&[], &bofuss_agent::trace::ROWS);
    catalogue.add(&flow_state::FIELDS, &flow_state::VALUES);
    catalogue
}

/// Every extension's behaviour.
pub fn hooks(catalogue: &Catalogue) -> Vec<Box<dyn Hook>> {
    vec![Box::new(flow_state::FlowState::new(catalogue))]
}
