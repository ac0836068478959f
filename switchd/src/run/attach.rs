//! Controllers and listeners that a second process (`ofprotocol`) adds for as long as it runs.

use bofuss_agent::FailMode;
use bofuss_channel::{ActiveAddress, Hub, Listener, Target};

use super::sockets::listen;
use crate::config::Config;
use crate::error::Result;

/// The settings that `ofprotocol` added.
pub(super) struct Attached {
    pub(super) controllers: Vec<ActiveAddress>,
    pub(super) fail_mode: FailMode,
    pub(super) has_fail_mode: bool,
    targets: Vec<Target>,
    _listeners: Vec<Listener>,
}

impl Attached {
    /// Opens the listeners of `config`. Errors: the first that cannot be opened.
    pub(super) async fn listening(hub: &Hub, config: Config) -> Result<Self> {
        let mut listeners = Vec::new();
        for address in &config.listen {
            listeners.push(listen(hub, address).await?.1);
        }
        Ok(Self {
            controllers: config.controllers,
            fail_mode: config.fail_mode,
            has_fail_mode: config.has_fail_mode,
            targets: Vec::new(),
            _listeners: listeners,
        })
    }

    /// Its controllers, once it connects to them.
    pub(super) fn targets(&self) -> impl Iterator<Item = (&ActiveAddress, &Target)> {
        self.controllers.iter().zip(&self.targets)
    }

    /// Connects to its controllers.
    pub(super) fn connect(&mut self, hub: &Hub) {
        let targets = self.controllers.iter().cloned().map(|to| hub.connect(to));
        self.targets = targets.collect();
    }
}
