//! The cases of a data centre: flows between servers, by simulation and live.

pub mod fabric;
pub mod fct;
pub mod flow_classes;
pub mod flow_sizes;
pub mod leaf_spine;
pub mod live_fct;
