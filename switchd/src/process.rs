//! The process: one switch or several, their commands, signals, reloads and the end.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bofuss_channel::Reading;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::account::Account;
use crate::config::Config;
use crate::control::CommandRequest;
use crate::dataplane::{Answer, Operation, Scrape};
use crate::error::{Error, Result, context};
use crate::manager::Manager;
use crate::metrics::{self, Address, MetricsRequest};
use crate::reload::ConfigSource;
use crate::rights::Lock;
use crate::run::{self, DataPlaneQueue, Enter, Running, Shared};
use crate::{control, log, rights, rundir};

/// The time that a switch runs on after the command `shutdown`, so that its answer arrives.
const SHUTDOWN_ANSWER_DELAY: Duration = Duration::from_millis(50);

/// The time that `trace-next` waits for a packet: less than the client waits for the answer.
const TRACE_NEXT_TIMEOUT: Duration = Duration::from_secs(25);

/// Returns true if the process ignores SIGHUP, as it does from the start under `nohup`.
fn ignores_sighup() -> bool {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & HANGUP != 0)
}

/// A configuration that was read again.
type Reread = (ConfigSource, Vec<Config>);

/// The peer that asked for a reload, if it was no signal.
type Asker = Option<oneshot::Sender<Answer>>;

/// The running switches, in the order of the configuration file.
pub struct Process {
    switches: Vec<Running>,
    shared: Shared,
    /// The configuration's source, for reloads.
    source: Option<Arc<ConfigSource>>,
    /// The reload in progress.
    reading: Option<(Reading<Reread, Error>, Asker)>,
    log: String,
    /// The address of the metrics, and the listener there.
    metrics: (Option<Address>, Option<metrics::MetricsListener>),
    metrics_requests: (mpsc::Sender<MetricsRequest>, mpsc::Receiver<MetricsRequest>),
    requests: mpsc::Receiver<CommandRequest>,
}

