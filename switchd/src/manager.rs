//! The service manager, if one started the switch: told that the switch works, and goes on to.

use std::env;
use std::future::pending;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use tokio::time::sleep;

/// Where the manager listens, and how often it wants to hear that the switch is alive.
pub struct Manager {
    socket: UnixDatagram,
    to: SocketAddr,
    /// Half the time after which it gives the switch up; `None` if it never does.
    period: Option<Duration>,
}

impl Manager {
    /// The one that the environment names; `None` without one.
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
        Some(Self {
            socket: UnixDatagram::unbound().ok()?,
            to: to.ok()?,
            period: micros
                .filter(|m| *m >= 2)
                .map(|m| Duration::from_micros(m / 2)),
        })
    }

    /// Tells it that the switch works, and then as often as it wants, each time after `alive`
    /// came back. Never ends.
    pub async fn follow(self, alive: impl AsyncFn()) {
        self.tell("READY=1");
        while let Some(period) = self.period {
            sleep(period).await;
            alive().await;
            self.tell("WATCHDOG=1");
        }
        pending().await
    }

    /// One that does not listen is no reason to end.
    fn tell(&self, state: &str) {
        let _ = self.socket.send_to_addr(state.as_bytes(), &self.to);
    }
}
