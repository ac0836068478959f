//! What happens to a packet.

pub mod action;
pub mod control;
pub mod deparse;
pub mod eval;
pub mod parse;
pub mod phv;
pub mod sink;
pub mod walk;
