//! Forwards the frames of known flows in the kernel, below the switch.
//!
//! An [`InKernel`] is an [`Accelerator`](bofuss_fastpath::Accelerator) of the flow cache. The
//! daemon tells it the ports, and up to when the frames of a port have left. `docs/accelerator.md`
//! has a drawing, and the reasons.

mod accelerator;
mod error;
mod key;
mod layout;
mod listing;
mod memory;
mod meters;
mod passage;
mod program;
mod table;
#[cfg(test)]
mod tests;
mod way;

pub use accelerator::{InKernel, Interface, Standing};
pub use error::{Refusal, Unavailable};
pub use layout::{MOST_FLOWS, USUAL_FLOWS};
pub use listing::FlowBelow;
pub use passage::Waiting;
