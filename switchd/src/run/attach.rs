//! Controllers and listeners that a second process (`ofprotocol`) adds for as long as it runs.

use bofuss_agent::FailMode;
use bofuss_channel::{ActiveAddress, Listener, Reading, Target};
use tracing::info;

use super::{Running, listen, settings};
use crate::config::from_line;
use crate::dataplane::{Answer, Operation};

/// The settings that `ofprotocol` added.
pub(super) struct Attached {
    pub(super) controllers: Vec<ActiveAddress>,
    pub(super) fail_mode: FailMode,
    pub(super) has_fail_mode: bool,
    _targets: Vec<Target>,
    _listeners: Vec<Listener>,
}

impl Running {
    /// Adds the controllers and listeners of `line`, with its TLS files, probe interval and
    /// back-off, and takes over its fail mode.
    ///
    /// Errors: another process has attached already, `line` is wrong, or a listener cannot be
    /// opened. Nothing has changed then.
    pub(super) async fn attach(&mut self, line: &str) -> Answer {
        if self.attached.is_some() {
            return Err("another ofprotocol is attached already".into());
        }
        let options = from_line(line)?;
        let config = Reading::begin(move || options.check())?
            .end_in_time()
            .await?;
        let hub = self
            .hub
            .with(settings(&config, &self.messages, &self.snoop_clients));
        let mut listeners = Vec::new();
        for address in &config.listen {
            listeners.push(listen(&hub, address).await?.1);
        }
        let controllers = config.controllers;
        let fail_mode = config.fail_mode;
        let has_fail_mode = config.has_fail_mode;
        let mut all = self.config.controllers.clone();
        all.extend(controllers.iter().cloned());
        self.queue
            .ask(Operation::SetControllers(all, fail_mode, has_fail_mode))
            .await?;
        let targets = controllers.iter().cloned().map(|to| hub.connect(to));
        self.attached = Some(Attached {
            _targets: targets.collect(),
            controllers,
            fail_mode,
            has_fail_mode,
            _listeners: listeners,
        });
        info!("ofprotocol attached: fail mode {fail_mode}");
        Ok(String::new())
    }

    /// Removes what the second process added.
    pub(super) async fn detach(&mut self) -> Answer {
        self.attached = None;
        info!("ofprotocol detached");
        let controllers = self.config.controllers.clone();
        let follow = Operation::SetControllers(
            controllers,
            self.config.fail_mode,
            self.config.has_fail_mode,
        );
        self.queue.ask(follow).await
    }
}
