//! The process: a switch or several, what operators command, and the end.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::config::Config;
use crate::control::Request;
use crate::dataplane::{Answer, Scrape, What};
use crate::manager::Manager;
use crate::metrics::{self, Address, Wish};
use crate::reload::Source;
use crate::rights::Lock;
use crate::run::{self, Enter, Queue, Running, Shared};
use crate::{control, log, rights, rundir};

/// How long a switch stays after the command to end, for its answer.
const LAST_ANSWER: Duration = Duration::from_millis(50);

/// How long a packet may be waited for: less than who asks waits for the answer.
const NEXT_PATIENCE: Duration = Duration::from_secs(25);

/// Whether nobody, as nohup does, had SIGHUP ignored when the process began.
fn heeds_hangup() -> bool {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & HANGUP == 0)
}

/// The switches that run, in the order of the file.
pub struct Process {
    switches: Vec<Running>,
    shared: Shared,
    /// What can be read again.
    source: Option<Source>,
    log: String,
    /// Where metrics are asked for, and who waits for them there.
    metrics: (Option<Address>, Option<metrics::Listener>),
    wishes: (mpsc::Sender<Wish>, mpsc::Receiver<Wish>),
    requests: mpsc::Receiver<Request>,
}

impl Process {
    /// Starts the switches of `configs`, which came from `source` and of which there is one at
    /// least; `enter` is for the first. Errors: a sentence for the user.
    pub async fn start(
        configs: Vec<Config>,
        source: Option<Source>,
        mut enter: Option<Enter>,
    ) -> Result<Self, String> {
        let failed = |error| format!("run-time directory: {error}");
        let folder = rundir::directory().map_err(failed)?;
        bofuss_ports::keep_settings_in(rundir::own_directory().map_err(failed)?);
        let (to, requests) = mpsc::channel(1);
        let shared = Shared {
            requests: to,
            lock: Lock::of(&configs, &folder)?.map(Arc::new),
            are_several: configs.len() > 1,
        };
        let (log, address) = (configs[0].log.clone(), configs[0].metrics);
        let mut this = Self {
            switches: Vec::new(),
            shared,
            source,
            log,
            metrics: (None, None),
            wishes: mpsc::channel(1),
            requests,
        };
        for config in configs {
            let several = this.shared.are_several.then(|| config.name.clone());
            let started = run::start(config, &this.shared, enter.take()).await;
            match (started, several) {
                (Ok(started), _) => this.switches.push(started),
                (Err(error), several) => {
                    this.end().await;
                    return Err(
                        several.map_or(error.clone(), |name| format!("switch {name}: {error}"))
                    );
                }
            }
        }
        match this.listen(address).await {
            Ok(listener) => this.metrics = (address, listener),
            Err(error) => {
                this.end().await;
                return Err(error);
            }
        }
        Ok(this)
    }

    /// Ends all switches, and waits until their ports are closed.
    async fn end(&mut self) {
        let endings: Vec<_> = self.switches.drain(..).map(Running::close).collect();
        for ending in endings {
            ending.wait().await;
        }
    }

    /// The socket of the first switch in the run-time directory.
    pub fn socket(&self) -> &Path {
        self.switches[0].socket()
    }

    /// Gives up the rights that were needed to start. Errors: the system's, in a sentence.
    pub fn give_up_rights(&self) -> Result<(), String> {
        match &self.shared.lock {
            Some(lock) => lock.close(),
            None => rights::give_up(None),
        }?;
        self.switches.iter().try_for_each(Running::begin_messages)
    }

    /// Waits for those who ask for metrics at `address`. Errors: why that cannot be.
    async fn listen(&self, address: Option<Address>) -> Result<Option<metrics::Listener>, String> {
        let Some(address) = address else {
            return Ok(None);
        };
        let listener = metrics::listen(address, self.wishes.0.clone()).await?;
        info!("metrics: {}", listener.address);
        Ok(Some(listener))
    }

    /// Serves commands until one, or `stop`, ends the last switch.
    ///
    /// Errors: a data-plane thread's end.
    pub async fn until(mut self, stop: impl Future<Output = ()>) -> Result<(), String> {
        let served = self.serve(stop).await;
        self.end().await;
        served
    }

    async fn serve(&mut self, stop: impl Future<Output = ()>) -> Result<(), String> {
        let mut stop = std::pin::pin!(stop);
        // Without a file, the end of a terminal ends the switch as it ends other programs.
        let reloads = self.source.as_ref().is_some_and(Source::has_file);
        let hangup = (reloads || heeds_hangup()).then(|| signal(SignalKind::hangup()).ok());
        let mut hangup = hangup.flatten();
        let mut manager = Manager::find();
        while !self.switches.is_empty() {
            tokio::select! {
                (at, ended) = ended(&mut self.switches) => {
                    self.switches.remove(at);
                    return ended;
                }
                () = &mut stop => return Ok(()),
                () = Manager::wants(&mut manager) => {
                    for switch in &self.switches {
                        // One that does not answer is dead, and the manager is not told.
                        drop(switch.queue.ask(What::Memory).await);
                    }
                    manager.iter().for_each(Manager::is_alive);
                }
                () = came(&mut hangup) => match reloads {
                    true => drop(self.reload().await),
                    false => return Ok(()),
                },
                Some(wish) = self.wishes.1.recv() => {
                    let switches = self.switches.iter();
                    let queues = switches.map(|switch| (switch.name.clone(), switch.queue.clone()));
                    tokio::spawn(grant(wish, queues.collect()));
                }
                Some(request) = self.requests.recv() => self.obey(request).await,
            }
        }
        Ok(())
    }

