//! The times that a peer may take to connect, to begin and to end.

use std::time::Duration;

/// The longest wait for a connection, and then for the peer's HELLO.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(4);
/// The longest time to write what was sent before the end, and to wait for the peer's end.
pub(crate) const LINGER: Duration = Duration::from_secs(1);
