//! Controllers and listeners that a second process brings, and takes with it when it ends.

use bofuss_agent::FailMode;
use bofuss_channel::{ActiveAddress, Listener, Target};
use tracing::info;

use super::{Running, listen, settings};
use crate::config::from_line;
use crate::dataplane::{Answer, What};

/// What `ofprotocol` brought.
pub(super) struct Attached {
    pub(super) controllers: Vec<ActiveAddress>,
    pub(super) fail_mode: FailMode,
    _targets: Vec<Target>,
    _listeners: Vec<Listener>,
}

impl Running {
    /// Has the controllers, listeners and fail mode of `line` too, with its TLS files, probes and
    /// back-off.
    ///
    /// Errors: others are there already, `line` is wrong, or a listener cannot be; nothing is
    /// changed then.
    pub(super) async fn attach(&mut self, line: &str) -> Answer {
        if self.attached.is_some() {
            return Err("another ofprotocol is here already".into());
        }
        let config = from_line(line)?.check()?;
        let hub = self
            .hub
            .with(settings(&config, &self.messages, &self.readers));
        let mut listeners = Vec::new();
        for address in &config.listen {
            listeners.push(listen(&hub, address).await?.1);
        }
        let (controllers, fail_mode) = (config.controllers, config.fail_mode);
        let mut all = self.config.controllers.clone();
        all.extend(controllers.iter().cloned());
        self.queue.ask(What::Follow(all, fail_mode)).await?;
        let targets = controllers.iter().cloned().map(|to| hub.connect(to));
        self.attached = Some(Attached {
            _targets: targets.collect(),
            controllers,
            fail_mode,
            _listeners: listeners,
        });
        info!("ofprotocol is here: fail mode {fail_mode}");
        Ok(String::new())
    }

    /// Is as before the second process came.
    pub(super) async fn detach(&mut self) -> Answer {
        self.attached = None;
        info!("ofprotocol is gone");
        let controllers = self.config.controllers.clone();
        let follow = What::Follow(controllers, self.config.fail_mode);
        self.queue.ask(follow).await
    }
}
