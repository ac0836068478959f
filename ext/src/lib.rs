//! The extensions that are compiled in: each is one folder, and one line below.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

use alloc::{boxed::Box, vec, vec::Vec};

use bofuss_datapath::Hook;
use bofuss_fastpath::FastPath;
use bofuss_oflib::catalogue::{Catalogue, CatalogueError};

mod common;
pub mod openstate;
pub mod opp;
pub mod queues;
pub mod status;
pub mod trace;

pub use common::list::{Listed, ValueList};
pub use common::saved::SavedExtension;
pub use common::trial_map::TrialMap;

/// The extensions that know what outlives a restart.
pub static SAVED: [SavedExtension; 3] = [opp::SAVED, arppath::SAVED, fields::SAVED];

/// The switch as it is shipped, with the fast path.
pub type Switch = bofuss_agent::Switch<FastPath>;

/// The rows of [`try_catalogue`]. Panics: if rows of two extensions conflict, with the reason.
pub fn catalogue() -> Catalogue {
    try_catalogue().unwrap_or_else(|error| panic!("{error}"))
}

/// Defines the modules, and the lists of their rows and hooks.
macro_rules! extensions {
    ($($name:ident;)*) => {
        $(pub mod $name;)*

        /// The specification's rows and every extension's.
        ///
        /// Errors: rows of two extensions conflict.
        pub fn try_catalogue() -> Result<Catalogue, CatalogueError> {
            let mut catalogue = Catalogue::default();
            catalogue.add("trace", &[], &trace::ROWS)?;
            catalogue.add("queues", &[], &bofuss_agent::queues::ROWS)?;
            catalogue.add("status", &[], &status::ROWS)?;
            // Open Packet Processor contains OpenState, and has its name.
            catalogue.add("openstate", &opp::FIELDS, &opp::VALUES)?;
            $(catalogue.add(stringify!($name), &$name::FIELDS, &$name::VALUES)?;)*
            Ok(catalogue)
        }

        /// Every extension's behaviour.
        pub fn hooks(catalogue: &Catalogue) -> Vec<Box<dyn Hook>> {
            vec![opp::hook(catalogue), $($name::hook(catalogue)),*]
        }
    };
}

extensions! {
    insp;
    flow_state;
    arppath;
    openqflow;
    tcp_shift;
    ebpf;
    nicira;
    rev;
    blind;
    drivers;
    fields;
}
