//! The service manager, if one started the switch: told that the switch works, and goes on to.

use std::env;
use std::future::pending;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use tokio::time::{Instant, Interval, interval_at};

/// Where the manager listens, and how often it wants to hear that the switch is alive.
pub struct Manager {
    socket: UnixDatagram,
    to: SocketAddr,
    /// When it wants to hear that the switch is alive: in half the time after which it gives the
    /// switch up; `None` if it never does.
    next: Option<Interval>,
}

impl Manager {
    /// The one that the environment names, told that the switch works; `None` without one.
    ///
    /// Panics outside a tokio runtime.
    pub fn find() -> Option<Self> {
        let path = env::var("NOTIFY_SOCKET").ok()?;
        let to = match path.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name),
            None => SocketAddr::from_pathname(path),
        };
        let us = |pid: String| pid == std::process::id().to_string();
        let is_ours = env::var("WATCHDOG_PID").ok().is_none_or(us);
        let micros = env::var("WATCHDOG_USEC").ok().filter(|_| is_ours);
        let micros: Option<u64> = micros.and_then(|micros| micros.parse().ok());
        let half = micros
            .filter(|m| *m >= 2)
            .map(|m| Duration::from_micros(m / 2));
        let next = half.map(|half| interval_at(Instant::now() + half, half));
        let socket = UnixDatagram::unbound().ok()?;
        let to = to.ok()?;
        let this = Self { socket, to, next };
        this.tell("READY=1");
        Some(this)
    }

    /// Done when a manager that is there wants to hear that the switch is alive.
    pub async fn wants(this: &mut Option<Self>) {
        match this.as_mut().and_then(|manager| manager.next.as_mut()) {
            Some(next) => drop(next.tick().await),
            None => pending().await,
        }
    }

    /// Tells it that the switch is alive.
    pub fn is_alive(&self) {
        self.tell("WATCHDOG=1");
    }

    /// One that does not listen is no reason to end.
    fn tell(&self, state: &str) {
        let _ = self.socket.send_to_addr(state.as_bytes(), &self.to);
    }
}
