//! A running switch takes over another configuration: first all that can fail, then the change.

use bofuss_channel::{ActiveAddress, Listener, PassiveAddress};
use tokio::sync::oneshot;

use super::sockets::{self, listen};
use super::{Running, answer_of, settings};
use crate::capture::MessageCaptures;
use crate::config::Config;
use crate::dataplane::{Answer, Operation};
use crate::error::{Result, context};
use crate::kept;

/// A change of configuration that is prepared but not made, so that all switches of a process
/// change together. If this is dropped, nothing changes.
pub struct PendingReconfiguration {
    /// The name of the switch.
    pub name: String,
    config: Config,
    listeners: Vec<(PassiveAddress, Listener)>,
    new_files: NewMessageFiles,
    ready: oneshot::Receiver<()>,
    go: oneshot::Sender<()>,
    answer: oneshot::Receiver<Answer>,
}

/// Captures of messages that are new in a configuration. They end when this is dropped, unless the
/// list of files is emptied first.
struct NewMessageFiles {
    captures: MessageCaptures,
    files: Vec<String>,
}

impl Drop for NewMessageFiles {
    fn drop(&mut self) {
        for file in &self.files {
            self.captures.end(file);
        }
    }
}

impl PendingReconfiguration {
    /// Waits until the data-plane thread has prepared its part. From then on no packets are
    /// forwarded until the change is complete or dropped.
    ///
    /// Errors: why the data-plane thread refuses.
    pub async fn ready(&mut self) -> Result<()> {
        match (&mut self.ready).await {
            Ok(()) => Ok(()),
            Err(_) => answer_of(&mut self.answer).await.map(drop),
        }
    }
}

impl Running {
    /// Prepares a new configuration: does everything that can fail, and lets the data-plane thread
    /// prepare its part.
    ///
    /// Errors: a sentence that begins with the key; nothing is changed then.
    pub async fn begin(&self, config: Config) -> Result<PendingReconfiguration> {
        let mut listeners = Vec::new();
        for address in &config.listen {
            if !self.listeners.iter().any(|(old, _)| old == address) {
                listeners.push(listen(&self.hub, address).await?);
            }
        }
        let mut whole = config.clone();
        if let Some(attached) = &self.attached {
            whole.controllers.extend(attached.controllers.clone());
            whole.fail_mode = attached.fail_mode;
            whole.has_fail_mode = attached.has_fail_mode;
        }
        let mut new_files = NewMessageFiles {
            captures: self.messages.clone(),
            files: Vec::new(),
        };
        let files = config.message_files.iter();
        for file in files.filter(|file| !self.config.message_files.contains(file)) {
            let prepared = self.messages.prepare(file, None, &self.name);
            prepared.map_err(context(format_args!("--capture openflow {file}")))?;
            new_files.files.push(file.clone());
        }
        let (can, ready) = oneshot::channel();
        let (go, may) = oneshot::channel();
        let operation = Operation::Reconfigure(Box::new(whole), can, may);
        Ok(PendingReconfiguration {
            name: self.name.clone(),
            config,
            listeners,
            new_files,
            ready,
            go,
            answer: self.queue.begin(operation).await,
        })
    }

    /// Completes a change that is ready. Returns its effects. Errors: the system's; the rest of the
    /// change is done nevertheless.
    pub async fn complete(&mut self, change: PendingReconfiguration) -> Answer {
        let PendingReconfiguration {
            config,
            mut listeners,
            mut new_files,
            go,
            answer,
            ..
        } = change;
        new_files.files.clear();
        let _ = go.send(());
        let mut done = answer_of(answer).await;
        done = self.messages.begin_prepared().and(done);
        if let Ok(effects) = &mut done {
            for address in controllers_of(&self.config, &config) {
                *effects += &format!("controller {address}: its connection is closed\n");
            }
            for address in controllers_of(&config, &self.config) {
                *effects += &format!("controller {address}: the switch connects to it\n");
            }
        }
        let old = self.config.message_files.iter();
        for gone in old.filter(|file| !config.message_files.contains(file)) {
            self.messages.end(gone);
        }
        self.hub.set(settings(
            &config,
            (&self.messages, &self.snoop_clients, &self.recent),
        ));
        self.listeners.retain(|(old, _)| {
            let stays = config.listen.contains(old);
            if !stays {
                kept::let_go(&sockets::kept_name(old));
            }
            stays
        });
        for (address, listener) in &listeners {
            sockets::keep(address, listener);
        }
        self.listeners.append(&mut listeners);
        let controllers = &config.controllers;
        self.targets.retain(|(old, _)| controllers.contains(old));
        for address in controllers {
            if !self.targets.iter().any(|(old, _)| old == address) {
                let target = self.hub.connect(address.clone());
                self.targets.push((address.clone(), target));
            }
        }
        self.config = config;
        done
    }
}

/// The controllers of a configuration that another one does not have.
fn controllers_of<'a>(
    config: &'a Config,
    other: &'a Config,
) -> impl Iterator<Item = &'a ActiveAddress> {
    let all = config.controllers.iter();
    all.filter(|address| !other.controllers.contains(address))
}
