//! What makes the switch fast, and changes nothing that it does: `pipeline` says what that is.
//! `README.md` here follows a flow through its life.

mod direct;
mod direct_hooks;
mod direct_output;
mod direct_steps;
mod end;
pub(crate) mod paths;
mod record;
#[cfg(test)]
mod tests;
