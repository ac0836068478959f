//! Runs: the command line, the rounds, and the folder of results.

pub mod cli;
pub mod durable;
pub mod guard;
pub mod machine;
pub mod paper_run;
pub mod raw;
pub mod results;
pub mod run_arguments;
pub mod run_info;
pub mod runner;
pub mod signals;
pub mod signed;
