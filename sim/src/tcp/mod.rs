//! A model of TCP for bulk transfers: how they load a network, and how the network slows them.
//!
//! One end opens the connection and sends ([`TcpSender`]), the other end receives
//! ([`TcpReceiver`]). Both are state machines: they take segments and the time, and return segments
//! and the time of their next timer.
//!
//! Modelled as Linux does by default:
//!
//! - opening and closing (RFC 9293), with MSS, window scale and timestamps (RFC 7323), which take
//!   12 bytes in each segment, and selective acknowledgements (RFC 2018);
//! - delayed acknowledgements: of every second segment, at once if a segment is missing, and after
//!   40 ms at the latest; at the beginning of a connection none is delayed;
//! - an initial window of 10 segments (RFC 6928), slow start that counts bytes, and the congestion
//!   avoidance of Reno (RFC 5681) or CUBIC with fast convergence (RFC 9438); the window grows only
//!   while it is what limits the sender;
//! - loss detection by later segments that arrived, with a threshold in segments and one in time,
//!   and a tail loss probe (RFC 8985, with the arithmetic of RFC 9002 section 6.1); one reduction
//!   per window of data; retransmission while less than the window is in flight (RFC 6675);
//! - the retransmission timer of RFC 6298, with a configurable minimum (Linux: 200 ms);
//! - explicit congestion notification (RFC 3168), for senders that are configured to use it, and
//!   DCTCP (RFC 8257): a receiver echoes each packet's mark if the SYN could be marked, as Linux
//!   knows a sender of DCTCP.
//!
//! Left out: data in both directions, a receiver that reads slowly, Nagle's algorithm, pacing,
//! `HyStart`, proportional rate reduction (RFC 6937), the undoing of unnecessary reductions, and
//! TIME-WAIT: segments of a connection that is over are answered with RST.

use bofuss_datapath::Time;

pub mod congestion;
mod dctcp;
mod receiver;
mod rtt;
mod scoreboard;
pub mod segment;
mod sender;

pub use receiver::TcpReceiver;
pub use sender::{TcpSender, TcpSenderConfig};

/// Bits by which both ends shift their windows, which can be up to 8 MiB then.
const WINDOW_SCALE: u8 = 7;
/// The window that a receiver always offers, because data is read as soon as it arrives.
pub(crate) const WINDOW_BYTES: u64 = (u16::MAX as u64) << WINDOW_SCALE;

/// The ports of a connection, seen from one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ports {
    /// Of this end.
    pub local: u16,
    /// Of the other end.
    pub peer: u16,
}

/// The sequence number nearest to `near` that is `wire` on the wire, where number 0 is `initial`.
fn unwrap(near: u64, initial: u32, wire: u32) -> u64 {
    let low = wire.wrapping_sub(initial);
    let distance = low.wrapping_sub(near as u32) as i32;
    near.wrapping_add_signed(i64::from(distance))
}

/// The clock of timestamps: in milliseconds, as in Linux.
fn timestamp(now: Time) -> u32 {
    (now.0 / 1_000_000) as u32
}

#[cfg(test)]
mod tests;
