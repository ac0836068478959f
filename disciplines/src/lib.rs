//! The disciplines that order the frames of ports, besides the default one of OpenFlow's queues.
//!
//! Knows the contract of [`bofuss_datapath::egress`] and no more of a switch. A new discipline is a
//! file and a row in the list below: `docs/guide/add-a-scheduler.md`.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

use alloc::boxed::Box;

use bofuss_datapath::Config;
use bofuss_datapath::egress::{DisciplineRow, WEIGHTED_PRIORITY};

#[cfg(test)]
mod bounds;
mod buckets;
mod calendar;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod convergence;
#[cfg(test)]
mod dumbbell;
pub mod ecn;
#[cfg(test)]
mod entitlements;
mod lone_queue;
#[cfg(test)]
mod mixtures;
#[cfg(test)]
mod models;
mod numbers;
mod single_queue;

/// Defines the modules of disciplines and the list of them. A module with several disciplines is in
/// brackets at the beginning; its disciplines are last in the list.
macro_rules! disciplines {
    (
        $([$several:ident: $($More:ident $more:literal),+])*
        $($module:ident::$Type:ident $name:literal;)*
    ) => {
        $(mod $several;)*
        $(mod $module;)*
        /// All disciplines; the first is the default.
        pub static DISCIPLINES: &[DisciplineRow] = &[
            WEIGHTED_PRIORITY,
            $(DisciplineRow {
                name: $name,
                new: |now, port, kbps| Box::new($module::$Type::new(now, port, kbps)),
            },)*
            $($(DisciplineRow {
                name: $more,
                new: |now, port, kbps| Box::new($several::$More::new(now, port, kbps)),
            },)+)*
        ];
    };
}

disciplines! {
    [eta: Beta "beta", Ceta "ceta", Ceta2 "ceta2"]
    fifo::Fifo "fifo";
    hfair::HierarchicalFair "hfair";
    drr::FlowRoundRobin "drr";
    fred::Fred "fred";
}

/// The default configuration of a switch whose ports can have every discipline.
pub fn config() -> Config {
    Config {
        disciplines: DISCIPLINES,
        ..Config::default()
    }
}

/// The row of this name.
///
/// Panics: if there is none.
#[cfg(test)]
fn row(name: &str) -> &'static DisciplineRow {
    let row = DISCIPLINES.iter().find(|row| row.name == name);
    row.expect("a test uses a name of the list")
}
