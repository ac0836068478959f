//! Several workers do what one switch does.
#![allow(clippy::unwrap_used)]

mod common;

mod blind;
mod controllers;
mod fields;
mod meters;
mod one_worker;
mod oracle;
mod order;
mod replies;
mod states;
