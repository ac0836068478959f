//! The meter: cases after the papers on how OpenFlow switches are measured, on any switch.
//!
//! `case` lists them. A `workbench` has what a case needs: the `subject` (what is measured), a
//! `controller` of it, and a `probe` that sends and receives frames. `runner` runs cases in rounds,
//! `results` keeps what came of them, `html` shows it.

pub mod calibration;
pub mod case;
pub mod changes;
pub mod cli;
pub mod compare;
pub mod conclusions;
pub mod controller;
pub mod faults;
pub mod fct;
pub mod flow_sizes;
pub mod forward;
pub mod forwarding;
pub mod guard;
pub mod html;
pub mod packets;
pub mod papers;
pub mod point;
pub mod probe;
pub mod results;
pub mod rewrites;
pub mod runner;
pub mod signals;
pub mod special;
pub mod statistics;
pub mod statistics_delay;
pub mod subject;
pub mod table_size;
pub mod tcp;
pub mod template;
pub mod workbench;
