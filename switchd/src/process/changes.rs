//! The process changes the configuration of its switches: of all by the file, of one by a command.

use std::sync::Arc;

use bofuss_channel::Reading;
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::{Asker, Change, Process, ReadChange};
use crate::config::{Config, STANDS_STILL};
use crate::dataplane::Answer;
use crate::edits::Edit;
use crate::error::{Error, Result};
use crate::log;
use crate::run::start::start;
use crate::run::{PendingReconfiguration, Running};

impl Process {
    /// Begins to read the changed configuration file. Who asked is told the result once it is
    /// applied, or at once why it cannot be read.
    pub(super) fn begin_reload(&mut self, reply: Asker) {
        if self.reading.is_some() {
            let busy = "the files of another change are still being read";
            return report_change(Err(busy.into()), reply);
        }
        let read: ReadChange = Box::new(|source| {
            let (source, configs) = source.read_again()?;
            Ok(Change::Reread(source, configs))
        });
        self.begin_change(reply, read);
    }

    /// Begins to change the options of one switch, after the changes that were asked for before.
    /// Who asked is told the effect once it is there.
    pub(super) fn begin_edit(
        &mut self,
        switch: &str,
        edit: Edit,
        argument: String,
        reply: oneshot::Sender<Answer>,
    ) {
        let mut switches = self.switches.iter().map(Running::config);
        if switches.any(|config| config.past.is_some()) {
            // Who asked may be gone.
            let _ = reply.send(Err(STANDS_STILL.into()));
            return;
        }
        let name = switch.to_string();
        let read: ReadChange = Box::new(move |source| {
            let (source, mut config, effects) =
                source.edited(&name, |options| edit(options, &argument))?;
            config.rename(name);
            Ok(Change::Edited(source, Box::new(config), effects))
        });
        self.waiting.push_back((Some(reply), read));
        self.begin_waiting();
    }

    /// Begins the next change that waits, if none is in progress.
    fn begin_waiting(&mut self) {
        while self.reading.is_none()
            && let Some((reply, read)) = self.waiting.pop_front()
        {
            self.begin_change(reply, read);
        }
    }

    /// Begins a change, which may read files.
    fn begin_change(&mut self, reply: Asker, read: ReadChange) {
        let source = Arc::clone(&self.source);
        match Reading::begin(move || read(&source)) {
            Ok(reading) => self.reading = Some((reading, reply)),
            Err(error) => report_change(Err(error.into()), reply),
        }
    }

    /// Applies the configuration that was read, or changes nothing.
    pub(super) async fn end_change(&mut self, read: Result<Change>, reply: Asker) {
        let applied = match read {
            Ok(change) => self.apply(change).await,
            Err(error) => Err(error),
        };
        report_change(self.explained(applied), reply);
        self.begin_waiting();
    }

    /// Applies a configuration. Returns the effects of an edit, a line each. Errors: why not, in a
    /// sentence.
    async fn apply(&mut self, change: Change) -> Answer {
        let (source, effects) = match change {
            Change::Reread(source, configs) => {
                let followed = self.follow(configs).await;
                followed.map_err(|(at, error)| source.located(at, error))?;
                (source, String::new())
            }
            Change::Edited(source, config, usual) => {
                let effects = self.follow_one(*config).await?;
                (source, if effects.is_empty() { usual } else { effects })
            }
        };
        self.source = Arc::new(source);
        Ok(effects)
    }

    /// Applies the new configuration of one switch. Returns its effects. Errors: a sentence.
    async fn follow_one(&mut self, mut config: Config) -> Answer {
        let running = &mut self.switches;
        let at = running.iter().position(|switch| switch.name == config.name);
        let at = at.ok_or("the switch has ended")?;
        let mut others: Vec<Config> = Vec::new();
        for (number, switch) in running.iter().enumerate() {
            if number != at {
                others.push(switch.config().clone());
            }
        }
        config.check_conflicts(&others)?;
        // These are no options.
        let running_config = running[at].config();
        config.desc.clone_from(&running_config.desc);
        config.is_named = running_config.is_named;
        let mut change = running[at].begin(config).await?;
        change.ready().await?;
        running[at].complete(change).await
    }

