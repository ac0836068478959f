//! What happens to a packet.

pub mod eval;
pub mod phv;
pub mod sink;
pub mod walk;
