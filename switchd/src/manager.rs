//! Notifications to the service manager (systemd), if one started the switch: ready, and alive.

use std::env;
use std::future::pending;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use tokio::time::{Instant, Interval, interval_at};

/// The manager's socket, and the watchdog's timer.
pub struct Manager {
    socket: UnixDatagram,
    /// The time at which the next watchdog notification is due: after half the manager's timeout.
    /// `None` without a watchdog.
    next: Option<Interval>,
}

impl Manager {
    /// Finds the manager in the environment and reports that the switch is ready; `None` without
    /// one.
    ///
    /// Panics outside a tokio runtime.
    pub fn find() -> Option<Self> {
        let socket = socket()?;
        let is_ours = env::var("WATCHDOG_PID")
            .ok()
            .is_none_or(|pid| pid == std::process::id().to_string());
        let text = env::var("WATCHDOG_USEC").ok().filter(|_| is_ours);
        let micros: Option<u64> = text.and_then(|text| text.parse().ok());
        let half = micros
            .filter(|m| *m >= 2)
            .map(|m| Duration::from_micros(m / 2));
        let next = half.map(|half| interval_at(Instant::now() + half, half));
        let this = Self { socket, next };
        this.notify("READY=1");
        Some(this)
    }

    /// Waits until a watchdog notification is due; forever if there is no watchdog.
    pub async fn notification_due(this: &mut Option<Self>) {
        match this.as_mut().and_then(|manager| manager.next.as_mut()) {
            Some(next) => drop(next.tick().await),
            None => pending().await,
        }
    }

    /// Notifies the watchdog.
    pub fn notify_alive(&self) {
        self.notify("WATCHDOG=1");
    }

    /// Errors are ignored: a manager that does not listen is no reason to end.
    fn notify(&self, state: &str) {
        let _ = self.socket.send(state.as_bytes());
    }
}

/// A socket that is connected to the manager; `None` without one.
pub fn socket() -> Option<UnixDatagram> {
    let path = env::var("NOTIFY_SOCKET").ok()?;
    let to = match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(path),
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect_addr(&to.ok()?).ok()?;
    Some(socket)
}