    /// Starts a switch after the process gave up its rights. Errors: a sentence for the user.
    async fn start_later(&self, config: Config) -> Result<Running> {
        let wanted = config.clone();
        let started = start(config, &self.shared, None).await;
        let started = started.and_then(|started| {
            started.begin_messages()?;
            Ok(started)
        });
        started.inspect_err(|_| self.let_go(&wanted))
    }

    /// Prepares all that can fail: starts the `new` switches, and then lets the others prepare
    /// their changes. From then on these forward nothing until the changes are made, and a start
    /// may take seconds.
    ///
    /// Errors: a sentence, and the number of the switch; `new` has those that were started before.
    async fn prepare_all(
        &self,
        configs: Vec<Config>,
        new: &mut Vec<Running>,
    ) -> Result<Vec<(usize, PendingReconfiguration)>, (usize, Error)> {
        let find = |name: &str| self.switches.iter().find(|switch| switch.name == name);
        let all = configs.into_iter().enumerate();
        let (stay, added): (Vec<_>, Vec<_>) = all.partition(|(_, new)| find(&new.name).is_some());
        for (at, config) in added {
            let started = self.start_later(config).await;
            new.push(started.map_err(|error| (at, error))?);
        }
        let mut changes = Vec::new();
        for (at, config) in stay {
            if let Some(switch) = find(&config.name) {
                let change = switch.begin(config).await;
                changes.push((at, change.map_err(|error| (at, error))?));
            }
        }
        for (at, change) in &mut changes {
            change.ready().await.map_err(|error| (*at, error))?;
        }
        Ok(changes)
    }

    /// Applies new configurations: starts new switches, ends those that are not configured any more
    /// and changes the others, all at once. What can fail is done first; what that opened is closed
    /// if something fails.
    ///
    /// Errors: a sentence, and the number of the switch.
    async fn follow(&mut self, mut configs: Vec<Config>) -> Result<(), (usize, Error)> {
        // A switch that the file gives no name keeps its current one.
        let unnamed = configs.iter_mut().find(|config| !config.is_named);
        let running = self.switches.iter().find(|switch| !switch.is_named());
        if let (Some(config), Some(running)) = (unnamed, running) {
            config.rename(running.name.clone());
        }
        let log = configs[0].log.clone();
        let address = configs[0].metrics;
        let names: Vec<String> = configs.iter().map(|config| config.name.clone()).collect();
        self.shared.are_several = names.len() > 1;
        let listener = if address == self.metrics.0 {
            None
        } else {
            self.listen(address).await.map_err(|error| (0, error))?
        };
        let mut new = Vec::new();
        let changes = match self.prepare_all(configs, &mut new).await {
            Ok(changes) => changes,
            Err(error) => {
                let unused = new.iter().map(Running::config);
                unused.for_each(|config| self.let_go(config));
                return Err(error);
            }
        };
        let mut done = Ok(());
        for (at, change) in changes {
            let mut switches = self.switches.iter_mut();
            if let Some(switch) = switches.find(|switch| switch.name == change.name) {
                let completed = switch.complete(change).await;
                done = done.and(completed.map(drop).map_err(|error| (at, error)));
            }
        }
        let switches = &mut self.switches;
        let gone = switches.extract_if(.., |switch| !names.contains(&switch.name));
        for gone in gone.collect::<Vec<_>>() {
            info!(
                "switch {}: ended, because the file does not configure it any more",
                gone.name
            );
            self.let_go(gone.config());
        }
        self.switches.append(&mut new);
        self.switches
            .sort_by_key(|switch| names.iter().position(|name| *name == switch.name));
        if self.log != log {
            log::set(&log).map_err(|error| (0, error))?;
            self.log = log;
        }
        if self.metrics.0 != address {
            self.metrics = (address, listener);
        }
        done
    }
}

/// Logs the result of a change, and tells it to whoever asked.
fn report_change(done: Answer, reply: Asker) {
    match &done {
        Ok(_) => info!("the configuration is in effect"),
        Err(error) => warn!("the configuration was not changed: {error}"),
    }
    // The operator who asked may be gone.
    reply.map(|reply| reply.send(done));
}
