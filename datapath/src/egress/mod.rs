//! Egress: the queues of ports, and the disciplines that order their frames.

use alloc::boxed::Box;

use bofuss_oflib::PortNo;

use crate::Time;
use crate::egress::discipline::Discipline;

#[cfg(test)]
mod bounds;
mod buckets;
mod calendar;
mod classes;
#[cfg(test)]
mod convergence;
pub(crate) mod discipline;
#[cfg(test)]
mod dumbbell;
mod ecn;
#[cfg(test)]
mod entitlements;
mod microflow;
#[cfg(test)]
mod mixtures;
#[cfg(test)]
mod models;
pub(crate) mod queue;
mod single_queue;

/// A discipline that a port can have.
#[derive(Debug)]
pub struct DisciplineRow {
    /// Its name.
    pub name: &'static str,
    /// Makes it for a port with this rate in kb/s; 0 if that is not known.
    pub(crate) new: fn(Time, PortNo, u32) -> Box<dyn Discipline>,
}

/// The discipline of this name; without a name, the first one.
///
/// Panics: if there is none of this name.
pub(crate) fn discipline_named(name: Option<&str>) -> &'static DisciplineRow {
    let Some(name) = name else {
        return &DISCIPLINES[0];
    };
    let row = DISCIPLINES.iter().find(|row| row.name == name);
    row.expect("the configuration has a name of the list")
}

/// Defines the modules of disciplines and the list of them. A module with several disciplines is in
/// brackets at the beginning; its disciplines are last in the list.
macro_rules! disciplines {
    (
        $([$several:ident: $($More:ident $more:literal),+])*
        $($module:ident::$Type:ident $name:literal;)*
    ) => {
        $(pub(crate) mod $several;)*
        $(pub(crate) mod $module;)*
        /// All disciplines; the first is the default.
        pub static DISCIPLINES: &[DisciplineRow] = &[
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
    weighted_priority::WeightedPriority "weighted-priority";
    fifo::Fifo "fifo";
    hfair::HierarchicalFair "hfair";
    drr::FlowRoundRobin "drr";
    fred::Fred "fred";
}