impl Process {
    /// Starts the switches of `configs`, of which there is at least one; they were read from
    /// `source`. `enter` is run for the first. Errors: a sentence for the user.
    pub async fn start(
        configs: Vec<Config>,
        source: Option<ConfigSource>,
        mut enter: Option<Enter>,
    ) -> Result<Self> {
        let account = Account::instead_of_root(configs.iter().any(|config| config.lock_down));
        let folder = rundir::directory(account.as_ref()).map_err(context(rundir::RUN_FOLDER))?;
        bofuss_ports::keep_settings_in(
            rundir::own_directory().map_err(context(rundir::RUN_FOLDER))?,
        );
        let (to, requests) = mpsc::channel(1);
        let shared = Shared {
            requests: to,
            lock: Lock::of(&configs, &folder, account)?.map(Arc::new),
            folder,
            are_several: configs.len() > 1,
        };
        let log = configs[0].log.clone();
        let address = configs[0].metrics;
        let mut this = Self {
            switches: Vec::new(),
            shared,
            source: source.map(Arc::new),
            reading: None,
            log,
            metrics: (None, None),
            metrics_requests: mpsc::channel(1),
            requests,
        };
        for config in configs {
            let name = config.name.clone();
            match run::start(config, &this.shared, enter.take()).await {
                Ok(started) => this.switches.push(started),
                Err(error) => {
                    this.end().await;
                    return Err(if this.shared.are_several {
                        context(format_args!("switch {name}"))(error)
                    } else {
                        error
                    });
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

    /// Closes all switches, and waits until their ports are closed.
    async fn end(&mut self) {
        let endings: Vec<_> = self.switches.drain(..).map(Running::close).collect();
        for ending in endings {
            ending.wait().await;
        }
    }

    /// The OpenFlow socket of the first switch.
    pub fn socket(&self) -> &Path {
        self.switches[0].socket()
    }

    /// Gives up the rights that only the start needs. Errors: the system's, in a sentence.
    fn give_up_rights(&self) -> Result<()> {
        match &self.shared.lock {
            Some(lock) => lock.close(),
            None => rights::give_up(None),
        }?;
        self.switches.iter().try_for_each(Running::begin_messages)
    }

    /// Serves metrics at `address`. Errors: why it cannot.
    async fn listen(&self, address: Option<Address>) -> Result<Option<metrics::MetricsListener>> {
        let Some(address) = address else {
            return Ok(None);
        };
        let listener = metrics::listen(address, self.metrics_requests.0.clone()).await?;
        info!("metrics: {}", listener.address);
        Ok(Some(listener))
    }

    /// Reports with `ready` that the switches run, gives up the rights that only the start needs,
    /// and serves commands until one of them, or `stop`, ends the last switch. What `ready` returns
    /// is kept until then.
    ///
    /// Errors: that of `ready`, rights that cannot be given up, or the error that ended a
    /// data-plane thread. All switches are closed then, too.
    pub async fn run<T>(
        mut self,
        ready: impl FnOnce() -> Result<T>,
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        let prepared = ready().and_then(|kept| self.give_up_rights().map(|()| kept));
        match prepared {
            Ok(_kept) => self.until(stop).await,
            Err(error) => {
                self.end().await;
                Err(error)
            }
        }
    }

    /// Serves commands until one of them, or `stop`, ends the last switch.
    ///
    /// Errors: the error that ended a data-plane thread.
    pub async fn until(mut self, stop: impl Future<Output = ()>) -> Result<()> {
        let served = self.serve(stop).await;
        self.end().await;
        served
    }

    async fn serve(&mut self, stop: impl Future<Output = ()>) -> Result<()> {
        let mut stop = std::pin::pin!(stop);
        // Without a configuration file, closing the terminal (SIGHUP) ends the switch, as it ends
        // other programs.
        let reloads = self.source.as_ref().is_some_and(|source| source.has_file());
        let mut hangup = None;
        if reloads || !ignores_sighup() {
            hangup = signal(SignalKind::hangup()).ok();
        }
        let mut manager = Manager::find();
        while !self.switches.is_empty() {
            tokio::select! {
                (at, ended) = ended(&mut self.switches) => {
                    self.switches.remove(at);
                    return ended;
                }
                () = &mut stop => return Ok(()),
                () = Manager::notification_due(&mut manager) => {
                    for switch in &self.switches {
                        // If a data-plane thread does not answer, the manager gets no watchdog
                        // notification.
                        drop(switch.queue.ask(Operation::Memory).await);
                    }
                    manager.iter().for_each(Manager::notify_alive);
                }
                () = received(&mut hangup) => {
                    if !reloads {
                        return Ok(());
                    }
                    self.begin_reload(None);
                }
                (read, reply) = finished(&mut self.reading) => self.end_reload(read, reply).await,
                Some(request) = self.metrics_requests.1.recv() => {
                    let switches = self.switches.iter();
                    let queues = switches.map(|switch| (switch.name.clone(), switch.queue.clone()));
                    tokio::spawn(answer_metrics(request, queues.collect()));
                }
                Some(request) = self.requests.recv() => self.obey(request).await,
            }
        }
        Ok(())
    }

    /// Carries out a command of an operator, for one switch or all.
    async fn obey(&mut self, request: CommandRequest) {
        let CommandRequest {
            switch,
            name,
            argument,
            file,
            reply,
        } = request;
        let mut switches = self.switches.iter();
        let Some(at) = switches.position(|running| *running.name == *switch) else {
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
            "reload" => return self.begin_reload(Some(reply)),
            "shutdown" => Ok(String::new()),
            "trace-next" => {
                let queue = self.switches[at].queue.clone();
                tokio::spawn(async move {
                    let answer = timeout(
                        TRACE_NEXT_TIMEOUT,
                        queue.ask(Operation::TraceNext(argument)),
                    )
                    .await;
                    let seconds = TRACE_NEXT_TIMEOUT.as_secs();
                    let _ = reply.send(answer.unwrap_or_else(|_| {
                        Err(format!("no such packet arrived within {seconds} s").into())
                    }));
                });
                return;
            }
            of_switch => {
                let answer = self.switches[at].obey(of_switch, argument, file).await;
                self.explained(answer)
            }
        };
        let _ = reply.send(answer);
        if name == "shutdown" {
            info!("switch {switch}: ended by command");
            // The requester gets its answer first.
            sleep(SHUTDOWN_ANSWER_DELAY).await;
            self.switches.remove(at).close().wait().await;
        }
    }

    /// Explains an error that a locked-down process gets for lack of rights.
    fn explained(&self, answer: Answer) -> Answer {
        match &self.shared.lock {
            Some(_) => answer.map_err(rights::explain),
            None => answer,
        }
    }

    /// Begins to read the changed configuration file. Who asked is told the result once it is
    /// applied, or at once why it cannot be read.
    fn begin_reload(&mut self, reply: Asker) {
        let begun = match (&self.reading, &self.source) {
            (Some(_), _) => Err("the files of another reload are still being read".into()),
            (None, None) => Err("there is no configuration file".into()),
            (None, Some(source)) => {
                let source = Arc::clone(source);
                Reading::begin(move || source.read_again()).map_err(Error::from)
            }
        };
        match begun {
            Ok(reading) => self.reading = Some((reading, reply)),
            Err(error) => report_reload(Err(error), reply),
        }
    }

    /// Applies the configuration that was read, or changes nothing.
    async fn end_reload(&mut self, read: Result<Reread>, reply: Asker) {
        let applied = match read {
            Ok((source, configs)) => self.apply(source, configs).await,
            Err(error) => Err(error),
        };
        report_reload(self.explained(applied), reply);
    }

    /// Applies a configuration. Errors: why not, in a sentence.
    async fn apply(&mut self, source: ConfigSource, configs: Vec<Config>) -> Answer {
        let followed = self.follow(configs).await;
        followed.map_err(|(at, error)| source.located(at, error))?;
        self.source = Some(Arc::new(source));
        Ok(String::new())
    }

    /// Starts a switch after the process gave up its rights. Errors: a sentence for the user.
    async fn start_later(&self, config: Config) -> Result<Running> {
        let started = run::start(config, &self.shared, None).await?;
        started.begin_messages()?;
        Ok(started)
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
        let mut changes = Vec::new();
        let mut new = Vec::new();
        for (at, config) in configs.into_iter().enumerate() {
            let mut switches = self.switches.iter();
            if let Some(switch) = switches.find(|switch| switch.name == config.name) {
                let change = switch.begin(config).await;
                changes.push((at, change.map_err(|error| (at, error))?));
            } else {
                let started = self.start_later(config).await;
                new.push(started.map_err(|error| (at, error))?);
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
        let switches = &mut self.switches;
        for gone in switches.extract_if(.., |switch| !names.contains(&switch.name)) {
            info!(
                "switch {}: ended, because the file does not configure it any more",
                gone.name
            );
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

/// Waits until one of the switches ends. Returns its place among them and its result.
async fn ended(switches: &mut [Running]) -> (usize, Result<()>) {
    std::future::poll_fn(|context| {
        for (at, switch) in switches.iter_mut().enumerate() {
            if let Poll::Ready(end) = Pin::new(&mut switch.done).poll(context) {
                return Poll::Ready((
                    at,
                    end.unwrap_or_else(|_| Err("the data-plane thread died".into())),
                ));
            }
        }
        Poll::Pending
    })
    .await
}

/// Logs the result of a reload, and tells it to whoever asked.
fn report_reload(done: Answer, reply: Asker) {
    match &done {
        Ok(_) => info!("the configuration was read again"),
        Err(error) => warn!("the configuration was not changed: {error}"),
    }
    // Who asked may be gone.
    reply.map(|reply| reply.send(done));
}

/// Waits until the files of a reload are read; forever if there is none.
async fn finished(
    current: &mut Option<(Reading<Reread, Error>, Asker)>,
) -> (Result<Reread>, Asker) {
    let Some((reading, _)) = current else {
        return std::future::pending().await;
    };
    let read = reading.end().await;
    (read, current.take().and_then(|(_, reply)| reply))
}

/// Waits for the signal; forever if there is none.
async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Collects the metrics of all switches, one after the other.
async fn answer_metrics(request: MetricsRequest, queues: Vec<(String, DataPlaneQueue)>) {
    let mut scrape = Box::new(Scrape::new(request.flows));
    for (name, queue) in queues {
        scrape.begin(name);
        let Some(more) = queue.scrape(scrape).await else {
            return;
        };
        scrape = more;
    }
    // The requester may be gone.
    let _ = request.reply.send(scrape.samples);
}
