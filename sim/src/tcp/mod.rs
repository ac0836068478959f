//! A model of TCP: what a bulk transfer does to a network, and what the network does to it.
//!
//! One end opens the connection and sends ([`TcpSender`]), the other end takes all that comes
//! ([`TcpReceiver`]). Both are state machines: segments and time in, segments and the next timer
//! out.
//!
//! Modelled as Linux has it by default:
//!
//! - opening and closing (RFC 9293), with MSS, window scale and timestamps (RFC 7323) of which each
//!   segment has 12 bytes, selective acknowledgements (RFC 2018);
//! - delayed acknowledgements: each second segment, at once if something is missing, after 40 ms
//!   at the latest, and none is delayed at the beginning;
//! - an initial window of 10 segments (RFC 6928), slow start that counts bytes, and the congestion
//!   avoidance of Reno (RFC 5681) or CUBIC with fast convergence (RFC 9438), which grow only while
//!   the window is what limits the sender;
//! - losses found by what was sent later and arrived, by number and by time, and a probe for the
//!   tail (RFC 8985, in the arithmetic of RFC 9002 section 6.1); one reduction for each window;
//!   retransmission while what is in flight is below the window (RFC 6675);
//! - the retransmission timer of RFC 6298, its floor settable (Linux: 200 ms);
//! - explicit congestion notification (RFC 3168), for senders that are told to.
//!
//! Left out: data in both directions, a receiver that reads slowly, Nagle's algorithm, pacing,
//! `HyStart`, proportional rate reduction (RFC 6937), and the undoing of reductions that proved
//! wrong. A sender that is gone answers with RST instead of waiting in TIME-WAIT.

use bofuss_datapath::Time;

pub mod congestion;
mod receiver;
mod rtt;
mod scoreboard;
pub mod segment;
mod sender;

pub use receiver::TcpReceiver;
pub use sender::{TcpSender, TcpSenderConfig};

/// Bits by which both ends shift their windows: they reach to 8 MiB.
const WINDOW_SCALE: u8 = 7;
/// What a receiver offers, always: what arrives is read at once.
const WINDOW_BYTES: u64 = (u16::MAX as u64) << WINDOW_SCALE;

/// The ports of a connection, seen from one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ports {
    /// Of this end.
    pub local: u16,
    /// Of the other end.
    pub peer: u16,
}

/// The number nearest to `near` that is `wire` on the wire, if number 0 is `initial` there.
fn unwrap(near: u64, initial: u32, wire: u32) -> u64 {
    let low = wire.wrapping_sub(initial);
    let distance = low.wrapping_sub(near as u32) as i32;
    near.wrapping_add_signed(i64::from(distance))
}

/// The clock of timestamps: milliseconds, as Linux has it.
fn timestamp(now: Time) -> u32 {
    (now.0 / 1_000_000) as u32
}

#[cfg(test)]
mod tests;
