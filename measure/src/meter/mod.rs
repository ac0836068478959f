//! The meter: cases after the papers on how OpenFlow switches are measured, on any switch.
//!
//! `case` lists them. A `workbench` has what a case needs: the `subject` (what is measured), a
//! `controller` of it, and a `probe` that sends and receives frames. `runner` runs cases in rounds,
//! `results` keeps their results, `html` shows them.

pub mod background;
pub mod calibration;
pub mod case;
pub mod case_plots;
pub mod case_tables;
pub mod changes;
pub mod cli;
pub mod compare;
pub mod conclusions;
pub mod controller;
pub mod fabric;
pub mod faults;
pub mod fct;
pub mod figure_values;
pub mod flow_classes;
pub mod flow_sizes;
pub mod forward;
pub mod forwarding;
pub mod guard;
pub mod html;
pub mod html_table;
pub mod leaf_spine;
pub mod live_fct;
pub mod markdown;
pub mod packets;
pub mod paper_figures;
pub mod paper_qos;
pub mod paper_run;
pub mod paper_text;
pub mod papers;
pub mod point;
pub mod probe;
pub mod results;
pub mod rewrites;
pub mod run_arguments;
pub mod runner;
pub mod signals;
pub mod skew;
pub mod special;
pub mod statistics;
pub mod statistics_delay;
pub mod subject;
pub mod table_size;
pub mod tcp;
pub mod template;
pub mod time_stamps;
pub mod workbench;
