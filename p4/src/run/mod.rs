//! What happens to a packet.

pub mod eval;
pub mod packet;
pub mod phv;
pub mod sink;
pub mod walk;