    /// Does what an operator says of one switch, or of all.
    async fn obey(&mut self, request: Request) {
        let Request {
            switch,
            name,
            argument,
            reply,
        } = request;
        let of = self
            .switches
            .iter_mut()
            .position(|running| *running.name == *switch);
        let Some(at) = of else {
            return;
        };
        let answer = match name {
            "list" => Ok(control::list()),
            "switches" => {
                let names = self
                    .switches
                    .iter()
                    .map(|switch| format!("{}\n", switch.name));
                Ok(names.collect())
            }
            "log" => log::set(&argument).map(|()| String::new()),
            "reload" => self.reload().await,
            "shutdown" => Ok(String::new()),
            "trace-next" => {
                let queue = self.switches[at].queue.clone();
                tokio::spawn(async move {
                    let told = timeout(NEXT_PATIENCE, queue.ask(What::TraceNext(argument))).await;
                    let none = || {
                        Err(format!(
                            "no such packet came within {} s",
                            NEXT_PATIENCE.as_secs()
                        ))
                    };
                    let _ = reply.send(told.unwrap_or_else(|_| none()));
                });
                return;
            }
            of_switch => {
                let answer = self.switches[at].obey(of_switch, argument).await;
                self.explained(answer)
            }
        };
        let _ = reply.send(answer);
        if name == "shutdown" {
            info!("switch {switch}: ended by command");
            // Whoever asked gets its answer first.
            sleep(LAST_ANSWER).await;
            self.switches.remove(at).close().wait().await;
        }
    }

    /// Says of what a locked process may not do that there is no other way.
    fn explained(&self, answer: Answer) -> Answer {
        match &self.shared.lock {
            Some(_) => answer.map_err(rights::explain),
            None => answer,
        }
    }

    /// Becomes what the file now says, or stays as it is. Errors: why, in a sentence.
    async fn reload(&mut self) -> Answer {
        let done = self.try_to_reload().await;
        let done = self.explained(done);
        match &done {
            Ok(_) => info!("the configuration was read again"),
            Err(error) => warn!("the configuration stays: {error}"),
        }
        done
    }

    async fn try_to_reload(&mut self) -> Answer {
        let source = self
            .source
            .as_ref()
            .ok_or("there is no configuration file")?;
        let (source, configs) = source.read_again()?;
        let followed = self.follow(configs).await;
        followed.map_err(|(at, error)| source.located(at, error))?;
        self.source = Some(source);
        Ok(String::new())
    }

    /// Follows configurations: switches that are new begin, those that are not there any more end,
    /// all at once. What can fail comes first, and what it opened goes if it does.
    ///
    /// Errors: a sentence, and the number of the switch.
    async fn follow(&mut self, mut configs: Vec<Config>) -> Result<(), (usize, String)> {
        // The switch that the file does not name keeps the name that it got.
        let unnamed = configs.iter_mut().find(|config| !config.is_named);
        let running = self.switches.iter().find(|switch| !switch.is_named());
        if let (Some(config), Some(running)) = (unnamed, running) {
            config.rename(running.name.clone());
        }
        let (log, address) = (configs[0].log.clone(), configs[0].metrics);
        let names: Vec<String> = configs.iter().map(|config| config.name.clone()).collect();
        self.shared.are_several = names.len() > 1;
        let listener = match address == self.metrics.0 {
            true => None,
            false => self.listen(address).await.map_err(|error| (0, error))?,
        };
        let (mut changes, mut new) = (Vec::new(), Vec::new());
        for (at, config) in configs.into_iter().enumerate() {
            let of = |error| (at, error);
            match self
                .switches
                .iter()
                .find(|switch| switch.name == config.name)
            {
                Some(switch) => changes.push((at, switch.begin(config).await.map_err(of)?)),
                None => {
                    let started = run::start(config, &self.shared, None).await.map_err(of)?;
                    started.begin_messages().map_err(of)?;
                    new.push(started);
                }
            }
        }
        for (at, change) in &mut changes {
            change.ready().await.map_err(|error| (*at, error))?;
        }
        let mut done = Ok(());
        for (at, change) in changes {
            let mut switches = self.switches.iter_mut();
            if let Some(switch) = switches.find(|switch| switch.name == change.name) {
                done = done.and(switch.complete(change).await.map_err(|error| (at, error)));
            }
        }
        let place = |name: &str| names.iter().position(|named| named == name);
        let is_named = |switch: &Running| place(&switch.name).is_some();
        for gone in self.switches.extract_if(.., |switch| !is_named(switch)) {
            info!(
                "switch {}: ended, the file does not have it any more",
                gone.name
            );
        }
        self.switches.append(&mut new);
        self.switches.sort_by_key(|switch| place(&switch.name));
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

/// Done when one of the switches has ended; which, and why.
async fn ended(switches: &mut [Running]) -> (usize, Result<(), String>) {
    std::future::poll_fn(|context| {
        for (at, switch) in switches.iter_mut().enumerate() {
            if let Poll::Ready(end) = Pin::new(&mut switch.done).poll(context) {
                let died = |_| Err("the data-plane thread died".into());
                return Poll::Ready((at, end.unwrap_or_else(died)));
            }
        }
        Poll::Pending
    })
    .await
}

/// Done when the signal comes; never without one.
async fn came(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Tells the metrics of all switches, one after the other.
async fn grant(wish: Wish, queues: Vec<(String, Queue)>) {
    let mut scrape = Box::new(Scrape::new(wish.flows));
    for (name, queue) in queues {
        scrape.begin(name);
        let Some(more) = queue.scrape(scrape).await else {
            return;
        };
        scrape = more;
    }
    // Whoever asked may be gone.
    let _ = wish.reply.send(scrape.samples);
}
