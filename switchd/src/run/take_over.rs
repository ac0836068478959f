//! A switch that takes the place of a running one: which that is, and when.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc;

use tokio::sync::oneshot;
use tracing::info;

use crate::config::Config;
use crate::ctl;
use crate::error::Result;

/// The control socket of the switch that `config` replaces, whose name it gets; `None` if none
/// runs.
///
/// Errors: several run and none is named.
pub(super) fn replaced(config: &mut Config) -> Result<Option<PathBuf>> {
    if !config.replaces {
        return Ok(None);
    }
    let name = config.is_named.then_some(config.name.as_str());
    let Some((name, path)) = ctl::running(name)? else {
        let name = &config.name;
        info!("switch {name}: there is none to replace, it starts anew");
        return Ok(None);
    };
    config.rename(name);
    Ok(Some(path))
}

/// Listening sockets of the switch that is replaced, by their addresses.
pub(super) type LeftListeners = Vec<(String, OwnedFd)>;

/// Where a data-plane thread waits before it takes over.
pub(super) struct Gate {
    ready: Option<oneshot::Sender<LeftListeners>>,
    go: mpsc::Receiver<()>,
}

/// What lets it through.
pub(super) struct Go {
    ready: oneshot::Receiver<LeftListeners>,
    go: mpsc::Sender<()>,
}

/// A gate, and what opens it.
pub(super) fn gate() -> (Go, Gate) {
    let (is_ready, ready) = oneshot::channel();
    let (go, goes) = mpsc::channel();
    let gate = Gate {
        ready: Some(is_ready),
        go: goes,
    };
    (Go { ready, go }, gate)
}

impl Gate {
    /// Passes on what is left, and waits until all may go on. Errors: the process does not start.
    pub(super) fn pass(&mut self, left: LeftListeners) -> Result<()> {
        // If nobody waits for it, nobody lets it through.
        self.ready.take().map(|ready| ready.send(left));
        let passed = self.go.recv();
        passed.map_err(|_| "the process does not start".into())
    }
}

impl Go {
    /// Waits until the thread is at the gate. Returns what is left, or `None` if it has ended
    /// before.
    pub(super) async fn left(&mut self) -> Option<LeftListeners> {
        (&mut self.ready).await.ok()
    }

    /// Lets it through, if it comes there.
    pub(super) fn go(&self) {
        // It may have ended.
        let _ = self.go.send(());
    }
}
