//! The fast path: handles packets of cached flows cheaply, with exactly the results of `pipeline`.
//! `README.md` in this folder follows a flow through its life.

mod direct;
mod direct_hooks;
mod direct_output;
mod direct_steps;
mod end;
pub(crate) mod paths;
mod record;
#[cfg(test)]
mod tests;
