//! The extensions that are compiled in, one folder and one line each.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::{boxed::Box, vec, vec::Vec};

use bofuss_datapath::Hook;
use bofuss_oflib::Catalogue;

pub mod queues;
pub mod status;
pub mod trace;

/// Defines the modules, and the lists of what they bring.
macro_rules! extensions {
    ($($name:ident;)*) => {
        $(pub mod $name;)*

        /// The specification's rows and every extension's.
        pub fn catalogue() -> Catalogue {
            let mut catalogue = Catalogue::default();
            catalogue.add(&[], &trace::ROWS);
            catalogue.add(&[], &bofuss_agent::queues::ROWS);
            catalogue.add(&[], &status::ROWS);
            $(catalogue.add(&$name::FIELDS, &$name::VALUES);)*
            catalogue
        }

        /// Every extension's behaviour.
        pub fn hooks(catalogue: &Catalogue) -> Vec<Box<dyn Hook>> {
            vec![$($name::hook(catalogue)),*]
        }
    };
}

extensions! {
    flow_state;
}
